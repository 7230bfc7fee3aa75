/* Encoded windows: the texts, languages and times that a transcriber finds, for any batch, length and device
 * memory. */
#include <float.h>
#include <pthread.h>

#include "base/memory.h"
#include "engine/engine.h"
#include "support/threads.h"
#include "transcribe/detect.h"
#include "transcribe/encoded.h"
#include "transcribe/recording.h"

enum { BANDS = 80, FRAMES = 3000, WINDOWS = 3, CUT = 1001, LONGEST = 48 };

static struct clf_engine *make_engine(struct clf_model *model, int slots)
{
    struct clf_engine *engine;
    struct clf_engine_options options;
    clf_engine_options_init(&options);
    options.batch_windows = slots;
    assert_ok(clf_engine_create(&engine, &model, 1, &options));
    return engine;
}

/* Computes the features of `count` windows of a recording as the transcriber does: (count, BANDS, FRAMES). */
static float *make_features(const struct clf_model *model, float *samples, int count)
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

static float *make_window_samples(void)
{
    return make_samples(CLF__CHUNK_SAMPLES + WINDOWS * CLF_AUDIO_RATE);
}

/* A prompt in Portuguese. */
static struct clf__speech_tokens tokens_of(const struct clf_model *model)
{
    struct clf__speech_tokens tokens;
    assert_ok(clf__speech_tokens_find(&tokens, model->tokenizer, model->folder));
    return tokens;
}

static void assert_same_results(const struct clf_window_result *one, const struct clf_window_result *other,
                                int count)
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

/* Greedy search gives the tokens and values of a transcript of one window. */
static void test_transcript(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 1);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *samples = make_window_samples();
    struct clf_transcribe_options options;
    struct clf_transcript *transcript;
    const int32_t suppressed[] = {1, 2, 40};
    const double zero = 0;
    clf_transcribe_options_init(&options);
    options.beam = 1;
    options.language = "pt";
    options.suppressed = suppressed;
    options.suppressed_count = 3;
    options.temperatures = &zero;
    options.temperature_count = 1;
    options.no_speech_threshold = options.compression_ratio_threshold = NAN;
    assert_ok(transcribe(&transcript, model, &options, samples, 30 * CLF_AUDIO_RATE));
    float *features = make_features(model, samples, 1);
    struct clf_windows *windows;
    assert_ok(clf_windows_encode(&windows, engine, features, 1, BANDS, FRAMES));
    struct clf_window_options own;
    clf_window_options_init(&own);
    int32_t bans[16], first[2] = {tokens.end, 0},
                      prompt[3] = {tokens.start, tokens.start + 2, tokens.transcribe};
    memcpy(bans, suppressed, sizeof suppressed);
    const int32_t special[] = {tokens.transcribe,  tokens.translate,         tokens.start,
                               tokens.start_of_lm, tokens.start_of_previous, tokens.no_speech};
    memcpy(bans + 3, special, sizeof special);
    struct clf__ids space = {.count = 0};
    assert_ok(clf__speech_encode(&space, model->tokenizer, " "));
    first[1] = space.data[0];
    own.beam = 1;
    own.suppressed = bans;
    own.suppressed_count = 9;
    own.suppressed_first = first;
    own.suppressed_first_count = 2;
    own.wants_no_speech = 1;
    struct clf_window_result *result;
    assert_ok(clf_windows_generate(&result, windows, &(struct clf_ids){prompt, 3}, &own));
    assert_int_equal(result->count, 1);
    const struct clf_window_text *text = &result->texts[0];
    const struct clf_segment *segments = transcript->segments;
    int at = 0;
    for (int i = 0; i < transcript->count && segments[i].seek == 0; i++) {
        for (int k = 0; k < segments[i].token_count; k++) {
            assert_int_equal(text->ids[at++], segments[i].tokens[k]);
        }
    }
    assert_true(at > 0 && at <= text->count);
    assert_true(result->no_speech_probability == segments[0].no_speech_prob);
    assert_true(text->log_probability / (text->count + 1) == segments[0].avg_logprob);
    clf__ids_free(&space);
    clf_window_results_free(result, 1);
    clf_windows_free(windows);
    clf_transcript_free(transcript);
    clf_engine_free(engine);
    clf_model_free(model);
}

/* The most probable language is the one that a transcriber detects. */
static void test_language(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 1);
    float *samples = make_window_samples();
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    char *code;
    double probability;
    assert_ok(clf_transcriber_create(&transcriber, model, NULL));
    assert_ok(clf_audio_open_samples(&audio, samples, 30 * CLF_AUDIO_RATE));
    assert_ok(clf__transcriber_detect(&code, &probability, transcriber, audio));
    struct clf__speech_tokens tokens = tokens_of(model);
    struct clf_windows *windows;
    assert_ok(clf_windows_encode(&windows, engine, make_features(model, samples, 1), 1, BANDS, FRAMES));
    int32_t ids[] = {tokens.start + 1, tokens.start + 2, tokens.start + 3};
    float found[3];
    assert_ok(clf_windows_languages(found, windows, ids, 3));
    int best = 0;
    for (int i = 1; i < 3; i++) {
        best = found[i] > found[best] ? i : best;
    }
    assert_int_equal(clf__speech_language_id(&tokens, model->tokenizer, code), ids[best]);
    assert_true(fabs((double)found[best] - probability) < 1e-5);
    assert_true(fabs((double)(found[0] + found[1] + found[2]) - 1) < 1e-5);
    assert_fails(clf_windows_languages(found, windows, ids, 0), CLF_BAD_ARGUMENT, "languages");
    clf_string_free(code);
    clf_windows_free(windows);
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    clf_engine_free(engine);
    clf_model_free(model);
}

static int wants_logits; /* of generate() */

/* A call with all options that change a search. */
static clf_status generate(struct clf_window_result **out, struct clf_windows *windows,
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

/* Windows of a batch, and copies of their encoded rows, give the results of each window alone. */
static void test_batches(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *few = make_engine(model, 1), *all = make_engine(model, WINDOWS);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), WINDOWS);
    struct clf_windows *one, *other, *copied;
    int count, positions, width;
    assert_ok(clf_windows_encode(&one, few, features, WINDOWS, BANDS, FRAMES));
    assert_ok(clf_windows_encode(&other, all, features, WINDOWS, BANDS, FRAMES));
    clf_windows_shape(&count, &positions, &width, one);
    assert_int_equal(count, WINDOWS);
    assert_int_equal(positions, FRAMES / 2);
    size_t size = (size_t)count * (size_t)positions * (size_t)width;
    float *rows = support_array(size, sizeof *rows), *other_rows = support_array(size, sizeof *rows);
    assert_ok(clf_windows_read(rows, one));
    assert_ok(clf_windows_read(other_rows, other));
    assert_memory_equal(rows, other_rows, size * sizeof *rows);
    assert_ok(clf_windows_from_host(&copied, all, rows, count, positions, width));
    for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
        struct clf_window_result *results[3];
        assert_ok(generate(&results[0], one, &tokens, count, is_drawn));
        assert_ok(generate(&results[1], other, &tokens, count, is_drawn));
        assert_ok(generate(&results[2], copied, &tokens, count, is_drawn));
        assert_same_results(results[0], results[1], count);
        assert_same_results(results[0], results[2], count);
        for (int i = 0; i < 3; i++) {
            clf_window_results_free(results[i], count);
        }
    }
    clf_windows_free(one);
    clf_windows_free(other);
    clf_windows_free(copied);
    clf_engine_free(few);
    clf_engine_free(all);
    clf_model_free(model);
}

/* Checks the logits of a text: the token has the log-probability that the search has added, and suppressed
 * tokens are banned. */
static void check_logits(const struct clf_window_text *text, int prefix, int vocabulary)
{
    double sum = 0;
    assert_in_range(text->logit_count, text->count, text->count + 1);
    for (int i = 0; i < text->logit_count; i++) {
        const float *logits = text->logits + (size_t)i * (size_t)vocabulary;
        double total = 0;
        for (int id = 0; id < vocabulary; id++) {
            total += exp((double)logits[id]);
        }
        assert_true(logits[3] == -FLT_MAX && logits[9] == -FLT_MAX);
        /* Of the end token, which the text omits, only the probability is known: it is what is left. */
        if (i >= prefix && i < text->count) {
            sum += (double)logits[text->ids[i]] - log(total);
        }
    }
    assert_true(text->logit_count > text->count ? sum > text->log_probability
                                                : fabs(sum - text->log_probability) < 1e-3);
}

/* Logits of beams and of samples agree with the probabilities of their texts. */
static void test_logits(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 2);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), 2);
    struct clf_windows *windows;
    assert_ok(clf_windows_encode(&windows, engine, features, 2, BANDS, FRAMES));
    for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
        struct clf_window_result *plain, *results;
        assert_ok(generate(&plain, windows, &tokens, 2, is_drawn));
        assert_null(plain[0].texts[0].logits);
        wants_logits = 1;
        assert_ok(generate(&results, windows, &tokens, 2, is_drawn));
        wants_logits = 0;
        assert_same_results(plain, results, 2);
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < results[i].count; k++) {
                check_logits(&results[i].texts[k], i % 2, clf__windows_config(windows)->target_vocabulary);
            }
        }
        clf_window_results_free(plain, 2);
        clf_window_results_free(results, 2);
    }
    clf_windows_free(windows);
    clf_engine_free(engine);
    clf_model_free(model);
}

static void check_path(const struct clf_window_alignment *alignment, int tokens, int positions)
{
    assert_true(alignment->tokens[0] == 0 && alignment->positions[0] == 0);
    assert_int_equal(alignment->tokens[alignment->count - 1], tokens);
    assert_int_equal(alignment->positions[alignment->count - 1], positions - 1);
    for (int i = 1; i < alignment->count; i++) {
        int down = alignment->tokens[i] - alignment->tokens[i - 1];
        int right = alignment->positions[i] - alignment->positions[i - 1];
        assert_true(down >= 0 && down <= 1 && right >= 0 && right <= 1 && down + right > 0);
    }
}

/* Paths are monotonic, also in windows shorter than 30 s, in a batch with long ones. */
static void test_alignments(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 2);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), 1);
    float *cut = support_array((size_t)BANDS * CUT, sizeof *cut);
    for (size_t band = 0; band < BANDS; band++) {
        memcpy(cut + band * CUT, features + band * FRAMES, CUT * sizeof *cut);
    }
    struct clf_windows *whole, *part;
    assert_ok(clf_windows_encode(&whole, engine, features, 1, BANDS, FRAMES));
    assert_ok(clf_windows_encode(&part, engine, cut, 1, BANDS, CUT));
    int count, positions, width;
    clf_windows_shape(&count, &positions, &width, part);
    assert_int_equal(positions, (CUT + 1) / 2);
    const int32_t start[] = {tokens.start, tokens.start + 1, tokens.transcribe}, text[] = {40, 41, 50, 60};
    const struct clf_ids before = {start, 3};
    for (int n = 0; n <= 4; n += 2) {
        struct clf_window_alignment *alignment;
        assert_ok(
            clf_windows_align(&alignment, whole, &before, &(struct clf_ids){text, n}, (const int[]){700}, 7));
        check_path(alignment, n, 350);
        assert_int_equal(alignment->probability_count, n);
        clf_window_alignments_free(alignment, 1);
        assert_ok(
            clf_windows_align(&alignment, part, &before, &(struct clf_ids){text, n}, (const int[]){9999}, 4));
        check_path(alignment, n, positions);
        clf_window_alignments_free(alignment, 1);
        assert_ok(
            clf_windows_align(&alignment, part, &before, &(struct clf_ids){text, n}, (const int[]){1}, 1));
        assert_int_equal(alignment->count, 0);
        assert_int_equal(alignment->probability_count, n);
        clf_window_alignments_free(alignment, 1);
    }
    struct clf_window_alignment *none;
    assert_fails(clf_windows_align(&none, whole, &before, &(struct clf_ids){text, 4}, (const int[]){700}, 0),
                 CLF_BAD_ARGUMENT, "median width");
    assert_fails(clf_windows_align(&none, whole, &before, &(struct clf_ids){text, 4}, (const int[]){-1}, 7),
                 CLF_BAD_ARGUMENT, "negative");
    clf_windows_free(whole);
    clf_windows_free(part);
    clf_engine_free(engine);
    clf_model_free(model);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 1);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = support_array((size_t)BANDS * FRAMES, sizeof *features);
    struct clf_windows *windows;
    assert_fails(clf_windows_encode(&windows, NULL, features, 1, BANDS, 10), CLF_BAD_ARGUMENT, "engine");
    assert_fails(clf_windows_encode(&windows, engine, NULL, 1, BANDS, 10), CLF_BAD_ARGUMENT, "NULL");
    assert_fails(clf_windows_encode(&windows, engine, features, 0, BANDS, 10), CLF_BAD_ARGUMENT,
                 "windows: 0");
    assert_fails(clf_windows_encode(&windows, engine, features, 1, 79, 10), CLF_BAD_ARGUMENT, "79 mel bands");
    assert_fails(clf_windows_encode(&windows, engine, features, 1, BANDS, 3001), CLF_BAD_ARGUMENT,
                 "frames: 3001");
    assert_fails(clf_windows_from_host(&windows, engine, features, 1, 1501, 8), CLF_BAD_ARGUMENT,
                 "positions");
    assert_fails(clf_windows_from_host(&windows, engine, features, 1, 10, 9), CLF_BAD_ARGUMENT, "width 9");
    assert_ok(clf_windows_from_host(&windows, engine, features, 1, 10, 8));
    clf_engine_free(engine); /* is in use */
    const int32_t start[] = {tokens.start};
    const struct clf_ids prompt = {start, 1};
    static const struct {
        int beam, n_best, ngram, length;
        double patience, temperature, penalty;
        const char *message;
    } cases[] = {
        {0, 1, 0, 9, 1, 0, 1, "beam"},     {65, 1, 0, 9, 1, 0, 1, "beam"},
        {2, 3, 0, 9, 1, 0, 1, "n best"},   {1, 2, 0, 9, 4, 0, 1, "n best"},
        {1, 1, -1, 9, 1, 0, 1, "n-gram"},  {1, 1, 0, 1, 1, 0, 1, "maximum length"},
        {1, 1, 0, 9, 0, 0, 1, "patience"}, {1, 1, 0, 9, 1, -1, 1, "temperature"},
        {2, 1, 0, 9, 1, 1, 1, "samples"},  {1, 1, 0, 9, 1, 0, 0, "repetition"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_window_options options;
        struct clf_window_result *result;
        clf_window_options_init(&options);
        options.beam = cases[i].beam;
        options.n_best = cases[i].n_best;
        options.no_repeat_ngram_size = cases[i].ngram;
        options.max_length = cases[i].length;
        options.patience = cases[i].patience;
        options.temperature = cases[i].temperature;
        options.repetition_penalty = cases[i].penalty;
        assert_fails(clf_windows_generate(&result, windows, &prompt, &options), CLF_BAD_ARGUMENT,
                     cases[i].message);
    }
    struct clf_window_result *result;
    assert_fails(clf_windows_generate(&result, windows, &(struct clf_ids){(const int32_t[]){5}, 1}, NULL),
                 CLF_BAD_ARGUMENT, "no start token");
    assert_fails(clf_windows_generate(&result, windows, &(struct clf_ids){(const int32_t[]){99999}, 1}, NULL),
                 CLF_BAD_ARGUMENT, "outside the vocabulary");
    clf_windows_free(windows);
    clf_windows_free(NULL);
    clf_engine_free(engine);
    clf_model_free(model);
}

/* Threads that encode, generate and detect at the same time. */
struct caller {
    struct clf_engine *engine;
    const struct clf__speech_tokens *tokens;
    const float *features;
    const struct clf_window_result *expected;
    int is_equal;
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    struct clf_windows *windows = NULL;
    struct clf_window_result *result = NULL;
    const int32_t ids[] = {caller->tokens->start + 1, caller->tokens->start + 2};
    float found[2];
    caller->is_equal =
        clf_windows_encode(&windows, caller->engine, caller->features, 1, BANDS, FRAMES) == CLF_OK &&
        clf_windows_languages(found, windows, ids, 2) == CLF_OK &&
        generate(&result, windows, caller->tokens, 1, 0) == CLF_OK &&
        result->texts[0].score == caller->expected->texts[0].score;
    clf_window_results_free(result, 1);
    clf_windows_free(windows);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { CALLERS = 4 };
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 2);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), 1);
    struct clf_windows *windows;
    struct clf_window_result *expected;
    assert_ok(clf_windows_encode(&windows, engine, features, 1, BANDS, FRAMES));
    assert_ok(generate(&expected, windows, &tokens, 1, 0));
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){engine, &tokens, features, expected, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(callers[i].is_equal);
    }
    clf_window_results_free(expected, 1);
    clf_windows_free(windows);
    clf_engine_free(engine);
    clf_model_free(model);
}

/* Windows that one device has encoded are decoded on another one. */
static void test_devices(void **state)
{
    (void)state;
    struct clf_model *models[2] = {load_model(), NULL};
    struct clf_device *device;
    struct clf_engine *one = make_engine(models[0], 1), *both;
    struct clf__speech_tokens tokens = tokens_of(models[0]);
    float *features = make_features(models[0], make_window_samples(), WINDOWS);
    struct clf_windows *windows, *other;
    struct clf_window_result *expected, *found;
    struct clf_engine_options options;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_ok(clf_model_load(&models[1], device, tiny(), NULL));
    clf_engine_options_init(&options);
    options.batch_windows = 1;
    assert_ok(clf_engine_create(&both, models, 2, &options));
    assert_ok(clf_windows_encode(&windows, one, features, WINDOWS, BANDS, FRAMES));
    assert_ok(generate(&expected, windows, &tokens, WINDOWS, 0));
    assert_ok(clf_windows_encode(&other, both, features, WINDOWS, BANDS, FRAMES));
    for (int i = 0; i < 2; i++) {
        assert_ok(generate(&found, other, &tokens, WINDOWS, 0));
        assert_same_results(expected, found, WINDOWS);
        clf_window_results_free(found, WINDOWS);
    }
    /* Each window is on the first device, so that the second one reads it through the host. */
    size_t size = (size_t)WINDOWS * (FRAMES / 2) * 8;
    float *rows = support_array(size, sizeof *rows);
    assert_ok(clf_windows_read(rows, windows));
    clf_windows_free(other);
    assert_ok(clf_windows_from_host(&other, both, rows, WINDOWS, FRAMES / 2, 8));
    assert_ok(generate(&found, other, &tokens, WINDOWS, 0));
    assert_same_results(expected, found, WINDOWS);
    clf_window_results_free(found, WINDOWS);
    clf_window_results_free(expected, WINDOWS);
    clf_windows_free(windows);
    clf_windows_free(other);
    clf_engine_free(one);
    clf_engine_free(both);
    clf_model_free(models[0]);
    clf_model_free(models[1]);
    clf_device_close(device);
}

/* Every allocation may fail, and the call can be repeated. */
static void test_no_memory(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 1);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), 1);
    const int32_t start[] = {tokens.start}, text[] = {40, 41};
    uint64_t step = support_small() ? 5 : 1, failures = 0;
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n += step, failures++) {
        struct clf_windows *windows = NULL;
        struct clf_window_result *result = NULL;
        struct clf_window_alignment *alignment = NULL;
        clf__memory_fail_at(n);
        status = clf_windows_encode(&windows, engine, features, 1, BANDS, FRAMES);
        status = status == CLF_OK ? generate(&result, windows, &tokens, 1, 0) : status;
        status = status == CLF_OK ? clf_windows_align(&alignment, windows, &(struct clf_ids){start, 1},
                                                      &(struct clf_ids){text, 2}, (const int[]){50}, 7)
                                  : status;
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        clf_window_alignments_free(alignment, 1);
        clf_window_results_free(result, 1);
        clf_windows_free(windows);
    }
    assert_true(failures * step > 30);
    clf_engine_free(engine);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_transcript, support_teardown),
        cmocka_unit_test_teardown(test_language, support_teardown),
        cmocka_unit_test_teardown(test_batches, support_teardown),
        cmocka_unit_test_teardown(test_logits, support_teardown),
        cmocka_unit_test_teardown(test_alignments, support_teardown),
        cmocka_unit_test_teardown(test_bad_arguments, support_teardown),
        cmocka_unit_test_teardown(test_threads, support_teardown),
        cmocka_unit_test_teardown(test_devices, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
