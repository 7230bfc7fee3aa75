/* One translator over several devices: lines and scores equal one device's bit for bit, whichever device
 * translates them; failing devices; callbacks. The device under test is opened several times. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "engine/internal.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"
#include "support/threads.h"
#include "translate/internal.h"

enum { LINES = 24, MOST = 3, WORDS = 9 };

static struct clf_device *devices[MOST];
static struct clf_model *models[MOST];
static char texts[LINES][128];
static struct clf_line lines[LINES], targets[LINES];

static int open_all(void **state)
{
    (void)state;
    struct support_random random = {3};
    for (int i = 0; i < MOST; i++) {
        assert_ok(clf_device_open(&devices[i], NULL, NULL));
        assert_ok(clf_model_load(&models[i], devices[i], support_fixture("models/marian"), NULL));
    }
    for (int i = 0; i < LINES; i++) {
        int words = i == 5 ? 0 : 1 + support_integer(&random, WORDS);
        for (int w = 0; w < words; w++) {
            size_t used = strlen(texts[i]);
            snprintf(texts[i] + used, sizeof texts[i] - used, "%sw%d", w > 0 ? " " : "",
                     2 + support_integer(&random, 12));
        }
        lines[i] = (struct clf_line){texts[i], strlen(texts[i])};
        targets[LINES - 1 - i] = lines[i];
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++) {
        clf_model_free(models[i]);
        clf_device_close(devices[i]);
    }
    return 0;
}

static struct clf_translate_options usual(void)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, models[0]);
    options.beam = options.n_best = 2;
    options.max_length = 6;
    options.subwords = 1;
    options.batch_tokens = 24; /* three lines at a time */
    return options;
}

static struct clf_translator *make(int count, const struct clf_translate_options *options)
{
    struct clf_translator *translator;
    for (int i = 0; i < MOST; i++) {
        models[i]->is_lost = 0;
    }
    assert_ok(clf_translator_create_over(&translator, models, count, options));
    return translator;
}

static void assert_same_hypothesis(const struct clf_hypothesis *a, const struct clf_hypothesis *b)
{
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->ids, b->ids, (size_t)a->count * sizeof *a->ids);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
    assert_memory_equal(&a->log_probability, &b->log_probability, sizeof a->log_probability);
    assert_int_equal(a->alignment != NULL, b->alignment != NULL);
    if (a->alignment != NULL) {
        assert_memory_equal(a->alignment, b->alignment, (size_t)a->count * sizeof *a->alignment);
    }
}

static void assert_same(const struct clf_translation *a, const struct clf_translation *b)
{
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(a[i].status, b[i].status);
        assert_int_equal(a[i].count, b[i].count);
        assert_int_equal(a[i].source_count, b[i].source_count);
        for (int n = 0; n < a[i].count; n++) {
            assert_same_hypothesis(&a[i].hypotheses[n], &b[i].hypotheses[n]);
        }
    }
}

static void assert_same_scores(const struct clf_score *a, const struct clf_score *b)
{
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(a[i].status, b[i].status);
        assert_int_equal(a[i].count, b[i].count);
        assert_memory_equal(&a[i].log_probability, &b[i].log_probability, sizeof a[i].log_probability);
    }
}

/* Results of one device. */
static struct clf_translation *translate_alone(const struct clf_translate_options *options,
                                               const struct clf_line *prefixes)
{
    struct clf_translation *translations;
    struct clf_translator *translator = make(1, options);
    assert_ok(clf_translate_prefixed(&translations, translator, lines, prefixes, LINES));
    clf_translator_free(translator);
    return translations;
}

static void check(const struct clf_translate_options *options, const struct clf_line *prefixes)
{
    struct clf_translation *expected = translate_alone(options, prefixes), *translations;
    for (int count = 2; count <= MOST; count++) {
        struct clf_translator *translator = make(count, options);
        for (int again = 0; again < 2; again++) {
            assert_ok(clf_translate_prefixed(&translations, translator, lines, prefixes, LINES));
            assert_same(translations, expected);
            clf_translations_free(translations, LINES);
            assert_int_equal(clf__engine_working(translator->engine), count);
        }
        assert_int_equal(clf_translator_times(translator)->lines, 2 * LINES);
        clf_translator_free(translator);
    }
    clf_translations_free(expected, LINES);
}

static void test_same_bits(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    check(&options, NULL);
    options.batch_tokens = 4096; /* all at once: each device takes a share */
    check(&options, NULL);
    check(&options, targets);
    options.beam = options.n_best = 1;
    check(&options, NULL);
    options.sample = 1;
    options.n_best = 3;
    check(&options, NULL);
}

static void test_what_follows_the_search(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    options.alignment_layer = 1;
    options.replace_unknown = 1;
    check(&options, NULL);
    options = usual();
    options.n_best = 1;
    options.alternatives = 3;
    check(&options, NULL);
    check(&options, targets);
    options = usual();
    options.n_best = 1;
    options.subwords = 0;
    options.split_sentences = 1;
    check(&options, NULL);
}

/* Fewer lines than devices, or none; the previous call has no effect. */
static void test_few_lines(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    struct clf_translation *expected = translate_alone(&options, NULL), *few;
    struct clf_translator *translator = make(MOST, &options);
    assert_ok(clf_translator_prepare(translator));
    for (int count = 0; count <= 2; count++) {
        assert_ok(clf_translate(&few, translator, lines, count));
        for (int i = 0; i < count; i++) {
            assert_int_equal(few[i].count, expected[i].count);
            assert_same_hypothesis(&few[i].hypotheses[0], &expected[i].hypotheses[0]);
        }
        clf_translations_free(few, count);
    }
    clf_translations_free(expected, LINES);
    clf_translator_free(translator);
}

static void test_scores(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    struct clf_score *expected, *scores;
    struct clf_translator *translator = make(1, &options);
    assert_ok(clf_score(&expected, translator, lines, targets, LINES));
    clf_translator_free(translator);
    for (int count = 2; count <= MOST; count++) {
        translator = make(count, &options);
        assert_ok(clf_score(&scores, translator, lines, targets, LINES));
        assert_same_scores(scores, expected);
        assert_int_equal(clf_translator_times(translator)->lines, LINES);
        clf_scores_free(scores, LINES);
        clf_translator_free(translator);
    }
    clf_scores_free(expected, LINES);
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int warnings;

static void count_warnings(clf_log_level level, const char *message, void *user)
{
    (void)user;
    pthread_mutex_lock(&log_lock);
    warnings += level == CLF_LOG_WARNING &&
                strstr(message, "skipped, and the other devices take over its lines") != NULL;
    pthread_mutex_unlock(&log_lock);
}

/* Kinds of work in which an OpenCL call fails: aligned translations, then scores. */
static clf_status work(struct clf_translator *translator, struct clf_translation **translations,
                       struct clf_score **scores)
{
    *scores = NULL;
    CLF__TRY(clf_translate(translations, translator, lines, LINES));
    clf_status status = clf_score(scores, translator, lines, targets, LINES);
    if (status != CLF_OK) {
        clf_translations_free(*translations, LINES);
    }
    return status;
}

/* Whichever call fails: one device is named, the other one translates its lines and continues. */
static void test_device_fails(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    options.alignment_layer = 1;
    struct clf_translation *expected, *translations;
    struct clf_score *expected_scores, *scores;
    struct clf_translator *translator = make(2, &options);
    clf__device_fail_at(0);
    assert_ok(work(translator, &expected, &expected_scores));
    uint64_t calls = clf__device_call_count(), step = calls / (support_small() ? 4 : 24) + 1;
    clf_translator_free(translator);
    int lost = 0;
    clf_log_set(count_warnings, NULL);
    for (uint64_t n = 1; n < calls; n += step) {
        translator = make(2, &options);
        warnings = 0;
        clf__device_fail_at(n);
        assert_ok(work(translator, &translations, &scores));
        int failed = clf__device_call_count() >= n; /* one device may need fewer calls than two */
        clf__device_fail_at(0);
        assert_true(clf__engine_working(translator->engine) >= 2 - failed); /* not every call is needed */
        assert_int_equal(warnings, 2 - clf__engine_working(translator->engine));
        lost += warnings;
        assert_same(translations, expected);
        assert_same_scores(scores, expected_scores);
        clf_translations_free(translations, LINES);
        clf_scores_free(scores, LINES);
        assert_ok(work(translator, &translations, &scores));
        assert_same(translations, expected);
        assert_same_scores(scores, expected_scores);
        clf_translations_free(translations, LINES);
        clf_scores_free(scores, LINES);
        clf_translator_free(translator);
    }
    clf_log_set(NULL, NULL);
    assert_true(lost > 2);
    clf_translations_free(expected, LINES);
    clf_scores_free(expected_scores, LINES);
}

/* The last device's failure is returned, and later calls find no device. */
static void test_all_fail(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    struct clf_translation *translations;
    struct clf_translator *translator = make(2, &options);
    assert_ok(clf_translator_prepare(translator));
    models[0]->is_lost = 1;
    clf__device_fail_at(9);
    assert_fails(clf_translate(&translations, translator, lines, LINES), CLF_DEVICE, "CL_OUT_OF_HOST_MEMORY");
    clf__device_fail_at(0);
    assert_null(translations);
    assert_fails(clf_translate(&translations, translator, lines, LINES), CLF_DEVICE,
                 "all devices of the translator failed; open the devices again");
    clf_translator_free(translator);
}

static void test_memory_fails(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    struct clf_translation *expected = translate_alone(&options, NULL), *translations;
    struct clf_translator *translator = make(2, &options);
    for (uint64_t n = 1; n < 200; n += 1 + n / 4) {
        clf__memory_fail_at(n);
        clf_status status = clf_translate(&translations, translator, lines, LINES);
        clf__memory_fail_at(0);
        if (status == CLF_OK) {
            assert_same(translations, expected);
            clf_translations_free(translations, LINES);
        } else {
            assert_int_equal(status, CLF_OUT_OF_MEMORY);
        }
    }
    assert_int_equal(clf__engine_working(translator->engine), 2);
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    assert_same(translations, expected);
    clf_translations_free(translations, LINES);
    clf_translations_free(expected, LINES);
    clf_translator_free(translator);
}

/* Observations of callbacks: the calling thread, its busy translator, and the text of each line. */
struct seen {
    pthread_t thread;
    struct clf_translator *translator;
    int asked, interrupt_at;
    char told[LINES][256];
};

static int is_interrupted(void *user)
{
    struct seen *seen = user;
    struct clf_translation *translations;
    assert_true(pthread_equal(seen->thread, pthread_self()));
    assert_fails(clf_translate(&translations, seen->translator, lines, 1), CLF_BAD_ARGUMENT, "own callback");
    assert_in_range(clf_translator_times(seen->translator)->lines, 0, 8 * LINES);
    return ++seen->asked == seen->interrupt_at;
}

static void keep_told(int line, const char *text, size_t size, void *user)
{
    struct seen *seen = user;
    assert_true(pthread_equal(seen->thread, pthread_self()));
    strncat(seen->told[line], text, size);
}

static void test_callbacks(void **state)
{
    (void)state;
    struct seen seen = {.thread = pthread_self()};
    struct clf_translate_options options = usual();
    options.beam = options.n_best = 1;
    struct clf_translation *expected = translate_alone(&options, NULL), *translations;
    options.interrupted = is_interrupted;
    options.streamed = keep_told;
    options.payload = &seen;
    struct clf_translator *translator = make(2, &options);
    seen.translator = translator;
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    assert_same(translations, expected);
    for (int i = 0; i < LINES; i++) {
        assert_string_equal(seen.told[i],
                            translations[i].count > 0 ? translations[i].hypotheses[0].text : "");
    }
    clf_translations_free(translations, LINES);
    for (int n = 1; n <= 2; n++) { /* before the first line, and later if the call lasts long enough */
        seen.asked = 0;
        seen.interrupt_at = n;
        clf_status status = clf_translate(&translations, translator, lines, LINES);
        assert_true(status == CLF_INTERRUPTED || (n > 1 && status == CLF_OK));
        clf_translations_free(translations, LINES);
        seen.interrupt_at = 0;
        assert_ok(clf_translate(&translations, translator, lines, LINES));
        assert_same(translations, expected);
        clf_translations_free(translations, LINES);
    }
    clf_translations_free(expected, LINES);
    clf_translator_free(translator);
}

/* Attention maps use a working device. */
static void test_attend(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    struct clf_attention_maps *maps;
    struct clf_translator *translator = make(2, &options);
    models[0]->is_lost = 1;
    assert_ok(clf_attend(&maps, translator, &lines[0], NULL));
    assert_true(translator->engine->lanes[1].times.steps > 0);
    assert_int_equal(translator->engine->lanes[0].times.steps, 0);
    clf_attention_maps_free(maps);
    clf_translator_free(translator);
}

static void test_bad_models(void **state)
{
    (void)state;
    struct clf_translator *translator;
    struct clf_model *other, *none[] = {NULL, NULL}, *same[] = {NULL, models[0], models[0]};
    assert_fails(clf_translator_create_over(&translator, models, 0, NULL), CLF_BAD_ARGUMENT, "no model");
    assert_fails(clf_translator_create_over(&translator, none, 2, NULL), CLF_BAD_ARGUMENT, "no model");
    assert_fails(clf_translator_create_over(&translator, same, 3, NULL), CLF_BAD_ARGUMENT, "models 2 and 3");
    assert_ok(clf_model_load(&other, devices[1], support_fixture("models/paper"), NULL));
    struct clf_model *differ[] = {models[0], other};
    assert_fails(clf_translator_create_over(&translator, differ, 2, NULL), CLF_BAD_ARGUMENT,
                 "not the same folder in the same precision");
    clf_model_free(other);
    assert_null(translator);
}

static char last_warning[1024];

static void keep_warning(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        pthread_mutex_lock(&log_lock);
        snprintf(last_warning, sizeof last_warning, "%s", message);
        pthread_mutex_unlock(&log_lock);
    }
}

/* A device that fails while loading is left out; errors on every device fail the call, and nothing stays. */
static void test_loading(void **state)
{
    (void)state;
    struct clf_model *loaded[2];
    struct clf_translator *translator;
    const char *folder = support_fixture("models/marian");
    assert_ok(clf_models_load(loaded, devices, 2, folder, NULL));
    assert_true(loaded[0] != NULL && loaded[1] != NULL);
    clf_model_free(loaded[0]);
    clf_model_free(loaded[1]);
    clf_log_set(keep_warning, NULL);
    clf__device_fail_at(3);
    assert_ok(clf_models_load(loaded, devices, 2, folder, NULL));
    clf__device_fail_at(0);
    clf_log_set(NULL, NULL);
    assert_int_equal((loaded[0] == NULL) + (loaded[1] == NULL), 1);
    assert_non_null(strstr(last_warning, "is not used: "));
    assert_ok(clf_translator_create_over(&translator, loaded, 2, NULL));
    assert_int_equal(clf__engine_working(translator->engine), 1);
    clf_translator_free(translator);
    clf_model_free(loaded[0]);
    clf_model_free(loaded[1]);
    clf__device_fail_at(3);
    clf_status alone = clf_models_load(loaded, devices, 1, folder, NULL);
    clf__device_fail_at(0);
    assert_true(alone == CLF_DEVICE || alone == CLF_DEVICE_MEMORY);
    assert_non_null(strstr(clf_last_error(), "CL_OUT_OF_HOST_MEMORY"));
    assert_fails(clf_models_load(loaded, devices, 2, "nowhere", NULL), CLF_FILE, "nowhere");
    assert_true(loaded[0] == NULL && loaded[1] == NULL);
    assert_fails(clf_models_load(loaded, devices, 0, folder, NULL), CLF_BAD_ARGUMENT, "no device");
}

/* A lane at twice the pace takes twice as many lines; one without a pace counts as the fastest. */
static void test_parts(void **state)
{
    (void)state;
    struct clf_translate_options options = usual();
    struct clf_translator *translator = make(2, &options);
    struct clf_engine *engine = translator->engine;
    struct clf__lane *fast = &engine->lanes[0], *slow = &engine->lanes[1];
    fast->pace = (struct clf__throughput){.done = 2e6, .seconds = 1e6};
    slow->pace = (struct clf__throughput){.done = 1e6, .seconds = 1e6};
    engine->left = 90;
    fast->held = 50;
    slow->held = 20;
    assert_true(clf__pace_allows(engine, fast, 19));
    assert_false(clf__pace_allows(engine, fast, 21));
    assert_true(clf__pace_allows(engine, slow, 19));
    assert_false(clf__pace_allows(engine, slow, 21));
    engine->left = 10; /* a single line goes to the faster lane */
    fast->held = slow->held = 0;
    assert_true(clf__pace_allows(engine, fast, 10));
    assert_false(clf__pace_allows(engine, slow, 10));
    fast->is_lost = 1;
    assert_true(clf__pace_allows(engine, slow, 10));
    fast->is_lost = 0;
    slow->pace = (struct clf__throughput){.done = 0};
    engine->left = 100;
    slow->held = 40;
    assert_true(clf__pace_allows(engine, slow, 19));
    assert_false(clf__pace_allows(engine, slow, 21));
    engine->left = fast->held = slow->held = 0;
    clf_translator_free(translator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),    cmocka_unit_test(test_what_follows_the_search),
        cmocka_unit_test(test_few_lines),    cmocka_unit_test(test_scores),
        cmocka_unit_test(test_device_fails), cmocka_unit_test(test_all_fail),
        cmocka_unit_test(test_memory_fails), cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_attend),       cmocka_unit_test(test_bad_models),
        cmocka_unit_test(test_loading),      cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
