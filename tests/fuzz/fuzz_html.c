/* Any text as HTML: unchanged translations give the same bytes, and other translations change no tag. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/html_marks.h"

enum { MOST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct documents *read(const json_t *documents)
{
    struct documents *html;
    if (documents_read(&html, documents, "html", MOST, NULL) != CLF_OK) {
        abort();
    }
    return html;
}

static void check(const json_t *documents)
{
    struct documents *html = read(documents);
    json_t *same = documents_join(html, documents_texts(html), documents_marks(html)), *marks = json_array();
    for (size_t i = 0; i < json_array_size(documents_texts(html)); i++) {
        json_array_append_new(marks, json_string("Z & <b>"));
    }
    json_t *marked = html_join_around(html, marks);
    struct documents *again = read(marked);
    if (!json_equal(same, documents) ||
        json_array_size(documents_texts(again)) != json_array_size(documents_texts(html)) ||
        !json_equal(documents_texts(again), marks)) {
        abort();
    }
    documents_free(again);
    documents_free(html);
    json_decref(marked);
    json_decref(marks);
    json_decref(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int is_text = documents_has_format("html") && memchr(data, '\0', size) == NULL;
    json_t *document = is_text ? json_stringn((const char *)data, size) : NULL;
    if (document != NULL) { /* UTF-8 */
        json_t *documents = json_pack("[o]", document);
        check(documents);
        json_decref(documents);
    }
    return 0;
}
