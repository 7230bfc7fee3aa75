/* The events of a live transcription: a queue. */
#ifndef CLF_TRANSCRIBE_LIVE_EVENTS_H
#define CLF_TRANSCRIBE_LIVE_EVENTS_H

#include <clformer/live.h>

#include "transcribe/agreement.h"

/* A zeroed queue is empty. The caller sets `language`, which is copied into the events, and `received` before
 * it adds words. */
struct clf__live_events {
    struct clf_live_event *data; /* (count) owned with their texts */
    int count, capacity;
    struct clf_live_event taken;    /* the last event that was returned */
    struct clf__live_words segment; /* final words of the current segment */
    const char *language;
    double received;
};

/* Adds final words from index `first` on: events for them, and for each segment that ends before one of them.
 */
clf_status clf__live_events_add(struct clf__live_events *events, const struct clf__live_words *words,
                                int first);

/* Ends the current segment, if it has words. */
clf_status clf__live_events_end_segment(struct clf__live_events *events);

/* Adds an event of unstable words. */
clf_status clf__live_events_add_unstable(struct clf__live_events *events,
                                         const struct clf__live_words *words);

/* Returns the next event, which is valid until the next call; NULL: there is none. */
const struct clf_live_event *clf__live_events_take(struct clf__live_events *events);

void clf__live_events_free(struct clf__live_events *events);

#endif
