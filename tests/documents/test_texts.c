/* Text documents of other programs: a translation that is equal to the source keeps all bytes, and another
 * one keeps the structure. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/documents.h"
#include "translate/documents/format.h"

#define FOLDER "documents/texts"

/* Translates a file with all words in upper case; returns the number of its texts. */
static int check_file(const char *name)
{
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, support_fixture(name), 1 << 20));
    struct clf_document *document = document_open(name, bytes);
    int count = clf_document_count(document);
    document_translate(document, document_same);
    assert_string_equal(document_written(document), bytes);
    document_translate(document, document_shout);
    const char *written = document_written(document);
    if (count > 0 && (strcmp(written, bytes) == 0 || clf_document_warning(document, 0) != NULL)) {
        fail_msg("%s: %s", name, clf_document_warning(document, 0));
    }
    struct clf_document *again = document_open(name, written);
    int is_bilingual = strstr(name, "po2") != NULL;
    assert_int_equal(clf_document_count(again), is_bilingual ? 0 : count);
    clf_document_free(again);
    clf_document_free(document);
    clf__free(bytes);
    return count;
}

static void test_files(void **state)
{
    (void)state;
    struct clf__names names;
    int files = 0, texts = 0;
    assert_ok(clf__folder_list(&names, support_fixture(FOLDER)));
    for (int i = 0; i < names.count; i++) {
        if (clf__format_of_name(names.items[i]) != NULL) {
            char name[256];
            snprintf(name, sizeof name, FOLDER "/%s", names.items[i]);
            texts += check_file(name);
            files++;
        }
    }
    clf__names_free(&names);
    assert_true(files >= 14 && texts >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_files, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
