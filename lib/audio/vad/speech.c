#include "audio/vad/speech.h"

#include "base/minmax.h"

/* PAUSE: a span that reaches the maximum length ends at its last silence longer than 98 ms. */
enum { NONE = -1, PAUSE = 1568 };

/* Positions in samples; NONE: no position. */
struct finder {
    const struct clf__speech_rules *rules;
    struct clf__spans *spans;
    int64_t start;   /* start of the current span */
    int64_t silence; /* start of the current silence in the span */
    int64_t pause;   /* start of the last pause in the span */
    int64_t resumed; /* start of speech after that pause */
};

static void reset(struct finder *finder, int64_t start)
{
    finder->start = start;
    finder->silence = finder->pause = finder->resumed = NONE;
}

static clf_status add(struct finder *finder, int64_t end)
{
    return clf__spans_add(finder->spans, (struct clf__span){finder->start, end});
}

/* Ends a span that has become too long, at its last pause or here. Sets *is_over to 1 if no other rule
 * applies to the chunk. */
static clf_status limit(struct finder *finder, int64_t at, int *is_over)
{
    const struct clf__speech_rules *rules = finder->rules;
    int64_t pause = finder->pause, resumed = finder->resumed;
    double length = (double)(at - finder->start);
    *is_over = 0;
    if (!(length > rules->max_speech - CLF__VAD_CHUNK - 2 * rules->speech_pad)) {
        return CLF_OK;
    }
    CLF__TRY(add(finder, pause != NONE ? pause : at));
    *is_over = pause == NONE;
    reset(finder, pause != NONE && resumed > pause ? resumed : NONE);
    return CLF_OK;
}

/* Processes a chunk of silence at sample `at`. */
static clf_status be_silent(struct finder *finder, int64_t at)
{
    const struct clf__speech_rules *rules = finder->rules;
    finder->silence = finder->silence != NONE ? finder->silence : at;
    int64_t length = at - finder->silence;
    if (length > PAUSE) {
        finder->pause = finder->silence;
    }
    if ((double)length < rules->min_silence) {
        return CLF_OK;
    }
    if ((double)(finder->silence - finder->start) > rules->min_speech) {
        CLF__TRY(add(finder, finder->silence));
    }
    reset(finder, NONE);
    return CLF_OK;
}

static clf_status take(struct finder *finder, int64_t at, double probability)
{
    int is_speech = probability >= finder->rules->threshold, is_over = 0;
    if (is_speech && finder->silence != NONE) {
        finder->silence = NONE;
        finder->resumed = finder->resumed < finder->pause ? at : finder->resumed;
    }
    if (is_speech && finder->start == NONE) {
        finder->start = at;
        return CLF_OK;
    }
    CLF__TRY(finder->start != NONE ? limit(finder, at, &is_over) : CLF_OK);
    return finder->start != NONE && !is_over && probability < finder->rules->neg_threshold
               ? be_silent(finder, at)
               : CLF_OK;
}

/* Extends spans on both sides, at most to the middle of the silence between two spans. */
static void pad(struct clf__span *spans, int count, int64_t samples, double speech_pad)
{
    for (int i = 0; i < count; i++) {
        int64_t gap = i + 1 < count ? spans[i + 1].start - spans[i].end : samples;
        int is_narrow = i + 1 < count && (double)gap < 2 * speech_pad;
        double room = is_narrow ? (double)(gap / 2) : speech_pad;
        if (i == 0) {
            spans[0].start = clf__max_int64((int64_t)((double)spans[0].start - speech_pad), 0);
        }
        spans[i].end = clf__min_int64((int64_t)((double)spans[i].end + room), samples);
        if (i + 1 < count) {
            spans[i + 1].start = clf__max_int64((int64_t)((double)spans[i + 1].start - room), 0);
        }
    }
}

clf_status clf__speech_find(struct clf__spans *out, const float *probabilities, int64_t chunks,
                            int64_t samples, const struct clf__speech_rules *rules)
{
    struct finder finder = {.rules = rules, .spans = out};
    int first = out->count;
    reset(&finder, NONE);
    for (int64_t i = 0; i < chunks; i++) {
        CLF__TRY(take(&finder, i * CLF__VAD_CHUNK, (double)probabilities[i]));
    }
    if (finder.start != NONE && (double)(samples - finder.start) > rules->min_speech) {
        CLF__TRY(add(&finder, samples));
    }
    if (out->count > first) {
        pad(out->data + first, out->count - first, samples, rules->speech_pad);
    }
    return CLF_OK;
}
