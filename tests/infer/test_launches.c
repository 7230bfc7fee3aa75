/* The number of launches per decoder layer in a step, with linear layers in pairs and separately: the same
 * candidates, also if a group stops waiting. With device-scope atomics and without. */
#include <string.h>

#include "math/layers/linear_pair.h"
#include "math/ops/arguments.h"
#include "model/infer/internal.h"
#include "model/save.h"
#include "runtime/device/device.h"
#include "support/support.h"

#include "model/folder.h"

enum { SOURCES = 16, BEAM = 4, ROWS = SOURCES * BEAM, LENGTH = 3, CANDIDATES = 2, EACH = 6 };

/* A model of each family: its decoder layers, and the launches per layer, rounded up. A decoder also has
 * launches before the first and after the last attention: two, in int8 four. With one layer, these count in
 * full. */
struct family {
    const char *fixture;
    int layers;
    int paired, paired_int8; /* linear layers in pairs */
    int split, split_int8;   /* pairs in two launches */
    int separate,
        separate_int8; /* one launch per operation; in int8 each linear layer also converts its input */
};
static const struct family families[] = {
    {"marian", 2, 6, 7, 9, 12, 11, 17},  {"bart", 1, 7, 9, 9, 13, 11, 17},
    {"m2m100", 1, 7, 9, 9, 13, 11, 17},  {"t5-gated", 1, 8, 10, 10, 14, 12, 18}, /* the gate is a launch */
    {"whisper", 2, 6, 7, 9, 12, 11, 17},
};

struct candidates {
    float values[LENGTH][ROWS * CANDIDATES], statistics[LENGTH][4 * ROWS];
    int32_t ids[LENGTH][ROWS * CANDIDATES];
};

/* Runs step t of `rows` rows and returns its launches. */
static int64_t run_step(struct candidates *out, struct clf__session *session, int rows, int t)
{
    static const int32_t banned[ROWS + 1] = {0};
    struct clf_device *device = session->transformer->device;
    int32_t tokens[ROWS], positions[ROWS], cache_rows[ROWS], parents[ROWS], slots[ROWS];
    for (int r = 0; r < rows; r++) {
        tokens[r] = t == 0 ? 1 : 3 + (7 * r + 5 * t) % 20;
        positions[r] = t;
        cache_rows[r] = r;
        parents[r] = r / BEAM * BEAM + (r * t + t) % (rows < BEAM ? rows : BEAM);
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
    int64_t before = support_launches(device, NULL);
    assert_ok(clf__session_step(session, &step));
    return support_launches(device, NULL) - before;
}

static void start(struct clf__session *session, struct clf__transformer *transformer)
{
    static int first[SOURCES + 1];
    static int32_t ids[SOURCES * EACH];
    struct support_random random = {3};
    int features = transformer->config.feature_size;
    for (int i = 0; i < SOURCES * EACH; i++) {
        first[i / EACH + 1] = (i / EACH + 1) * EACH;
        ids[i] = 3 + 7 * i % 20;
    }
    const float *frames =
        features > 0 ? support_uniform_array(&random, SOURCES * EACH * (size_t)features, 1) : NULL;
    const struct clf__sequences sources = {
        .count = SOURCES, .first = first, .ids = features > 0 ? NULL : ids, .frames = frames};
    assert_ok(clf__session_start(session, &sources));
}

/* Decodes LENGTH steps and returns the launches per layer of the last one, rounded up. In step 1, task
 * `fails_at` of each pair does not wait (-1: none). */
static int run(struct candidates *out, struct clf__transformer *transformer, int rows, int fails_at)
{
    const struct clf__session_limits limits = {.sources = SOURCES,
                                               .source_tokens = SOURCES * EACH,
                                               .source_length = EACH,
                                               .cache_rows = ROWS,
                                               .positions = LENGTH,
                                               .candidates = CANDIDATES};
    struct clf__session *session;
    int layers = transformer->decoder.layer_count;
    int64_t launches = 0;
    memset(out, 0, sizeof *out);
    assert_ok(clf__session_create(&session, transformer, &limits));
    start(session, transformer);
    for (int t = 0; t < LENGTH; t++) {
        session->pairs.fails_at = t == 1 ? fails_at : -1;
        launches = run_step(out, session, rows, t);
    }
    static struct candidates ignored;
    transformer->decoder.layer_count = 0; /* for the launches of a step outside its layers */
    launches -= run_step(&ignored, session, rows, LENGTH - 1);
    transformer->decoder.layer_count = layers;
    clf__session_free(session);
    return (int)((launches + layers - 1) / layers);
}

static void check_rows(struct clf__transformer *transformer, clf_precision precision, int rows, int paired,
                       int separate)
{
    static struct candidates few, many;
    struct clf_device *device = transformer->device;
    enum clf__tunable tunable = CLF__TUNABLE_STEP_ROWS + (int)clf__precision_of(precision);
    clf__device_set_tunable(device, tunable, 0);
    assert_int_equal(run(&many, transformer, rows, -1), separate);
    clf__device_set_tunable(device, tunable, clf__tunables[tunable].standard);
    assert_int_equal(run(&few, transformer, rows, -1), paired);
    assert_memory_equal(&few, &many, sizeof few);
}

static void check_family(struct clf_device *device, const struct family *family, clf_precision precision)
{
    const struct clf__caps *caps = clf__device_caps(device);
    int is_split = !caps->has_device_atomics && !caps->has_fenced_atomics;
    int paired = is_split ? family->split : family->paired;
    int paired_int8 = is_split ? family->split_int8 : family->paired_int8;
    char path[256];
    snprintf(path, sizeof path, "models/%s", family->fixture);
    int is_int8 = precision == CLF_PRECISION_INT8;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(path), precision));
    assert_int_equal(transformer->decoder.layer_count, family->layers);
    static const int rows[] = {1, BEAM, ROWS};
    int separate = is_int8 ? family->separate_int8 : family->separate;
    for (int i = 0; i < 3; i++) {
        int is_separate = is_split && rows[i] > CLF__SPLIT_ROWS;
        check_rows(transformer, precision, rows[i],
                   is_separate ? separate
                   : is_int8   ? paired_int8
                               : paired,
                   separate);
    }
    clf__transformer_free(transformer);
    support_free_all();
}

/* How groups wait: with device-scope atomics, without them, or not at all. */
enum waiting { ATOMICS, FENCED, NONE };

static struct clf_device *open_device(clf_instructions instructions, enum waiting waiting)
{
    struct clf_device *device = NULL;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    options.instructions = instructions;
    options.profile = 1;
    assert_ok(clf_device_open(&device, NULL, &options));
    if (waiting != ATOMICS) {
        support_hide_atomics(device, waiting == FENCED);
    } else if (!clf__device_caps(device)->has_device_atomics) {
        clf_device_close(device);
        skip();
    }
    device->linear_pair_proofs = CLF__PERSISTENT_PROOFS; /* a proof repeats the step */
    return device;
}

static void test_families(void **state)
{
    (void)state;
    struct clf_device *device = open_device(CLF_INSTRUCTIONS_PORTABLE, ATOMICS);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        check_family(device, &families[i], CLF_PRECISION_FP32);
        if (!support_small() || i == 0) {
            check_family(device, &families[i], CLF_PRECISION_INT8);
            check_family(device, &families[i], CLF_PRECISION_FP16);
        }
    }
    clf_device_close(device);
}

static void check_without_atomics(enum waiting waiting)
{
    struct clf_device *device = open_device(CLF_INSTRUCTIONS_PORTABLE, waiting);
    check_family(device, &families[0], CLF_PRECISION_FP32);
    check_family(device, &families[0], CLF_PRECISION_INT8);
    for (size_t i = 1; i < sizeof families / sizeof *families && !support_small(); i++) {
        check_family(device, &families[i], CLF_PRECISION_FP32);
        check_family(device, &families[i], CLF_PRECISION_INT8);
    }
    clf_device_close(device);
}

/* As many launches without device-scope atomics. */
static void test_fenced(void **state)
{
    (void)state;
    check_without_atomics(FENCED);
}

/* More launches if groups cannot wait. */
static void test_split(void **state)
{
    (void)state;
    check_without_atomics(NONE);
}

/* GEMMs with matrix instructions, which read rounded rows, without persistent launches. */
static void check_matrix(enum waiting waiting, int paired, int paired_int8)
{
    static const char config[] =
        "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"d_model\": 64, \"encoder_layers\": 1,"
        " \"decoder_layers\": 2, \"encoder_ffn_dim\": 48, \"decoder_ffn_dim\": 96,"
        " \"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, \"max_position_embeddings\": 600,"
        " \"vocab_size\": 90}";
    const char *folder = support_temporary_folder();
    folder_write_text(folder, "config.json", config);
    assert_ok(clf__model_initialise(folder, 3, NULL, NULL));
    struct clf_device *device = open_device(CLF_INSTRUCTIONS_EMULATED, waiting);
    device->has_no_persistent_launches = 1;
    for (int is_int8 = 0; is_int8 <= 1; is_int8++) {
        clf_precision precision = is_int8 ? CLF_PRECISION_INT8 : CLF_PRECISION_FP16;
        struct clf__transformer *transformer;
        assert_ok(clf__transformer_load(&transformer, device, folder, precision));
        check_rows(transformer, precision, 1, is_int8 ? paired_int8 : paired, is_int8 ? 15 : 12);
        check_rows(transformer, precision, BEAM, is_int8 ? paired_int8 : paired, is_int8 ? 15 : 12);
        clf__transformer_free(transformer);
    }
    clf_device_close(device);
    support_free_all();
}

static void test_matrix(void **state)
{
    (void)state;
    check_matrix(ATOMICS, 7, 7);
}

static void test_fenced_matrix(void **state)
{
    (void)state;
    check_matrix(FENCED, 7, 7);
}

static void test_split_matrix(void **state)
{
    (void)state;
    check_matrix(NONE, 9, 12);
}

static void count_warning(clf_log_level level, const char *message, void *count)
{
    *(int *)count += level == CLF_LOG_WARNING && strstr(message, "work-groups waited") != NULL;
}

/* The first steps are repeated with separate launches, and compared. After a failure all steps use those. */
static void check_failure(enum waiting waiting)
{
    static struct candidates few, many;
    struct clf_device *device = open_device(CLF_INSTRUCTIONS_PORTABLE, waiting);
    struct clf__transformer *transformer;
    int warnings = 0;
    assert_ok(
        clf__transformer_load(&transformer, device, support_fixture("models/marian"), CLF_PRECISION_FP32));
    device->linear_pair_proofs = 0;
    run(&many, transformer, BEAM, -1);
    assert_int_equal(device->linear_pair_proofs, CLF__PERSISTENT_PROOFS);
    assert_false(device->has_no_linear_pairs);
    clf_log_set(count_warning, &warnings);
    int launches = run(&few, transformer, BEAM, 0);
    clf_log_set(NULL, NULL);
    assert_int_equal(launches, families[0].separate);
    assert_int_equal(warnings, 1);
    assert_true(device->has_no_linear_pairs);
    assert_memory_equal(&few, &many, sizeof few);
    clf__transformer_free(transformer);
    clf_device_close(device);
}

static void test_failure(void **state)
{
    (void)state;
    check_failure(ATOMICS);
}

static void test_fenced_failure(void **state)
{
    (void)state;
    check_failure(FENCED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_failure, support_teardown),
        cmocka_unit_test_teardown(test_families, support_teardown),
        cmocka_unit_test_teardown(test_matrix, support_teardown),
        cmocka_unit_test_teardown(test_fenced_failure, support_teardown),
        cmocka_unit_test_teardown(test_fenced, support_teardown),
        cmocka_unit_test_teardown(test_fenced_matrix, support_teardown),
        cmocka_unit_test_teardown(test_split, support_teardown),
        cmocka_unit_test_teardown(test_split_matrix, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
