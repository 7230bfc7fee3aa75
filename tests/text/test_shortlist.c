/* Lexical shortlists: candidates of lines, and files that are none. */
#include "text/shortlist.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

enum {
    SOURCE = 6,
    TARGET = 40,
    FIRST = 5,
    BEST = 4,
    LISTED = 9,
    NUMBERS = 6 + SOURCE + 1,
    BYTES = 8 * NUMBERS + 4 * LISTED
};

static const struct clf__shortlist_words words = {.source = SOURCE, .target = TARGET, .is_shared = 0};

/* Word 0 has no list, and neither has the last one. */
static const uint64_t head[NUMBERS] = {
    0xF11A48D5013417F5u, 0, FIRST, BEST, SOURCE + 1, LISTED, 0, 0, 4, 6, 8, 9, 9};
static const uint32_t lists[LISTED] = {1, 7, 20, 39, 7, 21, 4, 8, 30};

static void put(uint8_t *bytes, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

static uint64_t get(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 8; i-- > 0;) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static void seal(uint8_t *bytes, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 16; at + 8 <= size; at += 8) {
        hash ^= get(bytes + at) + 0x9e3779b9u + (hash << 6) + (hash >> 2);
    }
    put(bytes + 8, hash, 8);
}

static void make(uint8_t bytes[BYTES])
{
    for (int i = 0; i < NUMBERS; i++) {
        put(bytes + 8 * i, head[i], 8);
    }
    for (int i = 0; i < LISTED; i++) {
        put(bytes + 8 * NUMBERS + 4 * i, lists[i], 4);
    }
    seal(bytes, BYTES);
}

static struct clf__shortlist *open_made(const struct clf__shortlist_words *of)
{
    uint8_t bytes[BYTES];
    struct clf__shortlist *shortlist;
    char *path = support_temporary_path("lex.bin");
    make(bytes);
    assert_ok(clf__file_write(path, bytes, sizeof bytes));
    assert_ok(clf__shortlist_open(&shortlist, path, of));
    return shortlist;
}

static void check(struct clf__shortlist *shortlist, const int32_t *line, int count, const int32_t *expected,
                  int expected_count)
{
    int base, each;
    clf__shortlist_most(shortlist, &base, &each);
    int32_t *ids = support_array((size_t)(base + count * each), sizeof *ids);
    assert_int_equal(clf__shortlist_candidates(shortlist, ids, line, count), expected_count);
    assert_memory_equal(ids, expected, (size_t)expected_count * sizeof *ids);
}

/* The first 5 words, the lists of both, and up to a multiple of 8 the next ones. */
static void test_candidates(void **state)
{
    (void)state;
    static const int32_t line[] = {1, 2, 1, 0},
                         expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 39};
    static const int32_t none[] = {5, 0, -1, SOURCE}, few[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct clf__shortlist *shortlist = open_made(&words);
    check(shortlist, line, 4, expected, 16);
    check(shortlist, none, 4, few, 8);
    check(shortlist, line, 4, expected, 16); /* nothing is left of the line before */
    clf__shortlist_free(shortlist);
}

/* With one vocabulary the source's words are candidates themselves. */
static void test_shared(void **state)
{
    (void)state;
    static const struct clf__shortlist_words shared = {.source = SOURCE, .target = TARGET, .is_shared = 1};
    static const int32_t line[] = {5, 4, 0}, expected[] = {0, 1, 2, 3, 4, 5, 6, 30};
    struct clf__shortlist *shortlist = open_made(&shared);
    check(shortlist, line, 3, expected, 8);
    clf__shortlist_free(shortlist);
}

/* Where all words are candidates there is nothing to round up with. */
static void test_all_words(void **state)
{
    (void)state;
    static const struct clf__shortlist_words small = {.source = SOURCE, .target = TARGET, .is_shared = 1};
    int32_t line[SOURCE], ids[TARGET];
    struct clf__shortlist *shortlist = open_made(&small);
    int base, each;
    clf__shortlist_most(shortlist, &base, &each);
    assert_int_equal(base, FIRST + 8);
    assert_int_equal(each, BEST + 1);
    for (int i = 0; i < SOURCE; i++) {
        line[i] = i;
    }
    int count = clf__shortlist_candidates(shortlist, ids, line, SOURCE);
    assert_int_equal(count % 8, 0);
    for (int i = 1; i < count; i++) {
        assert_true(ids[i] > ids[i - 1]);
    }
    clf__shortlist_free(shortlist);
}

struct damage {
    size_t at;
    int width;
    uint64_t value;
    int reseals;
    const char *part;
    clf_status status;
};

static void test_damage(void **state)
{
    (void)state;
    static const struct damage damages[] = {
        {0, 8, 7, 0, "its first bytes", CLF_FORMAT},
        {0, 4, 1234567890, 0, "Quicksand", CLF_UNSUPPORTED},
        {8 * NUMBERS, 4, 2, 0, "its checksum", CLF_FORMAT},
        {8 * 5, 8, LISTED + 1, 1, "its length", CLF_FORMAT},
        {8 * 4, 8, UINT64_MAX, 1, "its length", CLF_FORMAT},
        {8 * 2, 8, TARGET + 1, 1, "its head", CLF_FORMAT},
        {8 * 7, 8, 5, 1, "where its lists are", CLF_FORMAT},
        {8 * 12, 8, LISTED + 1, 1, "where its lists are", CLF_FORMAT},
        {8 * NUMBERS, 4, TARGET, 1, "a word that the model does not have", CLF_FORMAT},
    };
    char *path = support_temporary_path("lex.bin");
    struct clf__shortlist *shortlist;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        uint8_t bytes[BYTES];
        make(bytes);
        put(bytes + damages[i].at, damages[i].value, damages[i].width);
        if (damages[i].reseals) {
            seal(bytes, sizeof bytes);
        }
        assert_ok(clf__file_write(path, bytes, sizeof bytes));
        assert_fails(clf__shortlist_open(&shortlist, path, &words), damages[i].status, damages[i].part);
    }
    for (size_t size = 0; size < BYTES; size += 7) {
        uint8_t bytes[BYTES];
        make(bytes);
        assert_ok(clf__file_write(path, bytes, size));
        assert_fails(clf__shortlist_open(&shortlist, path, &words), CLF_FORMAT, path);
    }
}

static void test_other_model(void **state)
{
    (void)state;
    static const struct clf__shortlist_words other = {.source = SOURCE + 1, .target = TARGET};
    uint8_t bytes[BYTES];
    char *path = support_temporary_path("lex.bin");
    struct clf__shortlist *shortlist;
    make(bytes);
    assert_ok(clf__file_write(path, bytes, sizeof bytes));
    assert_fails(clf__shortlist_open(&shortlist, path, &other), CLF_FORMAT,
                 "6 source words, and the model has 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_candidates, support_teardown),
        cmocka_unit_test_teardown(test_shared, support_teardown),
        cmocka_unit_test_teardown(test_all_words, support_teardown),
        cmocka_unit_test_teardown(test_damage, support_teardown),
        cmocka_unit_test_teardown(test_other_model, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
