/* A recording, a model of random weights, and their transcripts. */
#ifndef CLF_TESTS_TRANSCRIBE_RECORDING_H
#define CLF_TESTS_TRANSCRIBE_RECORDING_H

#include <clformer/clformer.h>

#include <math.h>
#include <string.h>

#include "support/support.h"
#include "transcribe/internal.h"

enum { SECONDS = 41, COUNT = SECONDS * CLF_AUDIO_RATE };

static inline const char *tiny(void)
{
    return support_fixture("speech/tiny");
}

/* Changing tones, some noise, and silence at the end. */
static inline float *make_samples(int count)
{
    struct support_random random = {11};
    float *samples = support_array((size_t)count + 1, sizeof *samples);
    for (int i = 0; i < count - 3 * CLF_AUDIO_RATE; i++) {
        double t = (double)i / CLF_AUDIO_RATE;
        samples[i] =
            (float)(0.3 * sin(6.2832 * (200 + 50 * floor(t)) * t)) + 0.05F * support_uniform(&random);
    }
    return samples;
}

static inline struct clf_model *load_model(void)
{
    struct clf_model *model;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), tiny(), NULL));
    return model;
}

/* What the hooks of a transcription have received. */
struct heard {
    int segments, progress, asked, stop_at;
    double last, whole;
};

static inline void hear(const struct clf_segment *segment, void *user)
{
    struct heard *heard = user;
    assert_int_equal(segment->id, heard->segments);
    heard->segments++;
}

static inline void see(double seconds, double of, void *user)
{
    struct heard *heard = user;
    assert_true(seconds > heard->last && seconds <= of);
    heard->last = seconds;
    heard->whole = of;
    heard->progress++;
}

static inline int ask(void *user)
{
    struct heard *heard = user;
    heard->asked++;
    return heard->stop_at > 0 && heard->asked >= heard->stop_at;
}

/* Transcribes `count` samples with these options; the recording is one part. */
static inline clf_status transcribe(struct clf_transcript **out, struct clf_model *model,
                                    const struct clf_transcribe_options *options, const float *samples,
                                    int count)
{
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    assert_ok(clf_transcriber_create(&transcriber, model, options));
    assert_ok(clf_audio_open_samples(&audio, samples, (size_t)count));
    clf_status status = clf_transcribe(out, transcriber, audio);
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    return status;
}

static inline void assert_same(const struct clf_transcript *one, const struct clf_transcript *other)
{
    assert_int_equal(one->count, other->count);
    assert_string_equal(one->text, other->text);
    for (int i = 0; i < one->count; i++) {
        const struct clf_segment *a = &one->segments[i], *b = &other->segments[i];
        assert_true(a->seek == b->seek && a->start == b->start && a->end == b->end);
        assert_true(a->avg_logprob == b->avg_logprob && a->no_speech_prob == b->no_speech_prob);
        assert_true(a->temperature == b->temperature);
        assert_int_equal(a->token_count, b->token_count);
        for (int k = 0; k < a->token_count; k++) {
            assert_int_equal(a->tokens[k], b->tokens[k]);
        }
    }
}

static inline int is_other(const struct clf_transcript *one, const struct clf_transcript *other)
{
    return strcmp(one->text, other->text) != 0 || one->count != other->count || one->count == 0 ||
           one->segments[0].avg_logprob != other->segments[0].avg_logprob;
}

#endif
