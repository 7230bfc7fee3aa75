/* The capacity that a session and a search need for lines with certain settings. */
#ifndef CLF_ENGINE_CAPACITY_H
#define CLF_ENGINE_CAPACITY_H

#include "model/infer/session.h"
#include "search/types.h"

struct clf__settings;

/* A selection of cross-attention heads: the first `heads` heads of a decoder layer, counted from 1. Heads 0:
   all. */
struct clf__attention_heads {
    int layer, heads;
};

/* Maximum number of tokens that a draft model proposes for a step. */
enum { CLF__MOST_PROPOSALS = 8 };

struct clf__capacity {
    struct clf__search_limits search;     /* limits for one line; `slots` is unused */
    int candidates;                       /* k of a step */
    int shortlist_base, shortlist_each;   /* as in struct clf__session_limits */
    struct clf__attention_heads coverage; /* attention for the coverage penalty; layer 0: not needed */
};

/* Computes the capacity for lines with these settings, which keep it as their `capacity`. */
struct clf__capacity clf__capacity_of(const struct clf__settings *settings);

/* Returns the capacity for lines that need either. If only one has shortlists, the result is `b`, because a
 * session has either shortlists for all lines or none. */
struct clf__capacity clf__capacity_join(const struct clf__capacity *a, const struct clf__capacity *b);

/* Returns whether a session with this capacity serves lines that need another. */
int clf__capacity_covers(const struct clf__capacity *capacity, const struct clf__capacity *needed);

/* Returns the limits of a session for `lines` lines of up to `source_length` tokens or frames. */
struct clf__session_limits clf__capacity_limits(const struct clf__capacity *capacity, int lines,
                                                int batch_tokens, int source_length);

#endif
