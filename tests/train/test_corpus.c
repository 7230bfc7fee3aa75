/* Reads parallel text line by line: lines of every length, also across blocks of the file, and a file that
 * shrinks while it is read. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "train/corpus.h"
#include "train/files.h"

enum { MOST_LINES = 2000 };

/* Lengths around the size of a block. */
static size_t length_of(int line)
{
    static const size_t long_ones[] = {0, 1, 262141, 262142, 262143, 262144, 262145, 524288, 700001};
    enum { LONG = sizeof long_ones / sizeof *long_ones };
    return line < LONG ? long_ones[line] : (size_t)(line * 37 % 701);
}

static char letter_of(int line, size_t i)
{
    return (char)('a' + (line + (int)(i % 1000)) % 26);
}

/* Returns a text of `lines` lines, optionally with a byte order mark. */
static char *write_lines(size_t *size, int lines, int has_mark, const char *end)
{
    size_t used = 0, most = 3;
    for (int line = 0; line < lines; line++) {
        most += length_of(line) + strlen(end);
    }
    char *text = support_array(most + 1, 1);
    if (has_mark) {
        memcpy(text, "\xEF\xBB\xBF", 3);
        used = 3;
    }
    for (int line = 0; line < lines; line++) {
        for (size_t i = 0; i < length_of(line); i++) {
            text[used++] = letter_of(line, i);
        }
        memcpy(text + used, end, strlen(end));
        used += strlen(end);
    }
    *size = used;
    return text;
}

static void check_line(struct clf__corpus_text text, int line)
{
    assert_int_equal(text.size, length_of(line));
    for (size_t i = 0; i < text.size; i++) {
        if (text.text[i] != letter_of(line, i)) {
            fail_msg("line %d, byte %zu: '%c'", line, i, text.text[i]);
        }
    }
}

static void check_all(struct clf__corpus *corpus, int lines)
{
    struct clf__corpus_pair pair;
    clf_status status = CLF_OK;
    for (int line = 0; line < lines; line++) {
        assert_true(clf__corpus_next(&status, corpus, &pair));
        assert_int_equal(pair.line, line + 1);
        check_line(pair.source, line);
        check_line(pair.target, line);
    }
    assert_false(clf__corpus_next(&status, corpus, &pair));
    assert_ok(status);
}

static void test_lines(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r\n"};
    for (int i = 0; i < 2; i++) {
        size_t sizes[2];
        char *first = write_lines(&sizes[0], MOST_LINES, 1, ends[i]);
        char *second = write_lines(&sizes[1], MOST_LINES, 0, "\n");
        sizes[1]--; /* the last line need not end */
        const char *folder = support_temporary_folder();
        char *paths[2] = {write_bytes(folder, "a", first, sizes[0]),
                          write_bytes(folder, "b", second, sizes[1])};
        struct clf__corpus corpus;
        assert_ok(clf__corpus_open(&corpus, paths[0], paths[1]));
        assert_int_equal(corpus.lines, MOST_LINES);
        check_all(&corpus, MOST_LINES);
        clf__corpus_rewind(&corpus);
        check_all(&corpus, MOST_LINES);
        uint64_t sum;
        const uint64_t sums[] = {clf__checksum(first, sizes[0]), clf__checksum(second, sizes[1])};
        assert_ok(clf__corpus_checksum(&sum, &corpus));
        assert_true(sum == clf__checksum(sums, sizeof sums));
        clf__corpus_close(&corpus);
    }
}

/* A file is truncated between two lines: buffered lines are returned, then an error names the file. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    size_t size;
    char *text = write_lines(&size, MOST_LINES, 0, "\n");
    const char *folder = support_temporary_folder();
    char *path = write_bytes(folder, "a", text, size);
    struct clf__corpus corpus;
    struct clf__corpus_pair pair;
    clf_status status = CLF_OK;
    uint64_t sum;
    assert_ok(clf__corpus_open(&corpus, path, path));
    assert_true(clf__corpus_next(&status, &corpus, &pair));
    assert_int_equal(truncate(path, 300000), 0);
    int lines = 1;
    while (clf__corpus_next(&status, &corpus, &pair)) {
        check_line(pair.source, lines++);
    }
    assert_in_range(lines, 2, MOST_LINES - 1);
    assert_fails(status, CLF_FILE, path);
    assert_fails(clf__corpus_checksum(&sum, &corpus), CLF_FILE,
                 "was truncated while it was being read; try again");
    clf__corpus_close(&corpus);
    /* The same while detecting whether the first line holds two texts. */
    assert_ok(clf__file_write(path, text, size));
    assert_ok(clf__corpus_open(&corpus, path, NULL));
    assert_int_equal(truncate(path, 300000), 0);
    assert_fails(clf__corpus_check(&corpus), CLF_FILE, path);
    clf__corpus_close(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lines, support_teardown),
        cmocka_unit_test_teardown(test_file_that_shrinks, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
