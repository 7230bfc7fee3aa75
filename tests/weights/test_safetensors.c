#include "model/folder.h"

#include <math.h>

#include "model/weights/weights.h"

/* Writes <folder>/<name>: a header and data_size bytes that count 0, 1, 2, ... */
static void write_safetensors(const char *folder, const char *name, const char *header, size_t data_size)
{
    size_t length = strlen(header), size = 8 + length + data_size;
    uint8_t *bytes = support_array(size, 1);
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    }
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data_size; i++) {
        bytes[8 + length + i] = (uint8_t)i;
    }
    folder_write(folder, name, bytes, size);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static const char *scratch(void)
{
    static const char *folder;
    if (!folder) {
        folder = support_temporary_folder();
    }
    return folder;
}

static void expect_failure(const char *header, size_t data_size, const char *part)
{
    struct clf__weights *weights;
    write_safetensors(scratch(), "model.safetensors", header, data_size);
    assert_fails(clf__weights_open(&weights, scratch()), CLF_FORMAT, part);
    assert_non_null(strstr(clf_last_error(), "again"));
    assert_non_null(strstr(clf_last_error(), "model.safetensors"));
    assert_null(weights);
}

static const char *const small = "{\"__metadata__\": {\"format\": \"pt\"}, \"a\": {\"dtype\": \"F32\", "
                                 "\"shape\": [2, 3], \"data_offsets\": [0, "
                                 "24]}, \"b\": {\"dtype\": \"I64\", \"shape\": [1], \"data_offsets\": [24, "
                                 "32]}, \"none\": {\"dtype\": \"F16\", "
                                 "\"shape\": [4, 0], \"data_offsets\": [32, 32]}}";

static void test_open(void **state)
{
    (void)state;
    const char *folder = scratch();
    write_safetensors(folder, "model.safetensors", small, 32);
    struct clf__weights *weights;
    assert_ok(clf__weights_open(&weights, folder));
    assert_int_equal(clf__weights_count(weights), 3);
    const struct clf__stored_tensor *a = clf__weights_find(weights, "a");
    assert_non_null(a);
    assert_int_equal(a->type, CLF__STORED_F32);
    assert_true(a->dimensions == 2 && a->shape[0] == 2 && a->shape[1] == 3 && a->size == 24);
    float counted[6];
    assert_ok(clf__stored_tensor_read(a, counted));
    assert_int_equal(bits_of(counted[1]), 0x07060504); /* the file's bytes 4 to 7 */
    const struct clf__stored_tensor *b = clf__weights_find(weights, "b");
    assert_int_equal(b->type, CLF__STORED_OTHER);
    assert_string_equal(b->type_name, "I64");
    float unused[8];
    assert_fails(
        clf__stored_tensor_read(b, unused), CLF_FORMAT,
        "\"b\" has dtype I64, but only floats of 16, 32 or 64 bits are supported; convert the tensor");
    assert_null(clf__weights_find(weights, "__metadata__"));
    assert_null(clf__weights_find(weights, ""));
    assert_null(clf__weights_at(weights, 3));
    assert_null(clf__weights_at(weights, -1));
    assert_string_equal(clf__weights_at(weights, 2)->name, "none");
    assert_int_equal(clf__weights_find(weights, "none")->size, 0);
    assert_non_null(strstr(clf__weights_path(weights), "/model.safetensors"));
    clf__weights_close(weights);
    clf__weights_close(NULL);
    write_safetensors(folder, "model.safetensors", "{}", 0);
    assert_ok(clf__weights_open(&weights, folder));
    assert_int_equal(clf__weights_count(weights), 0);
    assert_null(clf__weights_find(weights, "a"));
    clf__weights_close(weights);
}

/* The value of a half (IEEE 754, 3.4). */
static float half_value(unsigned half)
{
    int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    float value = exponent == 0    ? ldexpf((float)fraction, -24)
                  : exponent == 31 ? (fraction ? NAN : INFINITY)
                                   : ldexpf((float)(fraction + 1024), exponent - 25);
    return half & 0x8000 ? -value : value;
}

/* Reads from a file at an odd offset: values need no alignment. */
static void read_as(float *values, const void *bytes, size_t size, enum clf__storage type)
{
    struct clf__file file;
    uint8_t *moved = support_array(1, size + 3);
    memcpy(moved + 3, bytes, size);
    folder_write(scratch(), "values", moved, size + 3);
    assert_ok(clf__file_open(&file, folder_path(scratch(), "values")));
    struct clf__stored_tensor tensor = {.type = type, .source = &file, .offset = 3, .size = size};
    assert_ok(clf__stored_tensor_read(&tensor, values));
    clf__file_close(&file);
}

/* A file that shrinks after its header was read: each tensor is complete, or an error names the file. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    static const char *const header = "{\"a\": {\"dtype\": \"F32\", \"shape\": [100000], \"data_offsets\": "
                                      "[0, 400000]}, \"b\": {\"dtype\": \"F16\", \"shape\": [100000], "
                                      "\"data_offsets\": [400000, 600000]}, \"c\": {\"dtype\": \"F16\", "
                                      "\"shape\": [100000], \"data_offsets\": [600000, 800000]}}";
    static const char *const names[] = {"a", "b", "c"};
    static const int ends[] = {400000, 600000, 800000};
    float *values = support_array(100000, sizeof *values);
    const char *path = folder_path(scratch(), "model.safetensors");
    for (int kept = 800000; kept >= 0; kept -= 50000) {
        struct clf__weights *weights;
        write_safetensors(scratch(), "model.safetensors", header, 800000);
        assert_ok(clf__weights_open(&weights, scratch()));
        assert_int_equal(truncate(path, 8 + (off_t)strlen(header) + kept), 0);
        for (int i = 0; i < 3; i++) {
            const struct clf__stored_tensor *tensor = clf__weights_find(weights, names[i]);
            int same;
            if (kept >= ends[i]) {
                assert_ok(clf__stored_tensor_read(tensor, values));
            } else {
                assert_fails(clf__stored_tensor_read(tensor, values), CLF_FILE,
                             "model.safetensors: was truncated while it was being read; try again");
            }
            if (kept < 800000) {
                assert_fails(clf__stored_tensor_same(&same, clf__weights_find(weights, "b"),
                                                     clf__weights_find(weights, "c")),
                             CLF_FILE, "model.safetensors");
            }
        }
        clf__weights_close(weights);
    }
}

static void test_all_halves(void **state)
{
    (void)state;
    enum { COUNT = 65536 };
    uint8_t *bytes = support_array(2, COUNT);
    for (unsigned i = 0; i < 65536; i++) {
        bytes[2 * i] = (uint8_t)i;
        bytes[2 * i + 1] = (uint8_t)(i >> 8);
    }
    float *values = support_array(COUNT, sizeof *values);
    read_as(values, bytes, 2 * COUNT, CLF__STORED_F16);
    for (unsigned i = 0; i < 65536; i++) {
        float expected = half_value(i);
        assert_true(isnan(expected) ? isnan(values[i]) : bits_of(values[i]) == bits_of(expected));
    }
    read_as(values, bytes, 2 * COUNT, CLF__STORED_BF16);
    for (unsigned i = 0; i < 65536; i++) {
        assert_int_equal(bits_of(values[i]), i << 16);
    }
}

static void test_wide_types(void **state)
{
    (void)state;
    const double doubles[] = {0, -0.0, 1.0 / 3, 1e300, -INFINITY, NAN, 1e-42, 16777217};
    float values[8];
    read_as(values, doubles, sizeof doubles, CLF__STORED_F64);
    assert_true(values[0] == 0 && signbit(values[1]) && values[2] == (float)(1.0 / 3));
    assert_true(values[3] == INFINITY && values[4] == -INFINITY && isnan(values[5]));
    assert_true(values[6] == (float)1e-42 && values[7] == 16777216);
    const float floats[] = {1.5f, -0.0f, 1e-45f, NAN};
    read_as(values, floats, sizeof floats, CLF__STORED_F32);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bits_of(values[i]), bits_of(floats[i]));
    }
}

static void test_no_file(void **state)
{
    (void)state;
    struct clf__weights *weights;
    const char *folder = support_temporary_folder();
    assert_fails(clf__weights_open(&weights, folder), CLF_FILE, "model.safetensors.index.json");
    assert_fails(clf__weights_open(&weights, folder), CLF_FILE,
                 "or pytorch_model.bin in the folder; download one");
    assert_fails(clf__weights_open(&weights, "/nonexistent"), CLF_FILE, "/nonexistent/model.safetensors");
    static const char *const names[] = {"model.safetensors.index.json", "model.safetensors"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(symlink("nowhere", folder_path(folder, names[i])), 0);
        assert_fails(clf__weights_open(&weights, folder), CLF_FILE, names[i]);
        assert_non_null(strstr(clf_last_error(), "is a symbolic link to a missing file"));
    }
    assert_int_equal(unlink(folder_path(folder, "model.safetensors")), 0);
    assert_int_equal(mkdir(folder_path(folder, "model.safetensors"), 0777), 0);
    assert_fails(clf__weights_open(&weights, folder), CLF_FILE, "model.safetensors: is a folder, not a file");
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    write_safetensors(scratch(), "model.safetensors", small, 32);
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, folder_path(scratch(), "model.safetensors"), 1 << 20));
    for (size_t length = 0; length < size; length++) {
        folder_write(scratch(), "model.safetensors", bytes, length);
        struct clf__weights *weights;
        assert_fails(clf__weights_open(&weights, scratch()), CLF_FORMAT, "model.safetensors");
        assert_non_null(strstr(clf_last_error(), "again"));
    }
    clf__free(bytes);
}

static void test_header_length_lies(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {
        0, 1, 5, 100000001, 0x7fffffffffffffff, 0x8000000000000000, UINT64_MAX, UINT64_MAX - 7, UINT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_safetensors(scratch(), "model.safetensors", small, 32);
        char *bytes;
        size_t size;
        assert_ok(clf__file_read(&bytes, &size, folder_path(scratch(), "model.safetensors"), 1 << 20));
        for (int k = 0; k < 8; k++) {
            bytes[k] = (char)(lengths[i] >> 8 * k);
        }
        folder_write(scratch(), "model.safetensors", bytes, size);
        clf__free(bytes);
        struct clf__weights *weights;
        assert_fails(clf__weights_open(&weights, scratch()), CLF_FORMAT, "header");
        assert_non_null(strstr(clf_last_error(), "again"));
    }
}

static void test_bad_headers(void **state)
{
    (void)state;
    expect_failure("[]", 0, "not a JSON object");
    expect_failure("{\"a\": 3}", 0, "\"a\"");
    expect_failure("{\"a\": {}}", 0, "\"a\"");
    expect_failure("nonsense", 0, "header");
    expect_failure(
        "{\"a\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}, \"a\": {\"dtype\": \"U8\", "
        "\"shape\": [1], \"data_offsets\": [0, 1]}}",
        1, "header");
}

/* Lists that name no tensor take fifty times their size in memory: they are counted while parsing. */
static void test_a_header_of_lists(void **state)
{
    (void)state;
    enum { LISTS = 1100000 };
    char *header = support_array(LISTS + 8, 3);
    size_t used = (size_t)sprintf(header, "{\"a\": [[]");
    for (int i = 0; i < LISTS; i++, used += 3) {
        memcpy(header + used, ",[]", 3);
    }
    memcpy(header + used, "]}", 2);
    expect_failure(header, 0,
                   "has more JSON values than the limit of 1048576 for such files (in the header)");
}

static void test_bad_offsets(void **state)
{
    (void)state;
    static const char *const offsets[] = {"[0, 5]",    "[-4, 0]", "[4, 0]",     "[0]",
                                          "[0, 4, 8]", "\"0\"",   "[0.0, 4.0]", "[0, 8]",
                                          "[4, 8]",    "null",    "[1, 5]",     "[0, 99999999999999999]",
                                          "[0, 3]",    "[0, 0]"};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        char header[256];
        snprintf(header, sizeof header,
                 "{\"x.weight\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": %s}}", offsets[i]);
        expect_failure(header, 4, "x.weight");
    }
}

static void test_overlaps_and_holes(void **state)
{
    (void)state;
    const char *pair =
        "{\"a\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": [%s]}, \"b\": {\"dtype\": \"U8\", "
        "\"shape\": [4], \"data_offsets\": [%s]}}";
    static const char *const cases[][3] = {{"0, 4", "0, 4", "overlaps"},
                                           {"2, 6", "0, 4", "overlaps"},
                                           {"0, 4", "5, 9", "start"},
                                           {"4, 8", "8, 12", "start"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[256];
        snprintf(header, sizeof header, pair, cases[i][0], cases[i][1]);
        expect_failure(header, 12, cases[i][2]);
    }
    char header[256];
    snprintf(header, sizeof header, pair, "4, 8", "0, 4");
    expect_failure(header, 12, "last 4 bytes");
}

static void test_bad_shapes(void **state)
{
    (void)state;
    static const char *const shapes[] = {"[3]",
                                         "[-1]",
                                         "[1, 1.0]",
                                         "[\"1\"]",
                                         "1",
                                         "null",
                                         "[1, 1, 1, 1, 1, 1, 1, 1, 1]",
                                         "[4294967296, 4294967296]",
                                         "[9223372036854775807, 3]",
                                         "[0, 5]",
                                         "[]",
                                         "[4611686018427387905]"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char header[256];
        snprintf(header, sizeof header,
                 "{\"x.weight\": {\"dtype\": \"F32\", \"shape\": %s, \"data_offsets\": [0, 8]}}", shapes[i]);
        expect_failure(header, 8, "x.weight");
    }
}

static void test_bad_types(void **state)
{
    (void)state;
    static const char *const types[] = {"\"F31\"", "\"\"", "32", "null", "\"f32\"", "[]"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[256];
        snprintf(header, sizeof header,
                 "{\"x.weight\": {\"dtype\": %s, \"shape\": [2], \"data_offsets\": [0, 8]}}", types[i]);
        expect_failure(header, 8, "x.weight");
    }
}

static const char *const one = "{\"a\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": [0, 4]}}";
static const char *const other = "{\"b\": {\"dtype\": \"U8\", \"shape\": [2], \"data_offsets\": [0, 2]}}";

static const char *write_shards(const char *weight_map)
{
    const char *folder = support_temporary_folder();
    size_t size = strlen(weight_map) + 64;
    char *text = support_array(size, 1);
    write_safetensors(folder, "x1.safetensors", one, 4);
    write_safetensors(folder, "x2.safetensors", other, 2);
    snprintf(text, size, "{\"metadata\": {}, \"weight_map\": %s}", weight_map);
    folder_write_text(folder, "model.safetensors.index.json", text);
    return folder;
}

static void test_shards(void **state)
{
    (void)state;
    struct clf__weights *weights;
    assert_ok(
        clf__weights_open(&weights, write_shards("{\"a\": \"x1.safetensors\", \"b\": \"x2.safetensors\"}")));
    assert_int_equal(clf__weights_count(weights), 2);
    assert_int_equal(clf__weights_find(weights, "b")->size, 2);
    assert_non_null(strstr(clf__weights_find(weights, "b")->file, "/x2.safetensors"));
    assert_non_null(strstr(clf__weights_path(weights), "index.json"));
    clf__weights_close(weights);
    assert_ok(clf__weights_open(&weights, support_fixture("models/marian-shards")));
    assert_non_null(clf__weights_find(weights, "model.shared.weight"));
    clf__weights_close(weights);
}

static void test_bad_shards(void **state)
{
    (void)state;
    static const struct {
        const char *map;
        clf_status status;
        const char *part;
    } cases[] = {
        {"{}", CLF_FORMAT, "weight_map"},
        {"[]", CLF_FORMAT, "weight_map"},
        {"{\"a\": 1}", CLF_FORMAT, "\"a\""},
        {"{\"a\": \"gone.safetensors\"}", CLF_FILE, "gone.safetensors"},
        {"{\"a\": \"../x1.safetensors\"}", CLF_FORMAT, "\"a\""},
        {"{\"a\": \"/etc/passwd\"}", CLF_FORMAT, "\"a\""},
        {"{\"a\": \"..\"}", CLF_FORMAT, "\"a\""},
        {"{\"a\": \"\"}", CLF_FORMAT, "\"a\""},
        {"{\"a\": \"x2.safetensors\", \"b\": \"x1.safetensors\"}", CLF_FORMAT, "is not in"},
        {"{\"a\": \"x1.safetensors\", \"c\": \"x2.safetensors\"}", CLF_FORMAT, "\"c\""},
        {"{\"b\": \"x2.safetensors\", \"c\": \"x1.safetensors\"}", CLF_FORMAT, "\"c\""},
        {"{\"a\": \"x1.safetensors\"}", CLF_OK, NULL},
        /* A tied matrix may exist only in the index. */
        {"{\"a\": \"x1.safetensors\", \"lm_head.weight\": \"x1.safetensors\"}", CLF_OK, NULL},
        {"{\"a\": \"x1.safetensors\", \"model.encoder.embed_tokens.weight\": \"x2.safetensors\", "
         "\"b\": \"x2.safetensors\"}",
         CLF_OK, NULL},
        {"{\"a\": \"x1.safetensors\", \"lm_head.bias\": \"x1.safetensors\"}", CLF_FORMAT, "\"lm_head.bias\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__weights *weights;
        const char *folder = write_shards(cases[i].map);
        if (cases[i].status == CLF_OK) {
            assert_ok(clf__weights_open(&weights, folder));
            clf__weights_close(weights);
        } else {
            assert_fails(clf__weights_open(&weights, folder), cases[i].status, cases[i].part);
            assert_non_null(strstr(clf_last_error(), "index.json"));
            assert_non_null(strstr(clf_last_error(), "; download or save "));
        }
    }
    struct clf__weights *weights;
    const char *folder = write_shards("{\"a\": \"x1.safetensors\", \"b\": \"x2.safetensors\"}");
    write_safetensors(folder, "x2.safetensors", one, 4);
    assert_fails(clf__weights_open(&weights, folder), CLF_FORMAT, "\"a\" is also in");
    assert_non_null(strstr(clf_last_error(), "; download or save both files again"));
    write_safetensors(
        folder, "x2.safetensors",
        "{\"b\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}, \"extra\": {\"dtype\": "
        "\"U8\", \"shape\": [1], \"data_offsets\": [1, 2]}}",
        2);
    assert_fails(clf__weights_open(&weights, folder), CLF_FORMAT, "\"extra\"");
    assert_non_null(strstr(clf_last_error(), "; download or save both files again"));
    write_safetensors(
        folder, "x2.safetensors",
        "{\"b\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}, \"shared.weight\": "
        "{\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [1, 2]}}",
        2);
    assert_ok(clf__weights_open(&weights, folder));
    assert_non_null(clf__weights_find(weights, "shared.weight"));
    clf__weights_close(weights);
    folder_write_text(folder, "model.safetensors.index.json", "{");
    assert_fails(clf__weights_open(&weights, folder), CLF_FORMAT, "index.json");
}

/* Each name is compared with all earlier ones. */
static void test_an_index_of_many_files(void **state)
{
    (void)state;
    enum { FILES = 513 };
    char *map = support_array(FILES, 40);
    size_t used = (size_t)sprintf(map, "{");
    for (int i = 0; i < FILES; i++) {
        used += (size_t)sprintf(map + used, "%s\"t%d\": \"s%d.safetensors\"", i ? ", " : "", i, i);
    }
    sprintf(map + used, "}");
    struct clf__weights *weights;
    assert_fails(clf__weights_open(&weights, write_shards(map)), CLF_FORMAT, "names more than 512 files");
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct clf__weights *weights;
    const char *folder = write_shards("{\"a\": \"x1.safetensors\", \"b\": \"x2.safetensors\"}");
    FOR_EACH_FAILING_ALLOCATION(clf__weights_open(&weights, folder), clf__weights_close(weights));
    write_safetensors(scratch(), "model.safetensors", small, 32);
    FOR_EACH_FAILING_ALLOCATION(clf__weights_open(&weights, scratch()), clf__weights_close(weights));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_open, support_teardown),
        cmocka_unit_test_teardown(test_all_halves, support_teardown),
        cmocka_unit_test_teardown(test_file_that_shrinks, support_teardown),
        cmocka_unit_test_teardown(test_wide_types, support_teardown),
        cmocka_unit_test_teardown(test_no_file, support_teardown),
        cmocka_unit_test_teardown(test_cut_anywhere, support_teardown),
        cmocka_unit_test_teardown(test_header_length_lies, support_teardown),
        cmocka_unit_test_teardown(test_bad_headers, support_teardown),
        cmocka_unit_test_teardown(test_a_header_of_lists, support_teardown),
        cmocka_unit_test_teardown(test_an_index_of_many_files, support_teardown),
        cmocka_unit_test_teardown(test_bad_offsets, support_teardown),
        cmocka_unit_test_teardown(test_overlaps_and_holes, support_teardown),
        cmocka_unit_test_teardown(test_bad_shapes, support_teardown),
        cmocka_unit_test_teardown(test_bad_types, support_teardown),
        cmocka_unit_test_teardown(test_shards, support_teardown),
        cmocka_unit_test_teardown(test_bad_shards, support_teardown),
        cmocka_unit_test_teardown(test_failing_allocations, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
