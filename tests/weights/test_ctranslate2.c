/* CTranslate2's model.bin: every version, quantized weights, aliases, damage. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/weights/weights.h"
#include "support/support.h"

enum { MOST_BYTES = 4096 };

/* A file under construction. */
struct draft {
    uint8_t bytes[MOST_BYTES];
    size_t size;
    int is_next; /* overwrites the previous one */
};

static void put(struct draft *draft, const void *bytes, size_t size)
{
    assert_true(draft->size + size <= MOST_BYTES);
    memcpy(draft->bytes + draft->size, bytes, size);
    draft->size += size;
}

static void put_number(struct draft *draft, uint32_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);
        put(draft, &byte, 1);
    }
}

static void put_text(struct draft *draft, const char *text)
{
    put_number(draft, (uint32_t)strlen(text) + 1, 2);
    put(draft, text, strlen(text) + 1);
}

static void begin(struct draft *draft, uint32_t version, uint32_t variables)
{
    draft->size = 0;
    put_number(draft, version, 4);
    if (version >= 2) {
        put_text(draft, "TransformerSpec");
        put_number(draft, 7, 4);
    }
    put_number(draft, variables, 4);
}

/* `width` is the element size before version 4, and `code` its type from then on. */
static void put_variable(struct draft *draft, uint32_t version, const char *name, uint32_t rows,
                         uint32_t columns, uint32_t code, uint32_t width, const void *values)
{
    uint32_t elements = rows * (columns > 0 ? columns : 1);
    put_text(draft, name);
    put_number(draft, rows == 0 ? 0 : columns > 0 ? 2 : 1, 1);
    if (rows > 0) {
        put_number(draft, rows, 4);
    }
    if (columns > 0) {
        put_number(draft, columns, 4);
    }
    elements = rows == 0 ? 1 : elements;
    put_number(draft, version >= 4 ? code : width, 1);
    put_number(draft, version >= 4 ? elements * width : elements, 4);
    put(draft, values, (size_t)elements * width);
}

static const char *write_draft(const struct draft *draft)
{
    static const char *folder;
    char *path = NULL;
    folder = draft->is_next ? folder : support_temporary_folder();
    assert_ok(clf__path_join(&path, folder, "model.bin"));
    assert_ok(clf__file_write(path, draft->bytes, draft->size));
    clf__free(path);
    return folder;
}

static const int8_t small[] = {10, -20, 30, 40, 50, -60};
static const float scales[] = {2.0f, 4.0f};
static const float bias[] = {0.5f, -0.5f};

static void make_model(struct draft *draft, uint32_t version)
{
    begin(draft, version, 4);
    put_variable(draft, version, "encoder/x/weight", 2, 3, 1, 1, small);
    put_variable(draft, version, "encoder/x/weight_scale", 2, 0, 0, 4, scales);
    put_variable(draft, version, "encoder/x/bias", 2, 0, 0, 4, bias);
    put_variable(draft, version, "encoder/num_heads", 0, 0, 1, 1, "\4");
    if (version >= 3) {
        put_number(draft, 1, 4);
        put_text(draft, "decoder/y/weight");
        put_text(draft, "encoder/x/weight");
    }
}

static void check_weight(const struct clf__weights *weights, const char *name)
{
    const struct clf__stored_tensor *tensor = clf__weights_find(weights, name);
    float values[6];
    assert_non_null(tensor);
    assert_true(clf__stored_tensor_is_real(tensor));
    assert_ok(clf__stored_tensor_read(tensor, values));
    for (int i = 0; i < 6; i++) {
        assert_float_equal(values[i], (float)small[i] / scales[i / 3], 0.0f);
    }
    struct clf__stored_tensor second = clf__stored_tensor_rows(tensor, 1, 1);
    assert_ok(clf__stored_tensor_read(&second, values));
    assert_float_equal(values[2], (float)small[5] / scales[1], 0.0f);
}

static void test_versions(void **state)
{
    (void)state;
    struct draft draft = {.size = 0};
    for (uint32_t version = 2; version <= 6; version++) {
        struct clf__weights *weights;
        make_model(&draft, version);
        assert_ok(clf__weights_open(&weights, write_draft(&draft)));
        struct clf__specification specification = clf__weights_specification(weights);
        assert_string_equal(specification.name, "TransformerSpec");
        assert_int_equal(specification.version, version);
        assert_int_equal(specification.revision, 7);
        assert_int_equal(clf__weights_count(weights), version >= 3 ? 4 : 3); /* the scales went in */
        check_weight(weights, "encoder/x/weight");
        if (version >= 3) {
            check_weight(weights, "decoder/y/weight");
        }
        float heads = 0.0f;
        const struct clf__stored_tensor *number = clf__weights_find(weights, "encoder/num_heads");
        assert_false(clf__stored_tensor_is_real(number));
        assert_ok(clf__stored_tensor_read(number, &heads));
        assert_float_equal(heads, 4.0f, 0.0f);
        clf__weights_close(weights);
    }
}

/* Version 1 has neither a name nor scales. */
static void test_first_version(void **state)
{
    (void)state;
    static const int16_t values[] = {1000, -500, 0, 250};
    static const float expected[] = {1.0f, -0.5f, 0.0f, 0.25f};
    struct draft draft = {.size = 0};
    begin(&draft, 1, 1);
    put_variable(&draft, 1, "transformer/encoder/dense/kernel:0", 2, 2, 2, 2, values);
    struct clf__weights *weights;
    assert_ok(clf__weights_open(&weights, write_draft(&draft)));
    float actual[4];
    assert_ok(clf__stored_tensor_read(clf__weights_at(weights, 0), actual));
    assert_memory_equal(actual, expected, sizeof expected);
    assert_string_equal(clf__weights_specification(weights).name, "");
    clf__weights_close(weights);
}

static void check_refused(const struct draft *draft, clf_status status, const char *part)
{
    struct clf__weights *weights;
    assert_fails(clf__weights_open(&weights, write_draft(draft)), status, part);
    assert_null(weights);
    assert_non_null(strstr(clf_last_error(), "model.bin"));
}

static void test_damage(void **state)
{
    (void)state;
    struct draft whole = {.size = 0}, draft;
    make_model(&whole, 6);
    write_draft(&whole);
    whole.is_next = 1;
    for (size_t size = 0; size < whole.size; size++) { /* cut anywhere */
        draft = whole;
        draft.size = size;
        check_refused(&draft, CLF_FORMAT, "");
    }
    draft = whole;
    put(&draft, "", 1);
    check_refused(&draft, CLF_FORMAT, "data follows the variables");
    begin(&draft, 7, 0);
    check_refused(&draft, CLF_UNSUPPORTED, "format version 7");
    begin(&draft, 6, 0xFFFFFFFF);
    check_refused(&draft, CLF_FORMAT, "more than 32,768 variables");
    begin(&draft, 6, 1);
    put_variable(&draft, 6, "a/weight", 2, 3, 1, 1, small);
    put_number(&draft, 0, 4);
    check_refused(&draft, CLF_FORMAT, "\"a/weight\" is quantized but has no scales");
    begin(&draft, 6, 1);
    put_variable(&draft, 6, "a/bias", 2, 0, 9, 4, bias);
    check_refused(&draft, CLF_FORMAT, "the element type of a variable is unknown");
    begin(&draft, 6, 0);
    put_number(&draft, 1, 4);
    put_text(&draft, "one");
    put_text(&draft, "other");
    check_refused(&draft, CLF_FORMAT, "alias \"one\" refers to \"other\"");
}

static void test_scales(void **state)
{
    (void)state;
    static const float bad[] = {2.0f, 0.0f};
    struct draft draft = {.size = 0};
    begin(&draft, 6, 2);
    put_variable(&draft, 6, "a/weight", 2, 3, 1, 1, small);
    put_variable(&draft, 6, "a/weight_scale", 2, 0, 0, 4, bad);
    put_number(&draft, 0, 4);
    struct clf__weights *weights;
    float values[6];
    assert_ok(clf__weights_open(&weights, write_draft(&draft)));
    assert_fails(clf__stored_tensor_read(clf__weights_at(weights, 0), values), CLF_FORMAT,
                 "tensor \"a/weight\" has the invalid scale 0");
    clf__weights_close(weights);
    draft.is_next = 1;
    begin(&draft, 6, 2);
    put_variable(&draft, 6, "a/weight", 3, 2, 1, 1, small);
    put_variable(&draft, 6, "a/weight_scale", 2, 0, 0, 4, scales);
    put_number(&draft, 0, 4);
    check_refused(&draft, CLF_FORMAT, "\"a/weight\" has 2 scales of type F32");
    begin(&draft, 6, 3);
    put_variable(&draft, 6, "a/weight", 2, 3, 1, 1, small);
    put_variable(&draft, 6, "a/weight_scale", 2, 0, 0, 4, scales);
    put_variable(&draft, 6, "a/weight_scale", 2, 0, 0, 4, bias);
    put_number(&draft, 0, 4);
    check_refused(&draft, CLF_FORMAT, "tensor \"a/weight_scale\" occurs twice; download the file again");
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct draft draft = {.size = 0};
    make_model(&draft, 6);
    const char *folder = write_draft(&draft);
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
        cmocka_unit_test_teardown(test_versions, support_teardown),
        cmocka_unit_test_teardown(test_first_version, support_teardown),
        cmocka_unit_test_teardown(test_damage, support_teardown),
        cmocka_unit_test_teardown(test_scales, support_teardown),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
