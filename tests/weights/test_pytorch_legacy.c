/* Files of torch.save() before torch 1.6: values, views and offsets beyond 4 GiB; and every kind of
 * damage. */
#include "support/support.h"

#include "model/folder.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/half.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "model/weights/weights.h"

/* Parts of a file, as Python writes them. */
#define MAGIC   "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define VERSION "\x80\x02M\xe9\x03."
#define SYSTEM  "\x80\x02}q\x00X\x0d\0\0\0little_endian\x88s."
#define HEADER  MAGIC VERSION SYSTEM
#define NAME(c) "X\x01\0\0\0" c
#define STORAGE_OF(class, key, elements, view)                                                               \
    "(X\x07\0\0\0storagectorch\n" class "\nX\x01\0\0\0" key "X\x03\0\0\0cpu" elements view "tQ"
#define STORAGE STORAGE_OF("FloatStorage", "s", "K\x06", "N")
#define VIEW(offset, elements)                                                                               \
    STORAGE_OF("FloatStorage", "s", "K\x06", "(X\x01\0\0\0vK" offset "K" elements "t")
#define TENSOR(storage, offset, shape, strides)                                                              \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage "K" offset shape strides "\x89"                           \
    "ccollections\nOrderedDict\n)RtR"
#define STATE(tensor) "\x80\x02}(" NAME("a") tensor "u."
#define ROWS          TENSOR(STORAGE, "\0", "K\x02K\x03\x86", "K\x03K\x01\x86")
#define LIST(keys)    "\x80\x02](" keys "e."
#define KEYS          LIST("X\x01\0\0\0s")
#define COUNT(n)      n "\0\0\0\0\0\0\0"
/* 0 to 5 */
#define VALUES "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40"

static const char *write_file(const void *bytes, size_t size)
{
    const char *folder = support_temporary_folder();
    assert_ok(clf__file_write(folder_path(folder, "pytorch_model.bin"), bytes, size));
    return folder;
}

static void check_tensor(const char *bytes, size_t size, int dimensions, const int64_t *shape,
                         const float *expected)
{
    struct clf__weights *weights;
    assert_ok(clf__weights_open(&weights, write_file(bytes, size)));
    const struct clf__stored_tensor *tensor = clf__weights_find(weights, "a");
    assert_non_null(tensor);
    assert_int_equal(tensor->dimensions, dimensions);
    size_t count = 1;
    for (int i = 0; i < dimensions; i++) {
        assert_int_equal(tensor->shape[i], shape[i]);
        count *= (size_t)shape[i];
    }
    float read[6];
    assert_int_equal(tensor->size, count * sizeof *read);
    assert_ok(clf__stored_tensor_read(tensor, read));
    assert_memory_equal(read, expected, count * sizeof *read);
    clf__weights_close(weights);
}
#define CHECK(tensor, dimensions, shape, ...)                                                                \
    check_tensor(HEADER STATE(tensor) KEYS COUNT("\6") VALUES,                                               \
                 sizeof(HEADER STATE(tensor) KEYS COUNT("\6") VALUES) - 1, dimensions, shape,                \
                 (const float[]){__VA_ARGS__})

static void test_tensors(void **state)
{
    (void)state;
    const int64_t two_three[] = {2, 3}, three_two[] = {3, 2}, two[] = {2}, none[] = {0};
    CHECK(ROWS, 2, two_three, 0, 1, 2, 3, 4, 5);
    CHECK(TENSOR(STORAGE, "\0", "K\x03K\x02\x86", "K\x01K\x03\x86"), 2, three_two, 0, 3, 1, 4, 2, 5);
    CHECK(TENSOR(STORAGE, "\2", "K\x02\x85", "K\x03\x85"), 1, two, 2, 5);
    CHECK(TENSOR(STORAGE, "\6", "K\x00\x85", "K\x01\x85"), 1, none, 0);
    /* A view: its offset is added to the tensor's. */
    CHECK(TENSOR(VIEW("\2", "\3"), "\1", "K\x02\x85", "K\x01\x85"), 1, two, 3, 4);
    CHECK(TENSOR(VIEW("\4", "\2"), "\2", "K\x00\x85", "K\x01\x85"), 1, none, 0);
    /* The function of torch before 0.4. */
    CHECK("ctorch._utils\n_rebuild_tensor\n(" STORAGE "K\3K\x02\x85K\x01\x85tR", 1, two, 3, 4);
}

static void test_wrong_files(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        clf_status status;
        const char *part;
    } rows[] = {
#define ROW(bytes, status, part) {bytes, sizeof(bytes) - 1, status, part}
        ROW(MAGIC, CLF_FORMAT, "the pickle is damaged (the pickle is truncated); download the file again"),
        ROW(MAGIC "\x80\x02M\xe8\x03.", CLF_UNSUPPORTED,
            "format is not 1001; load the file with torch and save"),
        ROW(MAGIC "\x80\x02N.", CLF_UNSUPPORTED, "format is not 1001"),
        ROW(MAGIC VERSION, CLF_FORMAT, "truncated"),
        ROW(HEADER, CLF_FORMAT, "truncated"),
        ROW(HEADER "\x80\x02"
                   "cos\nsystem\nU\x04true\x85R.",
            CLF_UNSUPPORTED, "is not a state dict of tensors (os.system)"),
        ROW(HEADER STATE(ROWS), CLF_FORMAT, "truncated"),
        ROW(HEADER STATE(ROWS) "\x80\x02K\x01.", CLF_FORMAT, "the storage keys are not a list"),
        ROW(HEADER STATE(ROWS) LIST("K\x01"), CLF_FORMAT, "a storage is listed that no tensor uses"),
        ROW(HEADER STATE(ROWS) LIST("X\x01\0\0\0t") COUNT("\6") VALUES, CLF_FORMAT,
            "a storage is listed that no tensor uses"),
        ROW(HEADER STATE(ROWS) LIST(""), CLF_FORMAT, "tensor \"a\" has no storage of the required size"),
        ROW(HEADER STATE(ROWS) LIST("X\x01\0\0\0sX\x01\0\0\0s") COUNT("\6") VALUES COUNT("\6") VALUES,
            CLF_FORMAT, "tensor \"a\" has a storage that is listed twice; download the file again"),
        ROW(HEADER STATE(ROWS) KEYS "\6\0\0\0", CLF_FORMAT,
            "tensor \"a\" is missing because the file is truncated; download the file again"),
        ROW(HEADER STATE(ROWS) KEYS COUNT("\5") VALUES, CLF_FORMAT,
            "tensor \"a\" has a storage of 5 elements, but the pickle declares 6; download the file again"),
        ROW(HEADER STATE(ROWS) KEYS "\xff\xff\xff\xff\xff\xff\xff\xff" VALUES, CLF_FORMAT,
            "has a storage of 18446744073709551615 elements"),
        ROW(HEADER STATE(ROWS) KEYS COUNT("\6") "\0\0\0\0\0\0\0", CLF_FORMAT,
            "tensor \"a\" is truncated: the file contains 1 of the 6 elements of the storage; download the "
            "file again"),
        ROW(HEADER STATE(
                TENSOR(STORAGE_OF("FloatStorage", "s", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "N"), "\0",
                       ")", ")")) KEYS "\xff\xff\xff\xff\xff\xff\xff\x7f" VALUES,
            CLF_FORMAT, "is truncated: the file contains 6 of the 9223372036854775807"),
        ROW(HEADER STATE(TENSOR(STORAGE, "\1", "K\x02K\x03\x86", "K\x03K\x01\x86")) KEYS COUNT("\6") VALUES,
            CLF_FORMAT, "tensor \"a\" is outside its storage"),
        ROW(HEADER STATE(TENSOR(VIEW("\2", "\3"), "\2", "K\x02\x85", "K\x01\x85")) KEYS COUNT("\6") VALUES,
            CLF_FORMAT, "tensor \"a\" is outside its storage"),
        ROW(HEADER STATE(TENSOR(VIEW("\2", "\5"), "\0", ")", ")")) KEYS COUNT("\6") VALUES, CLF_FORMAT,
            "the arguments of a view of a storage are invalid"),
        ROW(HEADER STATE(TENSOR(STORAGE_OF("FloatStorage", "s", "K\6", "K\1"), "\0", ")", ")"))
                KEYS COUNT("\6") VALUES,
            CLF_FORMAT, "the arguments of a view of a storage are invalid"),
        /* A later reference to the storage declares a larger size. */
        ROW(HEADER "\x80\x02}(" NAME("b") ROWS NAME("a") TENSOR(STORAGE_OF("DoubleStorage", "s", "K\6", "N"),
                                                                "\0", ")", ")") "u." KEYS COUNT("\6") VALUES,
            CLF_FORMAT, "tensor \"a\" has no storage of the required size"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__weights *weights;
        clf_status status = clf__weights_open(&weights, write_file(rows[i].bytes, rows[i].size));
        if (status != rows[i].status || strstr(clf_last_error(), rows[i].part) == NULL ||
            strstr(clf_last_error(), "pytorch_model.bin: ") == NULL) {
            fail_msg("row %zu: status %d, %s", i, (int)status, clf_last_error());
        }
    }
}

static const char whole[] = HEADER STATE(ROWS)
KEYS COUNT("\6") VALUES;

/* Every changed byte and every truncation gives an error with the file name, or tensors inside the file. */
static void test_damaged_files(void **state)
{
    (void)state;
    const size_t size = sizeof whole - 1;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", write_file(whole, size));
    for (size_t i = 0; i < 2 * size; i++) {
        char changed[sizeof whole];
        memcpy(changed, whole, size);
        if (i < size) {
            changed[i] = (char)(changed[i] ^ 0xff);
        }
        const char *path = folder_path(folder, "pytorch_model.bin");
        assert_ok(clf__file_write(path, changed, i < size ? size : i - size));
        struct clf__weights *weights;
        clf_status status = clf__weights_open(&weights, folder);
        int is_named = strstr(clf_last_error(), path) != NULL;
        if (status != CLF_OK) {
            assert_true((status == CLF_FORMAT || status == CLF_UNSUPPORTED) && is_named);
        }
        assert_true(status != CLF_OK || i < size); /* a truncated file is never accepted */
        clf__weights_close(weights);
    }
}

/* A pickle has a size limit, and data after it does not count. */
static void test_long_pickle(void **state)
{
    (void)state;
    const size_t size = (1 << 22) + 4096;
    char *bytes = support_array(size, 1);
    memcpy(bytes, HEADER "\x80\x02", sizeof HEADER + 1);
    memset(bytes + sizeof HEADER + 1, '}', size - sizeof HEADER - 1);
    struct clf__weights *weights;
    assert_fails(clf__weights_open(&weights, write_file(bytes, size)), CLF_FORMAT,
                 "pytorch_model.bin: the pickle has more than 4194304 bytes; load the file with torch and "
                 "save it as safetensors");
}

/* Storages beyond 4 GiB, in a sparse file: reading a tensor reads no other storage. */
static void test_large_file(void **state)
{
    (void)state;
    static const char start[] =
        HEADER "\x80\x02}(" NAME("a") TENSOR(STORAGE_OF("HalfStorage", "s", "\x8a\x05\0\0\0\0\1", "N"), "\0",
                                             "J\0\0\1\0J\0\0\1\0\x86", "J\0\0\1\0K\1\x86") NAME("b")
            TENSOR(STORAGE_OF("HalfStorage", "t", "K\2", "N"), "\0", "K\2\x85",
                   "K\1\x85") "u." LIST("X\x01\0\0\0sX\x01\0\0\0t") "\0\0\0\0\1\0\0\0";
    static const char last[] = COUNT("\2") "\0\x3c\0\x40";
    char folder[256], path[512];
    snprintf(folder, sizeof folder, "%s", write_file(start, sizeof start - 1));
    snprintf(path, sizeof path, "%s/pytorch_model.bin", folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseeko(file, (off_t)(sizeof start - 1) + ((off_t)1 << 33), SEEK_SET), 0);
    assert_int_equal(fwrite(last, 1, sizeof last - 1, file), sizeof last - 1);
    assert_int_equal(fclose(file), 0);
    struct clf__weights *weights;
    float read[2];
    assert_ok(clf__weights_open(&weights, folder));
    assert_true(clf__weights_find(weights, "a")->size == (size_t)1 << 33);
    assert_ok(clf__stored_tensor_read(clf__weights_find(weights, "b"), read));
    assert_true(read[0] == 1.0f && read[1] == 2.0f);
    struct clf__stored_tensor rows = clf__stored_tensor_rows(clf__weights_find(weights, "a"), 65535, 1);
    float *row = support_array(65536, sizeof *row);
    assert_ok(clf__stored_tensor_read(&rows, row));
    assert_true(row[65535] == 0.0f);
    clf__weights_close(weights);
}

/* A fixture of make_legacy.py contains the values of its source, in half precision if `is_half`. */
static void check_fixture(const char *legacy, const char *source, size_t prefix, int is_half, int copies)
{
    struct clf__weights *ours, *theirs;
    assert_ok(clf__weights_open(&ours, support_fixture(legacy)));
    assert_ok(clf__weights_open(&theirs, support_fixture(source)));
    int count = clf__weights_count(theirs);
    assert_int_equal(clf__weights_count(ours), count + copies);
    for (int i = 0; i < count; i++) {
        const struct clf__stored_tensor *their = clf__weights_at(theirs, i);
        size_t skipped = strncmp(their->name, "model.", 6) == 0 ? prefix : 0, elements = their->size / 4;
        const struct clf__stored_tensor *our = clf__weights_find(ours, their->name + skipped);
        assert_non_null(our);
        assert_int_equal(our->size, is_half ? their->size / 2 : their->size);
        float *read = support_array(elements, sizeof *read),
              *expected = support_array(elements, sizeof *read);
        assert_ok(clf__stored_tensor_read(our, read));
        assert_ok(clf__stored_tensor_read(their, expected));
        assert_memory_equal(read, is_half ? support_round_halves(expected, elements) : expected,
                            elements * sizeof *read);
    }
    clf__weights_close(ours);
    clf__weights_close(theirs);
}

static void test_fixtures(void **state)
{
    (void)state;
    check_fixture("models/marian-legacy", "models/marian", 0, 0, 3);
    check_fixture("models/bart-legacy", "models/bart-text", strlen("model."), 1, 3);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", write_file(whole, sizeof whole - 1));
    struct clf__weights *weights;
    clf__memory_fail_at(0);
    assert_ok(clf__weights_open(&weights, folder));
    uint64_t allocations = clf__memory_count();
    clf__weights_close(weights);
    assert_true(allocations > 12);
    for (uint64_t n = 1; n <= allocations; n++) {
        clf__memory_fail_at(n);
        assert_fails(clf__weights_open(&weights, folder), CLF_OUT_OF_MEMORY, "");
    }
    clf__memory_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_tensors, support_teardown),
        cmocka_unit_test_teardown(test_wrong_files, support_teardown),
        cmocka_unit_test_teardown(test_damaged_files, support_teardown),
        cmocka_unit_test_teardown(test_long_pickle, support_teardown),
        cmocka_unit_test_teardown(test_large_file, support_teardown),
        cmocka_unit_test_teardown(test_fixtures, support_teardown),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
