/* Transcripts equal openai/whisper's byte for byte: mix.* of fixtures/speech are its files for one recording,
 * whose numbers are in mix.json. */
#include <clformer/transcriber.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static struct clf_segment read_segment(const json_t *one)
{
    const json_t *tokens = json_object_get(one, "tokens");
    int count = (int)json_array_size(tokens);
    int32_t *ids = support_array((size_t)count + 1, sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = (int32_t)json_integer_value(json_array_get(tokens, (size_t)i));
    }
    return (struct clf_segment){
        .id = (int)json_integer_value(json_object_get(one, "id")),
        .seek = json_integer_value(json_object_get(one, "seek")),
        .start = number_of(one, "start"),
        .end = number_of(one, "end"),
        .text = (char *)json_string_value(json_object_get(one, "text")),
        .tokens = ids,
        .token_count = count,
        .temperature = number_of(one, "temperature"),
        .avg_logprob = number_of(one, "avg_logprob"),
        .compression_ratio = number_of(one, "compression_ratio"),
        .no_speech_prob = number_of(one, "no_speech_prob"),
    };
}

static void test_recorded(void **state)
{
    (void)state;
    static const char *const names[] = {"mix.txt", "mix.srt", "mix.vtt", "mix.tsv", "mix.json"};
    json_t *json = json_load_file(support_fixture("speech/mix.json"), 0, NULL);
    const json_t *list = json_object_get(json, "segments");
    int count = (int)json_array_size(list);
    assert_true(count > 10);
    struct clf_segment *segments = support_array((size_t)count, sizeof *segments);
    for (int i = 0; i < count; i++) {
        segments[i] = read_segment(json_array_get(list, (size_t)i));
    }
    struct clf_transcript transcript = {.text = (char *)json_string_value(json_object_get(json, "text")),
                                        .language = "en",
                                        .segments = segments,
                                        .count = count};
    for (int format = CLF_TRANSCRIPT_TEXT; format <= CLF_TRANSCRIPT_JSON; format++) {
        char path[64], *expected, *actual;
        size_t size;
        snprintf(path, sizeof path, "speech/%s", names[format]);
        assert_ok(clf__file_read(&expected, &size, support_fixture(path), 1 << 20));
        assert_ok(clf_transcript_write(&actual, &transcript, (clf_transcript_format)format, NULL));
        assert_string_equal(actual, expected);
        clf_string_free(actual);
        clf__free(expected);
    }
    json_decref(json);
}

/* Counts the cues of a subtitle file, and fails if anything but a cue follows a blank line. */
static int count_cues(const char *text, int is_vtt)
{
    int count = 0, is_after_blank = 1, wants_times = 0;
    const char *line = text + (is_vtt ? strlen("WEBVTT\n") : 0);
    for (; *line != '\0'; line = strchr(line, '\n') + 1) {
        size_t size = strcspn(line, "\n");
        char *copy = support_array(size + 1, 1);
        memcpy(copy, line, size);
        int has_arrow = strstr(copy, "-->") != NULL;
        if (is_after_blank && size > 0 && !is_vtt) {
            assert_int_equal(strspn(copy, "0123456789"), size);
            assert_int_equal(strtol(copy, NULL, 10), count + 1);
            wants_times = 1;
            is_after_blank = 0;
            continue;
        }
        int is_time = wants_times || (is_vtt && is_after_blank && size > 0);
        assert_int_equal(has_arrow, is_time);
        count += is_time;
        wants_times = 0;
        is_after_blank = size == 0;
    }
    return count;
}

static int count_character(const char *text, char character)
{
    int count = 0;
    for (; *text != '\0'; text++) {
        count += *text == character;
    }
    return count;
}

/* Text of a model neither starts nor ends a cue, with words and without. */
static void test_cues_in_the_text(void **state)
{
    (void)state;
    enum { WORDS = 3 };
    static char *const texts[] = {
        "A\n\n99\n00:00:00,000 --> 99:00:00,000\nINJECTED",
        "A\r\r99\r00:00:00,000 --> 99:00:00,000\rINJECTED",
        "A\r\n\r\n99\r\n00:00.000 ---> 99:00.000\r\nINJECTED",
        "A\xe2\x80\xa8\xe2\x80\xa9 99\xc2\x85 00:00.000 -----> 99:00.000\v\fINJECTED",
        "-->",
        "--->",
        "\n\n",
        " \n",
        "a --",
    };
    static const char *const breaks[] = {"\r", "\v", "\f", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct clf_word words[WORDS] = {{.text = texts[i], .start = 0, .end = 1},
                                        {.text = "->", .start = 1, .end = 2},
                                        {.text = texts[i], .start = 2, .end = 3}};
        struct clf_segment segment = {
            .start = 0, .end = 3, .text = texts[i], .words = words, .word_count = WORDS};
        for (int way = 0; way < 4; way++) {
            struct clf_transcript transcript = {
                .text = "", .language = "en", .segments = &segment, .count = 1, .has_words = way > 0};
            struct clf_transcript_options options;
            clf_transcript_options_init(&options);
            options.highlight_words = way == 2;
            options.max_line_width = way == 3 ? 4 : 0;
            for (int format = CLF_TRANSCRIPT_SRT; format <= CLF_TRANSCRIPT_TSV; format++) {
                char *text;
                assert_ok(clf_transcript_write(&text, &transcript, (clf_transcript_format)format, &options));
                if (format == CLF_TRANSCRIPT_TSV) {
                    assert_int_equal(count_character(text, '\n'), 2);
                    assert_int_equal(count_character(text, '\t'), 4);
                } else if (way < 3) {
                    assert_int_equal(count_cues(text, format == CLF_TRANSCRIPT_VTT), way == 2 ? WORDS : 1);
                } else {
                    assert_in_range(count_cues(text, format == CLF_TRANSCRIPT_VTT), 1, WORDS);
                }
                for (size_t b = 0; b < sizeof breaks / sizeof *breaks; b++) {
                    assert_null(strstr(text, breaks[b]));
                }
                clf_string_free(text);
            }
        }
    }
}

static void read_words(struct clf_segment *segment, const json_t *list)
{
    segment->word_count = (int)json_array_size(list);
    segment->words = support_array((size_t)segment->word_count + 1, sizeof *segment->words);
    for (int i = 0; i < segment->word_count; i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        segment->words[i] = (struct clf_word){.text = (char *)json_string_value(json_object_get(one, "word")),
                                              .start = number_of(one, "start"),
                                              .end = number_of(one, "end"),
                                              .probability = number_of(one, "probability")};
    }
}

/* words42x2.* and highlight.* are openai/whisper's, from the words in words.json. */
static void test_words(void **state)
{
    (void)state;
    static const char *const names[] = {"words42x2.srt", "words42x2.vtt", "highlight.srt", "highlight.vtt"};
    json_t *json = json_load_file(support_fixture("speech/words.json"), 0, NULL);
    const json_t *list = json_object_get(json, "segments");
    int count = (int)json_array_size(list);
    struct clf_segment *segments = support_array((size_t)count + 1, sizeof *segments);
    for (int i = 0; i < count; i++) {
        segments[i] = read_segment(json_array_get(list, (size_t)i));
        read_words(&segments[i], json_object_get(json_array_get(list, (size_t)i), "words"));
    }
    assert_true(count > 1 && segments[0].word_count > 1);
    struct clf_transcript transcript = {
        .text = "", .language = "en", .segments = segments, .count = count, .has_words = 1};
    for (int i = 0; i < 4; i++) {
        struct clf_transcript_options options;
        char path[64], *expected, *actual;
        size_t size;
        clf_transcript_options_init(&options);
        options.highlight_words = i >= 2;
        options.max_line_width = i >= 2 ? 0 : 42;
        options.max_line_count = i >= 2 ? 0 : 2;
        snprintf(path, sizeof path, "speech/%s", names[i]);
        assert_ok(clf__file_read(&expected, &size, support_fixture(path), 1 << 20));
        assert_ok(clf_transcript_write(&actual, &transcript, i % 2 ? CLF_TRANSCRIPT_VTT : CLF_TRANSCRIPT_SRT,
                                       &options));
        assert_string_equal(actual, expected);
        clf_string_free(actual);
        clf__free(expected);
    }
    json_decref(json);
}

static void test_layout(void **state)
{
    (void)state;
    struct clf_word words[] = {{" a-->", 0, 1, 0.5}, {" b", 1, 2, 0.25}, {" c", 2.5, 3, 1}};
    struct clf_segment segment = {.text = " a--> b c", .words = words, .word_count = 3};
    struct clf_transcript transcript = {
        .text = "", .language = "en", .segments = &segment, .count = 1, .has_words = 1};
    struct clf_transcript_options options;
    char *text;
    clf_transcript_options_init(&options);
    options.max_words_per_line = 2;
    assert_ok(clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_VTT, &options));
    assert_string_equal(text, "WEBVTT\n\n00:00.000 --> 00:02.000\na-> b\n\n00:02.500 --> 00:03.000\nc\n\n");
    clf_string_free(text);
    assert_ok(clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_JSON, NULL));
    assert_non_null(strstr(text, "\"words\": [{\"word\": \" a-->\", \"start\": 0.0, \"end\": 1.0, "
                                 "\"probability\": 0.5}, {\"word\": \" b\""));
    clf_string_free(text);
    options.max_line_width = -1;
    assert_fails(clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_VTT, &options), CLF_BAD_ARGUMENT,
                 "max_line_width: -1");
    options.max_line_width = 0;
    transcript.has_words = 0;
    assert_fails(clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_VTT, &options), CLF_BAD_ARGUMENT,
                 "max_words_per_line: requires word timestamps");
}

static void check_one(const struct clf_segment *segment, clf_transcript_format format, const char *expected)
{
    struct clf_segment own = *segment;
    struct clf_transcript transcript = {.text = own.text, .language = "pt", .segments = &own, .count = 1};
    char *actual;
    assert_ok(clf_transcript_write(&actual, &transcript, format, NULL));
    assert_string_equal(actual, expected);
    clf_string_free(actual);
}

/* Times, symbols and numbers that the recording lacks; the expected ones are Python's, except for the line
 * break. */
static void test_rare(void **state)
{
    (void)state;
    struct clf_segment segment = {.id = 3,
                                  .seek = 720000,
                                  .start = 7201.0005,
                                  .end = 360000.0625,
                                  .text = "\xc2\xa0 a\t-->\"\\\n\x7f \xc3\xa9\xf0\x9f\x98\x80\x1f",
                                  .avg_logprob = -1e-5,
                                  .compression_ratio = 2.0 / 3,
                                  .no_speech_prob = 1e16};
    check_one(&segment, CLF_TRANSCRIPT_SRT,
              "1\n02:00:01,000 --> 100:00:00,062\na\t->\"\\ \x7f \xc3\xa9\xf0\x9f\x98\x80\n\n");
    check_one(&segment, CLF_TRANSCRIPT_VTT,
              "WEBVTT\n\n02:00:01.000 --> 100:00:00.062\na\t->\"\\ \x7f \xc3\xa9\xf0\x9f\x98\x80\n\n");
    check_one(&segment, CLF_TRANSCRIPT_TSV,
              "start\tend\ttext\n7201000\t360000062\ta -->\"\\ \x7f \xc3\xa9\xf0\x9f\x98\x80\n");
    check_one(
        &segment, CLF_TRANSCRIPT_JSON,
        "{\"text\": \"\\u00a0 a\\t-->\\\"\\\\\\n\\u007f \\u00e9\\ud83d\\ude00\\u001f\", \"segments\": "
        "[{\"id\": "
        "3, "
        "\"seek\": 720000, \"start\": 7201.0005, \"end\": 360000.0625, \"text\": \"\\u00a0 "
        "a\\t-->\\\"\\\\\\n\\u007f \\u00e9\\ud83d\\ude00\\u001f\", \"tokens\": [], \"temperature\": 0.0, "
        "\"avg_logprob\": -1e-05, \"compression_ratio\": 0.6666666666666666, \"no_speech_prob\": 1e+16}], "
        "\"language\": \"pt\"}");
    segment.no_speech_prob = NAN;
    segment.compression_ratio = 123456789.25;
    segment.text = "";
    check_one(&segment, CLF_TRANSCRIPT_JSON,
              "{\"text\": \"\", \"segments\": [{\"id\": 3, \"seek\": 720000, \"start\": 7201.0005, \"end\": "
              "360000.0625, \"text\": \"\", \"tokens\": [], \"temperature\": 0.0, \"avg_logprob\": -1e-05, "
              "\"compression_ratio\": 123456789.25, \"no_speech_prob\": NaN}], \"language\": \"pt\"}");
    segment.language = "fr"; /* with `multilingual` */
    check_one(&segment, CLF_TRANSCRIPT_JSON,
              "{\"text\": \"\", \"segments\": [{\"id\": 3, \"seek\": 720000, \"start\": 7201.0005, \"end\": "
              "360000.0625, \"text\": \"\", \"tokens\": [], \"temperature\": 0.0, \"avg_logprob\": -1e-05, "
              "\"compression_ratio\": 123456789.25, \"no_speech_prob\": NaN, \"language\": \"fr\"}], "
              "\"language\": \"pt\"}");
}

static void test_nothing(void **state)
{
    (void)state;
    struct clf_transcript transcript = {.text = "", .language = "en"};
    static const char *const expected[] = {"", "", "WEBVTT\n\n", "start\tend\ttext\n",
                                           "{\"text\": \"\", \"segments\": [], \"language\": \"en\"}"};
    char *actual;
    for (int format = CLF_TRANSCRIPT_TEXT; format <= CLF_TRANSCRIPT_JSON; format++) {
        assert_ok(clf_transcript_write(&actual, &transcript, (clf_transcript_format)format, NULL));
        assert_string_equal(actual, expected[format]);
        clf_string_free(actual);
    }
    assert_fails(clf_transcript_write(&actual, &transcript, (clf_transcript_format)9, NULL), CLF_BAD_ARGUMENT,
                 "transcript format: unknown value 9");
    clf_transcript_free(NULL);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct clf_segment segment = {.text = "some words that need room"};
    struct clf_transcript transcript = {.text = "", .language = "en", .segments = &segment, .count = 1};
    char *text = NULL;
    int failures = 0;
    for (uint64_t n = 1; text == NULL; n++, failures++) {
        clf__memory_fail_at(n);
        clf_status status = clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_JSON, NULL);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || (status == CLF_OUT_OF_MEMORY && text == NULL));
    }
    assert_true(failures > 1);
    clf_string_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_recorded, support_teardown),
        cmocka_unit_test_teardown(test_cues_in_the_text, support_teardown),
        cmocka_unit_test_teardown(test_words, support_teardown),
        cmocka_unit_test_teardown(test_layout, support_teardown),
        cmocka_unit_test_teardown(test_rare, support_teardown),
        cmocka_unit_test_teardown(test_nothing, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
