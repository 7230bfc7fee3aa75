/* The windows of speech under search on a lane, which share the batches of the encoder and the decoder as
 * lines do. A window can be decoded several times before it leaves its slot. One thread at a time uses the
 * windows of a lane. */
#ifndef CLF_ENGINE_WINDOWS_H
#define CLF_ENGINE_WINDOWS_H

#include "audio/window_maker.h"
#include "model/infer/session.h"
#include "search/whisper.h"
#include "text/tokenizers/tokenizer.h"

struct clf__lane;
struct clf__unit;

/* The capacity that a session and a search need for a window with certain options. */
struct clf__window_capacity {
    struct clf__whisper_limits search; /* limits for one window; `slots` is unused */
    int inputs;                        /* maximum inputs of clf__session_align(); 0: it is not called */
};

/* Returns the capacity for windows that need either. */
struct clf__window_capacity clf__window_capacity_join(const struct clf__window_capacity *a,
                                                      const struct clf__window_capacity *b);

/* Where an encoded window is stored. */
struct clf__window_place {
    struct clf__session *session;
    int slot;
};

/* The functions of a window, which run on the thread that drives the lane: either `task` or the functions of
 * a search. If its device fails, the window starts again on another lane. A failure other than a device
 * failure ends only this window, except for `load`. */
struct clf__window_kind {
    /* Runs at once, outside the searches. Then the other functions are not called. */
    clf_status (*task)(void *context, struct clf__window_maker *maker);
    /* Computes the frames (frames of the window, bands). NULL: the window was encoded before. */
    clf_status (*load)(void *context, struct clf__window_maker *maker, struct clf__tensor frames);
    /* Begins an attempt to decode the encoded window. The rules and the prompt must not change until `end`
     * has returned. NULL: the window is not decoded, and `leave` follows. */
    clf_status (*begin)(void *context, const struct clf__whisper_rules **rules,
                        const struct clf__ids **prompt);
    /* Reads the result of an attempt; sets *again if another attempt follows. */
    clf_status (*end)(void *context, int *again, const struct clf__whisper_result *result);
    /* Called after the last attempt, if there is one, before the window leaves its slot; may be NULL. It must
     * not run decoding steps, which would end the searches of other windows. */
    clf_status (*leave)(void *context, const struct clf__window_place *place);
};

/* The window of a unit. */
struct clf__window {
    const struct clf__window_kind *kind;
    const struct clf__window_capacity *capacity;
    void *context; /* first argument of the functions */
    int frames;    /* 0: CLF__WINDOW_FRAMES */
    /* Not NULL: a window with `load` is encoded into it and then leaves; a window without `load` is read from
     * it. */
    struct clf__encoding *encoding;
    struct clf__failure failure;
};

/* The windows of a lane. */
struct clf__windows {
    struct clf__window_maker *maker; /* NULL: not created */
    struct clf__window_capacity capacity;
    int slots; /* maximum number of windows under search; 0: no session */
    struct clf__session *session;
    struct clf__whisper *whisper;
    struct clf__unit **units;  /* (slots) the window in each slot; NULL: free */
    struct clf__unit **chosen; /* (slots) windows to admit */
    int *chosen_slots;         /* (slots) their slots */
    int searched;              /* windows under search */
};

/* Creates the session for windows of this capacity, in addition to that of earlier calls. wanted 0: as many
 * slots as are useful on the device and fit a part of its free memory. No window may be under search. */
clf_status clf__windows_fit(struct clf__lane *lane, const struct clf__window_capacity *capacity, int wanted);

/* Returns whether the session has room for a window. */
int clf__windows_serve(const struct clf__windows *windows, const struct clf__window *window);

/* Frees the session, or everything. */
void clf__windows_release(struct clf__windows *windows);
void clf__windows_free(struct clf__windows *windows);

/* Encodes the first `count` windows of `chosen` in their slots, and begins to decode them. */
clf_status clf__windows_add(struct clf__lane *lane, int count);

/* Runs one step of all windows under search. */
clf_status clf__windows_step(struct clf__lane *lane);

/* Takes a finished window, with its failure if it has failed; *out is NULL if there is none. Begins the next
 * attempts of windows that need one. */
clf_status clf__windows_take(struct clf__lane *lane, struct clf__unit **out);

/* Runs the task of a window. Returns a failure of the device; any other one is kept by the window. */
clf_status clf__windows_run(struct clf__lane *lane, struct clf__unit *unit);

/* Removes the window in a slot, or all windows. */
void clf__windows_remove(struct clf__windows *windows, int slot);
void clf__windows_clear(struct clf__windows *windows);

#endif
