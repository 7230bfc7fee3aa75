/* Marian's lists of words, one per line. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"
#include "text/tokenizers/marian_words.h"

static char *write(const char *text)
{
    char *path = NULL;
    assert_ok(clf__path_join(&path, support_temporary_folder(), "vocab.txt"));
    assert_ok(clf__file_write(path, text, strlen(text)));
    return path;
}

/* Marian ignores the carriage returns of Windows files. */
static void test_carriage_returns(void **state)
{
    (void)state;
    static const char *const texts[] = {"</s>\n<unk>\na\n", "</s>\r\n<unk>\r\na\r\n", "</s>\r\n<unk>\r\na\r"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct clf__word_ids ids;
        char *path = write(texts[i]);
        assert_ok(clf__marian_word_ids(&ids, path));
        assert_int_equal(ids.count, 3);
        assert_int_equal(ids.end, 0);
        assert_int_equal(ids.unknown, 1);
        clf__free(path);
    }
}

static void test_bad_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"</s>\n\na\n", "vocab.txt: line 2 is empty"},
        {"</s>\r\n\r\na\r\n", "vocab.txt: line 2 is empty"},
        {"<unk>\na\n", "vocab.txt: the end token \"</s>\" is missing"},
        {"</s>\n<unk>\na\xff\n", "vocab.txt: token 2 (\"a\\xff\") is not UTF-8; download the file again"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__word_ids ids;
        char *path = write(rows[i].text);
        assert_fails(clf__marian_word_ids(&ids, path), CLF_FORMAT, rows[i].said);
        clf__free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_carriage_returns, support_teardown),
        cmocka_unit_test_teardown(test_bad_lists, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
