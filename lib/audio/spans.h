/* Spans of a recording, and a recording that joins them. */
#ifndef CLF_AUDIO_SPANS_H
#define CLF_AUDIO_SPANS_H

#include <stdint.h>

#include "base/status.h"

struct clf_audio;

/* Samples start .. end - 1 of a recording. */
struct clf__span {
    int64_t start, end;
};

/* A growable list; a zeroed list is empty. */
struct clf__spans {
    struct clf__span *data; /* (count) */
    int count, capacity;
};

clf_status clf__spans_add(struct clf__spans *spans, struct clf__span span);
void clf__spans_free(struct clf__spans *spans);

/* Returns the total length of spans in samples. */
int64_t clf__spans_length(const struct clf__span *spans, int count);

/* Returns the index of the span that contains a time of the joined spans, in seconds; the last span for a
 * later time. is_end: a time at the boundary of two spans is the end of the first span. */
int clf__spans_find(const struct clf__span *spans, int count, double seconds, int is_end);

/* Returns the time in the recording, in seconds rounded to hundredths, of a time of the joined spans that
 * span `index` contains. */
double clf__spans_time(const struct clf__span *spans, int index, double seconds);

/* Opens the joined spans, in this order, as a recording with the name of `source`. `source` and `spans` are
 * borrowed until the recording is freed; other reads of `source` are allowed in between. */
clf_status clf__audio_open_spans(struct clf_audio **out, struct clf_audio *source,
                                 const struct clf__span *spans, int count);

#endif
