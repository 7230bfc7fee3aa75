#include "base/yaml.h"

#include <string.h>

#include <yaml.h>

#include "base/memory.h"

enum { MOST_LEVELS = 16 };

/* Open containers, the outermost first. In a mapping, the next event is a key if `key` is NULL, otherwise
 * the value of `key`. */
struct level {
    json_t *value;
    char *key; /* owned */
};

struct reading {
    yaml_parser_t parser;
    const char *path;
    struct level levels[MOST_LEVELS];
    int depth;
    size_t values, most_values;
    json_t *root;
};

static clf_status damaged(const struct reading *reading, const yaml_event_t *event, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: line %zu: %s", reading->path, event->start_mark.line + 1, what);
}

static clf_status no_memory(const struct reading *reading)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "%s: not enough host memory to read it", reading->path);
}

/* Adds a value to its container; releases it on failure. */
static clf_status add(struct reading *reading, const yaml_event_t *event, json_t *value)
{
    if (value == NULL) {
        return no_memory(reading);
    }
    if (reading->depth == 0) {
        reading->root = value;
        return CLF_OK;
    }
    struct level *level = &reading->levels[reading->depth - 1];
    if (json_is_array(level->value)) {
        return json_array_append_new(level->value, value) == 0 ? CLF_OK : no_memory(reading);
    }
    if (level->key == NULL) {
        json_decref(value);
        return damaged(reading, event, "a key is a list or a mapping");
    }
    int is_there = json_object_get(level->value, level->key) != NULL;
    int failed = json_object_set_new(level->value, level->key, value);
    clf_status status = is_there ? damaged(reading, event, "duplicate key") : CLF_OK;
    clf__free(level->key);
    level->key = NULL;
    return failed ? no_memory(reading) : status;
}

static clf_status add_scalar(struct reading *reading, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(text, '\0', length) != NULL) {
        return damaged(reading, event, "a value contains a NUL byte");
    }
    struct level *level = reading->depth > 0 ? &reading->levels[reading->depth - 1] : NULL;
    if (level != NULL && json_is_object(level->value) && level->key == NULL) {
        return clf__copy_bytes(&level->key, text, length);
    }
    return add(reading, event, json_stringn(text, length));
}

static clf_status open_level(struct reading *reading, const yaml_event_t *event, json_t *value)
{
    if (reading->depth == MOST_LEVELS) {
        json_decref(value);
        return damaged(reading, event, "values are nested too deeply");
    }
    CLF__TRY(add(reading, event, value));
    reading->levels[reading->depth++] = (struct level){.value = value};
    return CLF_OK;
}

static clf_status take(struct reading *reading, const yaml_event_t *event)
{
    const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor
                                : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
                                : event->type == YAML_MAPPING_START_EVENT  ? event->data.mapping_start.anchor
                                                                           : NULL;
    if (anchor != NULL || event->type == YAML_ALIAS_EVENT) {
        return damaged(reading, event, "anchors and aliases are not supported");
    }
    if (++reading->values > reading->most_values) {
        return damaged(reading, event, "the file has more values than the limit for such files");
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(reading, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_level(reading, event, json_array());
    case YAML_MAPPING_START_EVENT:
        return open_level(reading, event, json_object());
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reading->depth--;
        return CLF_OK;
    case YAML_DOCUMENT_START_EVENT:
        return reading->root == NULL ? CLF_OK : damaged(reading, event, "the file has a second document");
    default:
        return CLF_OK;
    }
}

static clf_status read_all(struct reading *reading)
{
    for (int is_over = 0; !is_over;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reading->parser, &event)) {
            const yaml_parser_t *parser = &reading->parser;
            if (parser->error == YAML_MEMORY_ERROR) {
                return no_memory(reading);
            }
            return clf__fail(CLF_FORMAT, "%s: line %zu: invalid YAML (%s); download it again", reading->path,
                             parser->problem_mark.line + 1,
                             parser->problem != NULL ? parser->problem : "unreadable data");
        }
        clf_status status = take(reading, &event);
        is_over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        CLF__TRY(status);
    }
    return CLF_OK;
}

/* Skips NUL bytes, so UTF-16 is checked as well. */
int clf__yaml_tags(const char *text, size_t size)
{
    static const char directive[] = "%TAG";
    size_t matched = 0;
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0') {
            continue;
        }
        matched = text[i] == directive[matched] ? matched + 1 : text[i] == directive[0];
        if (matched == sizeof directive - 1) {
            matched = 0;
            count++;
        }
    }
    return count;
}

static clf_status check_tags(const char *text, size_t size, const char *path)
{
    int count = clf__yaml_tags(text, size);
    return count <= CLF__YAML_MOST_TAGS
               ? CLF_OK
               : clf__fail(CLF_FORMAT,
                           "%s: has %d %%TAG directives, more than the limit of %d for such "
                           "files; download it again",
                           path, count, CLF__YAML_MOST_TAGS);
}

clf_status clf__yaml_parse(json_t **out, const char *text, size_t size, const char *path, size_t most_values)
{
    struct reading reading = {.path = path, .most_values = most_values};
    *out = NULL;
    CLF__TRY(check_tags(text, size, path));
    if (!yaml_parser_initialize(&reading.parser)) {
        return no_memory(&reading);
    }
    yaml_parser_set_input_string(&reading.parser, (const unsigned char *)text, size);
    clf_status status = read_all(&reading);
    for (int i = 0; i < MOST_LEVELS; i++) {
        clf__free(reading.levels[i].key);
    }
    yaml_parser_delete(&reading.parser);
    if (status == CLF_OK && reading.root == NULL) {
        reading.root = json_object();
        status = reading.root != NULL ? CLF_OK : no_memory(&reading);
    }
    if (status == CLF_OK && json_is_string(reading.root) && json_string_length(reading.root) == 0) {
        json_decref(reading.root);
        reading.root = json_object();
        status = reading.root != NULL ? CLF_OK : no_memory(&reading);
    }
    if (status == CLF_OK && !json_is_object(reading.root)) {
        status = clf__fail(CLF_FORMAT, "%s: is not a YAML mapping", path);
    }
    if (status != CLF_OK) {
        json_decref(reading.root);
        return status;
    }
    *out = reading.root;
    return CLF_OK;
}
