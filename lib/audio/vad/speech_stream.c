#include "audio/vad/speech_stream.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"

struct clf__speech_stream {
    struct clf__detector *detector;
    struct clf__speech_rules rules;
    int64_t pad;                 /* samples on each side of speech */
    float chunk[CLF__VAD_CHUNK]; /* (filled) samples of an incomplete chunk */
    int filled;
    int64_t samples; /* added so far */
    int64_t first;   /* index of the first chunk of the detector and of `speech` */
    float *speech;   /* (count) probabilities of speech; the first `settled` never change again */
    int count, settled, capacity;
    int64_t open; /* start of the open span that was found last; INT64_MAX: none */
    int has_ended;
};

clf_status clf__speech_stream_create(struct clf__speech_stream **out, const struct clf__silero *network,
                                     const struct clf__speech_rules *rules)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->rules = *rules;
    (*out)->rules.speech_pad = 0; /* clf__speech_stream_find() adds it */
    (*out)->rules.max_speech = INFINITY;
    clf_status status = clf__detector_create(&(*out)->detector, network);
    if (status != CLF_OK) {
        clf__speech_stream_free(*out);
        *out = NULL;
        return status;
    }
    (*out)->open = INT64_MAX;
    (*out)->pad = (int64_t)rules->speech_pad;
    return CLF_OK;
}

void clf__speech_stream_free(struct clf__speech_stream *stream)
{
    if (stream != NULL) {
        clf__detector_free(stream->detector);
        clf__free(stream->speech);
        clf__free(stream);
    }
}

static clf_status add_chunk(struct clf__speech_stream *stream)
{
    memset(stream->chunk + stream->filled, 0,
           (size_t)(CLF__VAD_CHUNK - stream->filled) * sizeof *stream->chunk);
    stream->filled = 0;
    CLF__TRY(clf__grow(&stream->speech, stream->count, &stream->capacity, sizeof *stream->speech));
    stream->count++;
    return clf__detector_add(stream->detector, stream->chunk);
}

clf_status clf__speech_stream_add(struct clf__speech_stream *stream, const float *samples, size_t count)
{
    for (size_t at = 0; at < count;) {
        size_t taken = clf__min_size(count - at, (size_t)(CLF__VAD_CHUNK - stream->filled));
        memcpy(stream->chunk + stream->filled, samples + at, taken * sizeof *samples);
        stream->filled += (int)taken;
        stream->samples += (int64_t)taken;
        at += taken;
        if (stream->filled == CLF__VAD_CHUNK) {
            CLF__TRY(add_chunk(stream));
        }
    }
    return CLF_OK;
}

clf_status clf__speech_stream_end(struct clf__speech_stream *stream)
{
    stream->has_ended = 1;
    return stream->filled > 0 ? add_chunk(stream) : CLF_OK;
}

/* Forgets chunks before those that determine the loudness around sample `from`. */
static void forget(struct clf__speech_stream *stream, int64_t from)
{
    int64_t kept = from / CLF__VAD_CHUNK - CLF__DETECTOR_BEFORE;
    int count = (int)clf__max_int64(kept - stream->first, 0);
    if (count > 0) {
        clf__detector_forget(stream->detector, count);
        stream->first += count;
        stream->count -= count;
        stream->settled -= count;
        memmove(stream->speech, stream->speech + count, (size_t)stream->count * sizeof *stream->speech);
    }
}

/* Updates the probabilities of chunks that depend on later chunks. */
static clf_status update(struct clf__speech_stream *stream)
{
    float *speech;
    CLF__TRY(clf__allocate(&speech, (size_t)stream->count, sizeof *speech));
    clf_status status = clf__detector_probe(speech, stream->detector);
    int left = stream->count - stream->settled;
    if (status == CLF_OK && left > 0) {
        memcpy(stream->speech + stream->settled, speech + stream->settled, (size_t)left * sizeof *speech);
        stream->settled = clf__max_int(stream->settled, stream->count - CLF__DETECTOR_AFTER);
    }
    clf__free(speech);
    return status;
}

/* Extends a span on both sides, at most to `from`, the end of the stream and the middle of the silence before
 * the next span. */
static struct clf__span pad(const struct clf__speech_stream *stream, const struct clf__spans *found,
                            int64_t from)
{
    struct clf__span span = found->data[0];
    int64_t after = found->count > 1 ? (found->data[1].start - span.end) / 2 : stream->samples - span.end;
    span.start = clf__max_int64(span.start - stream->pad, from);
    span.end += clf__min_int64(stream->pad, clf__max_int64(after, 0));
    span.end = clf__min_int64(span.end, stream->samples);
    return span;
}

clf_status clf__speech_stream_find(struct clf__span *out, int *is_open, struct clf__speech_stream *stream,
                                   int64_t from)
{
    struct clf__spans found = {0};
    *out = (struct clf__span){from, from};
    *is_open = 0;
    CLF__TRY(update(stream));
    forget(stream, from);
    int64_t chunk = clf__max_int64((from + CLF__VAD_CHUNK - 1) / CLF__VAD_CHUNK, stream->first);
    int64_t offset = chunk * CLF__VAD_CHUNK, chunks = stream->first + stream->count - chunk;
    if (chunks <= 0) {
        return CLF_OK;
    }
    float *speech = stream->speech + (chunk - stream->first);
    if (from > stream->open) { /* speech was cut */
        speech[0] = 1;
    }
    clf_status status = clf__speech_find(&found, speech, chunks, chunks * CLF__VAD_CHUNK, &stream->rules);
    for (int i = 0; i < found.count; i++) {
        found.data[i].start += offset;
        found.data[i].end += offset;
    }
    if (status == CLF_OK && found.count > 0) {
        *is_open = !stream->has_ended && found.data[0].end == offset + chunks * CLF__VAD_CHUNK;
        *out = pad(stream, &found, from);
        out->end = *is_open ? stream->samples : out->end;
    }
    stream->open = *is_open ? out->start : INT64_MAX;
    clf__spans_free(&found);
    return status;
}
