/* Translates HTML documents: takes out the text, and puts the translations in its place. All other bytes
 * stay as they are. */
#ifndef CLF_TOOLS_SERVE_HTML_H
#define CLF_TOOLS_SERVE_HTML_H

#include <jansson.h>

#include <clformer/clformer.h>

struct html;

/* Returns 0 if the program is built without HTML. */
int html_exists(void);

/* Finds the texts of documents. Without inline tags, a text is the whole text of a paragraph.
 *
 * @param out receives the texts; html_free() frees them.
 * @param documents an array of strings.
 * @param most texts after the first `most` are counted, but left out of html_texts().
 * @param ignored an array of the names of more elements that are not translated, or NULL; only the first
 * HTML_MOST_IGNORED are used.
 * @return CLF_OUT_OF_MEMORY. */
enum { HTML_MOST_IGNORED = 64 };
clf_status html_read(struct html **out, const json_t *documents, size_t most, const json_t *ignored);
void html_free(struct html *html);

size_t html_count(const struct html *html);
/* Returns the texts, without tags, character references and line breaks; borrowed. */
const json_t *html_texts(const struct html *html);

/* Returns the documents with a translation for each of html_texts(); NULL if out of memory. A text that is
 * equal to its translation keeps its bytes. */
json_t *html_join(const struct html *html, const json_t *translations);

#endif
