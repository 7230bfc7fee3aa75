/* Encoded windows of a recording, and generated texts. */
#ifndef CLF_TESTS_TRANSCRIBE_ENCODED_WINDOWS_H
#define CLF_TESTS_TRANSCRIBE_ENCODED_WINDOWS_H

#include "base/memory.h"
#include "engine/engine.h"
#include "support/threads.h"
#include "transcribe/encoded.h"
#include "transcribe/recording.h"

enum { BANDS = 80, FRAMES = 3000, WINDOWS = 3, LONGEST = 48 };

static inline struct clf_engine *make_engine(struct clf_model *model, int slots)
{
    struct clf_engine *engine;
    struct clf_engine_options options;
    clf_engine_options_init(&options);
    options.batch_windows = slots;
    assert_ok(clf_engine_create(&engine, &model, 1, &options));
    return engine;
}

/* Computes the features of `count` windows of a recording as the transcriber does: (count, BANDS, FRAMES). */
static inline float *make_features(const struct clf_model *model, float *samples, int count)
{
    struct clf__window_maker *maker;
    struct clf__arena arena;
    struct clf__tensor frames;
    float *rows = support_array((size_t)FRAMES * BANDS, sizeof *rows), peak;
    float *features = support_array((size_t)count * FRAMES * BANDS, sizeof *features);
    assert_ok(clf__window_maker_create(&maker, model->transformer->device, BANDS));
    clf__arena_init(&arena, model->transformer->device);
    assert_ok(clf__arena_reserve(&arena, &frames, CLF__F32, FRAMES, BANDS, "frames"));
    assert_ok(clf__arena_allocate(&arena));
    for (int i = 0; i < count; i++) {
        struct clf__audio_windows windows = {.samples = NULL};
        struct clf__window_samples window;
        struct clf_audio *audio;
        assert_ok(clf_audio_open_samples(&audio, samples + (size_t)i * CLF_AUDIO_RATE, CLF__WINDOW_SAMPLES));
        assert_ok(clf__audio_windows_begin(&windows, audio));
        assert_ok(clf__audio_windows_read(&window, &windows, 0));
        assert_ok(clf__window_maker_measure(&peak, maker, &window));
        assert_ok(clf__window_maker_fill(maker, frames, &window, FRAMES, peak));
        assert_ok(clf__tensor_read(frames, rows));
        for (size_t t = 0; t < FRAMES; t++) {
            for (size_t band = 0; band < BANDS; band++) {
                features[((size_t)i * BANDS + band) * FRAMES + t] = rows[t * BANDS + band];
            }
        }
        clf__free(windows.samples);
        clf_audio_free(audio);
    }
    clf__arena_free(&arena);
    clf__window_maker_free(maker);
    return features;
}

static inline float *make_window_samples(void)
{
    return make_samples(CLF__CHUNK_SAMPLES + WINDOWS * CLF_AUDIO_RATE);
}

/* A prompt in Portuguese. */
static inline struct clf__speech_tokens tokens_of(const struct clf_model *model)
{
    struct clf__speech_tokens tokens;
    assert_ok(clf__speech_tokens_find(&tokens, model->tokenizer, model->folder));
    return tokens;
}

static inline void assert_same_results(const struct clf_window_result *one,
                                       const struct clf_window_result *other, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(one[i].count, other[i].count);
        assert_true(one[i].no_speech_probability == other[i].no_speech_probability);
        for (int k = 0; k < one[i].count; k++) {
            const struct clf_window_text *a = &one[i].texts[k], *b = &other[i].texts[k];
            assert_int_equal(a->count, b->count);
            assert_memory_equal(a->ids, b->ids, (size_t)a->count * sizeof *a->ids);
            assert_true(a->score == b->score && a->log_probability == b->log_probability);
        }
    }
}

static int wants_logits; /* of generate() */

/* A call with all options that change a search. */
static inline clf_status generate(struct clf_window_result **out, struct clf_windows *windows,
                                  const struct clf__speech_tokens *tokens, int count, int is_drawn)
{
    struct clf_window_options options;
    int32_t prompt[] = {tokens->start_of_previous, 60, 61, tokens->start, tokens->start + 1,
                        tokens->transcribe,        70};
    struct clf_ids prompts[WINDOWS];
    const int32_t suppressed[] = {9, 3};
    clf_window_options_init(&options);
    options.beam = is_drawn ? 1 : 3;
    options.n_best = 3;
    options.max_length = LONGEST;
    options.repetition_penalty = 1.2;
    options.no_repeat_ngram_size = 3;
    options.temperature = is_drawn ? 0.8 : 0;
    options.top_k = is_drawn ? 50 : 0;
    options.suppressed = suppressed;
    options.suppressed_count = 2;
    options.wants_no_speech = 1;
    options.wants_logits = wants_logits;
    for (int i = 0; i < count; i++) {
        prompts[i] = (struct clf_ids){prompt, 6 + i % 2};
    }
    return clf_windows_generate(out, windows, prompts, &options);
}

#endif
