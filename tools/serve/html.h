/* Translates HTML documents: extracts the text, and replaces it with its translation. All other bytes are
 * unchanged. */
#ifndef CLF_TOOLS_SERVE_HTML_H
#define CLF_TOOLS_SERVE_HTML_H

#include <jansson.h>

#include <clformer/clformer.h>

#include "serve/marks.h"

struct html;

/* Returns 0 if the program was built without HTML support. */
int html_exists(void);

/* Finds the texts of documents. A text is the whole text of a paragraph, including its inline elements,
 * unless the paragraph contains tags that are not balanced or elements that are not translated.
 *
 * @param out receives the texts; html_free() frees them.
 * @param documents an array of strings.
 * @param most texts after the first `most` are counted, but left out of html_texts().
 * @param ignored an array of the names of additional elements that are not translated, or NULL; only the
 * first HTML_MOST_IGNORED are used.
 * @return CLF_OUT_OF_MEMORY. */
enum { HTML_MOST_IGNORED = 64 };
clf_status html_read(struct html **out, const json_t *documents, size_t most, const json_t *ignored);
void html_free(struct html *html);

size_t html_count(const struct html *html);
/* Returns the texts, without tags, character references and line breaks; borrowed. */
const json_t *html_texts(const struct html *html);
/* Returns the inline elements of html_texts(); borrowed. */
const struct marks *html_marks(const struct html *html);

/* Returns the documents with a translation for each of html_texts(); NULL if out of memory. A text that is
 * equal to its translation keeps its bytes.
 *
 * @param marks the inline elements of the translations. */
json_t *html_join(const struct html *html, const json_t *translations, const struct marks *marks);

#endif
