/* Jobs: lines that are submitted, and then polled, waited for, reported by callbacks, or cancelled. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "runtime/opencl/testing.h"
#include "support/requests.h"
#include "support/support.h"
#include "support/threads.h"

static const char *const texts[] = {"w2 w3 w4", "w5", "", "w6 w7 w8 w9 w10", "w3 w3"};
enum { TEXTS = sizeof texts / sizeof *texts };

static struct clf_model *load(void)
{
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    return model;
}

static void fill_lines(struct clf_line *lines, int count)
{
    for (int i = 0; i < count; i++) {
        lines[i] = (struct clf_line){texts[i % TEXTS], strlen(texts[i % TEXTS])};
    }
}

static struct clf_translate_options options_of(const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = 2;
    options.max_length = 8;
    return options;
}

static void wait_for(struct clf_job *job)
{
    int is_over;
    assert_ok(clf_job_wait(&is_over, job, -1));
    assert_int_equal(is_over, 1);
}

/* A submitted call gives the result of the call, also if its lines and options are overwritten. */
static void check_submitted(const struct clf_translate_options *options)
{
    struct clf_model *model = load();
    struct clf_translator *translator;
    struct clf_line lines[TEXTS];
    struct clf_translation *expected, *translations;
    struct clf_job *job;
    char text[64];
    int finished;
    fill_lines(lines, TEXTS);
    assert_ok(clf_translator_create(&translator, model, options));
    assert_ok(clf_translate(&expected, translator, lines, TEXTS));
    snprintf(text, sizeof text, "%s", texts[0]);
    lines[0].text = text;
    assert_ok(clf_translate_submit(&job, translator, lines, TEXTS, NULL));
    memset(text, 'x', sizeof text);
    wait_for(job);
    assert_int_equal(clf_job_poll(job, &finished), 1);
    assert_int_equal(finished, TEXTS);
    assert_ok(clf_job_take(&translations, job));
    for (int i = 0; i < TEXTS; i++) {
        assert_true(support_translations_equal(&translations[i], &expected[i]));
    }
    clf_job_free(job);
    clf_translations_free(translations, TEXTS);
    clf_translations_free(expected, TEXTS);
    clf_translator_free(translator);
    clf_model_free(model);
}

static void test_submitted(void **state)
{
    (void)state;
    struct clf_model *model = load();
    struct clf_translate_options options = options_of(model);
    check_submitted(&options);
    options.alternatives = 3;
    check_submitted(&options);
    options.alternatives = 0;
    options.replace_unknown = 1; /* reads the text of the line at the end */
    check_submitted(&options);
    options.replace_unknown = options.subwords = 0;
    options.split_sentences = 1;
    check_submitted(&options);
    clf_model_free(model);
}

static void test_prefixes_and_scores(void **state)
{
    (void)state;
    struct clf_model *model = load();
    struct clf_translate_options options = options_of(model);
    struct clf_translator *translator;
    struct clf_line line = {"w2 w3 w4", 8}, prefix = {"w5 w6", 5};
    struct clf_job_options with_prefix;
    struct clf_translation *expected, *translation, *none;
    struct clf_score *score, *expected_score;
    struct clf_job *job;
    clf_job_options_init(&with_prefix);
    with_prefix.prefixes = &prefix;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate_prefixed(&expected, translator, &line, &prefix, 1));
    assert_ok(clf_translate_submit(&job, translator, &line, 1, &with_prefix));
    wait_for(job);
    assert_ok(clf_job_take(&translation, job));
    assert_true(support_translations_equal(translation, expected));
    clf_job_free(job);
    assert_ok(clf_score(&expected_score, translator, &line, &prefix, 1));
    assert_ok(clf_score_submit(&job, translator, &line, &prefix, 1, NULL));
    wait_for(job);
    assert_fails(clf_job_take(&none, job), CLF_BAD_ARGUMENT, "call clf_job_take_scores()");
    assert_null(none);
    assert_ok(clf_job_take_scores(&score, job));
    assert_memory_equal(&score->log_probability, &expected_score->log_probability, sizeof(double));
    clf_job_free(job);
    assert_fails(clf_score_submit(&job, translator, &line, &prefix, 1, &with_prefix), CLF_BAD_ARGUMENT,
                 "prefixes: are for translations");
    clf_scores_free(score, 1);
    clf_scores_free(expected_score, 1);
    clf_translations_free(translation, 1);
    clf_translations_free(expected, 1);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* What callbacks report. */
struct report {
    pthread_t thread;
    struct clf_translator *translator;
    struct clf_job *second; /* submitted by a callback */
    char text[256];         /* streamed parts of line 0 */
    int translated, finished, refused;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void stream(int line, const char *text, size_t size, void *user)
{
    struct report *report = user; /* NULL for the job that a callback submits */
    size_t used = report != NULL ? strlen(report->text) : 0;
    if (report != NULL && line == 0 && used + size < sizeof report->text) {
        memcpy(report->text + used, text, size);
    }
}

static void count_translated(int line, const struct clf_translation *translation, void *user)
{
    struct report *report = user;
    (void)translation;
    if (report == NULL) {
        return;
    }
    report->thread = pthread_self();
    report->translated += report->translated == line;
}

/* What waits fails in a callback. */
static int count_refused(struct report *report, struct clf_job *job)
{
    const struct clf_line line = {"w2", 2};
    struct clf_translation *translation;
    int is_over;
    return (clf_translate(&translation, report->translator, &line, 1) == CLF_BAD_ARGUMENT &&
            strstr(clf_last_error(), "callback of a job") != NULL) +
           (clf_job_wait(&is_over, job, -1) == CLF_BAD_ARGUMENT && !is_over &&
            strstr(clf_last_error(), "callback cannot wait") != NULL);
}

static void finish(struct clf_job *job, void *user)
{
    struct report *report = user;
    const struct clf_line line = {"w5", 2};
    struct clf_translation *translations = NULL;
    pthread_mutex_lock(&report->lock);
    report->refused = count_refused(report, job);
    report->finished += clf_job_take(&translations, job) == CLF_OK &&
                        strcmp(translations[0].hypotheses[0].text, report->text) == 0 &&
                        pthread_equal(report->thread, pthread_self());
    clf_translations_free(translations, TEXTS);
    clf_job_free(job);
    report->finished += clf_translate_submit(&report->second, report->translator, &line, 1, NULL) == CLF_OK;
    pthread_cond_signal(&report->changed);
    pthread_mutex_unlock(&report->lock);
}

/* Callbacks get the job's payload on one thread; the last one takes and frees the job, and submits another.
 */
static void test_callbacks(void **state)
{
    (void)state;
    struct clf_model *model = load();
    struct clf_engine *engine;
    struct clf_translate_options options = options_of(model);
    struct clf_job_options job_options;
    struct clf_line lines[TEXTS];
    struct clf_job *job;
    struct report report = {.finished = 0};
    fill_lines(lines, TEXTS);
    pthread_mutex_init(&report.lock, NULL);
    pthread_cond_init(&report.changed, NULL);
    assert_ok(clf_engine_create(&engine, &model, 1, NULL));
    options.beam = 1;
    options.streamed = stream;
    options.translated = count_translated;
    assert_ok(clf_translator_create_shared(&report.translator, engine, &options));
    clf_job_options_init(&job_options);
    job_options.finished = finish;
    job_options.payload = &report;
    assert_ok(clf_translate_submit(&job, report.translator, lines, TEXTS, &job_options));
    pthread_mutex_lock(&report.lock);
    while (report.second == NULL) {
        pthread_cond_wait(&report.changed, &report.lock);
    }
    pthread_mutex_unlock(&report.lock);
    assert_int_equal(report.translated, TEXTS);
    assert_int_equal(report.refused, 2);
    assert_int_equal(report.finished, 2);
    assert_false(pthread_equal(report.thread, pthread_self()));
    clf_job_free(report.second);
    clf_translator_free(report.translator);
    clf_engine_free(engine);
    clf_model_free(model);
    pthread_cond_destroy(&report.changed);
    pthread_mutex_destroy(&report.lock);
}

/* A bulk job that comes first, and an interactive job of the same length, which is over first. */
static void test_bulk(void **state)
{
    (void)state;
    enum { LINES = 3000 };
    struct clf_model *model = load();
    struct clf_engine *engine;
    struct clf_engine_options small;
    struct clf_translate_options options = options_of(model);
    struct clf_translator *bulk, *interactive;
    struct clf_line *lines = support_array(LINES, sizeof *lines);
    struct clf_job *first, *second;
    fill_lines(lines, LINES);
    clf_engine_options_init(&small);
    small.batch_tokens = 64;
    assert_ok(clf_engine_create(&engine, &model, 1, &small));
    assert_ok(clf_translator_create_shared(&interactive, engine, &options));
    options.priority = CLF_PRIORITY_BULK;
    assert_ok(clf_translator_create_shared(&bulk, engine, &options));
    assert_ok(clf_translate_submit(&first, bulk, lines, LINES, NULL));
    assert_ok(clf_translate_submit(&second, interactive, lines, LINES, NULL));
    wait_for(second);
    assert_int_equal(clf_job_poll(first, NULL), 0);
    wait_for(first);
    clf_job_free(first);
    clf_job_free(second);
    clf_translator_free(interactive);
    clf_translator_free(bulk);
    clf_engine_free(engine);
    clf_model_free(model);
}

static int interrupt(void *user)
{
    return ++*(int *)user == 3;
}

/* A long job stops when it is cancelled or freed, or when its hook says so. */
static void test_cancelled(void **state)
{
    (void)state;
    enum { LINES = 100000 };
    struct clf_model *model = load();
    struct clf_engine *engine;
    struct clf_translate_options options = options_of(model);
    struct clf_translator *translator, *asking;
    struct clf_line *lines = support_array(LINES, sizeof *lines);
    struct clf_translation *translations;
    struct clf_job *job;
    int is_over, finished, asked = 0;
    fill_lines(lines, LINES);
    assert_ok(clf_engine_create(&engine, &model, 1, NULL));
    assert_ok(clf_translator_create_shared(&translator, engine, &options));
    options.interrupted = interrupt;
    options.payload = &asked;
    assert_ok(clf_translator_create_shared(&asking, engine, &options));
    assert_ok(clf_translate_submit(&job, translator, lines, LINES, NULL));
    assert_ok(clf_job_wait(&is_over, job, 1));
    assert_int_equal(is_over, 0);
    assert_fails(clf_job_take(&translations, job), CLF_BAD_ARGUMENT, "the job is not over");
    clf_job_cancel(job);
    clf_job_cancel(job);
    wait_for(job);
    assert_fails(clf_job_take(&translations, job), CLF_INTERRUPTED, "the job was cancelled");
    assert_int_equal(clf_job_poll(job, &finished), 1);
    assert_in_range(finished, 0, LINES - 1);
    clf_job_free(job);
    assert_ok(clf_translate_submit(&job, translator, lines, LINES, NULL));
    clf_job_free(job);
    assert_ok(clf_translate_submit(&job, asking, lines, LINES, NULL));
    wait_for(job);
    assert_fails(clf_job_take(&translations, job), CLF_INTERRUPTED, "interrupted");
    assert_int_equal(asked, 3);
    clf_job_free(job);
    clf_translator_free(asking);
    clf_translator_free(translator);
    clf_engine_free(engine);
    clf_model_free(model);
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
    struct clf_model *model = load();
    struct clf_translate_options options = options_of(model);
    struct clf_translator *translator;
    struct clf_translation *translations;
    struct clf_score *scores;
    struct clf_job_options job_options;
    struct clf_job *job;
    struct clf_line line = {"w2", 2};
    int is_over;
    options.priority = (clf_priority)2;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "priority: 2 is out of range");
    options.priority = CLF_PRIORITY_BULK;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_fails(clf_translate_submit(&job, NULL, &line, 1, NULL), CLF_BAD_ARGUMENT, "translator: is NULL");
    assert_null(job);
    assert_fails(clf_translate_submit(&job, translator, NULL, 1, NULL), CLF_BAD_ARGUMENT, "count: is 1");
    assert_fails(clf_translate_submit(&job, translator, &line, -1, NULL), CLF_BAD_ARGUMENT, "count: is -1");
    assert_fails(clf_score_submit(&job, translator, &line, NULL, 1, NULL), CLF_BAD_ARGUMENT, "count: is 1");
    assert_null(job);
    memset(&job_options, 0, sizeof job_options);
    assert_fails(clf_translate_submit(&job, translator, &line, 1, &job_options), CLF_BAD_ARGUMENT,
                 "clf_job_options_init()");
    assert_fails(clf_job_wait(&is_over, NULL, 0), CLF_BAD_ARGUMENT, "job: is NULL");
    assert_fails(clf_job_take(&translations, NULL), CLF_BAD_ARGUMENT, "job: is NULL");
    clf_job_cancel(NULL);
    clf_job_free(NULL);
    assert_ok(clf_translate_submit(&job, translator, NULL, 0, NULL));
    wait_for(job);
    assert_fails(clf_job_take_scores(&scores, job), CLF_BAD_ARGUMENT, "call clf_job_take()");
    assert_ok(clf_job_take(&translations, job));
    clf_translations_free(translations, 0);
    assert_fails(clf_job_take(&translations, job), CLF_BAD_ARGUMENT, "have already been taken");
    clf_log_set(keep_warning, NULL);
    clf_translator_free(translator);
    clf_log_set(NULL, NULL);
    assert_non_null(strstr(warning, "free its jobs first"));
    clf_job_free(job);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* Ways to make the n-th allocation or OpenCL call fail. */
struct fault {
    void (*fail_at)(uint64_t n);
    uint64_t (*count)(void);
};

/* Submits all lines twice, so that the second job finds the first one's sources, unless one fails. */
static clf_status submit_twice(struct clf_translator *translator, const struct clf_translation *expected)
{
    struct clf_line lines[TEXTS];
    clf_status status = CLF_OK;
    fill_lines(lines, TEXTS);
    for (int k = 0; k < 2 && status == CLF_OK; k++) {
        struct clf_translation *translations;
        struct clf_job *job;
        CLF__TRY(clf_translate_submit(&job, translator, lines, TEXTS, NULL));
        wait_for(job);
        status = clf_job_take(&translations, job);
        for (int i = 0; i < TEXTS && status == CLF_OK; i++) {
            assert_true(support_translations_equal(&translations[i], &expected[i]));
        }
        clf_translations_free(translations, status == CLF_OK ? TEXTS : 0);
        clf_job_free(job);
    }
    return status;
}

static void check_faults(const struct fault *fault, struct clf_model *model,
                         const struct clf_translate_options *options, const struct clf_translation *expected)
{
    struct clf_engine *engine;
    struct clf_translator *translator;
    uint64_t total = 1;
    int failures = 0, tries = 0;
    for (uint64_t n = 0; n <= total; n += 1 + n / (support_small() ? 30 : 100), tries++) {
        assert_ok(clf_engine_create(&engine, &model, 1, NULL));
        assert_ok(clf_translator_create_shared(&translator, engine, options));
        fault->fail_at(n);
        failures += submit_twice(translator, expected) != CLF_OK;
        total = n == 0 ? fault->count() : total;
        fault->fail_at(0);
        assert_ok(submit_twice(translator, expected));
        clf_translator_free(translator);
        clf_engine_free(engine);
    }
    assert_in_range(failures, tries / 2, tries - 1);
}

/* A job in which an allocation or an OpenCL call fails reports it, and later jobs of the engine succeed. */
static void test_faults(void **state)
{
    (void)state;
    static const struct fault allocations = {clf__memory_fail_at, clf__memory_count};
    static const struct fault opencl_calls = {clf__device_fail_at, clf__device_call_count};
    struct clf_model *model = load();
    struct clf_translate_options options = options_of(model);
    struct clf_translator *translator;
    struct clf_translation *expected;
    struct clf_line lines[TEXTS];
    fill_lines(lines, TEXTS);
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&expected, translator, lines, TEXTS));
    clf_translator_free(translator);
    check_faults(&opencl_calls, model, &options, expected);
    check_faults(&allocations, model, &options, expected);
    options.alternatives = 2;
    options.beam = 1;
    clf_translations_free(expected, TEXTS);
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&expected, translator, lines, TEXTS));
    clf_translator_free(translator);
    check_faults(&allocations, model, &options, expected);
    clf_translations_free(expected, TEXTS);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_submitted, support_teardown),
        cmocka_unit_test_teardown(test_prefixes_and_scores, support_teardown),
        cmocka_unit_test_teardown(test_callbacks, support_teardown),
        cmocka_unit_test_teardown(test_bulk, support_teardown),
        cmocka_unit_test_teardown(test_cancelled, support_teardown),
        cmocka_unit_test_teardown(test_faults, support_teardown),
        cmocka_unit_test_teardown(test_bad_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
