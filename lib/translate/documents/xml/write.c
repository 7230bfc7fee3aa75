/* Writes the sentences of XML with their translations. */
#include "translate/documents/xml/collect.h"

static void add_text(void *user, const char *text, size_t size)
{
    const struct clf__splice *splice = user;
    clf__xml_escape(splice->out, text, size);
}

static void add_cdata(void *user, const char *text, size_t size)
{
    const struct clf__splice *splice = user;
    clf__xml_escape_cdata(splice->out, text, size);
}

/* Writes a tag, or an element with its content, in which other segments may be. */
static void add_tag(void *user, const char *tag, size_t size)
{
    const struct clf__splice *splice = user;
    size_t at = (size_t)(tag - splice->bytes);
    clf_status status = clf__splice_range(splice, at, at + size);
    splice->out->status = splice->out->status == CLF_OK ? status : splice->out->status;
}

static clf_status write_segment(const struct clf__splice *splice, const struct clf__segment *segment)
{
    struct clf__splice user = *splice;
    const struct clf__segment_writer writer = {
        splice->bytes, segment->kind == CLF__XML_IN_CDATA ? add_cdata : add_text, add_tag, &user};
    return clf__segment_write(&writer, segment, 0, segment->translation_size);
}

clf_status clf__xml_write(struct clf__output *out, const struct clf_document *document, const char *bytes,
                          size_t from, size_t to)
{
    const struct clf__splice splice = {out, &document->segments, bytes, write_segment, NULL};
    return clf__splice_range(&splice, from, to);
}

clf_status clf__xml_warn_skipped(struct clf_document *document, int skipped)
{
    return skipped == 0
               ? CLF_OK
               : clf__document_warn(document,
                                    "%d text%s not translated, because of more than %d inline elements",
                                    skipped, skipped == 1 ? "" : "s", CLF__MOST_INLINES);
}
