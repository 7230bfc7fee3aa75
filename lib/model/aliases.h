/* Names under which a parameter may be stored: embeddings and the output projection have several. */
#ifndef CLF_MODEL_ALIASES_H
#define CLF_MODEL_ALIASES_H

#include "model/config/types.h"

enum { CLF__MOST_ALIASES = 4 };

/* Canonical names. The first `same` names refer to one matrix, which a file may hold under one or more of
 * them. The others are separate matrices that replace it if the file has none of the first. */
struct clf__aliases {
    const char *names[CLF__MOST_ALIASES];
    int same, count;
};

/* Returns the names of a parameter, its own name first. */
struct clf__aliases clf__aliases_of(const struct clf__config *config, const char *name);

#endif
