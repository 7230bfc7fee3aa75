/* Minimum and maximum of every configurable size, single and in pairs, on a device with little memory: each
 * folder is rejected, or loaded within a bound of device and host memory. In a dry run nothing is compiled,
 * and device memory is counted but not allocated. */
#include "model/folder.h"

#include <sys/resource.h>

#include <clformer/clformer.h>

#include "base/hash.h"
#include "model/backprop/training.h"
#include "model/config/config.h"
#include "model/config/sides.h"
#include "model/save.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/dry_run.h"
#include "runtime/program/launch.h"

#ifdef __SANITIZE_ADDRESS__ /* AddressSanitizer keeps up to 256 MiB of freed memory */
enum { HOST_KIB = 512 << 10 };
#else
enum { HOST_KIB = 64 << 10 };
#endif
enum { DEVICE_BYTES = 64 << 20, MOST_VALUES = 200000 };

static const struct {
    const char *key;
    long usual, least, most;
} sizes[] = {
    {"d_model", 16, 1, 65536},
    {"encoder_layers", 1, 1, 4096},
    {"decoder_layers", 1, 1, 4096},
    {"encoder_attention_heads", 2, 1, 4096},
    {"decoder_attention_heads", 2, 1, 4096},
    {"encoder_ffn_dim", 16, 1, 1 << 20},
    {"decoder_ffn_dim", 16, 1, 1 << 20},
    {"max_position_embeddings", 20, 1, 1 << 20},
    {"position_offset", 1, 0, 1 << 20},
    {"relative_attention_num_buckets", 8, 4, 1 << 20},
    {"relative_attention_max_distance", 16, 2, 1 << 20},
    {"d_k", 8, 1, 65536},
    {"d_v", 8, 1, 65536},
    {"vocab_size", 28, 28, 1 << 24},
    {"pad_token_id", 3, 0, 27},
    {"num_beams", 1, 1, 128},
    {"max_length", 20, 2, 1 << 30},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Whether to test pairs: frames and learned positions behave like other weights. */
static const struct kind {
    const char *positions, *more;
    int has_pairs;
} kinds[] = {
    {"sinusoid", "", 1},
    {"relative", "", 1},
    {"learned", "", 0},
    {"sinusoid", ", \"share_encoder_decoder_embeddings\": false, \"feature_size\": 8", 0},
    {"relative", ", \"share_encoder_decoder_embeddings\": false, \"feature_size\": 65536", 0},
};

static const char *folder;
static uint64_t written; /* the shapes of the weights in it */

/* A configuration whose keys i and j have these values. */
static void write_sizes(const struct kind *kind, int i, long at_i, int j, long at_j)
{
    char text[4096];
    int used = snprintf(text, sizeof text,
                        "{\"model_type\": \"clformer\", \"preset\": \"paper\", "
                        "\"position_padding_aware\": true, \"position_embedding_type\": \"%s\"%s",
                        kind->positions, kind->more);
    for (int k = 0; k < SIZES; k++) {
        long value = k == i ? at_i : k == j ? at_j : sizes[k].usual;
        used += snprintf(text + used, sizeof text - (size_t)used, ", \"%s\": %ld", sizes[k].key, value);
    }
    snprintf(text + used, sizeof text - (size_t)used, "}");
    folder_write_text(folder, "config.json", text);
}

/* Writes weights of these sizes if they are small, as a user would; otherwise, or if unchanged, the previous
 * ones stay. */
static void write_weights(void)
{
    struct clf__config config;
    struct clf__parameter_list list;
    if (clf__config_load(&config, folder) != CLF_OK) {
        return;
    }
    assert_ok(clf__parameter_list_create(&list, &config));
    double count = 0;
    uint64_t shapes = clf__checksum_begin((uint64_t)list.count);
    for (int i = 0; i < list.count; i++) {
        const int shape[] = {list.items[i].rows, list.items[i].columns};
        shapes = clf__checksum_add(shapes, shape, sizeof shape);
        count += (double)shape[0] * shape[1];
    }
    clf__parameter_list_free(&list);
    clf__config_free(&config);
    if (count <= MOST_VALUES && shapes != written) {
        written = shapes;
        assert_ok(clf__model_initialise(folder, 1, NULL, NULL));
    }
}

/* The peak memory of this process, in KiB. */
static long host_peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static clf_status use(struct clf_device *device)
{
    struct clf_model *model;
    struct clf_translator *translator;
    CLF__TRY(clf_model_load(&model, device, folder, NULL));
    clf_status status = clf_translator_create(&translator, model, NULL);
    if (status == CLF_OK) {
        status = clf_translator_prepare(translator);
        clf_translator_free(translator);
    }
    clf_model_free(model);
    return status;
}

static clf_status train(struct clf_device *device)
{
    static const struct clf__training_limits limits = {
        .sequences = 2, .source_tokens = 8, .target_tokens = 8, .source_length = 4, .target_length = 4};
    static const struct clf__training_options options = {.seed = 1};
    struct clf__transformer *transformer;
    struct clf__training *training = NULL;
    CLF__TRY(clf__transformer_load(&transformer, device, folder, CLF_PRECISION_FP32));
    clf_status status = clf__training_create(&training, transformer, &limits, &options);
    clf__training_free(training);
    clf__transformer_free(transformer);
    return status;
}

/* Returns whether it is accepted. */
static int check(struct clf_device *device, const struct kind *kind, int i, long at_i, int j, long at_j)
{
    struct clf__dry_run dry_run;
    write_sizes(kind, i, at_i, j, at_j);
    write_weights();
    uint64_t before = clf__device_free_bytes(device);
    long host_before = host_peak();
    clf__dry_run_begin(&dry_run, device);
    clf_status status = use(device);
    if (status == CLF_OK) {
        clf_status trained = train(device);
        assert_true(trained == CLF_OK || clf_last_error()[0] != '\0');
    } else {
        assert_true(clf_last_error()[0] != '\0');
    }
    uint64_t taken = clf__dry_run_end(&dry_run);
    assert_true(clf__device_free_bytes(device) == before);
    long host = host_peak() - host_before;
    if (taken > DEVICE_BYTES || host > HOST_KIB) {
        fail_msg("%s positions, \"%s\" %ld, \"%s\" %ld: %llu bytes of the device, %ld KiB of the host",
                 kind->positions, sizes[i].key, at_i, sizes[j].key, at_j, (unsigned long long)taken, host);
    }
    return status == CLF_OK;
}

static struct clf_device *open_device(clf_variant variant, clf_attention attention, struct clf__caps **caps)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.gemm = CLF_GEMM_NATIVE;
    options.variant = variant;
    options.attention = attention;
    assert_ok(clf_device_open(&device, NULL, &options));
    *caps = (struct clf__caps *)clf__device_caps(device);
    return device;
}

static void start_folder(void)
{
    char from[4096];
    size_t size;
    char *bytes;
    folder = support_temporary_folder();
    written = 0;
    snprintf(from, sizeof from, "%s", support_fixture("models/paper/vocab.json"));
    assert_ok(clf__file_read(&bytes, &size, from, 1 << 20));
    folder_write(folder, "vocab.json", bytes, size);
    clf__free(bytes);
}

static void test_extremes(void **state)
{
    (void)state;
    struct clf__caps *caps;
    struct clf_device *device = open_device(CLF_VARIANT_AUTO, CLF_ATTENTION_AUTO, &caps);
    caps->usable_bytes += DEVICE_BYTES - clf__device_free_bytes(device);
    start_folder();
    int taken = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int is_usual_taken = check(device, &kinds[k], 0, sizes[0].usual, 0, sizes[0].usual);
        assert_true(is_usual_taken || k + 1 == sizeof kinds / sizeof *kinds); /* frames of 256 KiB each */
        for (int i = 0; i < SIZES; i++) {
            for (int j = i; j < (kinds[k].has_pairs ? SIZES : i + 1); j++) {
                int step = i != j && support_small() ? 3 : 1; /* both minimum or both maximum */
                for (int ends = 0; ends < (i == j ? 2 : 4); ends += step) {
                    long at_i = ends % 2 == 0 ? sizes[i].least : sizes[i].most;
                    long at_j = ends / 2 == 0 ? sizes[j].least : sizes[j].most;
                    taken += check(device, &kinds[k], i, at_i, j, at_j);
                }
            }
        }
    }
    assert_true(taken > 100); /* many are valid models */
    /* An offset costs nothing: no row before it is read. */
    enum { OFFSET = 8 };
    assert_string_equal(sizes[OFFSET].key, "position_offset");
    assert_true(check(device, &kinds[0], OFFSET, sizes[OFFSET].most, OFFSET, sizes[OFFSET].most));
    clf_device_close(device);
}

/* Tables are as long as the longest sequence, not as the configuration permits, and grow without changing
 * rows. */
static void test_tables_of_what_is_used(void **state)
{
    (void)state;
    struct clf__caps *caps;
    struct clf_device *device = open_device(CLF_VARIANT_AUTO, CLF_ATTENTION_AUTO, &caps);
    start_folder();
    for (int k = 0; k < 2; k++) {
        struct clf__transformer *transformer;
        write_sizes(&kinds[k], 7, 5000, 10, 3000);
        write_weights();
        assert_ok(clf__transformer_load(&transformer, device, folder, CLF_PRECISION_FP32));
        const struct clf__embedder *embedder = &transformer->encoder.embedder;
        const struct clf__tensor *table = k == 0 ? &embedder->positions : &embedder->relative.table;
        assert_ok(clf__transformer_ensure_positions(transformer, 6, 6));
        struct clf__tensor few = *table;
        /* Sinusoids: one for the pad token, none before the offset; relative biases: 6 in each direction. */
        assert_int_equal(k == 0 ? few.rows : few.columns, k == 0 ? 7 : 13);
        float *before = support_read(few);
        assert_ok(clf__transformer_ensure_positions(transformer, 5, 100));
        assert_true(table->buffer == few.buffer);
        assert_int_equal(transformer->decoder.embedder.positions.rows, k == 0 ? 101 : 0);
        assert_ok(clf__transformer_ensure_positions(transformer, 100, 100));
        float *after = support_read(*table);
        int more = (table->columns - few.columns) / 2; /* a table of biases grows at both ends */
        for (int row = 0; row < few.rows; row++) {
            assert_memory_equal(before + row * few.columns, after + row * table->columns + more,
                                (size_t)few.columns * sizeof(float));
        }
        assert_ok(clf__transformer_ensure_positions(transformer, 1 << 20, 1 << 20));
        assert_int_equal(k == 0 ? table->rows : table->columns, k == 0 ? 5001 : 6001);
        clf__transformer_free(transformer);
    }
    clf_device_close(device);
}

static void refuse(struct clf_device *device, long key_width, long value_width, const char *part)
{
    struct clf__transformer *transformer;
    write_sizes(&kinds[0], 11, key_width, 12, value_width);
    assert_fails(clf__transformer_load(&transformer, device, folder, CLF_PRECISION_FP32), CLF_UNSUPPORTED,
                 part);
    assert_non_null(strstr(clf_last_error(), "/config.json: \"d_k\" "));
    assert_non_null(strstr(clf_last_error(), " supports head widths up to "));
}

static clf_status check_heads(const struct clf_device *device, int key_width, int value_width, int is_trained)
{
    struct clf__config config;
    clf__config_preset(&config, CLF__PAPER);
    config.encoder_key_width = config.decoder_key_width = key_width;
    config.encoder_value_width = config.decoder_value_width = value_width;
    return clf__config_check_heads(&config, device, "folder", is_trained);
}

/* Wide heads use an unchecked stack or local memory: sizes that do not fit are rejected before anything is
 * created, by kernel variant and kind of attention. The folders have no weights of that width: they are not
 * read. */
static void test_wide_heads(void **state)
{
    (void)state;
    struct clf__caps *caps;
    start_folder();
    struct clf_device *device = open_device(CLF_VARIANT_CPU, CLF_ATTENTION_FUSED, &caps);
    refuse(device, 65536, 8, "\"d_k\" 65536 and \"d_v\" 8: encoder heads");
    refuse(device, 32768, 32768, "of a thread's stack");
    assert_ok(check_heads(device, 512, 512, 0));
    assert_ok(check_heads(device, 128, 128, 1));
    assert_fails(check_heads(device, 32768, 8, 1), CLF_UNSUPPORTED, "training supports head widths up to");
    clf_device_close(device);
    device = open_device(CLF_VARIANT_CPU, CLF_ATTENTION_BATCHED, &caps);
    assert_ok(check_heads(device, 32768, 32768, 0)); /* only a step keeps a query and its sums */
    assert_fails(check_heads(device, 32768, 32768, 1), CLF_UNSUPPORTED, "stack");
    int has_gpu_variant = caps->max_work_group >= CLF__TILE_GROUP;
    clf_device_close(device);
    if (!has_gpu_variant) {
        return;
    }
    device = open_device(CLF_VARIANT_GPU, CLF_ATTENTION_AUTO, &caps);
    caps->local_memory_bytes = 32768;
    assert_ok(check_heads(device, 4096, 1024, 1));
    refuse(device, 8, 65536, "bytes of local memory, but the device has 32768");
    refuse(device, 8192, 8, "bytes of local memory, but the device has 32768");
    clf_device_close(device);
}

/* The named keys are those that were set. */
static void test_heads_of_d_model(void **state)
{
    (void)state;
    struct clf__caps *caps;
    struct clf_device *device = open_device(CLF_VARIANT_CPU, CLF_ATTENTION_FUSED, &caps);
    struct clf__config config;
    clf__config_preset(&config, CLF__MARIAN);
    config.d_model = config.decoder_key_width = config.decoder_value_width = 65536;
    config.decoder_heads = 1;
    assert_fails(clf__config_check_heads(&config, device, NULL, 0), CLF_UNSUPPORTED,
                 "config.json: \"d_model\" 65536 and \"decoder_attention_heads\" 1: decoder heads");
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_extremes, support_teardown),
        cmocka_unit_test_teardown(test_tables_of_what_is_used, support_teardown),
        cmocka_unit_test_teardown(test_wide_heads, support_teardown),
        cmocka_unit_test_teardown(test_heads_of_d_model, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
