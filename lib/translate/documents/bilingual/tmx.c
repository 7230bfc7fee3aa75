/* TMX, a translation memory, as a document: the units that have no translation. */
#include <string.h>

#include "base/memory.h"
#include "translate/documents/bilingual/bilingual.h"

/* Returns the size of the prefix of an element's name. */
static int prefix_size(const struct clf__xml_token *tag, const char *name)
{
    return (int)(tag->name_size - strlen(name));
}

/* Adds the edit that fills an empty <seg>, or replaces its text. */
static clf_status fill_target(struct clf_document *document, const struct clf__tmx_unit *unit, int segment)
{
    const struct clf__xml_token *tag = &unit->target.tag;
    char *before, *after;
    size_t name_end = tag->name + tag->name_size;
    size_t attributes = tag->end - name_end - (tag->kind == CLF__XML_EMPTY ? 2 : 1);
    const char *name = document->bytes + tag->name;
    CLF__TRY(clf__format(&before, "<%.*s%.*s>", (int)tag->name_size, name, (int)attributes,
                         name + tag->name_size));
    clf_status status = clf__format(&after, "</%.*s>", (int)tag->name_size, name);
    if (status == CLF_OK) {
        status = clf__bilingual_insert(document, segment, &unit->source, tag->start, unit->target.end_tag,
                                       before, after);
        clf__free(after);
    }
    clf__free(before);
    return status;
}

/* Adds the edit that adds a <tuv> after that of the source. */
static clf_status add_target(struct clf_document *document, const struct clf__tmx_unit *unit, int segment)
{
    const char *bytes = document->bytes, *language = document->options.target_language;
    const struct clf__xml_token *tag = &unit->source_tag, *seg = &unit->source.tag;
    char *outer = NULL, *inner = NULL, *before = NULL, *after = NULL;
    int prefix = prefix_size(tag, "tuv");
    clf_status status = clf__bilingual_indentation(&outer, bytes, tag->start);
    if (status == CLF_OK) {
        status = clf__bilingual_indentation(&inner, bytes, seg->start);
    }
    if (status == CLF_OK) {
        status = clf__format(&before, "%s<%.*stuv xml:lang=\"%s\">%s<%.*sseg>", outer, prefix,
                             bytes + tag->name, language, inner, prefix, bytes + tag->name);
    }
    if (status == CLF_OK) {
        status = clf__format(&after, "</%.*sseg>%s</%.*stuv>", prefix, bytes + tag->name,
                             *inner != '\0' ? outer : "", prefix, bytes + tag->name);
    }
    if (status == CLF_OK) {
        status = clf__bilingual_insert(document, segment, &unit->source, unit->source_end, unit->source_end,
                                       before, after);
    }
    clf__free(outer);
    clf__free(inner);
    clf__free(before);
    clf__free(after);
    return status;
}

/* Returns whether a text can be a language code, which needs no escapes. */
static int is_code(const char *text)
{
    return text != NULL && *text != '\0' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(text);
}

static clf_status add_unit(struct clf_document *document, const struct clf__tmx_unit *unit)
{
    int segment;
    if (!unit->has_source || (unit->has_target && !document->options.all &&
                              clf__bilingual_has_text(document->bytes, &unit->target))) {
        return CLF_OK;
    }
    if (!unit->has_target && !is_code(document->options.target_language)) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "line %d: has no translation, and the target language is unknown; set the target language",
            unit->source_tag.line);
    }
    CLF__TRY(clf__bilingual_add(&segment, document, &unit->source));
    if (segment < 0) {
        return CLF_OK;
    }
    return unit->has_target ? fill_target(document, unit, segment) : add_target(document, unit, segment);
}

static int is_tmx(const char *bytes, size_t size)
{
    return clf__bilingual_is_root(bytes, size, "tmx");
}

static clf_status read_tmx(struct clf_document *document)
{
    const struct clf_document_options *options = &document->options;
    struct clf__tmx_unit unit;
    CLF__TRY(clf__xml_check(document->bytes, document->size, document->encoding != NULL));
    CLF__TRY(clf__bilingual_create(document));
    struct clf__tmx_reader reader =
        clf__tmx_begin(document->bytes, document->size,
                       (struct clf__tmx_languages){options->source_language, options->target_language});
    while (clf__tmx_next(&unit, &reader)) {
        CLF__TRY(add_unit(document, &unit));
    }
    return CLF_OK;
}

const struct clf__format clf__format_tmx = {
    .shown = {sizeof(struct clf_document_format), "tmx", ".tmx", "application/x-tmx+xml",
              "TMX: the units without translation"},
    .is = is_tmx,
    .read = read_tmx,
    .write = clf__bilingual_write,
    .close = clf__bilingual_close,
    .has_references = 1,
};
