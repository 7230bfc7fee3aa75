/* Writes documents with the translations of their segments. */
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "translate/documents/format.h"

void clf__document_add_bytes(void *user, const char *bytes, size_t size)
{
    clf__output_add(user, bytes, size);
}

clf_status clf__document_splice(struct clf__output *out, const struct clf_document *document,
                                void (*add_text)(void *user, const char *text, size_t size))
{
    size_t at = 0;
    const struct clf__segment_writer writer = {document->bytes, add_text, clf__document_add_bytes, out};
    for (int i = 0; i < document->segments.count; i++) {
        const struct clf__segment *segment = &document->segments.items[i];
        if (clf__segment_is_changed(segment)) {
            clf__output_add(out, document->bytes + at, segment->start - at);
            CLF__TRY(clf__segment_write(&writer, segment, 0, segment->translation_size));
            at = segment->end;
        }
    }
    clf__output_add(out, document->bytes + at, document->size - at);
    return CLF_OK;
}

/* Returns the index of the first segment that begins at or after a position. */
static int first_at(const struct clf__segments *segments, size_t at)
{
    int low = 0, high = segments->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (segments->items[middle].start < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

clf_status clf__splice_range(const struct clf__splice *splice, size_t from, size_t to)
{
    const struct clf__segments *segments = splice->segments;
    size_t at = from;
    for (int i = first_at(segments, from); i < segments->count && segments->items[i].start < to; i++) {
        const struct clf__segment *segment = &segments->items[i];
        if (segment->start >= at && segment->end <= to && clf__segment_is_changed(segment)) {
            clf__output_add(splice->out, splice->bytes + at, segment->start - at);
            CLF__TRY(splice->write(splice, segment));
            at = segment->end;
        }
    }
    clf__output_add(splice->out, splice->bytes + at, to - at);
    return splice->out->status;
}

clf_status clf__document_warn(struct clf_document *document, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CLF__TRY(clf__grow(&document->warnings, document->warning_count, &document->warning_capacity,
                       sizeof *document->warnings));
    CLF__TRY(clf__format(&document->warnings[document->warning_count], "%s: %s", document->name, text));
    document->warning_count++;
    return CLF_OK;
}
