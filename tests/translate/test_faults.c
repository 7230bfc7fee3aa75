/* A whole translation in which the n-th allocation or OpenCL call fails, for every n (a sample if there are
 * thousands): an error message or the right answer, no leak (checked by LeakSanitizer), and the next run
 * works. */
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/opencl/testing.h"
#include "support/cache_home.h"
#include "support/support.h"

/* Phases of a run, in order; each resets the driver calls. */
enum phase { OPEN, LOAD, TRANSLATE, SCORE, ATTEND, PHASES };

enum { LINES = 2, MAX_IDS = 6 };

static const struct clf_line sources[LINES] = {{"w2 w3 w4 w5 w6 w7", 17}, {"w9 w8 w20", 9}};
static const struct clf_line target = {"w10 w11", 7};

/* Results of a run: equal unless a failure matters. */
struct results {
    int32_t ids[LINES][MAX_IDS];
    int counts[LINES];
    double log_probability;
    float first_map;
};

/* Kinds of injected failures. */
struct fault {
    void (*fail_at)(uint64_t n);
    uint64_t (*count)(void);
    clf_status statuses[4]; /* that may come of it */
};
static const struct fault allocations = {clf__memory_fail_at, clf__memory_count, {CLF_OUT_OF_MEMORY}};
static const struct fault opencl_calls = {
    clf__device_fail_at, clf__device_call_count, {CLF_NO_DEVICE, CLF_DEVICE, CLF_DEVICE_MEMORY, CLF_BUILD}};

static void assert_says(const struct fault *fault, clf_status status)
{
    int is_known = 0;
    for (int i = 0; i < 4; i++) {
        is_known |= status == fault->statuses[i];
    }
    if (status == CLF_OK || !is_known || strlen(clf_last_error()) <= 10) {
        fail_msg("status %d, \"%s\"", (int)status, clf_last_error());
    }
}

/* Progress of a run: turns[p] when phase p ended. */
struct run {
    const struct fault *fault;
    struct clf_device_options options;
    struct clf_device *device; /* kept open between runs; NULL: each run opens it */
    uint64_t turns[PHASES];
    struct results results;
};

static clf_status translate(struct results *results, struct clf_translator *translator)
{
    struct clf_translation *translations;
    CLF__TRY(clf_translate(&translations, translator, sources, LINES));
    for (int i = 0; i < LINES; i++) {
        const struct clf_hypothesis *best = &translations[i].hypotheses[0];
        assert_int_equal(translations[i].status, CLF_OK);
        assert_in_range(best->count, 1, MAX_IDS);
        results->counts[i] = best->count;
        memcpy(results->ids[i], best->ids, (size_t)best->count * sizeof *best->ids);
    }
    clf_translations_free(translations, LINES);
    return CLF_OK;
}

static clf_status score(struct results *results, struct clf_translator *translator)
{
    struct clf_score *scores;
    CLF__TRY(clf_score(&scores, translator, sources, &target, 1));
    assert_int_equal(scores->status, CLF_OK);
    results->log_probability = scores->log_probability;
    clf_scores_free(scores, 1);
    return CLF_OK;
}

static clf_status attend(struct results *results, struct clf_translator *translator)
{
    struct clf_attention_maps *maps;
    CLF__TRY(clf_attend(&maps, translator, sources, NULL));
    results->first_map = maps->cross[0];
    clf_attention_maps_free(maps);
    return CLF_OK;
}

static struct clf_translate_options search_options(const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 2;
    options.max_length = MAX_IDS;
    options.subwords = 1;
    options.batch_tokens = 64;
    return options;
}

static clf_status work_with_model(struct run *run, struct clf_model *model)
{
    struct clf_translate_options options = search_options(model);
    struct clf_translator *translator;
    CLF__TRY(clf_translator_create(&translator, model, &options));
    run->turns[LOAD] = run->fault->count();
    clf_status status = translate(&run->results, translator);
    run->turns[TRANSLATE] = run->fault->count();
    if (status == CLF_OK) {
        status = score(&run->results, translator);
    }
    run->turns[SCORE] = run->fault->count();
    if (status == CLF_OK) {
        status = attend(&run->results, translator);
    }
    clf_translator_free(translator);
    return status;
}

static clf_status work(struct run *run)
{
    struct clf_device *device = run->device;
    struct clf_model *model;
    if (device == NULL) {
        CLF__TRY(clf_device_open(&device, NULL, &run->options));
    }
    run->turns[OPEN] = run->fault->count();
    clf_status status = clf_model_load(&model, device, support_fixture("models/marian"), NULL);
    if (status == CLF_OK) {
        status = work_with_model(run, model);
        clf_model_free(model);
    }
    if (run->device == NULL) {
        clf_device_close(device);
    }
    run->turns[ATTEND] = run->fault->count();
    return status;
}

static void assert_same(const struct results *actual, const struct results *expected)
{
    assert_memory_equal(actual->counts, expected->counts, sizeof actual->counts);
    assert_memory_equal(actual->ids, expected->ids, sizeof actual->ids);
    assert_true(actual->log_probability == expected->log_probability);
    assert_true(actual->first_map == expected->first_map);
}

static clf_status work_failing(struct run *run, uint64_t n)
{
    run->results = (struct results){.log_probability = 0};
    run->fault->fail_at(n);
    clf_status status = work(run);
    run->fault->fail_at(0);
    return status;
}

/* Which failures are tried: the first ones, those after the start of each phase, and a sample of the
 * others. */
struct effort {
    uint64_t first, of_phase, others;
};
static const struct effort full = {60, 20, 100}, light = {30, 20, 30}, least = {1, 1, 4};

static int is_tried(const struct run *clean, uint64_t n, const struct effort *effort)
{
    uint64_t start = 0, stride = clean->turns[ATTEND] / effort->others + 1;
    for (int p = 0; p < PHASES && clean->turns[p] < n; p++) {
        start = clean->turns[p];
    }
    return n <= effort->first || n - start <= effort->of_phase || n % stride == 0;
}

static void fail_each(struct run run, const struct effort *effort)
{
    assert_ok(work_failing(&run, 0)); /* warms every cache */
    assert_ok(work_failing(&run, 0));
    struct run clean = run;
    uint64_t total = clean.turns[ATTEND], left = run.device ? clf__device_free_bytes(run.device) : 0;
    uint64_t failures = 0, tried = 0;
    for (uint64_t n = 1; n <= total; n++) {
        if (!is_tried(&clean, n, effort)) {
            continue;
        }
        tried++;
        clf_status status = work_failing(&run, n);
        if (status == CLF_OK) { /* optional parts: the program cache */
            assert_same(&run.results, &clean.results);
        } else {
            failures++;
            assert_says(run.fault, status);
        }
        if (run.device != NULL) {
            assert_true(clf__device_free_bytes(run.device) == left);
        }
    }
    assert_true(failures > tried / 2);
    assert_ok(work_failing(&run, total + 1));
    assert_same(&run.results, &clean.results);
}

/* Opened by each run. */
static const struct clf_device_options native_options = {.size = sizeof native_options,
                                                         .gemm = CLF_GEMM_NATIVE,
                                                         .attention = CLF_ATTENTION_FUSED,
                                                         .use_program_cache = 1};

/* Reuses compiled programs, so that a run takes milliseconds. */
static int set_up(void **state)
{
    (void)state;
    set_cache_home(support_temporary_folder());
    return 0;
}

static void test_allocations(void **state)
{
    (void)state;
    struct run run = {.fault = &allocations, .options = native_options};
    fail_each(run, support_small() ? &least : &full);
}

static void test_opencl_calls(void **state)
{
    (void)state;
    struct run run = {.fault = &opencl_calls, .options = native_options};
    fail_each(run, support_small() ? &least : &full);
}

/* CLBlast compiles its kernels for each context, so its device stays open. */
static void test_other_providers(void **state)
{
    (void)state;
    if (support_small()) {
        skip();
    }
    struct run run;
    memset(&run, 0, sizeof run);
    clf_device_options_init(&run.options);
    run.options.gemm = CLF_GEMM_CLBLAST;
    run.options.attention = CLF_ATTENTION_BATCHED;
    assert_ok(clf_device_open(&run.device, NULL, &run.options));
    run.fault = &opencl_calls;
    fail_each(run, &light);
    run.fault = &allocations;
    fail_each(run, &light);
    clf_device_close(run.device);
}

/* A translator stays usable after a failed call: the caller may try again. */
static void check_survival(const struct fault *fault, struct clf_model *model)
{
    struct clf_translate_options options = search_options(model);
    struct clf_translator *translator;
    struct results expected = {.log_probability = 0};
    uint64_t total = 0;
    for (int i = 0; i < 2; i++) { /* the first run fills every cache */
        assert_ok(clf_translator_create(&translator, model, &options));
        fault->fail_at(0);
        assert_ok(translate(&expected, translator));
        total = fault->count();
        clf_translator_free(translator);
    }
    for (uint64_t n = 1; n <= total; n += 1 + total / (support_small() ? 3 : 30)) {
        struct results results = {.log_probability = 0};
        assert_ok(clf_translator_create(&translator, model, &options));
        fault->fail_at(n);
        assert_says(fault, translate(&results, translator));
        fault->fail_at(0);
        assert_ok(translate(&results, translator));
        assert_same(&results, &expected);
        clf_translator_free(translator);
    }
}

static void test_translator_survives(void **state)
{
    (void)state;
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    check_survival(&allocations, model);
    check_survival(&opencl_calls, model);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_allocations, support_teardown),
        cmocka_unit_test_teardown(test_opencl_calls, support_teardown),
        cmocka_unit_test_teardown(test_other_providers, support_teardown),
        cmocka_unit_test_teardown(test_translator_survives, support_teardown),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
