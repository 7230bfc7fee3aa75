/* ODT and ODP (OpenDocument): paragraphs and headings of content.xml, and of the headers and footers in
 * styles.xml. */
#include "translate/documents/office/container.h"

#ifdef CLF_HAS_LIBZIP

#include <string.h>

#include "base/memory.h"

static int is_one_of(const struct clf__xml_token *tag, const char *bytes, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (clf__xml_is_named(tag, bytes, *names)) {
            return 1;
        }
    }
    return 0;
}

static int ends_with(const struct clf__xml_token *tag, const char *bytes, const char *end)
{
    size_t size = strlen(end);
    return tag->name_size > size && memcmp(bytes + tag->name + tag->name_size - size, end, size) == 0;
}

/* Returns whether a frame of a master page shows only where slides have text. */
static int is_placeholder(const struct clf__xml_token *tag, const char *bytes)
{
    return clf__xml_has_value(bytes, tag, "presentation:class", "title") ||
           clf__xml_has_value(bytes, tag, "presentation:class", "subtitle") ||
           clf__xml_has_value(bytes, tag, "presentation:class", "outline");
}

/* Prefixes are fixed in practice: LibreOffice and the libraries write those of the specification. */
static enum clf__xml_role odf_role(void *user, const char *bytes, const struct clf__xml_element *element)
{
    static const char *const paragraphs[] = {"text:p", "text:h", NULL};
    static const char *const inlines[] = {"text:span", "text:a", "text:meta", "text:ruby-base", NULL};
    static const char *const separators[] = {"text:s", "text:tab", "text:line-break", NULL};
    static const char *const nested[] = {"text:note", "office:annotation", "draw:a",    "draw:frame",
                                         "draw:g",    "draw:custom-shape", "draw:rect", "draw:ellipse",
                                         "draw:line", "draw:polygon",      "draw:path", "draw:caption",
                                         NULL};
    const struct clf__xml_token *tag = element->tag;
    const int *is_in_styles = user;
    if (is_one_of(tag, bytes, paragraphs)) {
        return CLF__XML_BLOCK;
    }
    int is_deleted = clf__xml_is_named(tag, bytes, "text:tracked-changes");
    if (is_deleted || (*is_in_styles && is_placeholder(tag, bytes))) {
        return CLF__XML_APART;
    }
    if (!element->is_in_text) {
        return CLF__XML_OUTER;
    }
    int is_ordered = ends_with(tag, bytes, "-start") || ends_with(tag, bytes, "-end");
    return is_ordered                          ? CLF__XML_ORDERED
           : is_one_of(tag, bytes, inlines)    ? CLF__XML_INLINE
           : is_one_of(tag, bytes, separators) ? CLF__XML_SEPARATOR
           : is_one_of(tag, bytes, nested)     ? CLF__XML_NESTED
                                               : CLF__XML_KEPT;
}

/* Fails if a password protects the document. */
static clf_status check_manifest(struct clf__archive *archive)
{
    static const char manifest[] = "META-INF/manifest.xml";
    struct clf__output out = {.bytes = NULL};
    if (!clf__archive_has(archive, manifest)) {
        return CLF_OK;
    }
    clf_status status = clf__archive_read(&out, archive, manifest);
    if (status == CLF_OK && clf__text_contains(out.bytes, out.size, "encryption-data")) {
        status = clf__fail(CLF_FORMAT, "is protected by a password; save it without a password");
    }
    clf__free(out.bytes);
    return status;
}

static clf_status add_parts(struct clf__container *container, struct clf__archive *archive, const void *user)
{
    (void)user;
    CLF__TRY(check_manifest(archive));
    CLF__TRY(clf__container_add(container, archive, "content.xml"));
    return clf__archive_has(archive, "styles.xml") ? clf__container_add(container, archive, "styles.xml")
                                                   : CLF_OK;
}

static clf_status collect(struct clf_document *document, struct clf__container *container, const void *user)
{
    (void)user;
    int is_in_styles = 0;
    struct clf__xml_collector collector = {.document = document,
                                           .bytes = container->text.bytes,
                                           .role = odf_role,
                                           .user = &is_in_styles,
                                           .counts_paragraphs = 1};
    for (int i = 0; i < container->count; i++) {
        is_in_styles = i > 0; /* styles.xml is the second part */
        CLF__TRY(clf__xml_collect(&collector, clf__container_begin(container, i)));
    }
    container->skipped = collector.skipped;
    clf__segments_sort(&document->segments);
    return CLF_OK;
}

static clf_status read_odf(struct clf_document *document)
{
    return clf__container_read_document(document, add_parts, collect, NULL);
}

static int is_odt(const char *bytes, size_t size)
{
    return clf__container_contains(bytes, size < 200 ? size : 200,
                                   "mimetypeapplication/vnd.oasis.opendocument.text");
}

static int is_odp(const char *bytes, size_t size)
{
    return clf__container_contains(bytes, size < 200 ? size : 200,
                                   "mimetypeapplication/vnd.oasis.opendocument.presentation");
}

const struct clf__format clf__format_odt = {
    .shown = {sizeof(struct clf_document_format), "odt", ".odt .ott",
              "application/vnd.oasis.opendocument.text", "OpenDocument text"},
    .is_binary = 1,
    .is = is_odt,
    .read = read_odf,
    .write = clf__container_write_xml,
    .close = clf__container_close,
};

const struct clf__format clf__format_odp = {
    .shown = {sizeof(struct clf_document_format), "odp", ".odp .otp",
              "application/vnd.oasis.opendocument.presentation", "OpenDocument presentation"},
    .is_binary = 1,
    .is = is_odp,
    .read = read_odf,
    .write = clf__container_write_xml,
    .close = clf__container_close,
};

#endif
