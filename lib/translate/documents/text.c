/* Plain text: each line is a segment. */
#include "text/sentences/sentences.h"
#include "translate/documents/format.h"

static clf_status read_text(struct clf_document *document)
{
    struct clf__text_line line = {.next = clf__utf8_mark(document->bytes, document->size)};
    while (clf__text_line_next(&line, document->bytes, document->size)) {
        struct clf__part part = clf__part_trim(document->bytes, line.start, line.end);
        const struct clf__new_segment segment = {.text = document->bytes + part.start,
                                                 .size = part.size,
                                                 .start = part.start,
                                                 .end = part.start + part.size,
                                                 .line = line.number};
        if (clf__text_has_letter(segment.text, segment.size)) {
            CLF__TRY(clf__segments_add(&document->segments, &segment));
        }
    }
    return CLF_OK;
}

static clf_status write_text(struct clf__output *out, struct clf_document *document)
{
    return clf__document_splice(out, document, clf__document_add_bytes);
}

const struct clf__format clf__format_text = {
    .shown = {sizeof(struct clf_document_format), "text", ".txt", "text/plain; charset=utf-8",
              "plain text, line by line"},
    .read = read_text,
    .write = write_text,
};
