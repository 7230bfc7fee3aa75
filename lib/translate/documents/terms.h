/* Terms that are not translated. */
#ifndef CLF_DOCUMENTS_TERMS_H
#define CLF_DOCUMENTS_TERMS_H

#include <stddef.h>

#include "base/status.h"

struct clf__segment;

/* A list of terms; owned. */
struct clf__kept_terms {
    char *text;
    struct clf__kept_term {
        const char *text; /* (size) */
        size_t size;
    } * items; /* (count) sorted by their bytes; a shorter term comes before a longer one with its bytes */
    int count, capacity;
    int overfull; /* number of segments with terms that are translated, because of too many marks */
};

/* Reads terms, one per line; white space around a term and empty lines are ignored. NULL: no terms. */
clf_status clf__kept_terms_read(struct clf__kept_terms *terms, const char *lines);
void clf__kept_terms_free(struct clf__kept_terms *terms);

/* Replaces the terms in the text of a segment by marks without content. A term is whole words in the same
 * letter case; of several terms at a place, the longest one is found. */
clf_status clf__kept_terms_apply(struct clf__kept_terms *terms, struct clf__segment *segment);

#endif
