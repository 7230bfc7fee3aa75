/* Any text as HTML: unchanged translations give the same bytes, and other translations change no tag. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/html_marks.h"

enum { MOST = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct html *read(const json_t *documents)
{
    struct html *html;
    if (html_read(&html, documents, MOST, NULL) != CLF_OK) {
        abort();
    }
    return html;
}

static void check(const json_t *documents)
{
    struct html *html = read(documents);
    json_t *same = html_join(html, html_texts(html), html_marks(html)), *marks = json_array();
    for (size_t i = 0; i < json_array_size(html_texts(html)); i++) {
        json_array_append_new(marks, json_string("Z & <b>"));
    }
    json_t *marked = html_join_around(html, marks);
    struct html *again = read(marked);
    if (!json_equal(same, documents) || html_count(again) != html_count(html) ||
        !json_equal(html_texts(again), marks)) {
        abort();
    }
    html_free(again);
    html_free(html);
    json_decref(marked);
    json_decref(marks);
    json_decref(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int is_text = html_exists() && memchr(data, '\0', size) == NULL;
    json_t *document = is_text ? json_stringn((const char *)data, size) : NULL;
    if (document != NULL) { /* UTF-8 */
        json_t *documents = json_pack("[o]", document);
        check(documents);
        json_decref(documents);
    }
    return 0;
}
