/* Translators that share an engine: lines of many threads with different options equal each line alone, bit
 * for bit. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "support/requests.h"
#include "support/support.h"
#include "support/threads.h"

enum { THREADS = 16 };

/* A thread that translates every THREADS-th request. */
struct caller {
    struct clf_engine *engine;
    const struct support_request *requests;
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
static clf_status serve(struct caller *caller, const struct support_request *request, int number)
{
    struct clf_translator *translator;
    struct clf_translation *translation;
    struct clf_translate_options options = request->options;
    options.interrupted = count_down;
    options.payload = caller;
    clf_status status = clf_translator_create_shared(&translator, caller->engine, &options);
    caller->countdown = number % 3 == 0 ? 1 + number % 7 : 0;
    if (status == CLF_OK) {
        status = support_request_translate(&translation, translator, request);
    }
    if (status == CLF_INTERRUPTED) {
        caller->interrupted++;
        caller->countdown = 0;
        status = support_request_translate(&translation, translator, request);
    }
    if (status == CLF_OK) {
        caller->different += !support_translations_equal(translation, request->expected);
        clf_translations_free(translation, 1);
    }
    clf_translator_free(translator);
    return status;
}

static void *call(void *user)
{
    struct caller *caller = user;
    for (int i = caller->first; i < support_request_count(); i += THREADS) {
        if (serve(caller, &caller->requests[i], i) != CLF_OK) {
            snprintf(caller->problem, sizeof caller->problem, "%s", clf_last_error());
            break;
        }
    }
    return NULL;
}

static void serve_all(struct clf_engine *engine, const struct support_request *requests)
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
    struct support_request *requests = support_requests(model);
    struct clf_engine_options options;
    struct clf_engine *engine;
    clf_engine_options_init(&options);
    options.batch_tokens = 64;
    assert_ok(clf_engine_create(&engine, &model, 1, &options));
    serve_all(engine, requests);
    clf_engine_free(engine);
    support_requests_free(requests);
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
            shared->different += !support_translations_equal(&translations[i], &shared->expected[i]);
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

/* A short call does not wait for a long one to finish, even if it needs a larger session. */
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
    assert_non_null(strstr(warning, "free its translators and transcribers first"));
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
