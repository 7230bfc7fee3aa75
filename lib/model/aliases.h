/* Names under which a parameter may be stored: embeddings and the output projection have several names. */
#ifndef CLF_MODEL_ALIASES_H
#define CLF_MODEL_ALIASES_H

#include "model/config/types.h"

enum { CLF__MOST_ALIASES = 4 };

/* Canonical names. The first `same` names denote one matrix, which a file may store under any of them. The
 * other names denote separate matrices to use if the file has none of the first names. */
struct clf__aliases {
    const char *names[CLF__MOST_ALIASES];
    int same, count;
};

/* Returns the names under which a parameter may be stored; the parameter's own name is first. */
struct clf__aliases clf__aliases_of(const struct clf__config *config, const char *name);

#endif
