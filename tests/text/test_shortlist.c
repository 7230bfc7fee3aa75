/* Lexical shortlists: candidates of lines, and invalid files. */
#include "text/shortlist.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/weights/zip.h"
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
static const struct clf__shortlist_cut cut = CLF__SHORTLIST_CUT;

/* The first and the last word have no list. */
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
    assert_ok(clf__shortlist_open(&shortlist, path, of, &cut));
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

/* The first 5 words, the lists of both, and further words up to a multiple of 8. */
static void test_candidates(void **state)
{
    (void)state;
    static const int32_t line[] = {1, 2, 1, 0},
                         expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 39};
    static const int32_t none[] = {5, 0, -1, SOURCE}, few[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct clf__shortlist *shortlist = open_made(&words);
    check(shortlist, line, 4, expected, 16);
    check(shortlist, none, 4, few, 8);
    check(shortlist, line, 4, expected, 16); /* no candidates of the previous line remain */
    clf__shortlist_free(shortlist);
}

/* With a shared vocabulary, the source's words are candidates themselves. */
static void test_shared(void **state)
{
    (void)state;
    static const struct clf__shortlist_words shared = {.source = SOURCE, .target = TARGET, .is_shared = 1};
    static const int32_t line[] = {5, 4, 0}, expected[] = {0, 1, 2, 3, 4, 5, 6, 30};
    struct clf__shortlist *shortlist = open_made(&shared);
    check(shortlist, line, 3, expected, 8);
    clf__shortlist_free(shortlist);
}

/* If all words are candidates, rounding up adds none. */
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
        {0, 8, 7, 0, "the file header is invalid", CLF_FORMAT},
        {0, 4, 1234567890, 0, "Quicksand", CLF_UNSUPPORTED},
        {8 * NUMBERS, 4, 2, 0, "wrong checksum", CLF_FORMAT},
        {8 * 5, 8, LISTED + 1, 1, "wrong length", CLF_FORMAT},
        {8 * 4, 8, UINT64_MAX, 1, "wrong length", CLF_FORMAT},
        {8 * 2, 8, TARGET + 1, 1, "the header is invalid", CLF_FORMAT},
        {8 * 7, 8, 5, 1, "the positions of the lists are invalid", CLF_FORMAT},
        {8 * 12, 8, LISTED + 1, 1, "the positions of the lists are invalid", CLF_FORMAT},
        {8 * NUMBERS, 4, TARGET, 1, "a listed word is not in the model's vocabulary", CLF_FORMAT},
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
        assert_fails(clf__shortlist_open(&shortlist, path, &words, &cut), damages[i].status, damages[i].part);
    }
    for (size_t size = 0; size < BYTES; size += 7) {
        uint8_t bytes[BYTES];
        make(bytes);
        assert_ok(clf__file_write(path, bytes, size));
        assert_fails(clf__shortlist_open(&shortlist, path, &words, &cut), CLF_FORMAT, path);
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
    assert_fails(clf__shortlist_open(&shortlist, path, &other, &cut), CLF_FORMAT,
                 "6 source words, but the model has 7");
}

/* --- In text. --- */

/* Target token i is "t" and i, source token i is "s" and i; others are unknown: 1 for the source, 2 for the
   target. */
static int32_t id_of(const void *user, int is_target, const char *token, size_t length)
{
    (void)user;
    int32_t id = 0;
    for (size_t i = 1; i < length; i++) {
        id = 10 * id + (token[i] - '0');
    }
    int is_known = token[0] == (is_target ? 't' : 's') && id < (is_target ? TARGET : SOURCE);
    return is_known ? id : is_target ? 2 : 1;
}

static const struct clf__shortlist_words named = {
    .source = SOURCE, .target = TARGET, .is_shared = 0, .id_of = id_of};

static struct clf__shortlist *open_text(const char *text, const struct clf__shortlist_cut *by)
{
    struct clf__shortlist *shortlist;
    char *path = support_temporary_path("lex.s2t");
    assert_ok(clf__file_write(path, text, strlen(text)));
    assert_ok(clf__shortlist_open(&shortlist, path, &named, by));
    return shortlist;
}

/* The most likely words above the threshold, the later on ties; the last of duplicates counts. */
static void test_text(void **state)
{
    (void)state;
    static const char text[] = "t20 s2 0.9\n"
                               "t21\ts2   0.25\r\n"
                               "\n"
                               "NULL s2 0.99\nt31 NULL 0.99\n"
                               "t22 s2 0.25\nt23 s2 .25\nt24 s2 1e-2\n"
                               "t20 s2 0.1\n" /* once 0.9 */
                               "t25 s3 0.02\nt26 s3 0.5\n"
                               "t27 nobody 0.5\nnobody s4 0.5"; /* unknown: s1, t2 */
    static const struct clf__shortlist_cut by = {4, 2, 0.02f};
    static const int32_t two[] = {0, 1, 2, 3, 4, 5, 22, 23}, three[] = {0, 1, 2, 3, 4, 5, 6, 26},
                         one[] = {0, 1, 2, 3, 4, 5, 6, 27}, few[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct clf__shortlist *shortlist = open_text(text, &by);
    int base, each;
    clf__shortlist_most(shortlist, &base, &each);
    assert_int_equal(base, 4 + 8);
    assert_int_equal(each, 2 + 1);
    check(shortlist, (const int32_t[]){2}, 1, two, 8);
    check(shortlist, (const int32_t[]){3}, 1, three, 8);
    check(shortlist, (const int32_t[]){1}, 1, one, 8);
    check(shortlist, (const int32_t[]){4, 0, 5, -1, SOURCE}, 5, few, 8);
    clf__shortlist_free(shortlist);
}

/* Marian's defaults: all of these words. */
static void test_text_whole(void **state)
{
    (void)state;
    int32_t all[TARGET], ids[TARGET + 8], line[] = {2};
    struct clf__shortlist *shortlist = open_text("t39 s2 0.001\n", &cut);
    for (int i = 0; i < TARGET; i++) {
        all[i] = i;
    }
    assert_int_equal(clf__shortlist_candidates(shortlist, ids, line, 1), TARGET);
    assert_memory_equal(ids, all, sizeof all);
    clf__shortlist_free(shortlist);
}

static void test_text_damage(void **state)
{
    (void)state;
    static const char long_start[] = "t1 s1 0.111111111111111111111111111111111111111111\nt1 s1 0.\0";
    static const struct {
        const char *text, *part;
        size_t size;
    } damages[] = {
        {"t1 s1 0.5\nt2 s1\n", "line 2 has fewer than three fields", 16},
        {"t1 s1 0.5 0.5\n", "line 1 has more than three fields", 14},
        {"t1 s1 0.5\n\nt1 s1 0,5\n", "line 3 does not end with a number", 21},
        {"t1 s1 nan\n", "line 1 does not end with a number", 10},
        {"t1 s1 1e99\n", "line 1 does not end with a number", 11},
        {"NULL s1 x\n", "line 1 does not end with a number", 10},
        {long_start, "line 2 contains a NUL byte", sizeof long_start},
        {"\x1F\x8B", "lex.s2t: is ", 2},
    };
    char *path = support_temporary_path("lex.s2t");
    struct clf__shortlist *shortlist;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        assert_ok(clf__file_write(path, damages[i].text, damages[i].size));
        int is_packed = i + 1 == sizeof damages / sizeof *damages;
        assert_fails(clf__shortlist_open(&shortlist, path, &named, &cut),
                     is_packed && !clf__zip_can_unpack() ? CLF_UNSUPPORTED : CLF_FORMAT, damages[i].part);
    }
}

/* A shortlist of the fixtures and its gzip form give equal candidates for every word; truncated or changed,
 * it is damaged. */
static void test_packed(void **state)
{
    (void)state;
    struct clf__shortlist *plain, *packed;
    char *bytes, *path = support_temporary_path("lex.s2t.gz");
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, support_fixture("formats/marian/average-gates/lex.xx.s2t.gz"),
                             1 << 20));
    assert_ok(clf__file_write(path, bytes, size));
    if (!clf__zip_can_unpack()) {
        assert_fails(clf__shortlist_open(&packed, path, &named, &cut), CLF_UNSUPPORTED, "without zlib");
        free(bytes);
        return;
    }
    assert_ok(clf__shortlist_open(&plain, support_fixture("formats/marian/average-gates/lex.xx.s2t"), &named,
                                  &cut));
    assert_ok(clf__shortlist_open(&packed, path, &named, &cut));
    for (int32_t word = 0; word < SOURCE; word++) {
        int32_t ids[2][TARGET];
        int count = clf__shortlist_candidates(plain, ids[0], &word, 1);
        assert_int_equal(clf__shortlist_candidates(packed, ids[1], &word, 1), count);
        assert_memory_equal(ids[0], ids[1], (size_t)count * sizeof *ids[0]);
    }
    clf__shortlist_free(plain);
    clf__shortlist_free(packed);
    for (size_t left = 2; left < size; left += 37) {
        assert_ok(clf__file_write(path, bytes, left));
        assert_fails(clf__shortlist_open(&packed, path, &named, &cut), CLF_FORMAT, "is cut off");
    }
    bytes[size - 6] ^= 1; /* of the checksum */
    assert_ok(clf__file_write(path, bytes, size));
    assert_fails(clf__shortlist_open(&packed, path, &named, &cut), CLF_FORMAT, "cannot be unpacked");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_candidates, support_teardown),
        cmocka_unit_test_teardown(test_shared, support_teardown),
        cmocka_unit_test_teardown(test_all_words, support_teardown),
        cmocka_unit_test_teardown(test_damage, support_teardown),
        cmocka_unit_test_teardown(test_other_model, support_teardown),
        cmocka_unit_test_teardown(test_text, support_teardown),
        cmocka_unit_test_teardown(test_text_whole, support_teardown),
        cmocka_unit_test_teardown(test_text_damage, support_teardown),
        cmocka_unit_test_teardown(test_packed, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
