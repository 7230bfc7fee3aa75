/* The names under which one parameter may be stored: the embeddings and the output projection have several.
 */
#ifndef CLF_MODEL_ALIASES_H
#define CLF_MODEL_ALIASES_H

#include "config/config.h"

enum { CLF__MOST_ALIASES = 4 };

/* Canonical names. The first `same` of them are one matrix, which a file may hold under one or more of these
 * names. The others are matrices of their own that replace it where the file has none of the first. */
struct clf__aliases {
    const char *names[CLF__MOST_ALIASES];
    int same, count;
};

/* The names of a parameter, its own first. */
struct clf__aliases clf__aliases_of(const struct clf__config *config, const char *name);

#endif
