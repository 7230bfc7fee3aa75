/* Files of torch.save(): values, views and shards; and every kind of damage. Real torch files are in
 * tests/fixtures/models (m2m100-text, mbart50-text). */
#include "support/support.h"

#include "model/folder.h"
#include "support/zip_fixture.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "model/weights/weights.h"

/* Parts of pickles, as Python writes them. */
#define START   "\x80\x02}q\x00("
#define END     "u."
#define NAME(c) "X\x01\0\0\0" c
#define STORAGE_OF(class, key, elements)                                                                     \
    "(X\x07\0\0\0storageqAc" class "\nX\x01\0\0\0" key "X\x03\0\0\0cpuK" elements "tQ"
#define STORAGE  STORAGE_OF("torch\nFloatStorage", "0", "\x06")
#define FUNCTION "ctorch._utils\n_rebuild_tensor_v2\n"
#define HOOKS                                                                                                \
    "\x89"                                                                                                   \
    "ccollections\nOrderedDict\n)R"
#define TENSOR(storage, offset, shape, strides) FUNCTION "(" storage "K" offset shape strides HOOKS "tR"
#define ROWS                                    TENSOR(STORAGE, "\0", "K\x02K\x03\x86", "K\x03K\x01\x86")

static const float values[6] = {0, 1, 2, 3, 4, 5};

static const char *write_pickle_in(const char *folder, const void *pickle, size_t size)
{
    size_t bytes;
    struct zip_file files[] = {{"any/data.pkl", pickle, size}, {"any/data/0", values, sizeof values}};
    uint8_t *archive = zip_make(&bytes, files, 2);
    assert_ok(clf__file_write(folder_path(folder, "pytorch_model.bin"), archive, bytes));
    return folder;
}

/* The folder contains only this file, which each call replaces. */
static const char *write_pickle(const void *pickle, size_t size)
{
    static const char *folder;
    folder = folder != NULL ? folder : support_temporary_folder();
    return write_pickle_in(folder, pickle, size);
}

static void check_tensor(const char *pickle, size_t size, int dimensions, const int64_t *shape,
                         const float *expected)
{
    struct clf__weights *weights;
    assert_ok(clf__weights_open(&weights, write_pickle(pickle, size)));
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
#define CHECK(pickle, dimensions, shape, ...)                                                                \
    check_tensor(pickle, sizeof(pickle) - 1, dimensions, shape, (const float[]){__VA_ARGS__})

static void test_tensors(void **state)
{
    (void)state;
    const int64_t two_three[] = {2, 3}, three_two[] = {3, 2}, two[] = {2}, none[] = {0};
    CHECK(START NAME("a") ROWS END, 2, two_three, 0, 1, 2, 3, 4, 5);
    /* Transposed, a column, one value, none; a parameter. */
    CHECK(START NAME("a") TENSOR(STORAGE, "\0", "K\x03K\x02\x86", "K\x01K\x03\x86") END, 2, three_two, 0, 3,
          1, 4, 2, 5);
    CHECK(START NAME("a") TENSOR(STORAGE, "\2", "K\x02\x85", "K\x03\x85") END, 1, two, 2, 5);
    CHECK(START NAME("a") TENSOR(STORAGE, "\5", ")", ")") END, 0, NULL, 5);
    CHECK(START NAME("a") TENSOR(STORAGE, "\6", "K\x00\x85", "K\x01\x85") END, 1, none, 0);
    CHECK(START NAME("a") "ctorch._utils\n_rebuild_parameter\n(" ROWS HOOKS "tR" END, 2, two_three, 0, 1, 2,
          3, 4, 5);
    /* An OrderedDict with attributes, beside non-tensors, under a trainer's key. */
    CHECK("\x80\x02}(X\x05\0\0\0epochK\x07X\x0a\0\0\0state_dictccollections\nOrderedDict\n)R(" NAME("a") ROWS
          "u}X\x09\0\0\0_metadataNsbu.",
          2, two_three, 0, 1, 2, 3, 4, 5);
    CHECK("\x80\x02}q\x00" NAME("a") ROWS "s.", 2, two_three, 0, 1, 2, 3, 4, 5);
    /* Python 2 format: byte strings, and the items of an OrderedDict as its argument. */
    CHECK("\x80\x02"
          "ccollections\nOrderedDict\n](](U\x01"
          "a" ROWS "e](T\x01\0\0\0bK\x01"
          "ee\x85R.",
          2, two_three, 0, 1, 2, 3, 4, 5);
    /* Remembered values. */
    CHECK(START NAME("a") "q\x05" ROWS "r\x01\x01\0\0"
                          "X\x01\0\0\0"
                          "bj\x01\x01\0\0" END,
          2, two_three, 0, 1, 2, 3, 4, 5);
}

static void test_wrong_pickles(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        clf_status status;
        const char *part;
    } rows[] = {
#define ROW(pickle, status, part) {pickle, sizeof(pickle) - 1, status, part}
        ROW("", CLF_FORMAT, "truncated"),
        ROW("\x80\x03}.", CLF_UNSUPPORTED, "protocol other than 2"),
        ROW("\x80\x02"
            "cos\nsystem\nU\x04true\x85R.",
            CLF_UNSUPPORTED, "is not a state dict of tensors (os.system)"),
        ROW("\x80\x02"
            "c__builtin__\neval\n",
            CLF_UNSUPPORTED, "__builtin__.eval"),
        ROW("\x80\x02"
            "cno newline",
            CLF_FORMAT, "truncated"),
        ROW("\x80\x02I1\n.", CLF_UNSUPPORTED, "(opcode 0x49)"),
        ROW("\x80\x02}.", CLF_UNSUPPORTED, "no tensor in the dict"),
        ROW("\x80\x02K\x01.", CLF_UNSUPPORTED, "not a dict"),
        ROW("\x80\x02.", CLF_FORMAT, "does not hold exactly one value"),
        ROW("\x80\x02}}.", CLF_FORMAT, "does not hold exactly one value"),
        ROW("\x80\x02}(.", CLF_FORMAT, "does not hold exactly one value"),
        ROW("\x80\x02R.", CLF_FORMAT, "a value is missing"),
        ROW("\x80\x02}b.", CLF_FORMAT, "a value is missing"),
        ROW("\x80\x02}u.", CLF_FORMAT, "a mark is missing"),
        ROW("\x80\x02t.", CLF_FORMAT, "a mark is missing"),
        ROW("\x80\x02}(K\x01u.", CLF_FORMAT, "a value is missing"),
        ROW("\x80\x02](K\x01K\x01u.", CLF_FORMAT, "added to a value that is not a dict"),
        ROW("\x80\x02}K\x01"
            "a.",
            CLF_FORMAT, "added to a value that is not a list"),
        ROW("\x80\x02K\x01\x86.", CLF_FORMAT, "a tuple is too short"),
        ROW("\x80\x02h\x07.", CLF_FORMAT, "a memo entry does not exist"),
        ROW("\x80\x02}j\xff\xff\xff\xff.", CLF_FORMAT, "a memo entry does not exist"),
        ROW("\x80\x02}r\xff\xff\xff\xff.", CLF_FORMAT, "to memoize is missing"),
        ROW("\x80\x02q\x01.", CLF_FORMAT, "to memoize is missing"),
        ROW("\x80\x02X\xff\xff\xff\xff.", CLF_FORMAT, "truncated"),
        ROW("\x80\x02\x8a\x09"
            "123456789.",
            CLF_UNSUPPORTED, "an integer with more than 64 bits"),
        ROW("\x80\x02})R.", CLF_UNSUPPORTED, "a call of a value that is not callable"),
        ROW("\x80\x02"
            "ctorch\nFloatStorage\n)R.",
            CLF_UNSUPPORTED, "a storage created in the pickle"),
        ROW("\x80\x02"
            "ccollections\nOrderedDict\nK\x01\x85R.",
            CLF_UNSUPPORTED, "an OrderedDict with unexpected arguments"),
        ROW("\x80\x02"
            "ccollections\nOrderedDict\n](](K\x01"
            "ee\x85R.",
            CLF_UNSUPPORTED, "an OrderedDict with unexpected arguments"),
        ROW("\x80\x02"
            "ccollections\nOrderedDict\n](K\x01"
            "e\x85R.",
            CLF_UNSUPPORTED, "an OrderedDict with unexpected arguments"),
        ROW("\x80\x02" FUNCTION ")R.", CLF_FORMAT, "the arguments of a tensor are invalid"),
        ROW("\x80\x02K\x01Q.", CLF_FORMAT, "the arguments of a storage are invalid"),
        ROW(START NAME("a") TENSOR("K\x01", "\0", ")", ")") END, CLF_FORMAT,
            "the arguments of a tensor are invalid"),
        ROW(START NAME("a") TENSOR(STORAGE, "\0", "K\x02\x85", ")") END, CLF_FORMAT,
            "the arguments of a tensor are invalid"),
        ROW(START NAME("a") TENSOR(STORAGE, "\0", "J\xff\xff\xff\xff\x85", "K\x01\x85") END, CLF_FORMAT,
            "the arguments of a tensor are invalid"),
        ROW(START NAME("a") TENSOR(STORAGE, "\1", "K\x02K\x03\x86", "K\x03K\x01\x86") END, CLF_FORMAT,
            "tensor \"a\" is outside its storage"),
        ROW(START NAME("a") TENSOR(STORAGE, "\0", "K\x02K\x03\x86",
                                   "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x01\x86") END,
            CLF_FORMAT, "is outside its storage"),
        ROW(START NAME("a") TENSOR(STORAGE, "\7", "K\x00\x85", "K\x01\x85") END, CLF_FORMAT, "is outside"),
        ROW(START NAME("a") TENSOR(STORAGE, "\0", "K\x07\x85", "K\x00\x85") END, CLF_FORMAT, "is outside"),
        ROW(START NAME("a") TENSOR(STORAGE, "\0", "\x8a\x08\0\0\0\0\0\0\0\x40K\x04K\0\x87", "K\0K\0K\0\x87")
                END,
            CLF_FORMAT, "has too many elements"),
        ROW(START NAME("a") TENSOR(STORAGE_OF("torch\nFloatStorage", "1", "\x06"), "\0", ")", ")") END,
            CLF_FORMAT, "tensor \"a\" has no storage of the required size"),
        ROW(START NAME("a") TENSOR(STORAGE_OF("torch\nDoubleStorage", "0", "\x06"), "\0", ")", ")") END,
            CLF_FORMAT, "has no storage of the required size"),
        ROW(START NAME("a") TENSOR(STORAGE_OF("torch\nFloatStorage", "0", "\x07"), "\0", ")", ")") END,
            CLF_FORMAT, "has no storage of the required size"),
        ROW(START NAME("a") ROWS NAME("a") ROWS END, CLF_FORMAT, "tensor \"a\" is also in "),
        ROW(START NAME("\0") ROWS END, CLF_FORMAT, "a name that is not UTF-8"),
        ROW(START NAME("\xff") ROWS END, CLF_FORMAT, "a name that is not UTF-8"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__weights *weights;
        clf_status status = clf__weights_open(&weights, write_pickle(rows[i].bytes, rows[i].size));
        if (status != rows[i].status || strstr(clf_last_error(), rows[i].part) == NULL ||
            strstr(clf_last_error(), "pytorch_model.bin: ") == NULL) {
            fail_msg("row %zu: status %d, %s", i, (int)status, clf_last_error());
        }
    }
}

/* A list that many calls copy: memory is limited. */
static void test_copied_lists(void **state)
{
    (void)state;
    static const char list[] = "\x80\x02"
                               "ccollections\nOrderedDict\nq\1](K\1K\2eq\2](";
    enum { ITEMS = 20000, COPIES = 400 };
    char *pickle = support_array(sizeof list + 2 * ITEMS + 8 * COPIES + 64, 1), *end = pickle;
    end = (char *)memcpy(end, list, sizeof list - 1) + sizeof list - 1;
    for (int i = 0; i < ITEMS; i++) {
        end = (char *)memcpy(end, "h\2", 2) + 2;
    }
    end = (char *)memcpy(end, "eq\3", 3) + 3;
    for (int i = 0; i < COPIES; i++) {
        end = (char *)memcpy(end, "h\1h\3\x85R", 6) + 6;
    }
    struct clf__weights *weights;
    assert_fails(clf__weights_open(&weights, write_pickle(pickle, (size_t)(end - pickle))), CLF_UNSUPPORTED,
                 "lists that are copied too often");
}

/* Every changed byte and every truncation gives an error with the file name, or tensors inside the file. */
static void test_damaged_archives(void **state)
{
    (void)state;
    static const char pickle[] = START NAME("a") ROWS END;
    struct zip_file files[] = {{"any/data.pkl", pickle, sizeof pickle - 1},
                               {"any/data/0", values, sizeof values},
                               {"any/byteorder", "little", 6}};
    size_t size;
    uint8_t *archive = zip_make(&size, files, 3);
    const char *path = folder_path(support_temporary_folder(), "pytorch_model.bin");
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int failures = 0;
    for (size_t i = 0; i < 2 * size; i++) {
        uint8_t *changed = support_array(size, 1);
        memcpy(changed, archive, size);
        changed[i % size] ^= 0xff;
        assert_ok(clf__file_write(path, i < size ? changed : archive, i < size ? size : i - size));
        struct clf__weights *weights;
        clf_status status = clf__weights_open(&weights, folder);
        if (status != CLF_OK) {
            assert_true(status == CLF_FORMAT || status == CLF_UNSUPPORTED);
            assert_non_null(strstr(clf_last_error(), path));
            failures++;
        }
        clf__weights_close(weights);
    }
    assert_true(failures > (int)size);
}

static void check_archive(const struct zip_file *files, int count,
                          void (*change)(uint8_t *archive, size_t size), clf_status status, const char *part)
{
    size_t size;
    uint8_t *archive = zip_make(&size, files, count);
    if (change != NULL) {
        change(archive, size);
    }
    const char *folder = support_temporary_folder();
    assert_ok(clf__file_write(folder_path(folder, "pytorch_model.bin"), archive, size));
    struct clf__weights *weights;
    assert_fails(clf__weights_open(&weights, folder), status, part);
}

static uint8_t *first_entry(uint8_t *archive, size_t size)
{
    return archive + clf__read_32(archive + size - 22 + 16);
}

static void compress_first(uint8_t *archive, size_t size)
{
    clf__write_16(first_entry(archive, size) + 10, 8);
}

static void encrypt_first(uint8_t *archive, size_t size)
{
    clf__write_16(first_entry(archive, size) + 8, 1);
}

static void count_more(uint8_t *archive, size_t size)
{
    clf__write_16(archive + size - 22 + 10, 3);
}

static void test_other_archives(void **state)
{
    (void)state;
    static const char pickle[] = START NAME("a") ROWS END;
    struct zip_file files[] = {{"any/data.pkl", pickle, sizeof pickle - 1},
                               {"any/data/0", values, sizeof values},
                               {"any/byteorder", "big", 3}};
    check_archive(files, 2, compress_first, CLF_FORMAT, "the archive contains compressed files");
    check_archive(files, 2, encrypt_first, CLF_FORMAT, "the archive contains encrypted files");
    check_archive(files, 2, count_more, CLF_FORMAT, "the central directory is truncated");
    check_archive(files, 3, NULL, CLF_UNSUPPORTED, "the numbers are not little-endian");
    check_archive(files + 1, 1, NULL, CLF_FORMAT, "no data.pkl");
    const struct zip_file two[] = {files[0], files[1], {"other/data.pkl", pickle, sizeof pickle - 1}};
    check_archive(two, 3, NULL, CLF_FORMAT, "more than one data.pkl");
    files[1].name = files[0].name;
    check_archive(files, 2, NULL, CLF_FORMAT, "two entries have the same name");
    const char *folder = support_temporary_folder();
    struct clf__weights *weights;
    assert_ok(clf__file_write(folder_path(folder, "pytorch_model.bin"), "", 0));
    assert_fails(clf__weights_open(&weights, folder), CLF_FORMAT, "too few bytes");
}

/* safetensors take precedence; an unused pickle is not opened. */
static void test_order(void **state)
{
    (void)state;
    struct clf__weights *weights;
    const char *folder = write_pickle_in(support_temporary_folder(), "cos\nsystem\n", 11);
    static const char header[] = "\x02\0\0\0\0\0\0\0{}";
    assert_ok(clf__file_write(folder_path(folder, "model.safetensors"), header, sizeof header - 1));
    assert_ok(clf__weights_open(&weights, folder));
    assert_int_equal(clf__weights_count(weights), 0);
    clf__weights_close(weights);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const char pickle[] = START NAME("a") ROWS "X\x02\0\0\0"
                                                      "bc" ROWS END;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", write_pickle(pickle, sizeof pickle - 1));
    struct clf__weights *weights;
    clf__memory_fail_at(0);
    assert_ok(clf__weights_open(&weights, folder));
    uint64_t allocations = clf__memory_count();
    clf__weights_close(weights);
    assert_true(allocations > 8);
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
        cmocka_unit_test_teardown(test_wrong_pickles, support_teardown),
        cmocka_unit_test_teardown(test_copied_lists, support_teardown),
        cmocka_unit_test_teardown(test_damaged_archives, support_teardown),
        cmocka_unit_test_teardown(test_other_archives, support_teardown),
        cmocka_unit_test_teardown(test_order, support_teardown),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
