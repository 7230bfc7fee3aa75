/* `clformer serve` with a speech model: the answers of each API are the transcripts of the command. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/http.h"

#if defined CLF_HAS_SERVER && defined CLF_HAS_AUDIO

static struct http_server shared;
static struct http_answer last;
static char *sound;       /* a WAV file */
static size_t sound_size; /* in bytes */

#define TRANSCRIPTIONS "/v1/audio/transcriptions"

/* The transcripts of the command in one folder, as out/sound.FORMAT. */
static const char *transcribe(const char *flags)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "sound.wav", sound, sound_size);
    struct process_result result =
        run_clformer(NULL, process_format("transcribe -m %s -q --format all -o %s/out %s %s/sound.wav",
                                          support_fixture("speech/tiny"), folder, flags, folder));
    assert_output(result, "");
    return process_format("%s/out", folder);
}

static const char *transcript(const char *folder, const char *format)
{
    size_t size;
    char *text = process_read(folder, process_format("sound.%s", format), &size);
    return text;
}

/* A form with the recording and fields in the form "name=value&name=value". */
static struct http_form form_with(const char *part, const char *fields)
{
    struct http_form form = {.bytes = NULL};
    char *rest = process_format("%s", fields), *field;
    http_form_file(&form, part, "sound.wav", sound, sound_size);
    while ((field = strtok_r(rest, "&", &rest)) != NULL) {
        char *value = strchr(field, '=');
        *value = '\0';
        http_form_field(&form, field, value + 1);
    }
    return form;
}

static void post(const char *path, const char *part, const char *fields)
{
    struct http_form form = form_with(part, fields);
    http_form_post(&last, shared.port, path, &form);
}

/* Posts to OpenAI's endpoint. Temperature 1 has no fallback, which saves time. */
static json_t *post_json(const char *fields)
{
    post(TRANSCRIPTIONS, "file", process_format("temperature=1&%s", fields));
    assert_int_equal(last.status, 200);
    json_t *object = json_loads(last.body, 0, NULL);
    assert_non_null(object);
    return object;
}

static int has_header(const char *header)
{
    return strstr(last.bytes, process_format("\r\n%s\r\n", header)) != NULL;
}

/* The text of a transcript in JSON, without surrounding white space. The model's texts begin and end with no
 * white space other than these characters. */
static const char *stripped(const json_t *text)
{
    char *copy = process_format("%s", json_string_value(text));
    static const char white[] = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
    copy += strspn(copy, white);
    for (size_t size = strlen(copy); size > 0 && strchr(white, copy[size - 1]) != NULL; size--) {
        copy[size - 1] = '\0';
    }
    return copy;
}

static void test_openai(void **state)
{
    (void)state;
    const char *folder = transcribe("--temperature 1");
    json_t *command = json_loads(transcript(folder, "json"), 0, NULL), *object = post_json("model=whisper-1");
    const char *text = stripped(json_object_get(command, "text"));
    assert_string_equal(json_string_value(json_object_get(object, "text")), text);
    json_t *usage = json_pack("{s:s, s:i}", "type", "duration", "seconds", 2);
    assert_true(json_equal(json_object_get(object, "usage"), usage));
    json_decref(usage);
    json_decref(object);
    post(TRANSCRIPTIONS, "file", "temperature=1&response_format=text&model=&prompt=&language=");
    assert_string_equal(last.body, process_format("%s\n", text));
    assert_true(has_header("Content-Type: text/plain; charset=utf-8"));
    post("/openai" TRANSCRIPTIONS, "file", "temperature=1&response_format=srt&model=tiny");
    assert_string_equal(last.body, transcript(folder, "srt"));
    post(TRANSCRIPTIONS, "file",
         "temperature=1&response_format=vtt&language=auto&hotwords=a&vad_filter=true");
    assert_memory_equal(last.body, "WEBVTT\n\n00:00:", 14);
    assert_int_equal(process_count(last.body, " --> "), process_count(transcript(folder, "vtt"), " --> "));
    object =
        post_json("response_format=json&timestamp_granularities[]=word&chunking_strategy[type]=server_vad");
    assert_int_equal(json_object_size(object), 2);
    json_decref(object);
    json_decref(command);
}

/* Counts the elements of a member; -1: it is missing. */
static int count(const json_t *object, const char *name)
{
    const json_t *array = json_object_get(object, name);
    return array != NULL ? (int)json_array_size(array) : -1;
}

static void test_openai_verbose(void **state)
{
    (void)state;
    json_t *command = json_loads(transcript(transcribe("--temperature 1"), "json"), 0, NULL);
    json_t *object = post_json("response_format=verbose_json");
    assert_string_equal(json_string_value(json_object_get(object, "task")), "transcribe");
    assert_string_equal(json_string_value(json_object_get(object, "language")), "german");
    assert_true(json_is_number(json_object_get(object, "duration")));
    assert_true(json_number_value(json_object_get(object, "duration")) == 2);
    assert_int_equal(count(object, "segments"), count(command, "segments"));
    assert_int_equal(count(object, "words"), -1);
    for (int i = 0; i < count(object, "segments"); i++) {
        const json_t *one = json_array_get(json_object_get(object, "segments"), (size_t)i);
        const json_t *other = json_array_get(json_object_get(command, "segments"), (size_t)i);
        assert_true(json_equal(json_object_get(one, "text"), json_object_get(other, "text")));
        assert_true(json_equal(json_object_get(one, "tokens"), json_object_get(other, "tokens")));
        assert_int_equal(json_object_size(one), 10);
    }
    json_decref(command);
    json_decref(object);
    object = post_json("response_format=verbose_json&timestamp_granularities[]=word");
    assert_int_equal(count(object, "segments"), -1);
    assert_true(count(object, "words") > 0);
    const json_t *word = json_array_get(json_object_get(object, "words"), 0);
    assert_true(json_is_string(json_object_get(word, "word")) &&
                json_is_real(json_object_get(word, "start")));
    json_decref(object);
    object = post_json(
        "response_format=verbose_json&timestamp_granularities=word&timestamp_granularities=segment");
    assert_true(count(object, "segments") > 0 && count(object, "words") > 0);
    json_decref(object);
    post("/v1/audio/translations", "file", "temperature=1&response_format=verbose_json");
    assert_non_null(strstr(last.body, "{\"task\":\"translate\",\"language\":\"english\",\"duration\":2.0,"));
}

static void check_error(const char *fields, int status, const char *expected)
{
    post(TRANSCRIPTIONS, "file", fields);
    assert_int_equal(last.status, status);
    assert_string_equal(last.body, process_format("{\"error\":{%s}}", expected));
}

#define INVALID "\"type\":\"invalid_request_error\","

static void test_openai_errors(void **state)
{
    struct http_form form = {.bytes = NULL};
    (void)state;
    check_error("temperature=2", 400,
                "\"message\":\"temperature: must be a number from 0 to 1, not 2\"," INVALID
                "\"param\":\"temperature\",\"code\":null");
    check_error("response_format=xml", 400,
                "\"message\":\"response_format: xml is not supported; use json, text, srt, verbose_json or "
                "vtt\"," INVALID "\"param\":\"response_format\",\"code\":null");
    check_error("model=other", 404,
                "\"message\":\"The model `other` does not exist\"," INVALID
                "\"param\":\"model\",\"code\":\"model_not_found\"");
    check_error("language=xx", 400,
                "\"message\":\"language: xx is unknown; use an ISO 639-1 code such as fr\"," INVALID
                "\"param\":\"language\",\"code\":null");
    check_error("language=fr", 400,
                "\"message\":\"language: the model tiny does not support fr\"," INVALID
                "\"param\":\"language\",\"code\":null");
    check_error("timestamp_granularities[]=line", 400,
                "\"message\":\"timestamp_granularities: must be word or segment, not line\"," INVALID
                "\"param\":\"timestamp_granularities\",\"code\":null");
    post(TRANSCRIPTIONS, "other", "");
    assert_int_equal(last.status, 400);
    assert_string_equal(last.body, "{\"error\":{\"message\":\"file: the recording is missing\"," INVALID
                                   "\"param\":\"file\",\"code\":null}}");
    http_form_file(&form, "file", "sound.mp3", "no sound", 8);
    http_form_post(&last, shared.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 400);
    assert_non_null(strstr(last.body, "\"message\":\"the recording: not a supported recording such as WAV"));
    assert_null(strstr(last.body, "/proc"));
    http_request(&last, shared.port, "GET " TRANSCRIPTIONS, "", "");
    assert_int_equal(last.status, 405);
    assert_true(has_header("Allow: POST"));
}

static void test_models(void **state)
{
    (void)state;
    http_request(&last, shared.port, "GET /v1/models", "", "");
    json_t *object = json_loads(last.body, 0, NULL);
    const json_t *model = json_array_get(json_object_get(object, "data"), 0);
    assert_string_equal(json_string_value(json_object_get(model, "id")), "tiny");
    assert_true(json_is_integer(json_object_get(model, "created")));
    char *text = json_dumps(model, JSON_COMPACT);
    http_request(&last, shared.port, "GET /openai/v1/models/tiny", "", "");
    assert_string_equal(last.body, text);
    free(text);
    json_decref(object);
    http_request(&last, shared.port, "GET /v1/models/none", "", "");
    assert_int_equal(last.status, 404);
    assert_non_null(strstr(last.body, "\"code\":\"model_not_found\""));
    http_request(&last, shared.port, "GET /languages", "", "");
    assert_string_equal(last.body, "[]");
    http_request(&last, shared.port, "POST /translate", FORM_TYPE, "q=a&source=fr&target=en");
    assert_int_equal(last.status, 400);
}

/* Returns the value of a counter of the model. */
static double counter(const char *name)
{
    http_request(&last, shared.port, "GET /metrics", "", "");
    const char *line = strstr(last.body, process_format("\nclformer_%s{model=\"tiny\"} ", name));
    assert_non_null(line);
    return atof(strchr(line, '}') + 1);
}

/* A greedy transcription without fallback of a window: one row in each step, and a step for each token. */
static void test_metrics(void **state)
{
    static const char *const names[] = {"windows_total", "batches_total", "steps_total", "step_rows_total",
                                        "target_tokens_total"};
    double before[5], grown[5];
    (void)state;
    assert_true(counter("audio_seconds_total") > 0);
    for (int i = 0; i < 5; i++) {
        before[i] = counter(names[i]);
    }
    json_decref(post_json("language=de"));
    for (int i = 0; i < 5; i++) {
        grown[i] = counter(names[i]) - before[i];
    }
    assert_true(grown[0] >= 1 && grown[1] == grown[0]);
    assert_true(grown[2] > 0 && grown[3] >= grown[2] && grown[4] > 0 && grown[4] <= grown[3]);
    http_request(&last, shared.port, "GET /metrics", "", "");
    assert_null(strstr(last.body, "clformer_source_tokens_total{"));
}

/* Open WebUI sends the recording in JSON. */
static void test_json_body(void **state)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)state;
    char *text = support_array(2 * sound_size, 1), *end = text;
    for (size_t i = 0; i < sound_size; i += 3) {
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; j++) {
            bits = bits << 8 | (i + j < sound_size ? (unsigned char)sound[i + j] : 0);
        }
        for (size_t j = 0; j < 4; j++) {
            *end++ = i + j <= sound_size ? digits[bits >> (18 - 6 * j) & 63] : '=';
        }
    }
    http_request(
        &last, shared.port, "POST " TRANSCRIPTIONS, JSON_TYPE,
        process_format(
            "{\"model\":\"tiny\",\"temperature\":1,\"input_audio\":{\"data\":\"%s\",\"format\":\"wav\"}}",
            text));
    char *body = process_format("%s", last.body);
    assert_int_equal(last.status, 200);
    post(TRANSCRIPTIONS, "file", "temperature=1");
    assert_string_equal(last.body, body);
    http_request(&last, shared.port, "POST " TRANSCRIPTIONS, JSON_TYPE,
                 "{\"input_audio\":{\"data\":\"~\",\"format\":\"wav\"}}");
    assert_int_equal(last.status, 400);
    assert_non_null(strstr(last.body, "input_audio: data is not base64"));
    http_request(&last, shared.port, "POST " TRANSCRIPTIONS, JSON_TYPE, "[]");
    assert_int_equal(last.status, 400);
}

static void test_whisper_cpp(void **state)
{
    (void)state;
    const char *folder = transcribe("--temperature 1 --language en");
    post("/inference", "file", "temperature=1&response_format=srt");
    assert_string_equal(last.body, transcript(folder, "srt"));
    assert_true(has_header("Content-Type: application/x-subrip"));
    post("/whisper/inference", "file", "temperature=1");
    json_t *object = json_loads(last.body, 0, NULL),
           *command = json_loads(transcript(folder, "json"), 0, NULL);
    const char *text = json_string_value(json_object_get(object, "text"));
    for (int i = 0; i < count(command, "segments"); i++) {
        const json_t *segment = json_array_get(json_object_get(command, "segments"), (size_t)i);
        const char *line = process_format("%s\n", json_string_value(json_object_get(segment, "text")));
        assert_memory_equal(text, line, strlen(line));
        text += strlen(line);
    }
    assert_string_equal(text, "");
    json_decref(object);
    json_decref(command);
    post("/inference", "file",
         "temperature=1&response_format=verbose_json&language=de&offset_t=500&duration=1000");
    assert_non_null(strstr(last.body, "\"language\":\"german\""));
    assert_non_null(strstr(last.body, "\"detected_language\":\"german\""));
    post("/inference", "files", "");
    assert_int_equal(last.status, 400);
    assert_string_equal(last.body, "{\"error\":\"no 'file' field in the request\"}");
    struct http_form form = {.bytes = NULL};
    http_form_file(&form, "file", "x", "no sound", 8);
    http_form_post(&last, shared.port, "/inference", &form);
    assert_int_equal(last.status, 400);
    assert_string_equal(last.body, "{\"error\":\"failed to read audio data\"}");
}

/* Posts the samples of the recording, as Bazarr does. */
static void post_samples(const char *path, const char *file_name, size_t size)
{
    struct http_form form = {.bytes = NULL};
    http_form_file(&form, "audio_file", file_name, sound + HTTP_WAV_HEADER, size);
    http_form_post(&last, shared.port, path, &form);
}

static void test_asr(void **state)
{
    static const char *const formats[] = {"srt", "vtt", "tsv", "json", "txt"};
    size_t size = sound_size - HTTP_WAV_HEADER;
    (void)state;
    const char *folder = transcribe("");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        post_samples(
            process_format("/asr?task=transcribe&output=%s&encode=false&video_file=%%2Ftv%%2Fa+b.mkv",
                           formats[i]),
            "audio_file", size - (i == 0)); /* half a sample is dropped */
        assert_int_equal(last.status, 200);
        assert_true(has_header("Content-Type: text/plain; charset=utf-8"));
        assert_true(has_header("Asr-Engine: clformer"));
        assert_true(has_header(
            process_format("Content-Disposition: attachment; filename=\"audio_file.%s\"", formats[i])));
        if (i > 0) {
            assert_string_equal(last.body, transcript(folder, formats[i]));
        }
    }
    post("/asr-api/asr?output=xml&encode=True", "audio_file", "output=srt");
    assert_string_equal(last.body, transcript(folder, "txt"));
    assert_true(has_header("Content-Disposition: attachment; filename=\"sound.wav.xml\""));
    post_samples("/asr/?encode=no&output=json", "m\xc3\xb6vie a.mkv", 0);
    assert_string_equal(last.body, "{\"text\": \"\", \"segments\": [], \"language\": \"en\"}");
    assert_true(has_header("Content-Disposition: attachment; filename=\"m%C3%B6vie%20a.mkv.json\""));
    post_samples("/asr?encode=off&output=srt", "audio_file", 1);
    assert_string_equal(last.body, "");
    assert_int_equal(last.status, 200);
    post_samples("/asr?encode=0&output=json&vad_filter=true", "audio_file", size);
    assert_string_equal(last.body, transcript(transcribe("--vad"), "json"));
    post_samples("/asr", "audio_file", size); /* not an audio format */
    assert_int_equal(last.status, 0);
    post_samples("/asr?encode=0&language=xx", "audio_file", size);
    assert_int_equal(last.status, 0);
}

static void check_detail(const char *query, const char *part, const char *detail)
{
    post(process_format("/asr%s", query), part, "");
    assert_int_equal(last.status, 422);
    assert_string_equal(last.body, process_format("{\"detail\":[{%s}]}", detail));
}

static void test_asr_errors(void **state)
{
    static const char missing[] =
        "\"type\":\"missing\",\"loc\":[\"body\",\"audio_file\"],\"msg\":\"Field required\",\"input\":null";
    struct http_form form = {.bytes = NULL};
    (void)state;
    check_detail("", "file", missing);
    check_detail("?encode=maybe", "audio_file",
                 "\"type\":\"bool_parsing\",\"loc\":[\"query\",\"encode\"],\"msg\":\"Input should be a valid "
                 "boolean, unable to interpret input\",\"input\":\"maybe\"");
    check_detail(
        "?min_speakers=x", "audio_file",
        "\"type\":\"int_parsing\",\"loc\":[\"query\",\"min_speakers\"],\"msg\":\"Input should be a valid "
        "integer, unable to parse string as an integer\",\"input\":\"x\"");
    http_form_field(&form, "audio_file", "abc");
    http_form_post(&last, shared.port, "/asr", &form);
    assert_int_equal(last.status, 422);
    assert_non_null(
        strstr(last.body, "{\"detail\":[{\"type\":\"value_error\",\"loc\":[\"body\",\"audio_file\"]"));
    http_request(&last, shared.port, "POST /asr", "", "");
    assert_string_equal(last.body, process_format("{\"detail\":[{%s}]}", missing));
    http_request(&last, shared.port, "GET /asr", "", "");
    assert_int_equal(last.status, 405);
    assert_string_equal(last.body, "{\"detail\":\"Method Not Allowed\"}");
    assert_true(has_header("Allow: POST"));
}

static void test_detect_language(void **state)
{
    (void)state;
    post_samples("/asr-api/detect-language?encode=false&video_file=/x", "audio_file",
                 sound_size - HTTP_WAV_HEADER);
    json_t *object = json_loads(last.body, 0, NULL);
    double confidence = json_real_value(json_object_get(object, "confidence"));
    assert_int_equal(last.status, 200);
    assert_int_equal(json_object_size(object), 3);
    assert_string_equal(json_string_value(json_object_get(object, "detected_language")), "german");
    assert_string_equal(json_string_value(json_object_get(object, "language_code")), "de");
    assert_true(confidence > 0.01 && confidence <= 1);
    json_decref(object);
    post_samples("/detect-language?encode=false", "audio_file", 0);
    assert_int_equal(last.status, 422);
}

/* Returns how long the recordings are that a model has transcribed. */
static double seconds_of(int port, const char *model)
{
    http_request(&last, port, "GET /metrics", "", "");
    const char *line =
        strstr(last.body, process_format("\nclformer_audio_seconds_total{model=\"%s\"} ", model));
    assert_non_null(line);
    return atof(strchr(line, '}') + 1);
}

static void load(int port, const char *name, int status, const char *expected)
{
    struct http_form form = {.bytes = NULL};
    http_form_field(&form, "model", name);
    http_form_post(&last, port, "/whisper/load", &form);
    assert_int_equal(last.status, status);
    assert_string_equal(last.body, expected);
}

/* /load selects a model by its name, for whisper.cpp's endpoint only, and never opens a file. */
static void test_load(void **state)
{
    (void)state;
    const char *folder = support_fixture("speech/tiny");
    load(shared.port, "tiny", 403, "{\"error\":\"loading models is disabled on this server\"}");
    struct http_server server =
        http_start(process_format("-m one=%s -m two=%s --allow-load --metrics", folder, folder));
    struct http_form form = form_with("file", "temperature=1&temperature_inc=0");
    http_form_post(&last, server.port, "/inference", &form);
    assert_true(seconds_of(server.port, "one") == 2);
    load(server.port, "two", 200, "Load was successful!");
    load(server.port, folder, 400, "{\"error\":\"model not found!\"}");
    load(server.port, "", 400, "{\"error\":\"no 'model' field in the request\"}");
    http_form_post(&last, server.port, "/inference", &form);
    assert_true(seconds_of(server.port, "one") == 2 && seconds_of(server.port, "two") == 2);
    http_form_post(&last, server.port, TRANSCRIPTIONS, &form);
    assert_true(seconds_of(server.port, "one") == 4 && seconds_of(server.port, "two") == 2);
    load(server.port, "one", 200, "Load was successful!");
    http_form_post(&last, server.port, "/inference", &form);
    assert_true(seconds_of(server.port, "one") == 6 && seconds_of(server.port, "two") == 2);
    http_end(&server);
}

static int start_shared(void **state)
{
    (void)state;
    shared = http_start(process_format("-m %s --metrics", support_fixture("speech/tiny")));
    return 0;
}

static int make_sound(void **state)
{
    (void)state;
    sound = http_wav(2, &sound_size);
    return 0;
}

static void test_end(void **state)
{
    (void)state;
    assert_int_equal(http_stop(&shared, SIGTERM), 0);
    shared.process.child = 0;
}

static int stop_shared(void **state)
{
    http_kill(&shared);
    return support_teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_sound, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_openai),     TEST(test_openai_verbose),  TEST(test_openai_errors), TEST(test_models),
        TEST(test_json_body),  TEST(test_metrics),         TEST(test_whisper_cpp),   TEST(test_asr),
        TEST(test_asr_errors), TEST(test_detect_language), TEST(test_load),          TEST(test_end),
    };
    return cmocka_run_group_tests(tests, start_shared, stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
