/* A client of the Wyoming server, and the server that it uses. */
#ifndef CLF_TESTS_END_TO_END_WYOMING_CLIENT_H
#define CLF_TESTS_END_TO_END_WYOMING_CLIENT_H

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/http.h"

static int port; /* port of the Wyoming server */
static struct http_answer last;
static char *rest; /* of the answers in `last` */

#define DESCRIBE "{\"type\":\"describe\"}\n"
#define STOP     "{\"type\":\"audio-stop\",\"data\":{\"timestamp\":null}}\n"

/* --- Clients --- */

struct format {
    int rate, width, channels;
};

static const struct format usual = {16000, 2, 1};

/* Bytes to send, which live until support_free_all(). */
struct packet {
    char *bytes;
    size_t size;
};

static inline struct packet text_packet(const char *text)
{
    return (struct packet){process_format("%s", text), strlen(text)};
}

static inline struct packet join(struct packet one, struct packet other)
{
    struct packet both = {support_array(one.size + other.size + 1, 1), one.size + other.size};
    memcpy(both.bytes, one.bytes, one.size);
    memcpy(both.bytes + one.size, other.bytes, other.size);
    return both;
}

static inline struct packet noise(size_t size)
{
    size_t wav;
    const char *bytes = http_wav(0.5 * (double)size / 16000 + 1, &wav);
    struct packet packet = {support_array(size + 1, 1), size};
    memcpy(packet.bytes, bytes + HTTP_WAV_HEADER, size);
    return packet;
}

/* A chunk as Python's client sends it. */
static inline struct packet chunk(struct format format, struct packet samples)
{
    const char *data = process_format("{\"rate\": %d, \"width\": %d, \"channels\": %d, \"timestamp\": null}",
                                      format.rate, format.width, format.channels);
    const char *line = process_format("{\"type\": \"audio-chunk\", \"version\": \"1.10.2\", \"data_length\": "
                                      "%zu, \"payload_length\": %zu}\n%s",
                                      strlen(data), samples.size, data);
    return join(text_packet(line), samples);
}

/* A whole utterance; `before` are the lines before the audio. */
static inline struct packet utterance(const char *before, struct format format, struct packet samples)
{
    const char *start =
        process_format("%s{\"type\":\"audio-start\",\"data\":{\"rate\":%d,\"width\":%d,\"channels\":%d}}\n",
                       before, format.rate, format.width, format.channels);
    return join(join(text_packet(start), chunk(format, samples)), text_packet(STOP));
}

static inline int begin(struct packet packet)
{
    int client = http_connect(port);
    assert_true(client >= 0);
    http_send(client, packet.bytes, packet.size);
    return client;
}

/* Sends a packet and reads the answers until the server closes the connection. */
static inline void exchange(struct packet packet)
{
    http_receive(&last, begin(packet));
    rest = last.bytes;
}

static inline void exchange_text(const char *text)
{
    exchange(text_packet(text));
}

/* Returns the data of the next answer, which has this type. */
static inline json_t *next_answer(const char *type)
{
    char *line = rest, *end = strchr(line, '\n');
    if (end == NULL) {
        fail_msg("expected the event %s, not the end of the connection: %s", type, line);
    }
    json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "type")), type);
    size_t size = (size_t)json_integer_value(json_object_get(object, "data_length"));
    json_t *data = json_loadb(end + 1, size, 0, NULL);
    assert_non_null(data);
    rest = end + 1 + size;
    json_decref(object);
    return data;
}

static inline void check_end(void)
{
    assert_string_equal(rest, "");
}

static inline void check_transcript(const char *text, const char *language)
{
    json_t *data = next_answer("transcript");
    assert_string_equal(json_string_value(json_object_get(data, "text")), text);
    const json_t *code = json_object_get(data, "language");
    assert_true(language != NULL ? json_is_string(code) : code == NULL);
    if (language != NULL) {
        assert_string_equal(json_string_value(code), language);
    }
    json_decref(data);
}

static inline void check_info(void)
{
    json_decref(next_answer("info"));
}

static inline void check_error(const char *message)
{
    json_t *data = next_answer("error");
    assert_string_equal(json_string_value(json_object_get(data, "text")), message);
    json_decref(data);
    check_end();
}

/* Starts a server, and sets `port`. */
static inline struct http_server start(const char *flags)
{
    struct http_server server =
        http_start(process_format("-m %s --wyoming 0 %s", support_fixture("speech/tiny"), flags));
    port = server.wyoming_port;
    return server;
}

#endif
