/* Formats of documents: one file per format and one row in formats.c. */
#ifndef CLF_DOCUMENTS_FORMAT_H
#define CLF_DOCUMENTS_FORMAT_H

#include <clformer/document.h>

#include "base/utf8.h"
#include "translate/documents/segment.h"

struct clf__format;

enum { CLF__DOCUMENT_MOST_BYTES = 256 << 20 };

/* A longer tag of HTML or of subtitles is text, so that the search for the end of a tag in a hostile document
 * takes linear time. */
enum { CLF__MOST_TAG = 1 << 10 };

/* An open document. */
struct clf_document {
    const struct clf__format *format;
    char *name;  /* for messages */
    char *bytes; /* (size) UTF-8, followed by a NUL */
    size_t size;
    char *encoding; /* of the file; NULL: UTF-8 */
    char *original; /* (original_size) the bytes in this encoding; NULL: UTF-8 */
    size_t original_size;
    struct clf_document_options options; /* the strings only during clf__format.read() */
    struct clf__segments segments;
    int has_memory;  /* clf_document_recall() was called */
    void *state;     /* private to the format */
    char **warnings; /* (warning_count) */
    int warning_count, warning_capacity;
};

struct clf__format {
    struct clf_document_format shown;
    int is_binary; /* the bytes are not UTF-8 text */
    /* Detects the format of a text without a known suffix; NULL: never. */
    int (*is)(const char *bytes, size_t size);
    /* Finds the segments. Messages do not contain the name of the document. */
    clf_status (*read)(struct clf_document *document);
    /* Writes the document. Returns a failure, or leaves it in the status of `out`. */
    clf_status (*write)(struct clf__output *out, struct clf_document *document);
    /* Frees document->state; NULL: the format has no state. */
    void (*close)(struct clf_document *document);
    int has_references; /* characters can be written as &#8364; */
};
extern const struct clf__format clf__format_text, clf__format_srt, clf__format_vtt, clf__format_html,
    clf__format_ass, clf__format_markdown, clf__format_tmx, clf__format_xliff, clf__format_yaml,
    clf__format_xhtml, clf__format_xml, clf__format_json, clf__format_po, clf__format_docx, clf__format_odt,
    clf__format_pptx, clf__format_odp, clf__format_epub;

/* Returns a format by its index; NULL if there are fewer formats. */
const struct clf__format *clf__format_at(int index);
/* Returns the format of a file name by its suffix; NULL if it is unknown. */
const struct clf__format *clf__format_of_name(const char *name);
/* Finds the format by name, suffix or content. */
clf_status clf__format_find(const struct clf__format **out, const struct clf_document_options *options,
                            const char *bytes, size_t size);

/* Converts the bytes of a document to UTF-8 from the encoding of the options, of a byte order mark of UTF-16
 * or UTF-32, of an XML declaration, or of a meta element of HTML. */
clf_status clf__document_decode(struct clf_document *document);
/* Converts the output from UTF-8 to the encoding of the document. */
clf_status clf__document_encode(struct clf__output *out, const struct clf_document *document);

/* Adds a warning, "NAME: ...". */
clf_status clf__document_warn(struct clf_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the bytes of a document, with each segment's bytes [start, end) replaced by its translation.
 *
 * @param add_text adds text to the output, which is `user`, in the notation of the format. */
clf_status clf__document_splice(struct clf__output *out, const struct clf_document *document,
                                void (*add_text)(void *user, const char *text, size_t size));
/* Writes a document whose segments are sorted and may be in the tags of other segments. */
struct clf__splice {
    struct clf__output *out;
    const struct clf__segments *segments;
    const char *bytes; /* to which the segments and tags refer */
    /* Writes a segment with its translation; writes the bytes of a tag by clf__splice_range(). */
    clf_status (*write)(const struct clf__splice *splice, const struct clf__segment *segment);
    const void *user; /* for `write` */
};
/* Writes bytes [from, to), with the changed segments that are completely in them. */
clf_status clf__splice_range(const struct clf__splice *splice, size_t from, size_t to);

/* Adds bytes to the output `user`. */
void clf__document_add_bytes(void *user, const char *bytes, size_t size);

/* A line of a text: bytes [start, end), and the start of the next line after "\n", "\r\n" or "\r". */
struct clf__text_line {
    size_t start, end, next;
    int number; /* from 1 */
};
/* Reads the next line, or, if line->number is 0, the first line at line->next. Returns 0 at the end. */
int clf__text_line_next(struct clf__text_line *line, const char *bytes, size_t size);

/* Returns the number of the line that contains a byte. */
int clf__text_line_of(const char *bytes, size_t at);

/* Returns the position of a part of a text at or after `at`; `size` if it is not there. */
size_t clf__text_find(const char *text, size_t size, size_t at, const char *part, size_t part_size);
/* Returns whether a text begins with a word. */
int clf__text_begins(const char *text, size_t size, const char *word);
/* Returns whether a text contains a word. */
int clf__text_contains(const char *text, size_t size, const char *word);

/* Returns whether a text is an address such as "https://example.org/"; an address is not translated. */
int clf__text_is_address(const char *text, size_t size);
/* Returns whether a text contains a letter; a text without letters is not translated. */
int clf__text_has_letter(const char *text, size_t size);

#endif
