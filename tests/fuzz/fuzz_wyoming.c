/* Any bytes of a Wyoming client: events are the same however the bytes arrive, and events that are written
 * are read again. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "serve/wyoming_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rest of the input; a read returns at most `step` bytes. */
struct input {
    const char *bytes;
    size_t size, step;
};

static ssize_t read_input(void *user, char *out, size_t size)
{
    struct input *input = user;
    size = size < input->step ? size : input->step;
    size = size < input->size ? size : input->size;
    memcpy(out, input->bytes, size);
    input->bytes += size;
    input->size -= size;
    return (ssize_t)size;
}

static struct wyoming_stream *open_stream(struct input *input)
{
    struct wyoming_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        abort();
    }
    stream->read = read_input;
    stream->user = input;
    return stream;
}

static void check_written(const struct wyoming_event *event)
{
    size_t size;
    struct wyoming_event again;
    char *frame = wyoming_frame(&size, "type", json_incref(event->data));
    struct input input = {frame, size, size};
    struct wyoming_stream *stream = open_stream(&input);
    if (frame == NULL || (size < WYOMING_DATA_BYTES &&
                          (!wyoming_read_event(&again, stream) || !json_equal(again.data, event->data)))) {
        abort();
    }
    if (size < WYOMING_DATA_BYTES) {
        wyoming_event_free(&again);
    }
    free(stream);
    free(frame);
}

/* Reads all events; returns an array of their data and payloads. */
static json_t *read_all(const uint8_t *data, size_t size, size_t step)
{
    struct input input = {(const char *)data, size, step};
    struct wyoming_stream *stream = open_stream(&input);
    struct wyoming_event event;
    json_t *all = json_array();
    while (wyoming_read_event(&event, stream)) {
        uint64_t sum = 0, left = event.payload;
        size_t count = 1;
        for (char bytes[7]; left > 0 && count > 0; left -= count) {
            count = wyoming_read_payload(stream, bytes, left < sizeof bytes ? left : sizeof bytes);
            for (size_t i = 0; i < count; i++) {
                sum = 31 * sum + (unsigned char)bytes[i];
            }
        }
        check_written(&event);
        json_array_append_new(
            all, json_pack("[s, O, I, I]", event.type, event.data, (json_int_t)(sum >> 1), (json_int_t)left));
        wyoming_event_free(&event);
    }
    free(stream);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *whole = read_all(data, size, size + 1), *split = read_all(data, size, 3);
    if (!json_equal(whole, split)) {
        abort();
    }
    json_decref(split);
    json_decref(whole);
    return 0;
}
