/* YAML files of strings, such as the messages of a program: scalars that are values. Keys, numbers,
 * addresses, comments, anchors and tags are kept; placeholders and HTML tags are marks. */
#include "translate/documents/yaml/yaml.h"

#include <string.h>

#include <yaml.h>

#include "base/memory.h"
#include "base/yaml.h"

/* libyaml takes quadratic time for deeply nested values. */
enum { MOST_LEVELS = 256 };

/* A position in the document. libyaml counts characters. */
struct place {
    size_t at, characters;
};

/* An open sequence or mapping. */
struct level {
    int is_mapping, is_flow;
    int is_key;    /* it is a key, or in one */
    int needs_key; /* the next node is a key */
};

/* State of reading a document. */
struct reader {
    struct clf_document *document;
    struct place place;
    struct level *levels; /* (depth) */
    int depth, capacity;
    struct clf__inlines inlines;
};

/* Returns the byte position of a character; calls must be in ascending order. */
static size_t find_place(struct reader *reader, size_t character)
{
    const struct clf_document *document = reader->document;
    struct place *place = &reader->place;
    while (place->characters < character && place->at < document->size) {
        do {
            place->at++;
        } while (place->at < document->size && ((unsigned char)document->bytes[place->at] & 0xc0) == 0x80);
        place->characters++;
    }
    return place->at;
}

static struct level *last_level(const struct reader *reader)
{
    return reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
}

/* Counts a node of the current container; returns whether it is a key, or in one. */
static int take_node(struct reader *reader)
{
    struct level *level = last_level(reader);
    if (level == NULL) {
        return 0;
    }
    int is_key = level->is_key || (level->is_mapping && level->needs_key);
    level->needs_key = level->is_mapping && !level->needs_key;
    return is_key;
}

static clf_status open_level(struct reader *reader, const yaml_event_t *event, int is_mapping, int is_flow)
{
    int is_key = take_node(reader);
    if (reader->depth == MOST_LEVELS) {
        return clf__fail(CLF_UNSUPPORTED, "line %zu: has more than %d nested values; divide the file",
                         event->start_mark.line + 1, MOST_LEVELS);
    }
    CLF__TRY(clf__grow(&reader->levels, reader->depth, &reader->capacity, sizeof *reader->levels));
    reader->levels[reader->depth++] = (struct level){is_mapping, is_flow, is_key, is_mapping};
    return CLF_OK;
}

/* Returns the start of a scalar after its tag and anchor, and comments between them. */
static size_t skip_properties(const char *bytes, size_t at, size_t end)
{
    while (at < end && strchr("&!# \t\r\n", bytes[at]) != NULL) {
        size_t size = bytes[at] == '#'                       ? strcspn(bytes + at, "\r\n")
                      : bytes[at] == '&' || bytes[at] == '!' ? strcspn(bytes + at, " \t\r\n")
                                                             : 1;
        at += size < end - at ? size : end - at;
    }
    return at;
}

/* Returns whether the scalar is a string. */
static int is_string(const yaml_event_t *event)
{
    const char *tag = (const char *)event->data.scalar.tag, *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    if (tag != NULL) {
        return strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0;
    }
    return event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || clf__yaml_is_string(text, size);
}

static clf_status take_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    int is_key = take_node(reader);
    struct clf__yaml_scalar scalar = {.start = find_place(reader, event->start_mark.index),
                                      .line = (int)event->start_mark.line + 1};
    scalar.end = find_place(reader, event->end_mark.index);
    if (is_key || size == 0 || !is_string(event) || clf__text_is_address(text, size)) {
        return CLF_OK;
    }
    const struct level *level = last_level(reader);
    yaml_scalar_style_t style = event->data.scalar.style;
    scalar.start = skip_properties(reader->document->bytes, scalar.start, scalar.end);
    scalar.is_in_flow = level != NULL && level->is_flow;
    scalar.is_folded = style == YAML_FOLDED_SCALAR_STYLE;
    scalar.style = style == YAML_SINGLE_QUOTED_SCALAR_STYLE   ? CLF__YAML_SINGLE_QUOTED
                   : style == YAML_DOUBLE_QUOTED_SCALAR_STYLE ? CLF__YAML_DOUBLE_QUOTED
                   : style == YAML_PLAIN_SCALAR_STYLE         ? CLF__YAML_PLAIN
                                                              : CLF__YAML_BLOCK;
    return clf__yaml_read_scalar(reader->document, &reader->inlines, &scalar);
}

static clf_status take(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_ALIAS_EVENT:
        take_node(reader);
        return CLF_OK;
    case YAML_SEQUENCE_START_EVENT:
        return open_level(reader, event, 0, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    case YAML_MAPPING_START_EVENT:
        return open_level(reader, event, 1, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return CLF_OK;
    default:
        return CLF_OK;
    }
}

static clf_status read_events(struct reader *reader, yaml_parser_t *parser)
{
    for (int is_over = 0; !is_over;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            return parser->error == YAML_MEMORY_ERROR
                       ? clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read YAML")
                       : clf__fail(CLF_FORMAT, "line %zu: is not YAML: %s; correct it",
                                   parser->problem_mark.line + 1,
                                   parser->problem != NULL ? parser->problem : "unreadable data");
        }
        clf_status status = take(reader, &event);
        is_over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        CLF__TRY(status);
    }
    return CLF_OK;
}

static clf_status read_all(struct reader *reader)
{
    const struct clf_document *document = reader->document;
    yaml_parser_t parser;
    size_t mark = clf__utf8_mark(document->bytes, document->size);
    if (clf__yaml_tags(document->bytes, document->size) > CLF__YAML_MOST_TAGS) {
        return clf__fail(CLF_UNSUPPORTED, "has more than %d %%TAG directives; remove some",
                         CLF__YAML_MOST_TAGS);
    }
    if (!yaml_parser_initialize(&parser)) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read YAML");
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)document->bytes + mark,
                                 document->size - mark);
    reader->place.at = mark;
    clf_status status = read_events(reader, &parser);
    yaml_parser_delete(&parser);
    return status;
}

static clf_status read_yaml(struct clf_document *document)
{
    struct reader *reader;
    struct clf__yaml *state;
    CLF__TRY(clf__allocate(&state, 1, sizeof *state));
    document->state = state;
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->document = document;
    clf_status status = read_all(reader);
    clf__free(reader->inlines.text.bytes);
    clf__free(reader->levels);
    clf__free(reader);
    return status;
}

static void close_yaml(struct clf_document *document)
{
    struct clf__yaml *state = document->state;
    if (state != NULL) {
        clf__free(state->segments);
    }
    clf__free(state);
    document->state = NULL;
}

const struct clf__format clf__format_yaml = {
    .shown = {sizeof(struct clf_document_format), "yaml", ".yaml .yml", "application/yaml",
              "YAML: the strings that are values"},
    .read = read_yaml,
    .write = clf__yaml_write,
    .close = close_yaml,
};
