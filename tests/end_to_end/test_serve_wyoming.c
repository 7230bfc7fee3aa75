/* `clformer serve --wyoming`: the dialogues of Home Assistant and other clients with a speech recognition
 * server. The transcripts are those of the HTTP endpoints. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "support/http.h"

#if defined CLF_HAS_SERVER && defined CLF_HAS_AUDIO

static struct http_server shared;
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

static struct packet text_packet(const char *text)
{
    return (struct packet){process_format("%s", text), strlen(text)};
}

static struct packet join(struct packet one, struct packet other)
{
    struct packet both = {support_array(one.size + other.size + 1, 1), one.size + other.size};
    memcpy(both.bytes, one.bytes, one.size);
    memcpy(both.bytes + one.size, other.bytes, other.size);
    return both;
}

static struct packet noise(size_t size)
{
    size_t wav;
    const char *bytes = http_wav(0.5 * (double)size / 16000 + 1, &wav);
    struct packet packet = {support_array(size + 1, 1), size};
    memcpy(packet.bytes, bytes + HTTP_WAV_HEADER, size);
    return packet;
}

/* A chunk as Python's client sends it. */
static struct packet chunk(struct format format, struct packet samples)
{
    const char *data = process_format("{\"rate\": %d, \"width\": %d, \"channels\": %d, \"timestamp\": null}",
                                      format.rate, format.width, format.channels);
    const char *line = process_format("{\"type\": \"audio-chunk\", \"version\": \"1.10.2\", \"data_length\": "
                                      "%zu, \"payload_length\": %zu}\n%s",
                                      strlen(data), samples.size, data);
    return join(text_packet(line), samples);
}

/* A whole utterance; `before` are the lines before the audio. */
static struct packet utterance(const char *before, struct format format, struct packet samples)
{
    const char *start =
        process_format("%s{\"type\":\"audio-start\",\"data\":{\"rate\":%d,\"width\":%d,\"channels\":%d}}\n",
                       before, format.rate, format.width, format.channels);
    return join(join(text_packet(start), chunk(format, samples)), text_packet(STOP));
}

static int begin(struct packet packet)
{
    int client = http_connect(port);
    assert_true(client >= 0);
    http_send(client, packet.bytes, packet.size);
    return client;
}

/* Sends a packet and reads the answers until the server closes the connection. */
static void exchange(struct packet packet)
{
    http_receive(&last, begin(packet));
    rest = last.bytes;
}

static void exchange_text(const char *text)
{
    exchange(text_packet(text));
}

/* Returns the data of the next answer, which has this type. */
static json_t *next_answer(const char *type)
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

static void check_end(void)
{
    assert_string_equal(rest, "");
}

static void check_transcript(const char *text, const char *language)
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

static void check_info(void)
{
    json_decref(next_answer("info"));
}

static void check_error(const char *message)
{
    json_t *data = next_answer("error");
    assert_string_equal(json_string_value(json_object_get(data, "text")), message);
    json_decref(data);
    check_end();
}

static void put(char *bytes, uint32_t value, int size)
{
    for (int i = 0; i < size; i++) {
        bytes[i] = (char)(value >> 8 * i);
    }
}

/* The text that OpenAI's endpoint gives for the same samples in a WAV file. */
static const char *http_text(struct format format, struct packet samples, const char *language)
{
    char header[] = "RIFF....WAVEfmt \x10\0\0\0\1\0..............data....";
    struct http_form form = {.bytes = NULL};
    uint32_t frame = (uint32_t)(format.width * format.channels), size = (uint32_t)samples.size;
    put(header + 4, size + 36, 4);
    put(header + 22, (uint32_t)format.channels, 2);
    put(header + 24, (uint32_t)format.rate, 4);
    put(header + 28, (uint32_t)format.rate * frame, 4);
    put(header + 32, frame, 2);
    put(header + 34, 8 * (uint32_t)format.width, 2);
    put(header + 40, size, 4);
    struct packet wav = join((struct packet){header, 44}, samples);
    http_form_file(&form, "file", "a.wav", wav.bytes, wav.size);
    http_form_field(&form, "language", language);
    http_form_post(&last, shared.port, "/v1/audio/transcriptions", &form);
    assert_int_equal(last.status, 200);
    json_t *object = json_loads(last.body, 0, NULL);
    const char *text = process_format("%s", json_string_value(json_object_get(object, "text")));
    json_decref(object);
    return text;
}

/* --- Tests --- */

static void test_info(void **state)
{
    (void)state;
    exchange_text(
        DESCRIBE
        "{\"type\":\"describe\"}\r\n"
        "{\"type\":\"describe\",\"data_length\":0,\"payload_length\":0}\n"
        "{\"type\":\"ping\",\"data\":{\"text\":\"a\"}}\n"
        "{\"type\":\"other\",\"data_length\":2,\"payload_length\":3,\"more\":[]}\n{}abc" DESCRIBE STOP);
    json_t *info = next_answer("info"), *data;
    const json_t *program = json_array_get(json_object_get(info, "asr"), 0);
    assert_int_equal(json_array_size(json_object_get(info, "asr")), 1);
    assert_string_equal(json_string_value(json_object_get(program, "name")), "clformer");
    assert_true(json_is_true(json_object_get(program, "installed")));
    const json_t *model = json_array_get(json_object_get(program, "models"), 0);
    assert_string_equal(json_string_value(json_object_get(model, "name")), "tiny");
    assert_true(json_is_true(json_object_get(model, "installed")));
    for (int i = 0; i < 2; i++) {
        const json_t *made = json_object_get(i == 0 ? program : model, "attribution");
        assert_true(json_is_string(json_object_get(made, "name")) &&
                    json_is_string(json_object_get(made, "url")));
    }
    json_t *codes = json_pack("[s, s, s]", "en", "pt", "de");
    assert_true(json_equal(json_object_get(model, "languages"), codes));
    static const char *const others[] = {"tts", "handle", "intent", "wake", "mic", "snd"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(json_is_array(json_object_get(info, others[i])));
    }
    json_decref(codes);
    json_decref(info);
    check_info();
    check_info();
    data = next_answer("pong");
    assert_string_equal(json_string_value(json_object_get(data, "text")), "a");
    json_decref(data);
    check_info();
    check_transcript("", NULL);
    check_end();
}

static void test_utterances(void **state)
{
    static const struct {
        const char *before, *language;
    } cases[] = {
        {"{\"type\":\"transcribe\",\"data_length\":17}\n{\"language\":\"de\"}", "de"},
        {"{\"type\":\"transcribe\",\"data\":{\"language\":\"de\",\"name\":\"tiny\"}}\n", "de"},
        {"{\"type\":\"transcribe\",\"data\":{\"language\":\"pt\"},\"data_length\":17}\n{\"language\":\"de\"}",
         "de"},
        {"{\"type\":\"transcribe\",\"data\":{\"language\":\"pt-BR\",\"vad_sensitivity\":\"relaxed\","
         "\"transcript_names\":[\"a\"],\"transcript_terms\":[],\"context\":{\"a\":1}}}\n",
         "pt"},
        {"", ""},
        {"{\"type\":\"transcribe\",\"data\":{\"language\":null}}\n", ""},
        {"{\"type\":\"transcribe\",\"data\":null}\n", ""},
        {"{\"type\":\"transcribe\"}\n", ""},
    };
    (void)state;
    struct packet samples = noise(2 * 160);
    const char *texts[] = {http_text(usual, samples, "de"), http_text(usual, samples, "pt"),
                           http_text(usual, samples, "")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += support_small() ? 2 : 1) {
        const char *language = cases[i].language;
        exchange(utterance(cases[i].before, usual, samples));
        check_transcript(texts[*language == '\0' ? 2 : *language == 'p'],
                         *language == '\0' ? "de" : language);
        check_end();
    }
    exchange(join(chunk(usual, samples), text_packet("{\"type\":\"audio-stop\"}\n")));
    check_transcript(texts[2], "de");
    struct packet twice = utterance("", usual, samples);
    exchange(join(twice, join(twice, text_packet(DESCRIBE))));
    check_transcript(texts[2], "de");
    check_end();
    exchange_text("{\"type\":\"audio-start\"}\n{\"type\":\"audio-stop\"}\n");
    check_transcript("", NULL);
    exchange_text("{\"type\":\"transcribe\",\"data\":{\"language\":\"de\"}}\n" STOP);
    check_transcript("", "de");
    check_end();
}

static void test_formats(void **state)
{
    static const struct format formats[] = {
        {44100, 2, 2}, {8000, 1, 1}, {48000, 4, 1}, {22050, 3, 2}, {16000, 2, 5}};
    (void)state;
    for (size_t i = 0; i < (support_small() ? 2 : sizeof formats / sizeof *formats); i++) {
        struct format format = formats[i];
        size_t frame = (size_t)(format.width * format.channels);
        struct packet samples = noise(frame * (size_t)format.rate / 10);
        const char *text = http_text(format, samples, "de"),
                   *before = "{\"type\":\"transcribe\",\"data\":{\"language\":\"de\"}}\n";
        struct packet half = {samples.bytes, samples.size / 2 + 1};
        struct packet other = {samples.bytes + half.size, samples.size - half.size};
        other = join(other, noise(frame - 1)); /* an incomplete frame is dropped */
        exchange(join(join(text_packet(before), chunk(format, half)),
                      join(chunk(format, other), text_packet(STOP))));
        check_transcript(text, "de");
        check_end();
    }
}

static void test_invalid(void **state)
{
    static const char *const lines[] = {
        "text\n",
        "\n",
        "{}\n",
        "[]\n",
        "\"describe\"\n",
        "{\"type\":1}\n",
        "{\"type\":\"describe\",\"data_length\":2}\n{]",
        "{\"type\":\"describe\",\"data_length\":2}\n[]",
        "{\"type\":\"describe\",\"data\":[]}\n",
        "{\"type\":\"describe\",\"data_length\":\"2\"}\n{}",
        "{\"type\":\"describe\",\"data_length\":1048577}\n{}",
        "{\"type\":\"describe\",\"payload_length\":1.5}\n",
        "{\"type\":\"describe\",\"payload_length\":99999999999999999999}\n",
        "{\"type\":\"other\",\"payload_length\":1}\n",
        "{\"type\":\"describe\xff\"}\n",
        "{\"type\":\"transcribe\",\"data\":{\"language\":1}}\n",
        "{\"type\":\"audio-chunk\"}\n",
        "{\"type\":\"audio-chunk\",\"data\":{\"width\":2,\"channels\":1},\"payload_length\":2}\nab",
        "{\"type\":\"audio-chunk\",\"data\":{\"rate\":16000,\"width\":5,\"channels\":1}}\n",
        "{\"type\":\"audio-chunk\",\"data\":{\"rate\":16000,\"width\":2,\"channels\":0}}\n",
        "{\"type\":\"audio-chunk\",\"data\":{\"rate\":999,\"width\":2,\"channels\":1}}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int client = begin(text_packet(process_format(DESCRIBE "%s", lines[i])));
        if (strstr(lines[i], "other") != NULL) {
            shutdown(client, SHUT_WR);
        }
        http_receive(&last, client);
        rest = last.bytes;
        check_info(); /* the earlier answer is not lost */
        check_end();
    }
    char *longest = support_array(100001, 1);
    memset(longest, ' ', 100000);
    exchange_text(longest);
    check_end();
    struct format other = {16001, 2, 1};
    exchange(join(chunk(usual, noise(2)), chunk(other, noise(2))));
    check_end();
    exchange_text("{\"type\":\"transcribe\",\"data\":{\"language\":\"xx\"}}\n");
    check_error("transcribe: the language is unknown; use a code such as fr");
    exchange_text("{\"type\":\"transcribe\",\"data\":{\"name\":\"other\"}}\n");
    check_error("transcribe: the server does not have this model");
    exchange(utterance("{\"type\":\"transcribe\",\"data\":{\"language\":\"fr\"}}\n", usual, noise(320)));
    check_error("language: the model tiny does not support fr");
    exchange(utterance("", usual, noise((1 << 20) + 2)));
    check_error("the recording is too long");
}

/* The events do not depend on where a packet ends. */
static void test_packets(void **state)
{
    (void)state;
    struct packet packet = join(text_packet("{\"type\":\"ping\",\"data_length\":15}\n{\"text\": \"abc\"}"),
                                join(chunk(usual, noise(1)), text_packet(STOP)));
    for (size_t cut = 1; cut < packet.size; cut += support_small() ? 7 : 1) {
        int client = begin((struct packet){packet.bytes, cut});
        http_pause();
        http_send(client, packet.bytes + cut, packet.size - cut);
        http_receive(&last, client);
        rest = last.bytes;
        json_t *data = next_answer("pong");
        assert_string_equal(json_string_value(json_object_get(data, "text")), "abc");
        json_decref(data);
        check_transcript("", NULL);
        check_end();
    }
}

/* Clients beyond the maximum number of connections are refused, and parallel clients get the same answers as
 * a single client. */
static void test_many(void **state)
{
    enum { MOST = 64, PARALLEL = 4 };
    int clients[MOST];
    char byte;
    (void)state;
    for (int i = 0; i < MOST; i++) {
        clients[i] = begin(text_packet(DESCRIBE));
        assert_int_equal(recv(clients[i], &byte, 1, 0), 1);
    }
    int further = http_connect(port);
    assert_true(further >= 0 && recv(further, &byte, 1, 0) <= 0);
    close(further);
    for (int i = 0; i < MOST; i++) {
        close(clients[i]);
    }
    struct packet samples = noise(16000);
    const char *text = http_text(usual, samples, "de");
    struct packet packet =
        utterance("{\"type\":\"transcribe\",\"data\":{\"language\":\"de\"}}\n", usual, samples);
    do { /* until the server has seen the ends of the connections */
        http_pause();
        exchange(packet);
    } while (*last.bytes == '\0');
    check_transcript(text, "de");
    for (int i = 0; i < PARALLEL; i++) {
        clients[i] = begin(packet);
    }
    for (int i = 0; i < PARALLEL; i++) {
        http_receive(&last, clients[i]);
        rest = last.bytes;
        check_transcript(text, "de");
    }
}

static void test_metrics(void **state)
{
    (void)state;
    http_request(&last, shared.port, "GET /metrics", "", "");
    static const char *const statuses[] = {"200", "400", "404", "413"};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        assert_non_null(
            strstr(last.body, process_format("clformer_requests_total{endpoint=\"wyoming\",status=\"%s\"} ",
                                             statuses[i])));
    }
    assert_non_null(strstr(last.body, "\nclformer_requests_in_flight 1\n"));
}

/* --- Separate servers --- */

/* Starts a server, and sets `port`. */
static struct http_server start(const char *flags)
{
    struct http_server server =
        http_start(process_format("-m %s --wyoming 0 %s", support_fixture("speech/tiny"), flags));
    port = server.wyoming_port;
    return server;
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Begins an utterance of an hour, whose transcription takes far longer than the test. */
static int begin_long(void)
{
    const struct format least = {1000, 1, 1};
    return begin(utterance("", least, noise((size_t)3600 * 1000)));
}

/* Work for a client that has disconnected is cancelled; a signal ends idle connections, and an utterance that
 * has begun is answered. */
static void test_grace(void **state)
{
    char byte;
    (void)state;
    struct http_server server = start("--verbose --grace 600");
    struct packet samples = noise(320);
    int gone = begin_long(), idle = begin(text_packet(DESCRIBE));
    struct packet start_of_utterance = join(chunk(usual, samples), text_packet(DESCRIBE));
    int unfinished = begin(start_of_utterance), busy = begin(start_of_utterance);
    assert_int_equal(recv(unfinished, &byte, 1, 0), 1); /* the chunk before was read */
    assert_int_equal(recv(busy, &byte, 1, 0), 1);
    close(gone);
    double before = seconds_now();
    kill(server.process.child, SIGTERM);
    http_receive(&last, idle); /* to its end */
    close(unfinished);
    http_send(busy, STOP, strlen(STOP));
    http_receive(&last, busy);
    assert_non_null(strstr(last.bytes, "{\"type\":\"transcript\","));
    assert_int_equal(coprocess_end(&server.process), 0);
    assert_true(seconds_now() - before < 60);
    assert_int_equal(process_count(server.process.errors, "clformer: wyoming transcribe 499 "), 2);
    assert_int_equal(process_count(server.process.errors, "clformer: wyoming transcribe 200 "), 1);
    assert_null(strstr(server.process.errors, "a request failed"));
}

/* A signal ends running utterances after the grace period. */
static void test_stop(void **state)
{
    (void)state;
    struct http_server server = start("--verbose --grace 0 --req-limit 2");
    int running = begin_long(), unfinished = begin(chunk(usual, noise(2)));
    do { /* until the others have begun */
        http_pause();
        exchange_text(STOP);
    } while (strstr(last.bytes, "\"transcript\"") != NULL);
    check_error("too many requests; try again in a minute");
    double before = seconds_now();
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_true(seconds_now() - before < 60);
    assert_int_equal(process_count(server.process.errors, "clformer: wyoming transcribe 503 "), 2);
    close(running);
    close(unfinished);
}

static void test_refused(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "serve -q -m " DEMO_MODEL " --port 0 --wyoming 0");
    assert_refused(result, 2, "--wyoming: requires a Whisper model; add -m MODEL");
    result = run_clformer(NULL, "serve -m x --wyoming 0 --require-api-key --api-keys /dev/null");
    assert_refused(result, 2, "--wyoming: the protocol has no keys; remove --require-api-key or --wyoming");
}

static int start_shared(void **state)
{
    (void)state;
    shared = start("--metrics --max-upload 1");
    return 0;
}

static void test_end(void **state)
{
    (void)state;
    http_end(&shared);
}

static int stop_shared(void **state)
{
    http_kill(&shared);
    return support_teardown(state);
}

#define TEST(name) cmocka_unit_test_teardown(name, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_info),    TEST(test_utterances), TEST(test_formats), TEST(test_invalid),
        TEST(test_packets), TEST(test_many),       TEST(test_metrics), TEST(test_end),
        TEST(test_grace),   TEST(test_stop),       TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, start_shared, stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
