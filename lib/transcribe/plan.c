#include "transcribe/plan.h"

#include <math.h>
#include <string.h>

#include "audio/vad/detector.h"
#include "audio/vad/speech.h"
#include "base/memory.h"
#include "base/minmax.h"

enum {
    CHUNKS_A_READ = 1024,         /* half a minute; the caller may interrupt between reads */
    CUT_FRAMES = 500,             /* windows are cut in their last 5 s */
    QUIET_CHUNKS = 5,             /* at the quietest 160 ms */
    SEQUENTIAL_SILENCE_MS = 2000, /* defaults of faster-whisper */
    BATCHED_SILENCE_MS = 160,
};

/* The properties of a recording that determine its plan. */
struct measured {
    float *energies; /* (chunks) mean squares */
    float *speech;   /* (chunks) probabilities; NULL: not needed */
    int chunks, capacity;
    int64_t samples;
};

static clf_status take_chunk(struct measured *measured, struct clf__detector *detector, float *samples,
                             int count)
{
    double sum = 0;
    CLF__TRY(
        clf__grow(&measured->energies, measured->chunks, &measured->capacity, sizeof *measured->energies));
    memset(samples + count, 0, (size_t)(CLF__VAD_CHUNK - count) * sizeof *samples);
    for (int i = 0; i < count; i++) {
        sum += (double)samples[i] * (double)samples[i];
    }
    measured->energies[measured->chunks++] = (float)(sum / CLF__VAD_CHUNK);
    return detector != NULL ? clf__detector_add(detector, samples) : CLF_OK;
}

static clf_status read_all(struct measured *measured, struct clf__detector *detector, struct clf_audio *audio,
                           float *samples, const struct clf_translate_options *hooks)
{
    size_t read = 0, wanted = (size_t)CHUNKS_A_READ * CLF__VAD_CHUNK;
    CLF__TRY(clf_audio_rewind(audio));
    do {
        CLF__TRY(clf__hooks_go_on(hooks));
        CLF__TRY(clf_audio_read(samples, &read, audio, wanted));
        for (size_t at = 0; at < read; at += CLF__VAD_CHUNK) {
            int count = (int)clf__min_size(read - at, CLF__VAD_CHUNK);
            CLF__TRY(take_chunk(measured, detector, samples + at, count));
        }
        measured->samples += (int64_t)read;
    } while (read == wanted);
    return detector != NULL ? clf__detector_finish(&measured->speech, detector) : CLF_OK;
}

static clf_status measure(struct measured *measured, const struct clf_transcriber *transcriber,
                          struct clf_audio *audio, const struct clf_translate_options *hooks)
{
    struct clf__detector *detector = NULL;
    float *samples;
    CLF__TRY(clf__allocate(&samples, (size_t)CHUNKS_A_READ * CLF__VAD_CHUNK, sizeof *samples));
    clf_status status =
        transcriber->options.vad ? clf__detector_create(&detector, transcriber->vad_network) : CLF_OK;
    if (status == CLF_OK) {
        status = read_all(measured, detector, audio, samples, hooks);
    }
    clf__detector_free(detector);
    clf__free(samples);
    return status;
}

/* The maximum duration of speech in seconds. */
static double most_speech(const struct clf_transcribe_options *options)
{
    /* Rounding to frames makes a span longer by up to two frames. */
    static const double window = (double)(CLF__WINDOW_FRAMES - 2) / CLF__FRAMES_A_SECOND;
    double most = options->vad_max_speech_duration_s, limit = options->batch_windows > 0 ? window : INFINITY;
    return most < limit ? most : limit; /* NaN: the limit */
}

struct clf__speech_rules clf__plan_speech_rules(const struct clf_transcribe_options *options,
                                                double silence_ms)
{
    enum { A_MILLISECOND = CLF_AUDIO_RATE / 1000 };
    static const double hysteresis = 0.15, least = 0.01;
    double silence = options->vad_min_silence_duration_ms;
    return (struct clf__speech_rules){
        .threshold = options->vad_threshold,
        .neg_threshold = isnan(options->vad_neg_threshold) ? fmax(options->vad_threshold - hysteresis, least)
                                                           : options->vad_neg_threshold,
        .min_speech = options->vad_min_speech_duration_ms * A_MILLISECOND,
        .min_silence = (isnan(silence) ? silence_ms : silence) * A_MILLISECOND,
        .speech_pad = options->vad_speech_pad_ms * A_MILLISECOND,
        .max_speech = most_speech(options) * CLF_AUDIO_RATE,
    };
}

clf_status clf__plan_check(const struct clf_transcribe_options *options)
{
    static const double most_ms = 600000;
    const struct {
        const char *name;
        double value, low, high;
    } ranges[] = {
        {"VAD threshold", options->vad_threshold, 0, 1},
        {"VAD negative threshold", options->vad_neg_threshold, 0, 1},
        {"VAD minimum speech in milliseconds", options->vad_min_speech_duration_ms, 0, most_ms},
        {"VAD minimum silence in milliseconds", options->vad_min_silence_duration_ms, 0, most_ms},
        {"VAD speech padding in milliseconds", options->vad_speech_pad_ms, 0, most_ms},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (!isnan(ranges[i].value) || i == 0) {
            CLF__TRY(clf__check_range(ranges[i].name, ranges[i].value, ranges[i].low, ranges[i].high));
        }
    }
    double most = most_speech(options), least = 1 + 2 * options->vad_speech_pad_ms / 1000;
    return most >= least ? CLF_OK
                         : clf__fail(CLF_BAD_ARGUMENT,
                                     "VAD maximum speech: %g seconds are too few with %g milliseconds of "
                                     "padding on each side; use at least %g seconds",
                                     most, options->vad_speech_pad_ms, least);
}

/* Returns the middle of the quietest chunks in samples `from` to `to`, rounded to whole frames; the last one
 * if several are equal. */
static int64_t find_quiet(const struct measured *measured, int64_t from, int64_t to)
{
    int64_t best = to;
    double least = INFINITY;
    for (int64_t chunk = from / CLF__VAD_CHUNK + 1; chunk + QUIET_CHUNKS <= to / CLF__VAD_CHUNK; chunk++) {
        double sum = 0;
        for (int k = 0; k < QUIET_CHUNKS; k++) {
            sum += (double)measured->energies[chunk + k];
        }
        if (sum <= least) {
            least = sum;
            best = chunk * CLF__VAD_CHUNK + QUIET_CHUNKS * CLF__VAD_CHUNK / 2;
        }
    }
    return best / CLF__FRAME_SAMPLES * CLF__FRAME_SAMPLES;
}

/* Adds a span to the last part if it fits there, otherwise to a new part. */
static clf_status add_span(struct clf__plan *plan, struct clf__span span, int64_t most)
{
    struct clf__part *last = plan->count > 0 ? &plan->parts[plan->count - 1] : NULL;
    CLF__TRY(clf__spans_add(&plan->spans, span));
    if (last != NULL && clf__spans_length(plan->spans.data + last->first, last->count + 1) <= most) {
        last->count++;
        return CLF_OK;
    }
    CLF__TRY(clf__grow(&plan->parts, plan->count, &plan->capacity, sizeof *plan->parts));
    plan->parts[plan->count++] = (struct clf__part){.first = plan->spans.count - 1, .count = 1};
    return CLF_OK;
}

/* Adds a span to the plan, cut into windows if they are decoded side by side. */
static clf_status add(struct clf__plan *plan, const struct clf_transcribe_options *options,
                      const struct measured *measured, struct clf__span span)
{
    int64_t window = options->batch_windows > 0 ? CLF__WINDOW_SAMPLES : INT64_MAX;
    int64_t room = options->vad ? window : 0; /* only spans of speech share a part */
    while (span.end - span.start > window) {
        int64_t last = span.start + window;
        int64_t cut = find_quiet(measured, last - (int64_t)CUT_FRAMES * CLF__FRAME_SAMPLES, last);
        CLF__TRY(add_span(plan, (struct clf__span){span.start, cut}, room));
        span.start = cut;
    }
    return span.end > span.start ? add_span(plan, span, room) : CLF_OK;
}

/* Adds the speech in a range of the recording, or the range if `speech` is NULL. */
static clf_status add_range(struct clf__plan *plan, const struct clf_transcribe_options *options,
                            const struct measured *measured, const struct clf__spans *speech,
                            struct clf__span range)
{
    if (speech == NULL) {
        return add(plan, options, measured, range);
    }
    int64_t start = range.start;
    for (int i = 0; i < speech->count; i++) {
        int64_t from = speech->data[i].start / CLF__FRAME_SAMPLES * CLF__FRAME_SAMPLES;
        int64_t to = (speech->data[i].end + CLF__FRAME_SAMPLES - 1) / CLF__FRAME_SAMPLES * CLF__FRAME_SAMPLES;
        from = clf__max_int64(from, start);
        to = clf__min_int64(to, range.end);
        if (to > from) {
            CLF__TRY(add(plan, options, measured, (struct clf__span){from, to}));
            start = to; /* rounded to frames, spans may overlap */
        }
    }
    return CLF_OK;
}

/* Returns a clip in samples. */
static struct clf__span clip_of(const struct clf_transcribe_options *options, int index, int64_t end)
{
    int has_end = index + 1 < options->clip_count;
    int64_t from = llrint(options->clips[index] * CLF__FRAMES_A_SECOND) * CLF__FRAME_SAMPLES;
    int64_t to =
        has_end ? llrint(options->clips[index + 1] * CLF__FRAMES_A_SECOND) * CLF__FRAME_SAMPLES : end;
    return (struct clf__span){from, clf__min_int64(to, end)};
}

static clf_status plan_ranges(struct clf__plan *plan, const struct clf_transcribe_options *options,
                              const struct measured *measured, const struct clf__spans *speech)
{
    int64_t end = plan->frames * CLF__FRAME_SAMPLES;
    CLF__TRY(options->clip_count == 0 ? add_range(plan, options, measured, speech, (struct clf__span){0, end})
                                      : CLF_OK);
    for (int i = 0; i < options->clip_count; i += 2) {
        CLF__TRY(add_range(plan, options, measured, speech, clip_of(options, i, end)));
    }
    if (plan->count > 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__grow(&plan->parts, plan->count, &plan->capacity, sizeof *plan->parts));
    plan->parts[plan->count++] = (struct clf__part){0}; /* detects the language of silence */
    return CLF_OK;
}

clf_status clf__plan_make(struct clf__plan *out, const struct clf_transcriber *transcriber,
                          struct clf_audio *audio, const struct clf_translate_options *hooks)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    struct measured measured = {0};
    struct clf__spans speech = {0};
    *out = (struct clf__plan){0};
    clf_status status = measure(&measured, transcriber, audio, hooks);
    out->frames = measured.samples / CLF__FRAME_SAMPLES;
    if (status == CLF_OK && options->vad) {
        struct clf__speech_rules rules = clf__plan_speech_rules(
            options, options->batch_windows > 0 ? BATCHED_SILENCE_MS : SEQUENTIAL_SILENCE_MS);
        status = clf__speech_find(&speech, measured.speech, measured.chunks, measured.samples, &rules);
    }
    if (status == CLF_OK) {
        status = plan_ranges(out, options, &measured, options->vad ? &speech : NULL);
    }
    clf__spans_free(&speech);
    clf__free(measured.energies);
    clf__free(measured.speech);
    return status;
}

void clf__plan_free(struct clf__plan *plan)
{
    clf__spans_free(&plan->spans);
    clf__free(plan->parts);
    *plan = (struct clf__plan){0};
}
