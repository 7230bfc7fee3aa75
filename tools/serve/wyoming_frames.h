/* The events of the Wyoming protocol in a stream of bytes: a line of JSON, optionally followed by more JSON
 * and by a payload of bytes. */
#ifndef CLF_TOOLS_SERVE_WYOMING_FRAMES_H
#define CLF_TOOLS_SERVE_WYOMING_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

/* Maximum bytes of the line, as in Python's client, and of the JSON after it. */
enum { WYOMING_LINE_BYTES = 64 << 10, WYOMING_DATA_BYTES = 1 << 20 };

/* The bytes of a client; zeroed except for `read` and `user`. */
struct wyoming_stream {
    ssize_t (*read)(void *user, char *out, size_t size); /* like read(): 0 at the end, -1 after a failure */
    void *user;
    int is_over; /* 1: the end of the stream, or a failure, was read */
    size_t start, end;
    char bytes[WYOMING_LINE_BYTES]; /* bytes from start to end are still unused */
};

struct wyoming_event {
    json_t *line; /* owns type and data */
    const char *type;
    json_t *data; /* an object */
    uint64_t payload;
};

/* Reads an event, without its payload, which follows in the stream. Returns 0 if the stream has ended or has
 * no valid event. */
int wyoming_read_event(struct wyoming_event *event, struct wyoming_stream *stream);
void wyoming_event_free(struct wyoming_event *event);
/* Reads at most `size` bytes, at least 1 of a payload; returns the count, 0 if the stream has ended. */
size_t wyoming_read_payload(struct wyoming_stream *stream, char *out, size_t size);

/* Returns the bytes of an event, which the caller frees; NULL: out of memory. Releases `data`, which is an
 * object or NULL. */
char *wyoming_frame(size_t *size, const char *type, json_t *data);

#endif
