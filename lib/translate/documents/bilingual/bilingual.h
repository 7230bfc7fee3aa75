/* Bilingual XML: documents that contain both a text and its translation. */
#ifndef CLF_DOCUMENTS_BILINGUAL_H
#define CLF_DOCUMENTS_BILINGUAL_H

#include "translate/documents/inlines.h"
#include "translate/documents/xml/xml.h"

/* A change of the document: bytes [start, end) become `before`, the translation of a segment, and `after`. */
struct clf__bilingual_edit {
    size_t start, end;
    int segment;                     /* the edit is made if this segment is translated */
    int is_text;                     /* 0: `before` is the whole new text */
    size_t before, after, after_end; /* positions in the strings: [before, after) and [after, after_end) */
};

/* document->state. */
struct clf__bilingual {
    struct clf__bilingual_edit *edits; /* (count) in the order of their positions */
    int count, capacity;
    struct clf__output strings;
    int skipped; /* texts with too many marks */
};

/* A text of a document: the content of an element. */
struct clf__bilingual_content {
    struct clf__xml_token tag; /* the start tag */
    size_t start, end;         /* the content */
    size_t end_tag;            /* position after the end tag */
    int keeps_lines;           /* xml:space="preserve" */
};
/* Reads an element whose start tag was the last token, and continues after its end tag. */
struct clf__bilingual_content clf__bilingual_read(struct clf__xml_tokens *tokens,
                                                  const struct clf__xml_token *tag);
/* Returns whether an element contains text or other elements. */
int clf__bilingual_has_text(const char *bytes, const struct clf__bilingual_content *content);

/* Adds the content of a source as a segment; *segment receives its index, or -1 if it has no letters or too
 * many marks. The notation of inline elements is that of XLIFF and TMX. */
clf_status clf__bilingual_add(int *segment, struct clf_document *document,
                              const struct clf__bilingual_content *source);

/* Adds an edit that inserts the translation of a segment, with the white space around the source, between two
 * strings. */
clf_status clf__bilingual_insert(struct clf_document *document, int segment,
                                 const struct clf__bilingual_content *source, size_t start, size_t end,
                                 const char *before, const char *after);
/* Adds an edit that replaces bytes by a string if a segment is translated. */
clf_status clf__bilingual_replace(struct clf_document *document, int segment, size_t start, size_t end,
                                  const char *text);
/* Returns the line break and the spaces before a position, if nothing else is on its line; the caller frees
 * it. */
clf_status clf__bilingual_indentation(char **out, const char *bytes, size_t at);

/* Creates and frees document->state, and writes the document. */
clf_status clf__bilingual_create(struct clf_document *document);
clf_status clf__bilingual_write(struct clf__output *out, struct clf_document *document);
void clf__bilingual_close(struct clf_document *document);

/* Returns whether a text is XML whose first element has a name. */
int clf__bilingual_is_root(const char *bytes, size_t size, const char *name);

/* --- TMX. --- */

/* A translation unit of TMX. */
struct clf__tmx_unit {
    int has_source, has_target;
    struct clf__bilingual_content source, target; /* their <seg> */
    size_t source_end;                            /* position after the source's <tuv> */
    struct clf__xml_token source_tag;             /* of the source's <tuv> */
};
/* Languages; NULL: unknown. */
struct clf__tmx_languages {
    const char *source; /* NULL: that of the header, or else of the first text of a unit */
    const char *target; /* NULL: that of the first other text */
};
struct clf__tmx_reader {
    const char *bytes;
    struct clf__xml_tokens tokens;
    struct clf__tmx_languages languages;
    struct clf__xml_range header; /* the header's language; start == end: unknown */
};
struct clf__tmx_reader clf__tmx_begin(const char *bytes, size_t size, struct clf__tmx_languages languages);
/* Reads the next unit; returns 0 at the end. */
int clf__tmx_next(struct clf__tmx_unit *out, struct clf__tmx_reader *reader);

#endif
