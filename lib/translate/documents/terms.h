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
        int next; /* the next term with the same first byte; -1: none */
    } * items;    /* (count) */
    int count, capacity;
    int first[256]; /* the first term with each first byte; -1: none */
    int overfull;   /* number of segments with terms that are translated, because of too many marks */
};

/* Reads terms, one per line; white space around a term and empty lines are ignored. NULL: no terms. */
clf_status clf__kept_terms_read(struct clf__kept_terms *terms, const char *lines);
void clf__kept_terms_free(struct clf__kept_terms *terms);

/* Replaces the terms in the text of a segment by marks without content. A term is whole words in the same
 * letter case; of several terms at a place, the longest one is found. */
clf_status clf__kept_terms_apply(struct clf__kept_terms *terms, struct clf__segment *segment);

#endif
