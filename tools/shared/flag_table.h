/* The table of the command's flags. */
#ifndef CLF_TOOLS_FLAG_TABLE_H
#define CLF_TOOLS_FLAG_TABLE_H

#include <stddef.h>

enum flag_kind {
    FLAG_SWITCH,
    FLAG_TEXT,
    FLAG_COUNT,
    FLAG_CHOICE,
    FLAG_REAL, /* numbers; each kind has its own range */
    FLAG_FACTOR,
    FLAG_SHARE,
    FLAG_KINDS
};

struct flag {
    const char *name;
    char letter;
    int takes; /* shown and accepted by verbs with one of these; 0: by all */
    enum flag_kind kind;
    size_t offset;       /* offset of the field in struct flags */
    const char *choices; /* "a|b|c": the field gets the index; also shown as the value in help texts */
    const char *help;
};

extern const struct flag flag_table[];
extern const int flag_table_size;

#endif
