/* Decoding with persistent launches gives the candidates of separate launches, also if groups stop waiting,
 * if results differ, and if another open device uses the hardware. */
#include <pthread.h>
#include <string.h>

#include "model/infer/internal.h"
#include "model/save.h"
#include "runtime/device/device.h"
#include "runtime/device/exclusive.h"
#include "support/support.h"
#include "support/threads.h"

#include "model/folder.h"

enum { SOURCES = 3, BEAM = 4, ROWS = SOURCES * BEAM, LENGTH = 5, CANDIDATES = 3, LAYERS = 2, LONGEST = 600 };

static const char sizes[] =
    ", \"d_model\": 64, \"encoder_layers\": 1, \"decoder_layers\": 2, \"encoder_ffn_dim\": 48,"
    " \"decoder_ffn_dim\": 100, \"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2,"
    " \"max_position_embeddings\": 600, \"vocab_size\": 90}";

static const int short_first[] = {0, 3, 9, 14};
static const int32_t short_ids[14] = {4, 9, 2, 5, 6, 7, 8, 30, 2, 11, 12, 13, 14, 2};
static const struct clf__sequences short_sources = {.count = SOURCES, .first = short_first, .ids = short_ids};

static const char *make_model(const char *preset)
{
    char text[512];
    const char *folder = support_temporary_folder();
    snprintf(text, sizeof text, "{\"model_type\": \"clformer\", \"preset\": \"%s\"%s", preset, sizes);
    folder_write_text(folder, "config.json", text);
    assert_ok(clf__model_initialise(folder, 3, NULL, NULL));
    return folder;
}

/* The candidates of all steps. */
struct candidates {
    float values[LENGTH][ROWS * CANDIDATES], statistics[LENGTH][4 * ROWS];
    int32_t ids[LENGTH][ROWS * CANDIDATES];
};

/* In each step a row follows another row of its source. The session's persistent launches fail after a stage
 * of one step. */
static void decode(struct candidates *out, struct clf__session *session, int rows, int failing_step,
                   int failing_stage)
{
    static const int32_t banned[ROWS + 1] = {0};
    memset(out, 0, sizeof *out);
    for (int t = 0; t < LENGTH; t++) {
        int32_t tokens[ROWS], positions[ROWS], cache_rows[ROWS], parents[ROWS], slots[ROWS];
        for (int r = 0; r < rows; r++) {
            tokens[r] = t == 0 ? 1 : 3 + (7 * r + 5 * t) % 80;
            positions[r] = t;
            cache_rows[r] = r;
            parents[r] = r / BEAM * BEAM + (r * t + t) % BEAM;
            slots[r] = r / BEAM;
        }
        struct clf__step step = {.rows = rows,
                                 .tokens = tokens,
                                 .positions = positions,
                                 .cache_rows = cache_rows,
                                 .parents = parents,
                                 .slots = slots,
                                 .banned = banned,
                                 .banned_offsets = banned,
                                 .candidates = CANDIDATES,
                                 .values = out->values[t],
                                 .ids = out->ids[t],
                                 .statistics = out->statistics[t]};
        session->persistent.fails_at = t == failing_step ? failing_stage : -1;
        assert_ok(clf__session_step(session, &step));
    }
}

static int spoils;     /* modifies the copies of vectors that persistent launches read */
static int most_looks; /* maximum reads of the counter in a wait; 0: the device's */

/* Returns the stages of a layer in persistent launches. */
static int run_sources(struct candidates *out, struct clf__transformer *transformer,
                       const struct clf__sequences *sources, int failing_step, int failing_stage)
{
    int rows = sources->count * BEAM;
    const struct clf__session_limits limits = {.sources = sources->count,
                                               .source_tokens = sources->first[sources->count],
                                               .source_length = LONGEST,
                                               .cache_rows = rows,
                                               .positions = LENGTH,
                                               .candidates = CANDIDATES};
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, sources));
    session->persistent.most_looks = most_looks;
    if (spoils) {
        struct clf__buffer *vectors = session->persistent.vectors.buffer;
        assert_ok(clf__buffer_fill(vectors, 0, clf__buffer_bytes(vectors), 0.5f));
    }
    decode(out, session, rows, failing_step, failing_stage);
    int stages = session->persistent.layer_stages;
    clf__session_free(session);
    return stages;
}

static int run(struct candidates *out, struct clf__transformer *transformer, int failing_step,
               int failing_stage)
{
    return run_sources(out, transformer, &short_sources, failing_step, failing_stage);
}

/* A device that counts launches; skips if it does not support persistent ones. */
static struct clf_device *open_device(void)
{
    struct clf_device *device = support_open_profiled(CLF_VARIANT_GPU, CLF_INSTRUCTIONS_EMULATED);
    const struct clf__caps *caps = clf__device_caps(device);
    if (!caps->has_device_atomics || caps->max_work_group < CLF__STAGE_GROUP) {
        clf_device_close(device);
        skip();
    }
    return device;
}

static void check_model(struct clf_device *device, const char *preset, clf_precision precision)
{
    const char *folder = make_model(preset);
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, folder, precision));
    static struct candidates many, one;
    enum clf__tunable tunable = CLF__TUNABLE_STEP_ROWS + (int)clf__precision_of(precision);
    clf__device_set_tunable(device, tunable, 0);
    run(&many, transformer, -1, -1);
    clf__device_set_tunable(device, tunable, clf__tunables[tunable].standard);
    int64_t before = support_launches(device, "decoder_layers_gpu");
    int stages = LAYERS * run(&one, transformer, -1, -1) - 1; /* no group waits after the last one */
    assert_int_equal(support_launches(device, "decoder_layers_gpu") - before, LENGTH);
    assert_memory_equal(&one, &many, sizeof one);
    for (int stage = 0; stage < stages; stage++) {
        run(&one, transformer, stage % LENGTH, stage);
        assert_memory_equal(&one, &many, sizeof one);
        assert_true(device->has_no_persistent_launches);
        device->has_no_persistent_launches = 0;
    }
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_same_candidates(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    check_model(device, "paper", CLF_PRECISION_FP16);
    check_model(device, "annotated", CLF_PRECISION_BF16);
    check_model(device, "paper", CLF_PRECISION_INT8);
    clf_device_close(device);
}

/* Sources whose keys are processed in parts, which groups share if there are few rows. */
static void test_long_sources(void **state)
{
    (void)state;
    static const int first[] = {0, 257, 257 + LONGEST};
    static int32_t ids[257 + LONGEST];
    for (int i = 0; i < 257 + LONGEST; i++) {
        ids[i] = i == 256 || i == 256 + LONGEST ? 2 : 3 + 7 * i % 80;
    }
    struct clf_device *device = open_device();
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, make_model("paper"), CLF_PRECISION_FP16));
    enum clf__tunable tunable = CLF__TUNABLE_STEP_ROWS + CLF__PRECISION_FP16;
    for (int count = 1; count <= 2; count++) {
        static struct candidates many, one;
        const struct clf__sequences sources = {.count = count, .first = first, .ids = ids};
        clf__device_set_tunable(device, tunable, 0);
        run_sources(&many, transformer, &sources, -1, -1);
        clf__device_set_tunable(device, tunable, clf__tunables[tunable].standard);
        int64_t before = support_launches(device, "decoder_layers_gpu");
        run_sources(&one, transformer, &sources, -1, -1);
        assert_int_equal(support_launches(device, "decoder_layers_gpu") - before, LENGTH);
        assert_memory_equal(&one, &many, sizeof one);
    }
    assert_true(support_launches(device, "attention_rows_join_gpu") > 0);
    clf__transformer_free(transformer);
    clf_device_close(device);
    support_free_all();
}

/* At most one of two open devices on the same hardware has persistent launches at a time. */
static void test_two_devices(void **state)
{
    (void)state;
    struct clf_device *device = open_device(), *other;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    assert_ok(clf_device_open(&other, NULL, &options));
    if (other->id != device->id) {
        clf_device_close(other);
        clf_device_close(device);
        skip();
    }
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, make_model("paper"), CLF_PRECISION_FP16));
    static struct candidates one, many;
    run(&one, transformer, -1, -1);
    int64_t before = support_launches(device, "decoder_layers_gpu");
    assert_true(clf__device_claim(other));
    assert_true(clf__device_claim(other));
    assert_false(clf__device_claim(device));
    run(&many, transformer, -1, -1);
    assert_memory_equal(&one, &many, sizeof one);
    assert_int_equal(support_launches(device, "decoder_layers_gpu"), before);
    clf__device_release(device); /* holds nothing */
    assert_false(clf__device_claim(device));
    clf__device_release(other);
    assert_false(clf__device_claim(device)); /* the other device has claimed twice */
    clf__device_release(other);
    run(&one, transformer, -1, -1);
    assert_memory_equal(&one, &many, sizeof one);
    assert_int_equal(support_launches(device, "decoder_layers_gpu"), before + LENGTH);
    clf__transformer_free(transformer);
    clf_device_close(other);
    clf_device_close(device);
    support_free_all();
}

/* Persistent launches with vectors that differ from the layers': the first step detects it, and all steps are
 * correct. */
static void test_different_results(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, make_model("paper"), CLF_PRECISION_FP16));
    static struct candidates many, one;
    clf__device_set_tunable(device, CLF__TUNABLE_STEP_ROWS + CLF__PRECISION_FP16, 0);
    run(&many, transformer, -1, -1);
    clf__device_set_tunable(device, CLF__TUNABLE_STEP_ROWS + CLF__PRECISION_FP16, CLF__PERSISTENT_ROWS);
    spoils = 1;
    run(&one, transformer, -1, -1);
    spoils = 0;
    assert_memory_equal(&one, &many, sizeof one);
    assert_true(device->has_no_persistent_launches);
    assert_int_equal(device->persistent_proofs, 0);
    assert_int_equal(support_launches(device, "decoder_layers_gpu"), 1);
    device->has_no_persistent_launches = 0;
    run(&one, transformer, -1, -1);
    assert_int_equal(device->persistent_proofs, CLF__PERSISTENT_PROOFS);
    assert_int_equal(support_launches(device, "decoder_layers_gpu"), 1 + LENGTH);
    clf__transformer_free(transformer);
    clf_device_close(device);
    support_free_all();
}

/* Counts the warnings that concern persistent launches. */
static void count_warning(clf_log_level level, const char *message, void *count)
{
    *(int *)count += level == CLF_LOG_WARNING && strstr(message, "persistent launch") != NULL;
}

/* A launch of more groups than the device runs at once ends, the step is repeated, and separate launches
 * follow, with one warning for all sessions. */
static void test_too_many_groups(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    if (clf_device_describe(device)->kind !=
        CLF_DEVICE_CPU) { /* a GPU runs several groups per compute unit */
        clf_device_close(device);
        skip();
    }
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, make_model("paper"), CLF_PRECISION_FP16));
    static struct candidates many, one;
    int warnings = 0;
    device->caps.compute_units = 3 * device->caps.compute_units + 1;
    clf__device_set_tunable(device, CLF__TUNABLE_STEP_ROWS + CLF__PRECISION_FP16, 0);
    run(&many, transformer, -1, -1);
    clf__device_set_tunable(device, CLF__TUNABLE_STEP_ROWS + CLF__PRECISION_FP16, CLF__PERSISTENT_ROWS);
    most_looks = 1 << 16;
    clf_log_set(count_warning, &warnings);
    for (int i = 0; i < 2; i++) {
        run(&one, transformer, -1, -1);
        assert_memory_equal(&one, &many, sizeof one);
    }
    clf_log_set(NULL, NULL);
    most_looks = 0;
    assert_int_equal(warnings, 1);
    assert_true(device->has_no_persistent_launches);
    assert_int_equal(support_launches(device, "decoder_layers_gpu"), 1);
    clf__transformer_free(transformer);
    clf_device_close(device);
    support_free_all();
}

/* A thread that decodes several times on its own device. */
enum { THREADS = 2, TIMES = 8 };
struct decoder_thread {
    pthread_t thread;
    struct clf_device *device;
    struct clf__transformer *transformer;
    struct candidates found[TIMES];
};

static void *decode_again_and_again(void *argument)
{
    struct decoder_thread *own = argument;
    for (int i = 0; i < TIMES; i++) {
        run(&own->found[i], own->transformer, -1, -1);
    }
    return NULL;
}

/* Two threads decode at once on the same hardware. In each step, at most one of them has a persistent launch.
 */
static void test_two_threads(void **state)
{
    (void)state;
    static struct decoder_thread threads[THREADS];
    static struct candidates many;
    const char *folder = make_model("paper");
    int64_t launches = 0;
    int warnings = 0;
    for (int i = 0; i < THREADS; i++) {
        threads[i].device = open_device();
        assert_ok(
            clf__transformer_load(&threads[i].transformer, threads[i].device, folder, CLF_PRECISION_FP16));
    }
    enum clf__tunable tunable = CLF__TUNABLE_STEP_ROWS + CLF__PRECISION_FP16;
    clf__device_set_tunable(threads[0].device, tunable, 0);
    run(&many, threads[0].transformer, -1, -1);
    clf__device_set_tunable(threads[0].device, tunable, clf__tunables[tunable].standard);
    clf_log_set(count_warning, &warnings);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i].thread, NULL, decode_again_and_again, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    }
    clf_log_set(NULL, NULL);
    for (int i = 0; i < THREADS; i++) {
        for (int time = 0; time < TIMES; time++) {
            assert_memory_equal(&threads[i].found[time], &many, sizeof many);
        }
        launches += support_launches(threads[i].device, "decoder_layers_gpu");
        assert_false(threads[i].device->has_no_persistent_launches);
        clf__transformer_free(threads[i].transformer);
        clf_device_close(threads[i].device);
    }
    assert_int_equal(warnings, 0);
    assert_in_range(launches, LENGTH * TIMES, THREADS * LENGTH * TIMES);
    support_free_all();
}

static void test_switched_off(void **state)
{
    (void)state;
    setenv("CLFORMER_WITHOUT", "persistent", 1);
    struct clf_device *device = open_device();
    unsetenv("CLFORMER_WITHOUT");
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, make_model("paper"), CLF_PRECISION_FP16));
    static struct candidates candidates;
    run(&candidates, transformer, -1, -1);
    assert_int_equal(support_launches(device, "decoder_layers_gpu"), 0);
    clf__transformer_free(transformer);
    clf_device_close(device);
    support_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same_candidates, support_teardown),
        cmocka_unit_test_teardown(test_long_sources, support_teardown),
        cmocka_unit_test_teardown(test_two_devices, support_teardown),
        cmocka_unit_test_teardown(test_different_results, support_teardown),
        cmocka_unit_test_teardown(test_too_many_groups, support_teardown),
        cmocka_unit_test_teardown(test_two_threads, support_teardown),
        cmocka_unit_test_teardown(test_switched_off, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
