/* Documents in zip containers: the parts with text are read one after another into one text, to which the
 * positions of segments refer. */
#ifndef CLF_DOCUMENTS_CONTAINER_H
#define CLF_DOCUMENTS_CONTAINER_H

#include "translate/documents/format.h"
#include "translate/documents/office/archive.h"
#include "translate/documents/xml/collect.h"

/* A part with text: bytes [start, end) of the container's text. */
struct clf__container_part {
    char *name; /* of the entry */
    size_t start, end;
};

/* The state of a document in a container. */
struct clf__container {
    struct clf__output text;
    struct clf__container_part *parts; /* (count) */
    int count, capacity;
    int skipped; /* texts with too many marks */
    int divided; /* texts that are not translated because a run is divided, for example by a part of a field
                  */
    void *more;  /* private to the format; freed with clf__free() */
};

/* Reads a document: creates document->state, which clf__container_close() frees, opens the archive, and
 * checks that it can be written: a damaged archive is refused before its text is translated.
 *
 * @param add_parts reads the parts; `user` is its last argument.
 * @param collect adds the segments. */
clf_status clf__container_read_document(
    struct clf_document *document,
    clf_status (*add_parts)(struct clf__container *container, struct clf__archive *archive, const void *user),
    clf_status (*collect)(struct clf_document *document, struct clf__container *container, const void *user),
    const void *user);
void clf__container_close(struct clf_document *document);

/* Reads an entry of the archive, and checks that it is XML; the name is copied. */
clf_status clf__container_add(struct clf__container *container, struct clf__archive *archive,
                              const char *name);
/* Reads an entry without text, which is XML. The caller frees out->bytes. */
clf_status clf__container_read(struct clf__output *out, struct clf__archive *archive, const char *name);
/* Returns a tokenizer of a part. */
struct clf__xml_tokens clf__container_begin(const struct clf__container *container, int part);

/* Writes the archive with the parts that have changed; without changes, the bytes of the document.
 *
 * @param write writes bytes [from, to) of the container's text with their translations. */
clf_status clf__container_write(struct clf__output *out, struct clf_document *document,
                                clf_status (*write)(struct clf__output *out,
                                                    const struct clf_document *document, const char *bytes,
                                                    size_t from, size_t to));
/* clf__container_write() for texts of XML; the `write` of a format. */
clf_status clf__container_write_xml(struct clf__output *out, struct clf_document *document);

/* Returns whether a text begins like a zip archive, and contains a word. */
int clf__container_contains(const char *bytes, size_t size, const char *word);

#endif
