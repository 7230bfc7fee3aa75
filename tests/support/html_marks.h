/* Documents whose translations have no alignment. */
#ifndef CLF_TESTS_SUPPORT_HTML_MARKS_H
#define CLF_TESTS_SUPPORT_HTML_MARKS_H

#include <string.h>

#include "serve/documents.h"

/* Returns the documents with translations, whose tags stay in order around each text; NULL: out of memory. */
static inline json_t *html_join_around(struct documents *html, const json_t *translations)
{
    struct marks marks;
    int is_ok = marks_copy(&marks, documents_marks(html));
    for (size_t i = 0; is_ok && i < marks.count; i++) {
        const json_t *text = json_array_get(documents_texts(html), i),
                     *translation = json_array_get(translations, i);
        const struct clf__markup_pair pair = {.source = json_string_value(text),
                                              .source_size = json_string_length(text),
                                              .text = json_string_value(translation),
                                              .text_size = json_string_length(translation)};
        is_ok = marks_move(&marks.texts[i], &pair);
    }
    json_t *result = is_ok ? documents_join(html, translations, &marks) : NULL;
    marks_free(&marks);
    return result;
}

#endif
