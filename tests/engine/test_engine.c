/* Translators that share an engine: lines of many threads with different options equal each line alone, bit
 * for bit. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "support/support.h"
#include "support/threads.h"

enum { THREADS = 16, WORDS = 12 };

/* A line with its options, and the expected result. */
struct request {
    char text[128], prefix[32];
    struct clf_translate_options options;
    struct clf_translation *expected;
};

static int request_count(void)
{
    return support_small() ? 64 : 400;
}

/* Chooses beams, lengths, sampling, penalties and n-best at random. */
static struct clf_translate_options choose_options(struct support_random *random,
                                                   const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = 1 + support_integer(random, 4);
    options.n_best = 1 + support_integer(random, options.beam);
    options.max_length = 3 + support_integer(random, 12);
    options.min_length = support_integer(random, 3);
    options.length_penalty = 0.5 * support_integer(random, 4);
    options.repetition_penalty = support_integer(random, 4) == 0 ? 1.3 : 1.0;
    options.no_repeat_ngram_size = support_integer(random, 4) == 0 ? 2 : 0;
    if (support_integer(random, 4) == 0) {
        options.sample = 1;
        options.temperature = 0.7;
        options.top_k = 5;
        options.seed = (uint64_t)support_integer(random, 1000);
    }
    if (support_integer(random, 8) == 0) {
        options.beam = options.n_best = 1;
        options.sample = 0;
        options.alternatives = 2;
    }
    if (support_integer(random, 8) == 0) {
        options.alignment_layer = 1;
    }
    if (support_integer(random, 6) == 0 && options.alternatives == 0) {
        options.coverage_penalty = 0.3;
    }
    options.renormalize = support_integer(random, 6) == 0;
    return options;
}

static void choose_words(char *text, size_t size, struct support_random *random, int words)
{
    *text = '\0';
    for (int i = 0; i < words; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%sw%d", i > 0 ? " " : "", 2 + support_integer(random, 12));
    }
}

static clf_status translate(struct clf_translation **out, struct clf_translator *translator,
                            const struct request *request)
{
    const struct clf_line line = {request->text, strlen(request->text)};
    const struct clf_line prefix = {request->prefix, strlen(request->prefix)};
    return clf_translate_prefixed(out, translator, &line, prefix.size > 0 ? &prefix : NULL, 1);
}

static struct request *make_requests(struct clf_model *model)
{
    struct support_random random = {11};
    struct request *requests = support_array((size_t)request_count(), sizeof *requests);
    for (int i = 0; i < request_count(); i++) {
        struct request *request = &requests[i];
        struct clf_translator *alone;
        request->options = choose_options(&random, model);
        choose_words(request->text, sizeof request->text, &random, support_integer(&random, WORDS));
        choose_words(request->prefix, sizeof request->prefix, &random,
                     request->options.alternatives == 0 && support_integer(&random, 4) == 0 ? 2 : 0);
        assert_ok(clf_translator_create(&alone, model, &request->options));
        assert_ok(translate(&request->expected, alone, request));
        clf_translator_free(alone);
    }
    return requests;
}

static int are_equal(const struct clf_translation *a, const struct clf_translation *b)
{
    int equal = a->status == b->status && a->count == b->count && a->source_count == b->source_count;
    for (int i = 0; equal && i < a->count; i++) {
        const struct clf_hypothesis *x = &a->hypotheses[i], *y = &b->hypotheses[i];
        equal = strcmp(x->text, y->text) == 0 && x->count == y->count &&
                memcmp(x->ids, y->ids, (size_t)x->count * sizeof *x->ids) == 0 &&
                memcmp(&x->score, &y->score, sizeof x->score) == 0 &&
                (x->alignment == NULL) == (y->alignment == NULL) &&
                (x->alignment == NULL ||
                 memcmp(x->alignment, y->alignment, (size_t)x->count * sizeof *x->alignment) == 0);
    }
    return equal;
}

/* A thread that translates every THREADS-th request. */
struct caller {
    struct clf_engine *engine;
    const struct request *requests;
    int first;
    int different; /* results that differ */
    int countdown; /* interrupts the call at this check */
    int interrupted;
    char problem[256];
};

static int count_down(void *user)
{
    struct caller *caller = user;
    return --caller->countdown == 0;
}

/* Translates a request; interrupts it first, after some steps, if it is every third. */
static clf_status serve(struct caller *caller, const struct request *request, int number)
{
    struct clf_translator *translator;
    struct clf_translation *translation;
    struct clf_translate_options options = request->options;
    options.interrupted = count_down;
    options.payload = caller;
    clf_status status = clf_translator_create_shared(&translator, caller->engine, &options);
    caller->countdown = number % 3 == 0 ? 1 + number % 7 : 0;
    if (status == CLF_OK) {
        status = translate(&translation, translator, request);
    }
    if (status == CLF_INTERRUPTED) {
        caller->interrupted++;
        caller->countdown = 0;
        status = translate(&translation, translator, request);
    }
    if (status == CLF_OK) {
        caller->different += !are_equal(translation, request->expected);
        clf_translations_free(translation, 1);
    }
    clf_translator_free(translator);
    return status;
}

static void *call(void *user)
{
    struct caller *caller = user;
    for (int i = caller->first; i < request_count(); i += THREADS) {
        if (serve(caller, &caller->requests[i], i) != CLF_OK) {
            snprintf(caller->problem, sizeof caller->problem, "%s", clf_last_error());
            break;
        }
    }
    return NULL;
}

static void serve_all(struct clf_engine *engine, const struct request *requests)
{
    pthread_t threads[THREADS];
    struct caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.engine = engine, .requests = requests, .first = i};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    int interrupted = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_string_equal(callers[i].problem, "");
        assert_int_equal(callers[i].different, 0);
        interrupted += callers[i].interrupted;
    }
    assert_true(interrupted > 0);
}

static void test_random_options(void **state)
{
    (void)state;
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    struct request *requests = make_requests(model);
    struct clf_engine_options options;
    struct clf_engine *engine;
    clf_engine_options_init(&options);
    options.batch_tokens = 64;
    assert_ok(clf_engine_create(&engine, &model, 1, &options));
    serve_all(engine, requests);
    clf_engine_free(engine);
    for (int i = 0; i < request_count(); i++) {
        clf_translations_free(requests[i].expected, 1);
    }
    clf_model_free(model);
}

/* One translator serves all threads. */
struct shared {
    struct clf_translator *translator;
    const struct clf_translation *expected;
    int different;
};

static const char *const texts[] = {"w2 w3 w4", "w5", "w6 w7 w8 w9 w10", "w3 w3"};
enum { TEXTS = sizeof texts / sizeof *texts };

static void *share(void *user)
{
    struct shared *shared = user;
    for (int round = 0; round < 8; round++) {
        struct clf_line lines[TEXTS];
        struct clf_translation *translations;
        for (int i = 0; i < TEXTS; i++) {
            lines[i] = (struct clf_line){texts[i], strlen(texts[i])};
        }
        if (clf_translate(&translations, shared->translator, lines, TEXTS) != CLF_OK) {
            shared->different++;
            return NULL;
        }
        for (int i = 0; i < TEXTS; i++) {
            shared->different += !are_equal(&translations[i], &shared->expected[i]);
        }
        clf_translations_free(translations, TEXTS);
    }
    return NULL;
}

static void test_one_translator(void **state)
{
    (void)state;
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *expected;
    struct clf_line lines[TEXTS];
    pthread_t threads[THREADS];
    struct shared shared[THREADS];
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = 2;
    options.max_length = 8;
    assert_ok(clf_translator_create(&translator, model, &options));
    for (int i = 0; i < TEXTS; i++) {
        lines[i] = (struct clf_line){texts[i], strlen(texts[i])};
    }
    assert_ok(clf_translate(&expected, translator, lines, TEXTS));
    for (int i = 0; i < THREADS; i++) {
        shared[i] = (struct shared){translator, expected, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, share, &shared[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(shared[i].different, 0);
    }
    assert_int_equal(clf_translator_times(translator)->lines, TEXTS * (1 + THREADS * 8));
    clf_translations_free(expected, TEXTS);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* A call with many lines, and another thread's call with one line, which begins when the first has results.
 */
struct race {
    struct clf_translator *translator;
    int single_at; /* finished lines of the long call when the short one ended; -1: it has not */
    int finished;  /* lines of the long call */
    int is_started;
    pthread_t thread;
};

static void *translate_one(void *user)
{
    struct race *race = user;
    const struct clf_line line = {"w2 w3 w4", 8};
    struct clf_translation *translation;
    if (clf_translate(&translation, race->translator, &line, 1) == CLF_OK) {
        clf_translations_free(translation, 1);
        __atomic_store_n(&race->single_at, __atomic_load_n(&race->finished, __ATOMIC_SEQ_CST),
                         __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void count_finished(int line, const struct clf_translation *translation, void *user)
{
    struct race *race = user;
    (void)translation;
    __atomic_store_n(&race->finished, line + 1, __ATOMIC_SEQ_CST);
    if (!race->is_started) {
        race->is_started = pthread_create(&race->thread, NULL, translate_one, race) == 0;
    }
}

/* A short call does not wait for the end of a long one, even if it needs a larger session. */
static void check_short_call(int beam)
{
    enum { LINES = 4000 };
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    struct race race = {.single_at = -1};
    struct clf_engine *engine;
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_line *lines = support_array(LINES, sizeof *lines);
    for (int i = 0; i < LINES; i++) {
        lines[i] = (struct clf_line){texts[i % TEXTS], strlen(texts[i % TEXTS])};
    }
    struct clf_engine_options small;
    clf_engine_options_init(&small);
    small.batch_tokens = 64;
    assert_ok(clf_engine_create(&engine, &model, 1, &small));
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.max_length = 8;
    options.beam = beam;
    assert_ok(clf_translator_create_shared(&race.translator, engine, &options));
    options.beam = 1;
    options.translated = count_finished;
    options.payload = &race;
    assert_ok(clf_translator_create_shared(&translator, engine, &options));
    struct clf_translation *translations;
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    assert_true(race.is_started);
    assert_int_equal(pthread_join(race.thread, NULL), 0);
    assert_in_range(race.single_at, 1, LINES - 1);
    clf_translations_free(translations, LINES);
    clf_translator_free(translator);
    clf_translator_free(race.translator);
    clf_engine_free(engine);
    clf_model_free(model);
}

static void test_short_call(void **state)
{
    (void)state;
    check_short_call(1);
    check_short_call(6);
}

static char warning[256];

static void keep_warning(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        snprintf(warning, sizeof warning, "%s", message);
    }
}

static void test_bad_calls(void **state)
{
    (void)state;
    struct clf_model *model;
    struct clf_engine *engine;
    struct clf_translator *translator;
    struct clf_engine_options wrong;
    struct clf_translate_options options;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    clf_engine_options_init(&wrong);
    wrong.batch_tokens = -1;
    assert_fails(clf_engine_create(&engine, &model, 1, &wrong), CLF_BAD_ARGUMENT, "batch size: -1");
    assert_null(engine);
    assert_fails(clf_engine_create(&engine, NULL, 0, NULL), CLF_BAD_ARGUMENT, "there are no models");
    assert_ok(clf_engine_create(&engine, &model, 1, NULL));
    assert_fails(clf_translator_create_shared(&translator, NULL, NULL), CLF_BAD_ARGUMENT, "engine: is NULL");
    clf_translate_options_init(&options, model);
    options.batch_tokens = 64;
    assert_fails(clf_translator_create_shared(&translator, engine, &options), CLF_BAD_ARGUMENT,
                 "batch_tokens: is 64, but the engine's batches are shared");
    assert_null(translator);
    assert_ok(clf_translator_create_shared(&translator, engine, NULL));
    clf_log_set(keep_warning, NULL);
    clf_engine_free(engine);
    clf_log_set(NULL, NULL);
    assert_non_null(strstr(warning, "free its translators first"));
    clf_translator_free(translator);
    clf_engine_free(engine);
    clf_engine_free(NULL);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_random_options, support_teardown),
        cmocka_unit_test_teardown(test_one_translator, support_teardown),
        cmocka_unit_test_teardown(test_short_call, support_teardown),
        cmocka_unit_test_teardown(test_bad_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
