/* The flags of the command, each said once. */
#ifndef CLF_TOOLS_FLAG_TABLE_H
#define CLF_TOOLS_FLAG_TABLE_H

#include <stddef.h>

enum flag_kind {
    FLAG_SWITCH,
    FLAG_TEXT,
    FLAG_COUNT,
    FLAG_CHOICE,
    FLAG_REAL, /* these three: numbers, each from a range of its kind */
    FLAG_FACTOR,
    FLAG_SHARE,
    FLAG_KINDS
};

struct flag {
    const char *name;
    char letter;
    int takes; /* shown and accepted where the verb takes one of these; 0: everywhere */
    enum flag_kind kind;
    size_t offset;       /* of the field in struct flags */
    const char *choices; /* "a|b|c": the field gets the number; also what help calls the value */
    const char *help;
};

extern const struct flag flag_table[];
extern const int flag_table_size;

#endif
