/* Translates documents in tests without a model. */
#ifndef CLF_TESTS_SUPPORT_DOCUMENTS_H
#define CLF_TESTS_SUPPORT_DOCUMENTS_H

#include <clformer/document.h>
#include <clformer/inspect.h>

/* Writes the translation of a text into `out`, a buffer of `capacity` bytes. */
typedef void document_words(char *out, size_t capacity, const char *text);
document_words document_same;   /* the text */
document_words document_shout;  /* ASCII letters in upper case */
document_words document_marked; /* the text in ‹›, which no text of the tests contains */

/* Opens a document; the suffix of `name`, such as "talk.srt", selects the format. The test fails if the
 * document cannot be opened. */
struct clf_document *document_open(const char *name, const char *bytes);
/* Opens a document with options; the test fails if it cannot be opened. */
struct clf_document *document_open_with(const struct clf_document_options *options, const void *bytes,
                                        size_t size);
/* Returns the texts of the segments, separated by "|"; freed by support_free_all(). */
const char *document_texts(const struct clf_document *document);
/* Sets all translations. Each word is aligned with the word of the same index. */
void document_translate(struct clf_document *document, document_words *words);
/* Sets all translations: the words in reverse order, each aligned with its source. */
void document_reverse(struct clf_document *document);
/* Returns the written document; freed by support_free_all(). */
const char *document_written(struct clf_document *document);

/* Translates a document and compares the result. */
void document_check(const char *name, const char *bytes, document_words *words, const char *expected);
/* Checks the segments of a document, and that translations equal to the source leave it unchanged. */
void document_check_texts(const char *name, const char *bytes, const char *texts);
/* The bytes of a document, its segments separated by "|", and its translation by document_shout(). */
struct document_case {
    const char *bytes, *texts, *expected;
};
/* Checks documents by document_check_texts() and document_check(). */
void document_check_cases(const char *name, const struct document_case *cases, size_t count);
/* Checks the segments of an open document, that translations equal to the source leave it unchanged, and its
 * translation by document_shout(). */
void document_check_open(struct clf_document *document, const char *bytes, const char *texts,
                         const char *expected);
/* Checks a document with a translation of its only segment. */
void document_check_only(const char *name, const char *bytes, const char *translation, const char *expected);
/* Checks that a malformed document is refused with a message. */
void document_check_refused(const char *name, const char *bytes, const char *message);

#endif
