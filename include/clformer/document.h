/* Documents: finds the text of a file of a known format, and writes the file again with translations. All
 * bytes that are not translated text are kept. */
#ifndef CLFORMER_DOCUMENT_H
#define CLFORMER_DOCUMENT_H

#include <stddef.h>

#include <clformer/engine.h>
#include <clformer/status.h>
#include <clformer/translator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open document. One thread at a time may use it. */
struct clf_document;

/* A format of documents; owned by the library. */
struct clf_document_format {
    size_t size;             /* size of this struct in the library, see clformer.h */
    const char *name;        /* "srt" */
    const char *suffixes;    /* file name suffixes, separated by spaces: ".html .htm" */
    const char *media_type;  /* "text/html; charset=utf-8" */
    const char *description; /* "SubRip subtitles" */
};

/**
 * Returns a format that this library supports, by index.
 *
 * @param index 0 or more.
 * @return the format; NULL if there are fewer formats.
 */
CLF_API const struct clf_document_format *clf_document_format_at(int index);

/* Options for opening a document; start from clf_document_options_init(). */
struct clf_document_options {
    size_t size;        /* size of this struct, see clformer.h */
    const char *name;   /* file name for the format and for messages; NULL: "document" */
    const char *format; /* name of the format; NULL: chosen by the suffix of `name`, or else by the content */
    const char *ignored; /* HTML, XHTML and XML: names of additional elements that are not translated,
                            separated by spaces; NULL: none */
    /* Subtitles: a warning counts the subtitles with more characters per second; 0: no warning. */
    double reading_speed;
    /* Subtitles: columns of a line; a wide character of Chinese, Japanese or Korean takes two. A subtitle has
     * at most two lines; lines exceed this width if the text does not fit. 0: one line. */
    int subtitle_width;
    int most_segments; /* a document with more segments is refused; 0: no limit */
    /* XML: names of the elements whose text is translated, separated by spaces or commas; NULL: each element
     * that contains text. A name without a prefix matches any prefix. */
    const char *elements;
    /* XML: names of the elements that are part of a sentence, such as bold text; NULL: each element beside
     * text, and the only child of such an element. */
    const char *inline_elements;
    /* Encoding of the file, which its translation keeps: an alias of ICU, such as "windows-1252"; NULL: that
     * of a byte order mark of UTF-16 or UTF-32, of an XML declaration, or of a meta element of HTML,
     * otherwise UTF-8. */
    const char *encoding;
    /* Terms that are not translated, such as product names: UTF-8, one per line; NULL: none. A term is whole
     * words in the same letter case. */
    const char *kept_terms;
    int all;                                       /* PO, XLIFF and TMX: also texts that have a translation */
    const char *source_language, *target_language; /* TMX: language codes, such as "en"; NULL: unknown */
};

/** Sets the first `size` bytes of options to the defaults: a subtitle width of 42 and a reading speed of 21
 * characters per second. */
CLF_API void clf_document_options_init_sized(struct clf_document_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_document_options_init(struct clf_document_options *options)
{
    clf_document_options_init_sized(options, sizeof *options);
}

/**
 * Opens a document and finds its segments. The content is untrusted: the library reads nothing outside the
 * document.
 *
 * @param out receives the document; free it with clf_document_free().
 * @param bytes (size) content of the file, copied; text in the encoding of the options, with or without a
 *     byte order mark, or a zip archive (DOCX, ODT, PPTX, ODP, EPUB).
 * @param size number of bytes, at most 256 MiB.
 * @param options copied; NULL for the defaults.
 * @return CLF_UNSUPPORTED for an unknown format (the message lists the formats) or encoding, for PDF, or
 *         for a document that exceeds a limit; CLF_FORMAT naming the malformed line; CLF_TEXT naming the line
 *         if the text is not in its encoding, or if kept_terms is not UTF-8; CLF_BAD_ARGUMENT;
 *         CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_document_open(struct clf_document **out, const void *bytes, size_t size,
                                     const struct clf_document_options *options);

/** Frees a document; NULL is ignored. */
CLF_API void clf_document_free(struct clf_document *document);

/** Returns the format of a document; owned by the library. */
CLF_API const struct clf_document_format *clf_document_format_of(const struct clf_document *document);

/** Returns the number of segments of a document. */
CLF_API int clf_document_count(const struct clf_document *document);

/* Inline markup of a text, such as <b> in HTML: the bytes inside the element. start == end: an empty element,
 * such as <img>. */
struct clf_mark {
    size_t start, end;
    int parent; /* index of the innermost enclosing mark, always smaller than this mark's index; -1: none */
};

/* A text to translate: one or more whole sentences, even if the document divides them, as subtitles do. */
struct clf_document_segment {
    size_t size;                  /* size of this struct in the library, see clformer.h */
    const char *text;             /* (text_size) one line of UTF-8 without markup; NUL-terminated */
    size_t text_size;             /* in bytes */
    const struct clf_mark *marks; /* (mark_count) inline markup, in the order of the start tags */
    int mark_count;
    int line; /* line where the segment begins, from 1; in a zip archive, number of the paragraph */
    const char *translation; /* from clf_document_set(); NULL: not set */
};

/**
 * Returns a segment.
 *
 * @param document the document.
 * @param index 0 to clf_document_count() - 1; any other index gives NULL.
 * @return the segment; owned by the document, and changed by clf_document_set() and clf_document_translate().
 */
CLF_API const struct clf_document_segment *clf_document_segment_at(const struct clf_document *document,
                                                                   int index);

/**
 * Sets the translation of a segment, and moves its marks to the translation. A mark contains the words that
 * are aligned with its text; without links, the marks stay in order around the text. No mark is lost or
 * duplicated, and nesting is kept.
 *
 * @param document the document.
 * @param index 0 to clf_document_count() - 1.
 * @param text (size) the translation in UTF-8, copied; line breaks become spaces. If it equals the source,
 *     the bytes of the segment are unchanged.
 * @param size number of bytes.
 * @param links (link_count) the alignment, in the order of the translation; NULL: none.
 * @param link_count number of links.
 * @return CLF_BAD_ARGUMENT for an index that does not exist or for links outside the texts; CLF_TEXT if the
 * text is not UTF-8 or contains a NUL; CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_document_set(struct clf_document *document, int index, const char *text, size_t size,
                                    const struct clf_alignment_link *links, int link_count);

/**
 * Translates all segments, except those that clf_document_recall() has set, sentence by sentence and sets
 * their translations; segments with marks are translated with an alignment. A segment that cannot be
 * translated keeps its text.
 *
 * @param document the document.
 * @param engine borrowed for the call; its model translates text.
 * @param options NULL for the model's values. split_sentences and alignment_layer are set by this function
 *     (a given alignment_layer is kept), and n_best must be 1. The hooks `translated` and
 * `sentence_translated` are called with the index of a segment as the line; `streamed` and `generated` must
 * be NULL. A model without language settings ignores the languages if the document is TMX or a memory was
 * used.
 * @return the errors of clf_translator_create() and clf_translate().
 */
CLF_API clf_status clf_document_translate(struct clf_document *document, struct clf_engine *engine,
                                          const struct clf_translate_options *options);

/* A translation memory: texts with their translations. Any number of threads may use it. */
struct clf_memory;

/* Options for opening a translation memory; start from clf_memory_options_init(). */
struct clf_memory_options {
    size_t size;      /* size of this struct, see clformer.h */
    const char *name; /* file name for messages; NULL: "memory" */
    /* Language codes. "en" is also "en-US" and "eng_Latn". NULL: the source language of the file, and the
     * first other language of each text. */
    const char *source_language, *target_language;
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_memory_options_init_sized(struct clf_memory_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_memory_options_init(struct clf_memory_options *options)
{
    clf_memory_options_init_sized(options, sizeof *options);
}

/**
 * Opens a translation memory in TMX. The content is untrusted: the library reads nothing outside it.
 *
 * @param out receives the memory; free it with clf_memory_free().
 * @param bytes (size) content of the file; used only during the call.
 * @param size number of bytes, at most 256 MiB.
 * @param options NULL for the defaults.
 * @return CLF_FORMAT naming the malformed line; CLF_TEXT if the file is not in its encoding; CLF_UNSUPPORTED
 *         in a build without libxml2 or for a file that exceeds the limit; CLF_BAD_ARGUMENT;
 *         CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_memory_open(struct clf_memory **out, const void *bytes, size_t size,
                                   const struct clf_memory_options *options);

/** Frees a translation memory; NULL is ignored. */
CLF_API void clf_memory_free(struct clf_memory *memory);

/** Returns the number of texts in a translation memory. */
CLF_API int clf_memory_count(const struct clf_memory *memory);

/**
 * Sets the translations of the segments that are in a translation memory; clf_document_translate() then
 * translates only the others. The text of a segment must be equal except for white space. Inline markup and
 * placeholders belong to the text, so both the text and the translation in the memory must contain them.
 * Texts with inline markup in a zip archive are not found.
 *
 * @param document the document.
 * @param memory borrowed for the call.
 * @param count receives the number of segments; NULL is ignored.
 * @return CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_document_recall(struct clf_document *document, const struct clf_memory *memory,
                                       int *count);

/**
 * Writes the document with its translations. Segments without a translation keep their text.
 *
 * @param out receives the bytes, followed by a NUL; free them with clf_string_free().
 * @param size receives the number of bytes.
 * @param document the document; this call replaces its warnings.
 * @return CLF_TEXT naming the line if the encoding of the document does not have a character of a translation
 *         (in HTML and XML, such a character becomes a reference); CLF_FORMAT for a zip archive with damage
 *         that clf_document_open() does not find; CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_document_write(char **out, size_t *size, struct clf_document *document);

/**
 * Returns a warning of the last clf_document_write(), such as the number of subtitles that are too long to
 * read.
 *
 * @param document the document.
 * @param index 0 or more.
 * @return a sentence that begins with the name of the document; owned by the document and valid until its
 * next call; NULL if there are fewer warnings.
 */
CLF_API const char *clf_document_warning(const struct clf_document *document, int index);

#ifdef __cplusplus
}
#endif
#endif
