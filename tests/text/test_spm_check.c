/* Damaged .spm files: a clear failure or a model that works, never a crash. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/sentencepiece.h"
#include "text/spm_check.h"

/* A growing .spm file. */
struct bytes {
    uint8_t *data;
    size_t size;
};

static void append(struct bytes *bytes, const void *data, size_t size)
{
    assert_ok(clf__resize(&bytes->data, bytes->size + size, 1));
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void append_length(struct bytes *bytes, size_t length)
{
    do {
        uint8_t byte = (uint8_t)((length & 0x7F) | (length > 0x7F ? 0x80 : 0));
        append(bytes, &byte, 1);
        length >>= 7;
    } while (length > 0);
}

static size_t length_size(size_t length)
{
    return length > 0x1FFFFF ? 4 : length > 0x3FFF ? 3 : length > 0x7F ? 2 : 1;
}

static struct bytes read_fixture(const char *path)
{
    struct bytes bytes = {0};
    char *data;
    assert_ok(clf__file_read(&data, &bytes.size, path, 1 << 24));
    bytes.data = (uint8_t *)data;
    return bytes;
}

/* The small unigram model with one more normaliser (field 3 or 5) behind: its table counts. */
static struct bytes model_with_table(const void *table, size_t size, int field)
{
    struct bytes model = read_fixture(support_fixture("text/shared/source.spm"));
    append_length(&model, (size_t)field << 3 | 2);
    append_length(&model, 1 + length_size(size) + size);
    append_length(&model, 2 << 3 | 2);
    append_length(&model, size);
    append(&model, table, size);
    return model;
}

static clf_status drop_piece(void *user, const char *piece, size_t length)
{
    size_t *bytes = user;
    *bytes += strnlen(piece, length);
    return CLF_OK;
}

/* Loads and, where that works, uses a model in memory of exactly its size. */
static clf_status use(const uint8_t *data, size_t size)
{
    static const char text[] = "  Je suis aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
                               "\u201cl\u00e0\u201d\u2026 \ufb01n e\u0301 \u65e5x";
    static const char *const pieces[] = {"\u2581a", "<unk>", "<0x41>", "", "\u2581", "zz\u2581", "</s>"};
    struct clf__sentencepiece *model;
    uint8_t *exact = NULL;
    assert_ok(clf__allocate(&exact, size, 1));
    memcpy(exact, data, size);
    clf_status status = clf__sentencepiece_load(&model, exact, size, "damaged.spm");
    clf__free(exact);
    if (status != CLF_OK) {
        assert_null(model);
        assert_int_equal(status, CLF_FORMAT);
        assert_non_null(strstr(clf_last_error(), "damaged.spm"));
        return status;
    }
    size_t cut = 0;
    clf__sentencepiece_encode(model, text, sizeof text - 1, drop_piece, &cut);
    char *joined;
    if (clf__sentencepiece_decode(model, &joined, pieces, 7) == CLF_OK) {
        clf__free(joined);
    } else {
        assert_null(joined);
    }
    clf__sentencepiece_free(model);
    return CLF_OK;
}

static void test_good_models_pass(void **state)
{
    (void)state;
    const char *paths[] = {"text/shared/source.spm", "text/separate/source.spm", "text/separate/target.spm"};
    for (int i = 0; i < 3; i++) {
        struct bytes model = read_fixture(support_fixture(paths[i]));
        assert_ok(use(model.data, model.size));
        clf__free(model.data);
    }
    struct bytes demo = read_fixture(CLF_SOURCE_FOLDER "/tools/models/fr-en-small/source.spm");
    assert_ok(use(demo.data, demo.size));
    clf__free(demo.data);
}

static void test_what_is_no_model(void **state)
{
    (void)state;
    struct clf__spm_tables tables;
    assert_fails(clf__spm_check(&tables, (const uint8_t *)"", 0, "x.spm"), CLF_FORMAT,
                 "x.spm: is empty; download it again");
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
        assert_int_equal(use((const uint8_t *)texts[i], strlen(texts[i])), CLF_FORMAT);
    }
}

/* Units of a normaliser table, in blocks of 256. */
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

/* Checks a trie with some texts behind it; field 3 is the normaliser, 5 the one for output. */
static clf_status check_trie(const struct trie *trie, const char *texts, size_t texts_size, int field)
{
    struct bytes table = {0};
    uint32_t trie_size = (uint32_t)(4 * 256 * trie->blocks);
    append(&table, &trie_size, 4);
    append(&table, trie->units, trie_size);
    append(&table, texts, texts_size);
    struct bytes model = model_with_table(table.data, table.size, field);
    clf_status status = use(model.data, model.size);
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
        assert_fails(check_trie(&trie, "x\0y", 4, field), CLF_FORMAT, "points outside itself");
        trie = make_chain(3, 4);
        assert_fails(check_trie(&trie, "x\0y", 4, field), CLF_FORMAT, "points outside itself");
        trie = make_chain(1, 0);
        assert_fails(check_trie(&trie, "", 0, field), CLF_FORMAT, "points outside itself");
        /* the library has room for 32 matches of one text */
        trie = make_chain(32, 0);
        assert_ok(check_trie(&trie, "x", 2, field));
        trie = make_chain(33, 0);
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "more than 32 keys");
        /* children just past the last block */
        trie = make_chain(3, 0);
        trie.blocks--;
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "points outside itself");
        trie.blocks = 1;
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "points outside itself");
        /* far away, by the long form of an offset */
        trie = make_chain(1, 0);
        trie.units[0] = 1u << 9 | 0x3FFFFFu << 10;
        assert_fails(check_trie(&trie, "x", 2, field), CLF_FORMAT, "points outside itself");
    }
}

static void test_loops_in_a_table(void **state)
{
    (void)state;
    /* a -> itself, with a value each time round: more matches than there is room for */
    struct trie trie = make_chain(1, 0);
    uint32_t position = 256 ^ 'a';
    trie.units[256] = 1u << 31;
    trie.units[position] = 'a' | LEAF | (position ^ 256) << 10;
    assert_fails(check_trie(&trie, "x", 2, 3), CLF_FORMAT, "normaliser has");
    /* without values: a walk through it would be as long as the text, at each of its letters */
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
        assert_fails(use(model.data, model.size), CLF_FORMAT, "normaliser table");
        clf__free(model.data);
    }
    /* none at all is a model that changes nothing */
    struct bytes model = model_with_table("", 0, 3);
    assert_ok(use(model.data, model.size));
    clf__free(model.data);
}

static void append_varint(struct bytes *bytes, uint64_t number)
{
    do {
        uint8_t byte = (uint8_t)((number & 0x7F) | (number > 0x7F ? 0x80 : 0));
        append(bytes, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

/* A field of bytes, whatever its tag. */
static void append_field(struct bytes *bytes, uint64_t tag, const void *data, size_t size)
{
    append_varint(bytes, tag);
    append_varint(bytes, size);
    append(bytes, data, size);
}

static const uint64_t BIT_32 = (uint64_t)1 << 32;
enum { PIECE = 1 << 3 | 2, NORMALIZER = 3 << 3 | 2, SELF_TEST = 4 << 3 | 2, CHARSMAP = 2 << 3 | 2 };

/* The small model with one field more. */
static clf_status use_with(uint64_t tag, const void *data, size_t size)
{
    struct bytes model = read_fixture(support_fixture("text/shared/source.spm"));
    append_field(&model, tag, data, size);
    clf_status status = use(model.data, model.size);
    clf__free(model.data);
    return status;
}

/* protobuf drops what a tag has beyond 32 bits: such a field is not unknown to it. */
static void test_tags_that_protobuf_reads_otherwise(void **state)
{
    (void)state;
    static const uint8_t table[] = {4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 'x', 0};
    struct bytes spec = {0};
    append_field(&spec, CHARSMAP, table, sizeof table);
    assert_fails(use_with(NORMALIZER, spec.data, spec.size), CLF_FORMAT, "points outside itself");
    assert_fails(use_with(BIT_32 | NORMALIZER, spec.data, spec.size), CLF_FORMAT, "it is cut");
    assert_fails(use_with((BIT_32 << 31) | NORMALIZER, spec.data, spec.size), CLF_FORMAT, "it is cut");
    assert_fails(use_with(2, spec.data, spec.size), CLF_FORMAT, "it is cut");          /* field 0 */
    assert_fails(use_with(3 << 3 | 3, spec.data, spec.size), CLF_FORMAT, "it is cut"); /* a group */
    spec.size = 0;
    append_field(&spec, BIT_32 | CHARSMAP, table, sizeof table);
    assert_fails(use_with(NORMALIZER, spec.data, spec.size), CLF_FORMAT, "its normaliser is cut");
    clf__free(spec.data);
    /* five bytes that are not needed say the same; six no parser takes */
    static const char padded[] = "\x9A\x80\x80\x80\x00\x02\x12",
                      longer[] = "\x9A\x80\x80\x80\x80\x00\x02\x12";
    struct bytes model = read_fixture(support_fixture("text/shared/source.spm"));
    size_t size = model.size;
    append(&model, padded, sizeof padded); /* with its NUL, the length of an empty table */
    assert_ok(use(model.data, model.size));
    model.size = size;
    append(&model, longer, sizeof longer);
    assert_fails(use(model.data, model.size), CLF_FORMAT, "it is cut");
    clf__free(model.data);
}

/* A message that comes twice is merged: of two tables the last counts, and both are checked. */
static void test_a_normaliser_that_comes_twice(void **state)
{
    (void)state;
    static const uint8_t bad[] = {4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 'x', 0};
    for (int last = 0; last < 2; last++) {
        struct bytes model = read_fixture(support_fixture("text/shared/source.spm")), spec = {0}, none = {0};
        append_field(&spec, CHARSMAP, bad, sizeof bad);
        append_field(&none, CHARSMAP, "", 0);
        append_field(&model, NORMALIZER, last ? none.data : spec.data, last ? none.size : spec.size);
        append_field(&model, NORMALIZER, last ? spec.data : none.data, last ? spec.size : none.size);
        assert_fails(use(model.data, model.size), CLF_FORMAT, "points outside itself");
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
    append_field(&piece, PIECE, text, length);
    append_varint(&piece, 3 << 3);
    append_varint(&piece, type);
    append_field(model, PIECE, piece.data, piece.size);
    clf__free(piece.data);
}

/* The library has room for 64 symbols that begin a text, and looks at no bound. */
static void test_symbols_that_begin_alike(void **state)
{
    (void)state;
    enum { USER_DEFINED = 4 };
    const uint64_t types[] = {USER_DEFINED, BIT_32 | USER_DEFINED};
    for (int i = 0; i < 2; i++) {
        struct bytes model = read_fixture(support_fixture("text/shared/source.spm"));
        for (size_t length = 10; length < 74; length++) {
            append_piece(&model, length, types[i]);
        }
        assert_ok(use(model.data, model.size));
        append_piece(&model, 74, types[i]);
        assert_fails(use(model.data, model.size), CLF_FORMAT, "more than 64 of its symbols begin alike");
        clf__free(model.data);
    }
}

/* The library calls itself for each byte of a piece, and cuts a self-test's texts while it loads. */
static void test_long_pieces_and_self_tests(void **state)
{
    (void)state;
    struct bytes model = read_fixture(support_fixture("text/shared/source.spm"));
    size_t size = model.size;
    append_piece(&model, 4096, 1);
    assert_ok(use(model.data, model.size));
    model.size = size;
    append_piece(&model, 4097, 1);
    assert_fails(use(model.data, model.size), CLF_FORMAT, "a piece has more than 4,096 bytes");
    char *text = support_array(40000, 1);
    memset(text, 'a', 40000);
    for (int samples = 1; samples <= 2; samples++) {
        struct bytes sample = {0}, test = {0};
        append_field(&sample, PIECE, text, 40000);
        for (int i = 0; i < samples; i++) {
            append_field(&test, PIECE, sample.data, sample.size);
        }
        model.size = size;
        append_field(&model, SELF_TEST, test.data, test.size);
        if (samples == 1) { /* its outcome is not as expected, which the library says of the model */
            use(model.data, model.size);
            assert_null(strstr(clf_last_error(), "more than 65,536 bytes"));
        } else {
            assert_fails(use(model.data, model.size), CLF_FORMAT,
                         "its self-test has more than 65,536 bytes of text");
        }
        clf__free(sample.data);
        clf__free(test.data);
    }
    clf__free(model.data);
}

/* std::hash of sixteen bytes, MurmurHash64A, is undone for the last eight: the piece number i whose hash is
 * that of all others. */
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

/* The library's own table of pieces has no seed. */
static void test_pieces_that_share_a_hash(void **state)
{
    (void)state;
    struct bytes model = read_fixture(support_fixture("text/shared/source.spm"));
    for (int i = 0, count = 0; count < 100; i++) {
        uint64_t words[2];
        make_collision(words, i);
        if (memchr(words, '\0', sizeof words)) {
            continue;
        }
        count++;
        struct bytes piece = {0};
        append_field(&piece, PIECE, words, sizeof words);
        append_field(&model, PIECE, piece.data, piece.size);
        clf__free(piece.data);
        if (count == 60) {
            assert_ok(use(model.data, model.size));
        }
    }
    assert_fails(use(model.data, model.size), CLF_FORMAT, "its pieces share hashes");
    clf__free(model.data);
}

/* A model whose normaliser puts `bytes` letters in the place of an a. */
static struct bytes model_that_grows(size_t bytes, int field)
{
    struct trie trie = make_chain(1, 0);
    struct bytes table = {0};
    uint32_t trie_size = (uint32_t)(4 * 256 * trie.blocks);
    append(&table, &trie_size, 4);
    append(&table, trie.units, trie_size);
    char *letters = support_array((int)bytes + 1, 1);
    memset(letters, 'x', bytes);
    append(&table, letters, bytes + 1);
    struct bytes model = model_with_table(table.data, table.size, field);
    clf__free(table.data);
    return model;
}

static void test_a_text_that_grows(void **state)
{
    (void)state;
    enum { LETTERS = 2000 };
    struct bytes model = model_that_grows(1025, 3);
    assert_fails(use(model.data, model.size), CLF_FORMAT, "more than 1,024 bytes in the place of a few");
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
                         "grows.spm: its normaliser makes more than 65536 bytes of 65");
            assert_ok(clf__sentencepiece_encode(loaded, text, 4, drop_piece, &cut));
        } else {
            const char *pieces[LETTERS];
            char *joined;
            for (int i = 0; i < LETTERS; i++) {
                pieces[i] = "a";
            }
            assert_ok(clf__sentencepiece_decode(loaded, &joined, pieces, 60));
            assert_true(strlen(joined) >= 60 * 1024);
            clf__free(joined);
            assert_fails(clf__sentencepiece_decode(loaded, &joined, pieces, LETTERS), CLF_FORMAT,
                         "grows.spm: its normaliser for output makes too much of 2000 bytes");
            assert_null(joined);
        }
        clf__sentencepiece_free(loaded);
    }
}

/* A text that grows less is cut where what it becomes ends, between characters. */
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
    assert_ok(clf__sentencepiece_fit(loaded, &fit, text, 3 * PAIRS)); /* 22 bytes a pair, 20 of them its a */
    assert_int_equal(fit, 65516 / 22 * 3 + 1);
    clf__sentencepiece_free(loaded);
}

static void damage(const char *path, int cuts, int flips, size_t table_start)
{
    struct bytes model = read_fixture(path);
    struct support_random random = {17};
    int loaded = 0;
    for (int i = 0; i < cuts; i++) {
        size_t size = (size_t)support_integer(&random, (int)model.size);
        loaded += use(model.data, size) == CLF_OK;
    }
    assert_true(loaded < cuts);
    for (int i = 0; i < flips; i++) {
        uint8_t before[8];
        size_t places[8];
        int count = 1 + support_integer(&random, 8);
        for (int k = 0; k < count; k++) {
            /* every second time in the normaliser, which stands near the end */
            size_t first = i % 2 ? table_start : 0;
            places[k] = first + (size_t)support_integer(&random, (int)(model.size - first));
            before[k] = model.data[places[k]];
            model.data[places[k]] = (uint8_t)support_integer(&random, 256);
        }
        use(model.data, model.size);
        while (count-- > 0) {
            model.data[places[count]] = before[count];
        }
    }
    assert_ok(use(model.data, model.size)); /* put back */
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
    struct bytes bytes = read_fixture(support_fixture("text/shared/source.spm"));
    append_piece(&bytes, 20, 4); /* a symbol, of which there is a list */
    struct clf__sentencepiece *model;
    for (uint64_t n = 1; n <= 2; n++) {
        clf__memory_fail_at(n);
        assert_fails(clf__sentencepiece_load(&model, bytes.data, bytes.size, "x.spm"), CLF_OUT_OF_MEMORY, "");
        assert_null(model);
    }
    clf__memory_fail_at(3);
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
        cmocka_unit_test(test_walks_through_a_table),
        cmocka_unit_test(test_loops_in_a_table),
        cmocka_unit_test(test_cut_tables),
        cmocka_unit_test(test_tags_that_protobuf_reads_otherwise),
        cmocka_unit_test(test_a_normaliser_that_comes_twice),
        cmocka_unit_test_teardown(test_symbols_that_begin_alike, support_teardown),
        cmocka_unit_test_teardown(test_long_pieces_and_self_tests, support_teardown),
        cmocka_unit_test(test_pieces_that_share_a_hash),
        cmocka_unit_test_teardown(test_a_text_that_grows, support_teardown),
        cmocka_unit_test_teardown(test_where_a_text_is_cut, support_teardown),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
