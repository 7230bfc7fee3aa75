/* A lane: one device of an engine, with its sessions and its active lines, which are the lines being
 * searched. One thread at a time uses a lane. */
#ifndef CLF_ENGINE_LANE_H
#define CLF_ENGINE_LANE_H

#include "engine/batch_size.h"
#include "engine/cache.h"
#include "engine/capacity.h"
#include "engine/source.h"
#include "engine/times.h"
#include "engine/windows.h"

struct clf__draft;
struct clf__search;
struct clf_engine;

/* Speed of a lane: tokens and seconds, weighted towards recent work. */
struct clf__throughput {
    double done, seconds;
};

struct clf__lane {
    struct clf_engine *engine;
    struct clf_model *model;
    struct clf__capacity capacity; /* capacity of the session for searches */
    int batch_tokens, max_lines;   /* maximum source tokens and lines of a batch; max_lines 0: not chosen */
    int source_length, target_length;   /* longest source; initial longest target of a session that scores */
    struct clf__session *session;       /* for searching; created for the first line */
    struct clf__search *search;         /* created with `session` */
    struct clf__draft *draft;           /* created with `session`; NULL: no draft model */
    struct clf__cache cache;            /* encoded sources */
    struct clf__unit **units;           /* (max_lines) the line in each slot; NULL: free */
    struct clf__unit **chosen;          /* (max_lines) lines to admit */
    int *slots;                         /* (max_lines) their slots */
    int has_served;                     /* the device had memory for a session */
    int searched;                       /* active lines */
    int64_t searched_tokens;            /* their source tokens */
    struct clf__session *force_session; /* for scoring; created for the first batch */
    struct clf__session_limits force_limits;
    struct clf__session *align_session; /* for alignments; created for the lengths that occur */
    struct clf__session_limits align_limits;
    struct clf__windows windows; /* for speech */
    struct clf_stage_times times;
    /* Guarded by the engine's lock. */
    int has_thread;         /* its own */
    int has_windows;        /* the session for windows was created */
    int is_driven;          /* a thread runs the lane */
    int is_lost;            /* its device failed, and other devices work */
    uint64_t seen_arrivals; /* arrivals of the engine, and units under search, at the last attempt to admit
                               units */
    int seen_searched;
    int waited_steps; /* steps since units that begin a job were not admitted */
    int64_t held;     /* cost of the units that the lane holds */
    struct clf__throughput pace;
    struct clf__lane_view {
        struct clf_stage_times times;
        int batch_tokens, max_lines, windows;
    } view; /* copies after the last step, for other threads */
};

/* Returns the number of lines and windows under search. */
static inline int clf__lane_searched(const struct clf__lane *lane)
{
    return lane->searched + lane->windows.searched;
}

/* Copies what other threads may read; needs the engine's lock. */
void clf__lane_show(struct clf__lane *lane);

/* Chooses the sizes of a batch for lines that need a capacity, in addition to those of earlier calls.
 * wanted_tokens 0: the tuned or computed number, halved until the session of a full batch fits the free
 * memory. The lane must have no active lines. */
clf_status clf__lane_fit(struct clf__lane *lane, const struct clf__capacity *capacity, int wanted_tokens);

/* Grows the session for searches to a source of this length; sessions start with usual lengths, because a
 * model may allow far longer ones. The lane must have no active lines. */
clf_status clf__lane_grow(struct clf__lane *lane, int source);

/* Returns whether the session for searches has room for a line that needs a capacity, from a job whose
 * longest source is given. */
int clf__lane_serves(const struct clf__lane *lane, const struct clf__capacity *needed, int longest_source);

/* Creates the session for searches if it does not exist. */
clf_status clf__lane_prepare(struct clf__lane *lane);

/* Frees the session for searches over lines. */
void clf__lane_release(struct clf__lane *lane);
void clf__lane_free(struct clf__lane *lane);

/* Reserves memory for a source of this length; returns 0 if too little is free at present. */
int clf__lane_reserve(struct clf__lane *lane, int slot, int length);
void clf__lane_unreserve(struct clf__lane *lane, int slot);

/* Encodes the first `count` lines of `chosen` and adds them to the search, in the reserved
 * `slots`. */
clf_status clf__lane_add(struct clf__lane *lane, int count);

/* Runs one step of all active lines, and, on a device with pipelined steps, enqueues the next one. */
clf_status clf__lane_step(struct clf__lane *lane);
/* Waits for an enqueued step if the lane has no active lines. */
void clf__lane_rest(struct clf__lane *lane);

/* Takes a finished line from the search, with its result filled; *out is NULL if there is none. On failure,
 * *out is the line that failed. */
clf_status clf__lane_take(struct clf__lane *lane, struct clf__unit **out);

/* Removes the line in a slot from the search. */
void clf__lane_remove(struct clf__lane *lane, int slot);
/* Removes all lines and windows, and forgets cached sources. */
void clf__lane_clear(struct clf__lane *lane);

/* Returns the text so far of the line in a slot, which the caller frees; NULL if there is none. */
clf_status clf__lane_text(char **out, const struct clf__lane *lane, int slot);

/* Finds the source token with the most attention for each id of a hypothesis, or -1 if there is none. The
 * caller frees *links (hypothesis->count), even on failure. */
clf_status clf__links_find(int **links, struct clf__lane *lane, const struct clf__settings *settings,
                           const struct clf__source *source, const struct clf_hypothesis *hypothesis,
                           struct clf__attention_heads selection);

/* Rebuilds a hypothesis' text with each unknown token replaced by the aligned source token. */
clf_status clf__unknown_replace(struct clf_hypothesis *hypothesis, struct clf__lane *lane,
                                const struct clf__settings *settings, const struct clf__source *source,
                                const struct clf_line *line);

/* Fills a hypothesis' alignment. */
clf_status clf__align(struct clf_hypothesis *hypothesis, struct clf__lane *lane,
                      const struct clf__settings *settings, const struct clf__source *source);

#endif
