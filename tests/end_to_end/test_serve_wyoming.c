/* `clformer serve --wyoming`: the dialogues of Home Assistant and other clients with a speech recognition
 * server. The transcripts are those of the HTTP endpoints. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "end_to_end/wyoming_client.h"

#if defined CLF_HAS_SERVER && defined CLF_HAS_AUDIO

static struct http_server shared;

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
    };
    return cmocka_run_group_tests(tests, start_shared, stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
