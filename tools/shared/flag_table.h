/* The table of the command's flags. */
#ifndef CLF_TOOLS_FLAG_TABLE_H
#define CLF_TOOLS_FLAG_TABLE_H

#include <stddef.h>

enum flag_kind {
    FLAG_SWITCH,
    FLAG_TEXT,
    FLAG_LIST, /* a string; the flag may be repeated */
    FLAG_COUNT,
    FLAG_CHOICE,
    FLAG_REAL, /* this and the following kinds are numbers, each kind with a different range */
    FLAG_FACTOR,
    FLAG_SHARE,
    FLAG_KINDS
};

struct flag {
    const char *name;
    char letter;
    int takes; /* groups of flags (TAKES_...) that include the flag; 0: every verb accepts it */
    enum flag_kind kind;
    size_t offset;       /* offset of the field in struct flags */
    const char *choices; /* "a|b|c": the field is set to the index; help texts show this as the value */
    const char *help;
};

extern const struct flag flag_table[];
extern const int flag_table_size;

#endif
