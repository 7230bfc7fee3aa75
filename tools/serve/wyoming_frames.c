#include "serve/wyoming_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds bytes of the client at the end of the buffer, which is not full. */
static void fill(struct wyoming_stream *stream)
{
    ssize_t count = stream->is_over ? 0
                                    : stream->read(stream->user, stream->bytes + stream->end,
                                                   sizeof stream->bytes - stream->end);
    stream->is_over |= count <= 0;
    stream->end += count > 0 ? (size_t)count : 0;
}

/* Reads to the next newline; returns the line, which is valid until the next read, or NULL. */
static const char *read_line(size_t *size, struct wyoming_stream *stream)
{
    memmove(stream->bytes, stream->bytes + stream->start, stream->end - stream->start);
    stream->end -= stream->start;
    stream->start = 0;
    const char *newline = memchr(stream->bytes, '\n', stream->end);
    while (newline == NULL && !stream->is_over && stream->end < sizeof stream->bytes) {
        size_t before = stream->end;
        fill(stream);
        newline = memchr(stream->bytes + before, '\n', stream->end - before);
    }
    *size = newline != NULL ? (size_t)(newline - stream->bytes) : 0;
    stream->start = newline != NULL ? *size + 1 : 0;
    return newline != NULL ? stream->bytes : NULL;
}

size_t wyoming_read_payload(struct wyoming_stream *stream, char *out, size_t size)
{
    if (stream->start == stream->end) {
        stream->start = stream->end = 0;
        fill(stream);
    }
    size_t count = stream->end - stream->start < size ? stream->end - stream->start : size;
    memcpy(out, stream->bytes + stream->start, count);
    stream->start += count;
    return count;
}

/* Reads a length of the line, which may be missing; returns 0 if it is no integer. */
static int read_length(uint64_t *length, const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);
    *length = json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    return value == NULL || json_is_null(value) || json_is_integer(value);
}

/* Adds the members of the JSON after the line to the data. */
static int read_more(json_t *data, struct wyoming_stream *stream, uint64_t size)
{
    char *text = size <= WYOMING_DATA_BYTES ? malloc(size) : NULL;
    size_t filled = 0, count = 1;
    while (text != NULL && filled < size && count > 0) {
        count = wyoming_read_payload(stream, text + filled, size - filled);
        filled += count;
    }
    json_t *more = text != NULL && filled == size ? json_loadb(text, size, 0, NULL) : NULL;
    int is_merged = json_is_object(more) && json_object_update(data, more) == 0;
    json_decref(more);
    free(text);
    return is_merged;
}

int wyoming_read_event(struct wyoming_event *event, struct wyoming_stream *stream)
{
    size_t size;
    uint64_t more = 0;
    const char *text = read_line(&size, stream);
    *event = (struct wyoming_event){.line = text != NULL ? json_loadb(text, size, 0, NULL) : NULL};
    if (event->line != NULL && !json_is_object(json_object_get(event->line, "data"))) {
        const json_t *data = json_object_get(event->line, "data");
        if ((data != NULL && !json_is_null(data)) ||
            json_object_set_new(event->line, "data", json_object()) != 0) {
            wyoming_event_free(event);
            return 0;
        }
    }
    event->type = json_string_value(json_object_get(event->line, "type"));
    event->data = json_object_get(event->line, "data");
    int is_valid = event->type != NULL && read_length(&more, event->line, "data_length") &&
                   read_length(&event->payload, event->line, "payload_length") &&
                   (more == 0 || read_more(event->data, stream, more));
    if (!is_valid) {
        wyoming_event_free(event);
    }
    return is_valid;
}

void wyoming_event_free(struct wyoming_event *event)
{
    json_decref(event->line);
    *event = (struct wyoming_event){.line = NULL};
}

char *wyoming_frame(size_t *size, const char *type, json_t *data)
{
    char *more = data != NULL ? json_dumps(data, JSON_COMPACT) : NULL, *frame = NULL;
    int is_complete = data == NULL || more != NULL;
    json_decref(data);
    FILE *file = is_complete ? open_memstream(&frame, size) : NULL;
    if (file != NULL) {
        if (more != NULL) { /* apart, because Python's client limits the line */
            fprintf(file, "{\"type\":\"%s\",\"data_length\":%zu}\n%s", type, strlen(more), more);
        } else {
            fprintf(file, "{\"type\":\"%s\"}\n", type);
        }
        int failed = ferror(file);
        if (fclose(file) != 0 || failed) {
            free(frame);
            frame = NULL;
        }
    }
    free(more);
    return frame;
}
