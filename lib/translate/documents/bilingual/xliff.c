/* XLIFF 1.2 and 2: the sources that have no translation. A translation is written into <target>, and its
 * state is set. */
#include <string.h>

#include "base/memory.h"
#include "translate/documents/bilingual/bilingual.h"

enum { MOST_LEVELS = 256 }; /* of nested elements; clf__xml_check() refuses more */

/* State of reading a document. */
struct reader {
    struct clf_document *document;
    const char *bytes;
    struct clf__xml_tokens tokens;
    int has_root;
    int version;                       /* 1 or 2 */
    char keeps_lines[MOST_LEVELS + 2]; /* for each open element: xml:space="preserve" */
    int depth;
};

/* A <trans-unit> of XLIFF 1.2, or a <segment> of XLIFF 2. */
struct unit {
    struct clf__xml_token tag;
    struct clf__bilingual_content source, target;
    int has_source, has_target;
    size_t insert_at; /* after <source> and <seg-source> */
    int keeps_lines;
};

/* Returns whether lines are kept in an element. */
static int keeps_lines(const struct reader *reader, const struct clf__xml_token *tag, int inherited)
{
    return clf__xml_has_value(reader->bytes, tag, "xml:space", "preserve") ||
           (inherited && !clf__xml_has_value(reader->bytes, tag, "xml:space", "default"));
}

/* Returns whether the translation of a unit must be kept. */
static int is_translated(const struct reader *reader, const struct unit *unit)
{
    const char *bytes = reader->bytes;
    const struct clf__xml_token *tag = reader->version == 1 ? &unit->target.tag : &unit->tag;
    if (!unit->has_target || !clf__bilingual_has_text(bytes, &unit->target) ||
        reader->document->options.all) {
        return 0;
    }
    return !clf__xml_has_value(bytes, tag, "state", reader->version == 1 ? "new" : "initial") &&
           !clf__xml_has_value(bytes, tag, "state", "needs-translation");
}

/* Sets an attribute of a tag, which may be missing, if the segment is translated. */
static clf_status set_attribute(struct reader *reader, int segment, const struct clf__xml_token *tag,
                                const char *name, const char *value)
{
    struct clf__xml_range found;
    char *text;
    if (clf__xml_attribute(&found, reader->bytes, tag, name)) {
        return clf__bilingual_replace(reader->document, segment, found.start, found.end, value);
    }
    size_t at = tag->name + tag->name_size;
    CLF__TRY(clf__format(&text, " %s=\"%s\"", name, value));
    clf_status status = clf__bilingual_replace(reader->document, segment, at, at, text);
    clf__free(text);
    return status;
}

/* Adds the start tag of a target, with the attributes of the old one except its state. */
static void add_target_tag(struct clf__output *out, const struct reader *reader, const struct unit *unit)
{
    const char *bytes = reader->bytes;
    const struct clf__xml_token *source = &unit->source.tag;
    struct clf__xml_range name, value;
    size_t at = 0;
    clf__output_add(out, "<", 1);
    clf__output_add(out, bytes + source->name, source->name_size - strlen("source")); /* a prefix */
    clf__output_add_string(out, "target");
    while (unit->has_target && clf__xml_next_attribute(&name, &value, bytes, &unit->target.tag, &at)) {
        if (!clf__text_begins(bytes + name.start, name.end - name.start, "state")) {
            clf__output_add(out, " ", 1);
            clf__output_add(out, bytes + name.start, value.end + 1 - name.start);
        }
    }
    if (reader->version == 1) {
        clf__output_add_string(out, " state=\"needs-review-translation\" state-qualifier=\"mt-suggestion\"");
    }
    clf__output_add(out, ">", 1);
}

static clf_status add_target(struct reader *reader, const struct unit *unit, int segment)
{
    const struct clf__xml_token *source = &unit->source.tag;
    struct clf__output before = {.bytes = NULL};
    char *indentation, *after = NULL;
    size_t start = unit->has_target ? unit->target.tag.start : unit->insert_at;
    size_t end = unit->has_target ? unit->target.end_tag : unit->insert_at;
    CLF__TRY(clf__bilingual_indentation(&indentation, reader->bytes, source->start));
    if (!unit->has_target) {
        clf__output_add_string(&before, indentation);
    }
    add_target_tag(&before, reader, unit);
    int prefix = (int)(source->name_size - strlen("source"));
    clf_status status = clf__format(&after, "</%.*starget>", prefix, reader->bytes + source->name);
    if (status == CLF_OK) {
        status = before.status;
    }
    if (status == CLF_OK) {
        status =
            clf__bilingual_insert(reader->document, segment, &unit->source, start, end, before.bytes, after);
    }
    clf__free(indentation);
    clf__free(before.bytes);
    clf__free(after);
    return status;
}

static clf_status add_unit(struct reader *reader, const struct unit *unit)
{
    struct clf__xml_range approved;
    int segment;
    if (!unit->has_source || is_translated(reader, unit)) {
        return CLF_OK;
    }
    struct clf__bilingual_content source = unit->source;
    source.keeps_lines = keeps_lines(reader, &source.tag, unit->keeps_lines);
    CLF__TRY(clf__bilingual_add(&segment, reader->document, &source));
    if (segment < 0) {
        return CLF_OK;
    }
    if (reader->version == 2) {
        CLF__TRY(set_attribute(reader, segment, &unit->tag, "state", "translated"));
    } else if (clf__xml_attribute(&approved, reader->bytes, &unit->tag, "approved")) {
        CLF__TRY(set_attribute(reader, segment, &unit->tag, "approved", "no"));
    }
    return add_target(reader, unit, segment);
}

/* Reads the children of a unit up to its end tag. */
static clf_status read_unit(struct reader *reader, const struct clf__xml_token *tag)
{
    struct unit unit = {.tag = *tag,
                        .keeps_lines = keeps_lines(reader, tag, reader->keeps_lines[reader->depth])};
    struct clf__xml_token token = *tag;
    while (token.kind != CLF__XML_END && clf__xml_next(&token, &reader->tokens)) {
        if (token.kind != CLF__XML_START && token.kind != CLF__XML_EMPTY) {
            continue;
        }
        int is_source = clf__xml_is_named(&token, reader->bytes, "source");
        int is_target = clf__xml_is_named(&token, reader->bytes, "target");
        int is_divided = clf__xml_is_named(&token, reader->bytes, "seg-source");
        struct clf__bilingual_content content = clf__bilingual_read(&reader->tokens, &token);
        if (is_source && !unit.has_source) {
            unit.source = content;
            unit.has_source = 1;
        } else if (is_target && !unit.has_target) {
            unit.target = content;
            unit.has_target = 1;
        }
        unit.insert_at = is_source || is_divided ? content.end_tag : unit.insert_at;
    }
    return add_unit(reader, &unit);
}

/* Reads the root element. */
static clf_status read_root(struct reader *reader, const struct clf__xml_token *tag)
{
    struct clf__xml_range version = {0, 0};
    clf__xml_attribute(&version, reader->bytes, tag, "version");
    int is_root = clf__xml_is_named(tag, reader->bytes, "xliff") && version.end > version.start;
    reader->version = is_root ? reader->bytes[version.start] - '0' : 0;
    if (reader->version != 1 && reader->version != 2) {
        return clf__fail(CLF_FORMAT, "line %d: is not the element <xliff> with version 1.2 or 2; correct it",
                         tag->line);
    }
    reader->has_root = 1;
    return CLF_OK;
}

static clf_status take_start(struct reader *reader, const struct clf__xml_token *tag)
{
    if (!reader->has_root) {
        CLF__TRY(read_root(reader, tag));
    }
    if (clf__xml_has_value(reader->bytes, tag, "translate", "no")) {
        clf__xml_skip(&reader->tokens, tag);
        return CLF_OK;
    }
    if (tag->kind == CLF__XML_EMPTY) {
        return CLF_OK;
    }
    if (clf__xml_is_named(tag, reader->bytes, reader->version == 1 ? "trans-unit" : "segment")) {
        return read_unit(reader, tag);
    }
    if (reader->depth < MOST_LEVELS) {
        int is_kept = keeps_lines(reader, tag, reader->keeps_lines[reader->depth]);
        reader->keeps_lines[++reader->depth] = (char)is_kept;
    }
    return CLF_OK;
}

static clf_status read_tokens(struct reader *reader)
{
    struct clf__xml_token token;
    while (clf__xml_next(&token, &reader->tokens)) {
        if (token.kind == CLF__XML_START || token.kind == CLF__XML_EMPTY) {
            CLF__TRY(take_start(reader, &token));
        } else if (token.kind == CLF__XML_END) {
            reader->depth -= reader->depth > 0;
        }
    }
    return CLF_OK;
}

static clf_status read_xliff(struct clf_document *document)
{
    struct reader reader = {.document = document, .bytes = document->bytes};
    CLF__TRY(clf__xml_check(document->bytes, document->size, document->encoding != NULL));
    CLF__TRY(clf__bilingual_create(document));
    reader.tokens = clf__xml_begin(document->bytes, document->size);
    return read_tokens(&reader);
}

static int is_xliff(const char *bytes, size_t size)
{
    return clf__bilingual_is_root(bytes, size, "xliff");
}

const struct clf__format clf__format_xliff = {
    .shown = {sizeof(struct clf_document_format), "xliff", ".xlf .xliff", "application/xliff+xml",
              "XLIFF 1.2 and 2: the sources without translation"},
    .is = is_xliff,
    .read = read_xliff,
    .write = clf__bilingual_write,
    .close = clf__bilingual_close,
    .has_references = 1,
};
