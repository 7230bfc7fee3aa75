/* Encoded windows: the texts, languages and times that a transcriber finds, for any batch and length. */
#include <float.h>

#include "transcribe/detect.h"
#include "transcribe/encoded_windows.h"

enum { CUT = 1001 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_transcript, support_teardown),
        cmocka_unit_test_teardown(test_language, support_teardown),
        cmocka_unit_test_teardown(test_batches, support_teardown),
        cmocka_unit_test_teardown(test_logits, support_teardown),
        cmocka_unit_test_teardown(test_alignments, support_teardown),
        cmocka_unit_test_teardown(test_bad_arguments, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
