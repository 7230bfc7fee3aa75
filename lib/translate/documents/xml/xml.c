/* XML and XHTML.
 *
 * XML: the option `elements` lists the elements whose text is translated; without it, each element that
 * contains text is translated. The option `inline_elements` lists the inline elements; without it, an element
 * is inline if it is beside text, or if it is the only child of an inline element. */
#include <string.h>

#include "base/memory.h"
#include "translate/documents/html/elements.h"
#include "translate/documents/html/text.h"
#include "translate/documents/xml/xhtml.h"

/* The lists of names; borrowed. */
struct lists {
    const char *elements, *inlines, *ignored; /* NULL: not given */
};

/* Returns whether a list, separated by spaces or commas, contains the name of a tag, with or without its
 * prefix. */
static int contains(const char *list, const char *bytes, const struct clf__xml_token *tag)
{
    const char *name = bytes + tag->name, *colon = memchr(name, ':', tag->name_size);
    size_t local = colon != NULL ? (size_t)(colon + 1 - name) : 0;
    for (const char *at = list != NULL ? list : ""; *at != '\0';) {
        size_t size = strcspn(at, " ,");
        if (size > 0 && ((size == tag->name_size && memcmp(at, name, size) == 0) ||
                         (size == tag->name_size - local && memcmp(at, name + local, size) == 0))) {
            return 1;
        }
        at += size + strspn(at + size, " ,");
    }
    return 0;
}

/* Returns whether an attribute says that an element is not translated: HTML, ITS, or Android's resources. */
static int is_untranslated(const char *bytes, const struct clf__xml_token *tag)
{
    return clf__xml_has_value(bytes, tag, "translate", "no") ||
           clf__xml_has_value(bytes, tag, "its:translate", "no") ||
           clf__xml_has_value(bytes, tag, "translatable", "false");
}

static enum clf__xml_role kept_role(const struct clf__xml_element *element)
{
    return element->is_beside_text ? CLF__XML_KEPT : CLF__XML_APART;
}

static enum clf__xml_role xml_role(void *user, const char *bytes, const struct clf__xml_element *element)
{
    const struct lists *lists = user;
    const struct clf__xml_token *tag = element->tag;
    if (is_untranslated(bytes, tag) || contains(lists->ignored, bytes, tag)) {
        return kept_role(element);
    }
    int is_inline = lists->inlines != NULL ? contains(lists->inlines, bytes, tag)
                                           : element->is_beside_text || (element->parent == CLF__XML_INLINE &&
                                                                         element->is_only_child);
    if (element->is_in_text && is_inline) {
        return CLF__XML_INLINE;
    }
    if (!element->is_in_text && lists->elements != NULL && !contains(lists->elements, bytes, tag)) {
        return CLF__XML_OUTER;
    }
    return clf__xml_has_value(bytes, tag, "xml:space", "preserve") ? CLF__XML_LINES : CLF__XML_BLOCK;
}

/* Returns whether the class notranslate is in a list of classes. */
static int is_notranslate(const char *bytes, const struct clf__xml_token *tag)
{
    struct clf__xml_range value;
    return clf__xml_attribute(&value, bytes, tag, "class") &&
           clf__text_contains(bytes + value.start, value.end - value.start, "notranslate");
}

enum clf__xml_role clf__xhtml_role(void *user, const char *bytes, const struct clf__xml_element *element)
{
    const struct clf__xml_token *tag = element->tag;
    unsigned kind = clf__html_kind_of(bytes + tag->name, tag->name_size);
    if (kind & CLF__HTML_IS_SKIPPED || is_untranslated(bytes, tag) || is_notranslate(bytes, tag) ||
        contains(user, bytes, tag)) {
        return kept_role(element);
    }
    if (kind & CLF__HTML_IS_INLINE) {
        return kind & CLF__HTML_IS_VOID ? CLF__XML_KEPT : CLF__XML_INLINE;
    }
    return kind & CLF__HTML_IS_LINES ? CLF__XML_LINES : CLF__XML_BLOCK;
}

clf_status clf__xhtml_entity(char **out, const char *bytes, const struct clf__xml_token *reference)
{
    size_t size = reference->end - reference->start, decoded;
    CLF__TRY(clf__html_references(out, &decoded, bytes + reference->start, size));
    if (decoded == size && memcmp(*out, bytes + reference->start, size) == 0) { /* not a name of HTML */
        clf__free(*out);
        *out = NULL;
    }
    return CLF_OK;
}

static clf_status read_with(struct clf_document *document, struct clf__xml_collector *collector)
{
    int *skipped;
    CLF__TRY(clf__xml_check(document->bytes, document->size, document->encoding != NULL));
    CLF__TRY(clf__allocate(&skipped, 1, sizeof *skipped));
    document->state = skipped;
    collector->document = document;
    collector->bytes = document->bytes;
    CLF__TRY(clf__xml_collect(collector, clf__xml_begin(document->bytes, document->size)));
    clf__segments_sort(&document->segments);
    *skipped = collector->skipped;
    return CLF_OK;
}

static clf_status read_xml(struct clf_document *document)
{
    const struct clf_document_options *options = &document->options;
    struct lists lists = {options->elements, options->inline_elements, options->ignored};
    struct clf__xml_collector collector = {
        .role = xml_role, .user = &lists, .has_placeholders = 1, .is_in_text = options->elements == NULL};
    return read_with(document, &collector);
}

static clf_status read_xhtml(struct clf_document *document)
{
    struct clf__xml_collector collector = {.role = clf__xhtml_role,
                                           .entity = clf__xhtml_entity,
                                           .user = (void *)document->options.ignored,
                                           .is_in_text = 1};
    return read_with(document, &collector);
}

static clf_status write_xml(struct clf__output *out, struct clf_document *document)
{
    const int *skipped = document->state;
    CLF__TRY(clf__xml_write(out, document, document->bytes, 0, document->size));
    return clf__xml_warn_skipped(document, *skipped);
}

static void close_xml(struct clf_document *document)
{
    clf__free(document->state);
    document->state = NULL;
}

/* Finds the first tag of a text that begins with an XML declaration. */
static int find_root(struct clf__xml_token *root, const char *bytes, size_t size)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    if (size < 5 || memcmp(bytes, "<?xml", 5) != 0) {
        return 0;
    }
    while (clf__xml_next(root, &tokens)) {
        if (clf__xml_is_tag(root)) {
            return root->kind != CLF__XML_END;
        }
    }
    return 0;
}

static int is_xml(const char *bytes, size_t size)
{
    struct clf__xml_token root;
    return find_root(&root, bytes, size);
}

static int is_xhtml(const char *bytes, size_t size)
{
    struct clf__xml_token root;
    return find_root(&root, bytes, size) && clf__xml_is_named(&root, bytes, "html");
}

const struct clf__format clf__format_xml = {
    .shown = {sizeof(struct clf_document_format), "xml", ".xml", "application/xml", "XML"},
    .is = is_xml,
    .read = read_xml,
    .write = write_xml,
    .close = close_xml,
    .has_references = 1,
};

const struct clf__format clf__format_xhtml = {
    .shown = {sizeof(struct clf_document_format), "xhtml", ".xhtml .xht", "application/xhtml+xml", "XHTML"},
    .is = is_xhtml,
    .read = read_xhtml,
    .write = write_xml,
    .close = close_xml,
    .has_references = 1,
};
