/* The glossaries that the server was started with. Requests choose one by its name. */
#ifndef CLF_TOOLS_SERVE_GLOSSARIES_H
#define CLF_TOOLS_SERVE_GLOSSARIES_H

#include <clformer/clformer.h>

#include "shared/command.h"

struct glossaries {
    struct {
        const char *name;
        size_t name_size;
        struct clf_glossary *glossary;
    } items[MOST_FLAG_VALUES];
    int count;
};

/* Loads the values of --glossary, NAME=FILE. CLF_BAD_ARGUMENT: a value has no name, or two have the same. */
clf_status glossaries_load(struct glossaries *out, const struct flag_values *values);
void glossaries_free(struct glossaries *glossaries);

/* Returns a glossary by its name, or NULL. */
struct clf_glossary *glossaries_find(const struct glossaries *glossaries, const char *name);

#endif
