/* Normalizer tables of .spm files: out-of-bounds offsets and unbounded growth are errors. */
#include "support/support.h"

#include <string.h>

#include "base/memory.h"
#include "support/spm_fixture.h"

/* The small unigram model with an additional normalizer (field 3 or 5): the last table counts. */
static struct bytes model_with_table(const void *table, size_t size, int field)
{
    struct bytes model = spm_read(support_fixture("text/shared/source.spm")), spec = {0};
    spm_append_field(&spec, SPM_CHARSMAP, table, size);
    spm_append_field(&model, (uint64_t)field << 3 | 2, spec.data, spec.size);
    clf__free(spec.data);
    return model;
}

/* Units of a normalizer table, in blocks of 256. */
enum { LEAF = 1 << 8 };

struct trie {
    uint32_t units[256 * 40];
    int blocks;
};

/* The keys a, aa, aaa, ... up to `keys` of them, all with one value. */
static struct trie make_chain(int keys, uint32_t value)
{
    struct trie trie = {.blocks = keys + 2};
    for (int i = 0; i < 256 * trie.blocks; i++) {
        trie.units[i] = 1u << 31;
    }
    trie.units[0] = (uint32_t)256 << 10;
    for (int i = 1; i <= keys; i++) {
        uint32_t position = (uint32_t)(256 * i) ^ 'a', base = (uint32_t)(256 * (i + 1));
        trie.units[position] = 'a' | LEAF | (position ^ base) << 10;
        trie.units[base] = 1u << 31 | value;
    }
    return trie;
}

/* Checks a trie with some texts after it; field 3 is the normalizer, 5 the denormalizer. */
static clf_status check_trie(const struct trie *trie, const char *texts, size_t texts_size, int field)
{
    struct bytes table = {0};
    uint32_t trie_size = (uint32_t)(4 * 256 * trie->blocks);
    spm_append(&table, &trie_size, 4);
    spm_append(&table, trie->units, trie_size);
    spm_append(&table, texts, texts_size);
    struct bytes model = model_with_table(table.data, table.size, field);
    clf_status status = spm_use(model.data, model.size);
    clf__free(table.data);
    clf__free(model.data);
    return status;
}

static void test_walks_through_a_table(void **state)
{
    (void)state;
    for (int field = 3; field <= 5; field += 2) {
        struct trie trie = make_chain(3, 2);
        assert_ok(check_trie(&trie, "x\0y", 4, field));
        /* values: the last text, past the end, inside a text */
        trie = make_chain(3, 3);
        assert_fails(check_trie(&trie, "x\0y", 4, field), CLF_FORMAT, "points outside the table");
        trie = make_chain(3, 4);
        assert_fails(check_trie(&trie, "x\0y", 4, field), CLF_FORMAT, "points outside the table");
        trie = make_chain(1, 0);
        assert_fails(check_trie(&trie, "", 0, field), CLF_FORMAT, "points outside the table");
        /* the library has an array of 32 matches of one text */
        trie = make_chain(32, 0);
        assert_ok(check_trie(&trie, "x", 2, field));
        trie = make_chain(33, 0);
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "more than 32 keys");
        /* children just past the last block */
        trie = make_chain(3, 0);
        trie.blocks--;
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "points outside the table");
        trie.blocks = 1;
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "points outside the table");
        /* far away, with the long form of an offset */
        trie = make_chain(1, 0);
        trie.units[0] = 1u << 9 | 0x3FFFFFu << 10;
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "points outside the table");
    }
}

static void test_loops_in_a_table(void **state)
{
    (void)state;
    /* a -> itself, with a value in each round: more matches than the array holds */
    struct trie trie = make_chain(1, 0);
    uint32_t position = 256 ^ 'a';
    trie.units[256] = 1u << 31;
    trie.units[position] = 'a' | LEAF | (position ^ 256) << 10;
    assert_fails(check_trie(&trie, "x", 2, 3), CLF_FORMAT, "normalizer has");
    /* without values: a walk would take the length of the text, at each of its letters */
    trie.units[position] = 'a' | (position ^ 256) << 10;
    assert_fails(check_trie(&trie, "x", 2, 3), CLF_FORMAT, "keys of more than 255 bytes");
}

static void test_cut_tables(void **state)
{
    (void)state;
    static const uint8_t tables[][9] = {
        {1},
        {0, 4, 0},
        {0, 0, 0, 0},
        {255, 255, 255, 255, 0},
        {8, 0, 0, 0, 1, 2, 3, 4},
        {3, 0, 0, 0, 1, 2, 3, 4},
        {4, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    static const size_t sizes[] = {1, 3, 4, 5, 8, 8, 9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bytes model = model_with_table(tables[i], sizes[i], 3);
        assert_fails(spm_use(model.data, model.size), CLF_FORMAT, "normalizer table");
        clf__free(model.data);
    }
    /* an empty table: the model normalises nothing */
    struct bytes model = model_with_table("", 0, 3);
    assert_ok(spm_use(model.data, model.size));
    clf__free(model.data);
}

/* A model whose normalizer replaces an a with `bytes` letters. */
static struct bytes model_that_grows(size_t bytes, int field)
{
    struct trie trie = make_chain(1, 0);
    struct bytes table = {0};
    uint32_t trie_size = (uint32_t)(4 * 256 * trie.blocks);
    spm_append(&table, &trie_size, 4);
    spm_append(&table, trie.units, trie_size);
    char *letters = support_array((int)bytes + 1, 1);
    memset(letters, 'x', bytes);
    spm_append(&table, letters, bytes + 1);
    struct bytes model = model_with_table(table.data, table.size, field);
    clf__free(table.data);
    return model;
}

static void test_a_text_that_grows(void **state)
{
    (void)state;
    enum { LETTERS = 2000 };
    struct bytes model = model_that_grows(1025, 3);
    assert_fails(spm_use(model.data, model.size), CLF_FORMAT, "a replacement of more than 1,024 bytes");
    clf__free(model.data);
    char *text = support_array(LETTERS, 1);
    memset(text, 'a', LETTERS);
    for (int field = 3; field <= 5; field += 2) {
        model = model_that_grows(1024, field);
        struct clf__sentencepiece *loaded;
        size_t fit, cut = 0;
        assert_ok(clf__sentencepiece_load(&loaded, model.data, model.size, "grows.spm"));
        clf__free(model.data);
        if (field == 3) {
            assert_ok(clf__sentencepiece_fit(loaded, &fit, text, 64));
            assert_int_equal(fit, 64);
            assert_fails(clf__sentencepiece_fit(loaded, &fit, text, 65), CLF_TEXT,
                         "grows.spm: the normalizer produces more than 65536 bytes from 65");
            assert_ok(clf__sentencepiece_encode(loaded, text, 4, spm_drop_piece, &cut));
        } else {
            const char *tokens[LETTERS];
            char *joined;
            for (int i = 0; i < LETTERS; i++) {
                tokens[i] = "a";
            }
            assert_ok(clf__sentencepiece_decode(loaded, &joined, tokens, 60));
            assert_true(strlen(joined) >= 60 * 1024);
            clf__free(joined);
            assert_fails(clf__sentencepiece_decode(loaded, &joined, tokens, LETTERS), CLF_FORMAT,
                         "grows.spm: the output normalizer expands 2000 bytes too far");
            assert_null(joined);
        }
        clf__sentencepiece_free(loaded);
    }
}

/* A text that grows less is cut where its normalised form ends, between characters. */
static void test_where_a_text_is_cut(void **state)
{
    (void)state;
    enum { PAIRS = 10000 };
    struct bytes model = model_that_grows(20, 3);
    struct clf__sentencepiece *loaded;
    assert_ok(clf__sentencepiece_load(&loaded, model.data, model.size, "grows.spm"));
    clf__free(model.data);
    char *text = support_array(3 * PAIRS, 1);
    for (int i = 0; i < PAIRS; i++) {
        memcpy(text + 3 * i, "a\xC3\xA9", 3);
    }
    size_t fit;
    assert_ok(clf__sentencepiece_fit(loaded, &fit, text, 3 * PAIRS)); /* 22 bytes per pair, 20 of them from
                                                                         its a */
    assert_int_equal(fit, 65516 / 22 * 3 + 1);
    clf__sentencepiece_free(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walks_through_a_table),
        cmocka_unit_test(test_loops_in_a_table),
        cmocka_unit_test(test_cut_tables),
        cmocka_unit_test_teardown(test_a_text_that_grows, support_teardown),
        cmocka_unit_test_teardown(test_where_a_text_is_cut, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
