/* Writes YAML: the text of each scalar in its style. */
#include <stdio.h>
#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"
#include "translate/documents/yaml/yaml.h"

/* A segment that is being written. */
struct writer {
    struct clf__output *out;
    enum clf__yaml_style style;
    int is_requoted; /* a plain scalar becomes a single-quoted one, with its tags */
};

/* Returns whether YAML allows a character in a line; line breaks such as U+2028 are not allowed. */
static int is_printable(UChar32 point)
{
    return point == '\t' || (point >= 0x20 && point < 0x7f) ||
           (point >= 0xa0 && point < 0xfffe && point != 0x2028 && point != 0x2029 && point != 0xfeff) ||
           point >= 0x10000;
}

static void add_unprintable(struct writer *writer, UChar32 point)
{
    char code[16] = " ";
    if (writer->style == CLF__YAML_DOUBLE_QUOTED) {
        snprintf(code, sizeof code, "\\u%04x", (unsigned)point);
    }
    clf__output_add_string(writer->out, code);
}

static void add_text(void *user, const char *text, size_t size)
{
    struct writer *writer = user;
    for (size_t at = 0, next = 0; at < size; at = next) {
        UChar32 point;
        U8_NEXT(text, next, size, point);
        if (!is_printable(point)) {
            add_unprintable(writer, point);
            continue;
        }
        if (writer->style == CLF__YAML_DOUBLE_QUOTED && (point == '"' || point == '\\')) {
            clf__output_add(writer->out, "\\", 1);
        } else if (writer->style == CLF__YAML_SINGLE_QUOTED && point == '\'') {
            clf__output_add(writer->out, "'", 1);
        }
        clf__output_add(writer->out, text + at, next - at);
    }
}

static void add_tag(void *user, const char *tag, size_t size)
{
    struct writer *writer = user;
    for (size_t i = 0; i < size; i++) {
        clf__output_add(writer->out, tag + i, 1);
        if (writer->is_requoted && tag[i] == '\'') {
            clf__output_add(writer->out, "'", 1);
        }
    }
}

static int is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Returns whether a text can be a plain scalar and is then a string. */
static int is_plain(const char *text, size_t size, int is_in_flow)
{
    if (size == 0 || strchr("-?:,[]{}#&*!|>'\"%@`.", *text) != NULL || is_space(*text) ||
        is_space(text[size - 1]) || !clf__yaml_is_string(text, size)) {
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        int is_end = i + 1 == size || is_space(text[i + 1]);
        if ((text[i] == ':' && (is_end || is_in_flow)) || (text[i] == '#' && is_space(text[i - 1])) ||
            (is_in_flow && strchr(",?[]{}", text[i]) != NULL)) {
            return 0;
        }
    }
    return 1;
}

static clf_status add_segment(struct clf__output *out, const struct clf_document *document,
                              const struct clf__segment *segment, struct writer writer)
{
    const struct clf__segment_writer to = {document->bytes, add_text, add_tag, &writer};
    writer.out = out;
    return clf__segment_write(&to, segment, 0, segment->translation_size);
}

/* Writes a plain scalar, in quotation marks if the translation needs them. */
static clf_status write_plain(struct clf__output *out, const struct clf_document *document,
                              const struct clf__segment *segment, int is_in_flow)
{
    size_t start = out->size;
    CLF__TRY(add_segment(out, document, segment, (struct writer){.style = CLF__YAML_PLAIN}));
    CLF__TRY(out->status);
    if (is_plain(out->bytes + start, out->size - start, is_in_flow)) {
        return CLF_OK;
    }
    out->size = start;
    clf__output_add(out, "'", 1);
    CLF__TRY(add_segment(out, document, segment,
                         (struct writer){.style = CLF__YAML_SINGLE_QUOTED, .is_requoted = 1}));
    clf__output_add(out, "'", 1);
    return CLF_OK;
}

clf_status clf__yaml_write(struct clf__output *out, struct clf_document *document)
{
    const struct clf__yaml *state = document->state;
    size_t at = 0;
    for (int i = 0; i < document->segments.count; i++) {
        const struct clf__segment *segment = &document->segments.items[i];
        const struct clf__yaml_segment *kind = &state->segments[i];
        if (!clf__segment_is_changed(segment)) {
            continue;
        }
        clf__output_add(out, document->bytes + at, segment->start - at);
        CLF__TRY(kind->style == CLF__YAML_PLAIN
                     ? write_plain(out, document, segment, kind->is_in_flow)
                     : add_segment(out, document, segment, (struct writer){.style = kind->style}));
        at = segment->end;
    }
    clf__output_add(out, document->bytes + at, document->size - at);
    return state->skipped == 0
               ? CLF_OK
               : clf__document_warn(document,
                                    "%d string%s not translated, because of paragraphs without quotation "
                                    "marks or more than %d placeholders and tags",
                                    state->skipped, state->skipped == 1 ? "" : "s", CLF__MOST_INLINES - 1);
}
