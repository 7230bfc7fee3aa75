/* Files that the server was started with as NAME=FILE. Requests choose one by its name, never by its path. */
#ifndef CLF_TOOLS_SERVE_NAMED_FILES_H
#define CLF_TOOLS_SERVE_NAMED_FILES_H

#include "shared/command.h"

struct named_file {
    const char *name; /* (name_size) borrowed from the flag */
    size_t name_size;
    char *bytes; /* (size) owned, followed by a NUL */
    size_t size;
};

struct named_files {
    struct named_file items[MOST_FLAG_VALUES];
    int count;
};

/* Finds the name and the path in a value NAME=FILE. CLF_BAD_ARGUMENT: it has no name. */
clf_status named_files_split(size_t *name_size, const char **path, const char *flag, const char *value);

/* Reads the files of a flag. CLF_BAD_ARGUMENT: a value has no name, or two have the same. */
clf_status named_files_load(struct named_files *out, const char *flag, const struct flag_values *values);
void named_files_free(struct named_files *files);

/* Returns a file by its name, or NULL. */
const struct named_file *named_files_find(const struct named_files *files, const char *name);

#endif
