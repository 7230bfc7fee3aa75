/* Damaged .spm files: a clear error or a working model, never a crash. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "support/spm_fixture.h"
#include "text/tokenizers/segmenters/spm_check.h"

static void test_good_models_pass(void **state)
{
    (void)state;
    const char *paths[] = {"text/shared/source.spm", "text/separate/source.spm", "text/separate/target.spm"};
    for (int i = 0; i < 3; i++) {
        struct bytes model = spm_read(support_fixture(paths[i]));
        assert_ok(spm_use(model.data, model.size));
        clf__free(model.data);
    }
    struct bytes demo = spm_read(CLF_SOURCE_FOLDER "/tools/models/fr-en-small/source.spm");
    assert_ok(spm_use(demo.data, demo.size));
    clf__free(demo.data);
}

static void test_what_is_no_model(void **state)
{
    (void)state;
    struct clf__spm_tables tables;
    assert_fails(clf__spm_check(&tables, (const uint8_t *)"", 0, "x.spm"), CLF_FORMAT,
                 "x.spm: the file is empty; download the file again");
    static const char *const texts[] = {
        "this is no model",
        "{\"a\": 1}",
        "\n",
        "\x0b\x0c",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "\x1a\x05\x12\x09",
        "\x1a\x02\x12\x09",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(spm_use((const uint8_t *)texts[i], strlen(texts[i])), CLF_FORMAT);
    }
}

static const uint64_t BIT_32 = (uint64_t)1 << 32;

/* The small model with an additional field. */
static clf_status use_with(uint64_t tag, const void *data, size_t size)
{
    struct bytes model = spm_read(support_fixture("text/shared/source.spm"));
    spm_append_field(&model, tag, data, size);
    clf_status status = spm_use(model.data, model.size);
    clf__free(model.data);
    return status;
}

/* protobuf drops the bits of a tag beyond 32: it may know such a field. */
static void test_tags_that_protobuf_reads_otherwise(void **state)
{
    (void)state;
    static const uint8_t table[] = {4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 'x', 0};
    struct bytes spec = {0};
    spm_append_field(&spec, SPM_CHARSMAP, table, sizeof table);
    assert_fails(use_with(SPM_NORMALIZER, spec.data, spec.size), CLF_FORMAT, "points outside the table");
    assert_fails(use_with(BIT_32 | SPM_NORMALIZER, spec.data, spec.size), CLF_FORMAT,
                 "the file is truncated");
    assert_fails(use_with((BIT_32 << 31) | SPM_NORMALIZER, spec.data, spec.size), CLF_FORMAT,
                 "the file is truncated");
    assert_fails(use_with(2, spec.data, spec.size), CLF_FORMAT, "the file is truncated"); /* field 0 */
    assert_fails(use_with(3 << 3 | 3, spec.data, spec.size), CLF_FORMAT,
                 "the file is truncated"); /* a group */
    spec.size = 0;
    spm_append_field(&spec, BIT_32 | SPM_CHARSMAP, table, sizeof table);
    assert_fails(use_with(SPM_NORMALIZER, spec.data, spec.size), CLF_FORMAT, "the normalizer is truncated");
    clf__free(spec.data);
    /* five redundant bytes are valid; six are not for any parser */
    static const char padded[] = "\x9A\x80\x80\x80\x00\x02\x12",
                      longer[] = "\x9A\x80\x80\x80\x80\x00\x02\x12";
    struct bytes model = spm_read(support_fixture("text/shared/source.spm"));
    size_t size = model.size;
    spm_append(&model, padded, sizeof padded); /* with its NUL, the length of an empty table */
    assert_ok(spm_use(model.data, model.size));
    model.size = size;
    spm_append(&model, longer, sizeof longer);
    assert_fails(spm_use(model.data, model.size), CLF_FORMAT, "the file is truncated");
    clf__free(model.data);
}

/* Repeated messages are merged: of two tables the last counts, and both are checked. */
static void test_a_normaliser_that_comes_twice(void **state)
{
    (void)state;
    static const uint8_t bad[] = {4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 'x', 0};
    for (int last = 0; last < 2; last++) {
        struct bytes model = spm_read(support_fixture("text/shared/source.spm")), spec = {0}, none = {0};
        spm_append_field(&spec, SPM_CHARSMAP, bad, sizeof bad);
        spm_append_field(&none, SPM_CHARSMAP, "", 0);
        spm_append_field(&model, SPM_NORMALIZER, last ? none.data : spec.data, last ? none.size : spec.size);
        spm_append_field(&model, SPM_NORMALIZER, last ? spec.data : none.data, last ? spec.size : none.size);
        assert_fails(spm_use(model.data, model.size), CLF_FORMAT, "points outside the table");
        clf__free(none.data);
        clf__free(spec.data);
        clf__free(model.data);
    }
}

static void append_piece(struct bytes *model, size_t length, uint64_t type)
{
    struct bytes piece = {0};
    char *text = support_array((int)length, 1);
    memset(text, 'a', length);
    spm_append_field(&piece, SPM_PIECE, text, length);
    spm_append_varint(&piece, 3 << 3);
    spm_append_varint(&piece, type);
    spm_append_field(model, SPM_PIECE, piece.data, piece.size);
    clf__free(piece.data);
}

/* The library has an array of 64 symbols that begin a text, without bounds check. */
static void test_symbols_that_begin_alike(void **state)
{
    (void)state;
    enum { USER_DEFINED = 4 };
    const uint64_t types[] = {USER_DEFINED, BIT_32 | USER_DEFINED};
    for (int i = 0; i < 2; i++) {
        struct bytes model = spm_read(support_fixture("text/shared/source.spm"));
        for (size_t length = 10; length < 74; length++) {
            append_piece(&model, length, types[i]);
        }
        assert_ok(spm_use(model.data, model.size));
        append_piece(&model, 74, types[i]);
        assert_fails(spm_use(model.data, model.size), CLF_FORMAT,
                     "more than 64 symbols have a common prefix");
        clf__free(model.data);
    }
}

/* The library recurses for each byte of a token, and segments a self-test's texts while loading. */
static void test_long_pieces_and_self_tests(void **state)
{
    (void)state;
    struct bytes model = spm_read(support_fixture("text/shared/source.spm"));
    size_t size = model.size;
    append_piece(&model, 4096, 1);
    assert_ok(spm_use(model.data, model.size));
    model.size = size;
    append_piece(&model, 4097, 1);
    assert_fails(spm_use(model.data, model.size), CLF_FORMAT, "a token has more than 4,096 bytes");
    char *text = support_array(40000, 1);
    memset(text, 'a', 40000);
    for (int samples = 1; samples <= 2; samples++) {
        struct bytes sample = {0}, test = {0};
        spm_append_field(&sample, SPM_PIECE, text, 40000);
        for (int i = 0; i < samples; i++) {
            spm_append_field(&test, SPM_PIECE, sample.data, sample.size);
        }
        model.size = size;
        spm_append_field(&model, SPM_SELF_TEST, test.data, test.size);
        if (samples == 1) { /* its outcome is wrong, which the library reports for the model */
            spm_use(model.data, model.size);
            assert_null(strstr(clf_last_error(), "more than 65,536 bytes"));
        } else {
            assert_fails(spm_use(model.data, model.size), CLF_FORMAT,
                         "the self-test has more than 65,536 bytes of text");
        }
        clf__free(sample.data);
        clf__free(test.data);
    }
    clf__free(model.data);
}

/* Inverts std::hash of sixteen bytes, MurmurHash64A, for the last eight: gives token i with the common
 * hash. */
static void make_collision(uint64_t words[2], int i)
{
    const uint64_t m = 0xc6a4a7935bd1e995, inverse = 0x5f7a0ea7e59b19bd, seed = 0xc70f6907;
    char first[16];
    snprintf(first, sizeof first, "%08d", i);
    memcpy(&words[0], first, 8);
    uint64_t mixed = words[0] * m;
    mixed = (mixed ^ mixed >> 47) * m;
    uint64_t last = (((seed ^ 16 * m) ^ mixed) * m ^ 0x1234567890abcdef) * inverse;
    words[1] = (last ^ last >> 47) * inverse;
}

/* The library's hash table of tokens has no seed. */
static void test_pieces_that_share_a_hash(void **state)
{
    (void)state;
    struct bytes model = spm_read(support_fixture("text/shared/source.spm"));
    for (int i = 0, count = 0; count < 100; i++) {
        uint64_t words[2];
        make_collision(words, i);
        if (memchr(words, '\0', sizeof words)) {
            continue;
        }
        count++;
        struct bytes piece = {0};
        spm_append_field(&piece, SPM_PIECE, words, sizeof words);
        spm_append_field(&model, SPM_PIECE, piece.data, piece.size);
        clf__free(piece.data);
        if (count == 60) {
            assert_ok(spm_use(model.data, model.size));
        }
    }
    assert_fails(spm_use(model.data, model.size), CLF_FORMAT, "hash collisions of the tokens");
    clf__free(model.data);
}

static void damage(const char *path, int cuts, int flips, size_t table_start)
{
    struct bytes model = spm_read(path);
    struct support_random random = {17};
    int loaded = 0;
    for (int i = 0; i < cuts; i++) {
        size_t size = (size_t)support_integer(&random, (int)model.size);
        loaded += spm_use(model.data, size) == CLF_OK;
    }
    assert_true(loaded < cuts);
    for (int i = 0; i < flips; i++) {
        uint8_t before[8];
        size_t places[8];
        int count = 1 + support_integer(&random, 8);
        for (int k = 0; k < count; k++) {
            /* every second time in the normalizer, near the end */
            size_t first = i % 2 ? table_start : 0;
            places[k] = first + (size_t)support_integer(&random, (int)(model.size - first));
            before[k] = model.data[places[k]];
            model.data[places[k]] = (uint8_t)support_integer(&random, 256);
        }
        spm_use(model.data, model.size);
        while (count-- > 0) {
            model.data[places[count]] = before[count];
        }
    }
    assert_ok(spm_use(model.data, model.size)); /* put back */
    clf__free(model.data);
}

static void test_damaged_files(void **state)
{
    (void)state;
    damage(support_fixture("text/shared/source.spm"), 150, 400, 1900);
    damage(support_fixture("text/separate/source.spm"), 150, 400, 2570);
    damage(support_fixture("text/separate/target.spm"), 150, 400, 0);
    damage(CLF_SOURCE_FOLDER "/tools/models/fr-en-small/source.spm", 10, 40, 80000);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct bytes bytes = spm_read(support_fixture("text/shared/source.spm"));
    append_piece(&bytes, 20, 4); /* a symbol; symbols are in a list */
    struct clf__sentencepiece *model;
    for (uint64_t n = 1; n <= 4; n++) {
        clf__memory_fail_at(n);
        assert_fails(clf__sentencepiece_load(&model, bytes.data, bytes.size, "x.spm"), CLF_OUT_OF_MEMORY, "");
        assert_null(model);
    }
    clf__memory_fail_at(5);
    assert_ok(clf__sentencepiece_load(&model, bytes.data, bytes.size, "x.spm"));
    static const char *const pieces[] = {"\u2581a"};
    char *text;
    clf__memory_fail_at(1);
    assert_fails(clf__sentencepiece_decode(model, &text, pieces, 1), CLF_OUT_OF_MEMORY, "");
    assert_null(text);
    clf__memory_fail_at(0);
    clf__sentencepiece_free(model);
    clf__sentencepiece_free(NULL);
    clf__free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_models_pass),
        cmocka_unit_test(test_what_is_no_model),
        cmocka_unit_test(test_tags_that_protobuf_reads_otherwise),
        cmocka_unit_test(test_a_normaliser_that_comes_twice),
        cmocka_unit_test_teardown(test_symbols_that_begin_alike, support_teardown),
        cmocka_unit_test_teardown(test_long_pieces_and_self_tests, support_teardown),
        cmocka_unit_test(test_pieces_that_share_a_hash),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
