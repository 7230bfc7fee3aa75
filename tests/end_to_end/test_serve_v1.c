/* `clformer serve`: POST /v1/translate gives the JSON of `clformer translate --json`, and refuses invalid
 * fields. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/clformer.h>
#include <jansson.h>

#include "support/http.h"

#define PAIR "\"source\":\"fr\",\"target\":\"en\""

static struct http_answer last;
static char glossary[512]; /* path of the glossary "trains" */

static json_t *post(const char *fields, int status)
{
    http_request(&last, http_shared.port, "POST /v1/translate", JSON_TYPE, process_format("{%s}", fields));
    json_t *answer = json_loads(last.body, 0, NULL);
    if (last.status != status || answer == NULL) {
        fail_msg("%s: %d %s", fields, last.status, last.body);
    }
    return answer;
}

/* The translations of a request are the objects that the command prints for the same lines. */
static void check_equal(const char *fields, const char *input, const char *flags)
{
    json_t *answer = post(process_format("%s,\"source\":\"fr\",\"target\":\"en\"", fields), 200);
    json_t *translations = json_object_get(answer, "translations");
    struct process_result result =
        run_clformer(input, process_format("translate -m " DEMO_MODEL " -q --json %s", flags));
    assert_int_equal(result.status, 0);
    size_t count = 0;
    for (char *rest = result.output, *end; (end = strchr(rest, '\n')) != NULL; rest = end + 1) {
        json_t *expected = json_loadb(rest, (size_t)(end - rest), 0, NULL);
        if (!json_equal(expected, json_array_get(translations, count++))) {
            fail_msg("%s, %s:\nexpected %.*s\ngot      %s", fields, flags, (int)(end - rest), rest,
                     last.body);
        }
        json_decref(expected);
    }
    assert_int_equal(json_array_size(translations), count);
    json_decref(answer);
}

static void test_equal_to_command(void **state)
{
    (void)state;
    static const char lines[] = "Merci beaucoup.\nJe suis étudiant.\n";
    static const char texts[] = "\"text\":[\"Merci beaucoup.\",\"Je suis étudiant.\"]";
    check_equal(process_format("%s,\"sentences\":false", texts), lines, "");
    check_equal(process_format("%s,\"sentences\":false,\"bulk\":true", texts), lines, "");
    check_equal(process_format("%s,\"n_best\":3", texts), lines, "--n-best 3");
    check_equal(process_format("%s,\"n_best\":6", texts), lines, "--n-best 6 --beam 6");
    check_equal(process_format("%s,\"n_best\":6,\"beam\":null", texts), lines, "--n-best 6 --beam 6");
    check_equal(process_format("%s,\"alternatives\":3", texts), lines, "--alternatives 3");
    check_equal(process_format("%s,\"alignment_layer\":2,\"beam\":1", texts), lines,
                "--alignments --alignment-layer 2 --beam 1");
    check_equal(process_format("%s,\"sentences\":false,\"beam\":1,\"sample\":true,\"seed\":7,\"top_k\":5,"
                               "\"temperature\":1.5,\"n_best\":2",
                               texts),
                lines, "--beam 1 --sample --seed 7 --top-k 5 --temperature 1.5 --n-best 2");
    check_equal("\"text\":\"Merci beaucoup.\",\"prefix\":\"Thanks\"", "Merci beaucoup.\n",
                "--target-prefix Thanks");
    check_equal("\"text\":\"\",\"sentences\":false", "\n", "");
}

static void test_sentences(void **state)
{
    (void)state;
    json_t *answer =
        post("\"text\":[\"Merci. Oui.\\n\\nMerci.\",\"\"],\"source\":\"auto\",\"target\":\"en\"", 200);
    json_t *expected = json_loads("[{\"text\":\"Thanks. Yes.\\n\\nThanks.\",\"sentences\":["
                                  "{\"source\":\"Merci.\",\"text\":\"Thanks.\"},"
                                  "{\"source\":\"Oui.\",\"text\":\"Yes.\"},"
                                  "{\"source\":\"Merci.\",\"text\":\"Thanks.\"}]},"
                                  "{\"text\":\"\",\"sentences\":[]}]",
                                  0, NULL);
    assert_true(json_equal(json_object_get(answer, "translations"), expected));
    assert_string_equal(json_string_value(json_object_get(answer, "source")), "fr");
    assert_string_equal(json_string_value(json_object_get(answer, "target")), "en");
    assert_non_null(json_object_get(answer, "confidence"));
    json_decref(expected);
    json_decref(answer);
    /* The options apply to the last model. */
    answer = post("\"text\":\"Merci.\",\"source\":\"fr\",\"target\":\"de\",\"n_best\":2", 200);
    json_t *models = json_pack("[s, s]", "fr-en-small", "second");
    assert_true(json_equal(json_object_get(answer, "models"), models));
    json_t *first = json_array_get(json_object_get(answer, "translations"), 0);
    assert_int_equal(json_array_size(json_object_get(first, "n_best")), 2);
    json_decref(models);
    json_decref(answer);
}

/* Returns the events of a stream as an array; the answer is chunked. */
static json_t *post_stream(const char *fields)
{
    json_t *events = json_array();
    http_request(&last, http_shared.port, "POST /v1/translate", JSON_TYPE,
                 process_format("{%s,\"stream\":true}", fields));
    assert_int_equal(last.status, 200);
    assert_non_null(strstr(last.bytes, "\r\nContent-Type: text/event-stream\r\n"));
    for (const char *rest = last.body; (rest = strstr(rest, "data: ")) != NULL;) {
        rest += strlen("data: ");
        json_t *event = json_loads(rest, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(event);
        json_array_append_new(events, event);
    }
    assert_true(json_array_size(events) > 0);
    return events;
}

static const char *text_of(const json_t *events, size_t index, const char *type)
{
    const json_t *event = json_array_get(events, index);
    assert_string_equal(json_string_value(json_object_get(event, "type")), type);
    return json_string_value(json_object_get(event, "text"));
}

/* The last event has the same answer as a request without a stream. */
static void check_done(json_t *events, const char *fields)
{
    json_t *answer = post(fields, 200), *done = json_array_get(events, json_array_size(events) - 1);
    assert_string_equal(json_string_value(json_object_get(done, "type")), "done");
    json_object_del(done, "type");
    assert_true(json_equal(done, answer));
    json_decref(answer);
}

static void test_streams(void **state)
{
    (void)state;
    static const char sentences[] = "\"text\":\"Merci. Oui.\",\"source\":\"fr\",\"target\":\"en\"";
    json_t *events = post_stream(sentences);
    assert_int_equal(json_array_size(events), 3);
    assert_string_equal(text_of(events, 0, "sentence"), "Thanks.");
    assert_string_equal(text_of(events, 1, "sentence"), "Yes.");
    check_done(events, sentences);
    json_decref(events);
    static const char whole[] =
        "\"text\":\"Je suis étudiant.\",\"source\":\"fr\",\"target\":\"en\",\"beam\":1,"
        "\"sentences\":false";
    events = post_stream(whole);
    assert_true(json_array_size(events) > 2);
    char *joined = process_format("%s", "");
    for (size_t i = 0; i + 1 < json_array_size(events); i++) {
        joined = process_format("%s%s", joined, text_of(events, i, "delta"));
    }
    assert_string_equal(joined, "I'm a student.");
    check_done(events, whole);
    json_decref(events);
    events = post_stream("\"text\":\"a\",\"beam\":2,\"n_best\":3,\"source\":\"fr\",\"target\":\"en\"");
    assert_non_null(
        strstr(json_string_value(json_object_get(json_array_get(events, 0), "error")), "out of range"));
    json_decref(events);
}

/* The weights are the mean of the heads that clf_attend() computes. */
static void check_weights(const json_t *answer, const struct clf_attention_maps *maps, int layer)
{
    const json_t *weights = json_object_get(answer, "weights");
    int heads = maps->decoder_heads, sources = maps->source_count, targets = maps->target_count;
    assert_int_equal(json_array_size(weights), targets - 1);
    for (int i = 0; i + 1 < targets; i++) {
        const json_t *row = json_array_get(weights, (size_t)i);
        assert_int_equal(json_array_size(row), sources);
        for (int j = 0; j < sources; j++) {
            double sum = 0;
            for (int head = 0; head < heads; head++) {
                sum += (double)maps->cross[(((layer - 1) * heads + head) * targets + i) * sources + j];
            }
            assert_true(fabs(json_number_value(json_array_get(row, (size_t)j)) - sum / heads) < 1e-3);
        }
    }
}

static void test_attention(void **state)
{
    (void)state;
    static const char text[] = "Je suis étudiant.", translation[] = "I'm a student.";
    struct clf_device *device;
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_attention_maps *maps;
    const struct clf_line source = {text, strlen(text)}, target = {translation, strlen(translation)};
    assert_int_equal(clf_device_open(&device, NULL, NULL), CLF_OK);
    assert_int_equal(clf_model_load(&model, device, DEMO_MODEL, NULL), CLF_OK);
    assert_int_equal(clf_translator_create(&translator, model, NULL), CLF_OK);
    assert_int_equal(clf_attend(&maps, translator, &source, &target), CLF_OK);
    for (int layer = 0; layer <= 3; layer++) {
        http_request(&last, http_shared.port, "POST /v1/attention", JSON_TYPE,
                     process_format("{\"text\":\"%s\",\"translation\":\"%s\",\"source\":\"auto\","
                                    "\"target\":\"en\",\"layer\":%s}",
                                    text, translation, layer > 0 ? process_format("%d", layer) : "null"));
        json_t *answer = json_loads(last.body, 0, NULL);
        assert_int_equal(last.status, 200);
        assert_int_equal(json_integer_value(json_object_get(answer, "layer")), layer > 0 ? layer : 2);
        assert_int_equal(json_integer_value(json_object_get(answer, "layers")), 3);
        json_t *tokens = json_pack("[s, s, s, s, s]", "▁Je", "▁suis", "▁étudiant", ".", "</s>");
        assert_true(json_equal(json_object_get(answer, "source_tokens"), tokens));
        json_decref(tokens);
        check_weights(answer, maps, layer > 0 ? layer : 2);
        json_decref(answer);
    }
    clf_attention_maps_free(maps);
    clf_translator_free(translator);
    clf_model_free(model);
    clf_device_close(device);
}

static void test_attention_errors(void **state)
{
    (void)state;
#define SENTENCE "\"text\":\"Oui.\",\"translation\":\"Yes.\","
    char *const long_text = process_format("\"text\":\"%0601d\"", 0);
    const char *const cases[][2] = {
        {"\"translation\":\"Yes.\"", "text: must be a string"},
        {"\"text\":[\"Oui.\"],\"translation\":\"Yes.\"", "text: must be a string"},
        {"\"text\":\"Oui.\"", "translation: must be a string"},
        {long_text, "text: must be a sentence of at most 600 bytes"},
        {SENTENCE "\"source\":\"fr\"", "target: must be a language code"},
        {SENTENCE "\"source\":\"fr\",\"target\":\"de\"",
         "target: French (fr) is translated to German (de) by several models in sequence"},
        {SENTENCE "\"source\":\"fr\",\"target\":\"en\",\"layer\":4", "layer: must be an integer from 1 to 3"},
        {SENTENCE "\"source\":\"fr\",\"target\":\"en\",\"head\":4", "head: unknown field"},
        {"\"text\":\"\",\"translation\":\"\",\"source\":\"fr\",\"target\":\"en\"", "the source is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        http_request(&last, http_shared.port, "POST /v1/attention", JSON_TYPE,
                     process_format("{%s}", cases[i][0]));
        if (last.status != 400 || strstr(last.body, cases[i][1]) == NULL) {
            fail_msg("%s: expected %s, got %d %s", cases[i][0], cases[i][1], last.status, last.body);
        }
    }
    http_request(&last, http_shared.port, "POST /v1/attention", FORM_TYPE, "text=a&source=fr&target=en");
    assert_int_equal(last.status, 415);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *message;
    } cases[] = {
        {PAIR, "text: must be a string or an array of strings"},
        {"\"text\":[\"a\",1]," PAIR, "text: must be a string or an array of strings"},
        {"\"text\":\"a\",\"target\":\"en\"", "source: must be a language code"},
        {"\"text\":\"a\",\"source\":\"fr\",\"target\":\"xx\"", "target: xx is not a language of this server"},
        {"\"text\":\"a\",\"source\":\"de\",\"target\":\"fr\"",
         "no model translates German (de) to French (fr)"},
        {"\"text\":\"a\",\"bean\":1," PAIR, "bean: unknown field; did you mean beam?"},
        {"\"text\":\"a\",\"beam\":1.5," PAIR, "beam: must be an integer from 1 to 16"},
        {"\"text\":\"a\",\"beam\":17," PAIR, "beam: must be an integer from 1 to 16"},
        {"\"text\":\"a\",\"beam\":\"4\"," PAIR, "beam: must be an integer"},
        {"\"text\":\"a\",\"top_p\":2," PAIR, "top_p: must be a number from 0 to 1"},
        {"\"text\":\"a\",\"sample\":1," PAIR, "sample: must be true or false"},
        {"\"text\":\"a\",\"seed\":-1," PAIR, "seed: must be a non-negative integer"},
        {"\"text\":\"a\",\"beam\":2,\"n_best\":3," PAIR, "n-best: 3 is out of range"},
        {"\"text\":\"a\",\"n_best\":2,\"sentences\":true," PAIR, "n_best: requires whole texts"},
        {"\"text\":\"a\",\"sentences\":1," PAIR, "sentences: must be true or false"},
        {"\"text\":\"a\",\"prefix\":[\"b\"]," PAIR, "prefix: must be a string or an array like text"},
        {"\"text\":[\"a\"],\"stream\":true," PAIR, "stream: requires a single text"},
        {"\"text\":\"a\",\"stream\":1," PAIR, "stream: must be true or false"},
        {"\"text\":[\"a\"],\"prefix\":[\"b\",\"c\"]," PAIR, "prefix: must be a string or an array like text"},
        {"\"text\":\"a\",\"alignment_layer\":99," PAIR, "alignment"},
        {"\"text\":\"a\",\"glossary\":1," PAIR, "glossary: must be the name of a glossary"},
        {"\"text\":\"a\",\"glossary\":\"/etc/passwd\"," PAIR,
         "glossary: /etc/passwd is not a glossary of this server"},
        {"\"text\":\"a\",\"glossary\":\"trains\",\"sample\":true," PAIR,
         "a glossary cannot be combined with sampling"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *answer = post(cases[i].fields, 400);
        const char *error = json_string_value(json_object_get(answer, "error"));
        if (error == NULL || strstr(error, cases[i].message) == NULL) {
            fail_msg("%s: expected %s, got %s", cases[i].fields, cases[i].message, last.body);
        }
        json_decref(answer);
    }
    http_request(&last, http_shared.port, "POST /v1/translate", FORM_TYPE, "text=a&source=fr&target=en");
    assert_int_equal(last.status, 415);
    http_request(&last, http_shared.port, "GET /v1/translate", "", "");
    assert_int_equal(last.status, 405);
}

/* A request chooses a glossary by its name. */
static void test_glossary(void **state)
{
    (void)state;
    const char *flag = process_format("--glossary %s", glossary);
    check_equal("\"text\":\"La gare.\",\"sentences\":false,\"glossary\":\"trains\"", "La gare.\n", flag);
    json_t *answer = post("\"text\":\"Oui. La gare.\",\"glossary\":\"trains\"," PAIR, 200);
    json_t *found = json_array_get(json_object_get(answer, "translations"), 0);
    assert_non_null(strstr(json_string_value(json_object_get(found, "text")), "depot"));
    assert_null(json_object_get(found, "missing_terms"));
    json_decref(answer);
    answer = post("\"text\":\"Oui. La gare.\",\"glossary\":\"trains\",\"max_length\":1," PAIR, 200);
    found = json_array_get(json_object_get(answer, "translations"), 0);
    const json_t *missing = json_object_get(found, "missing_terms");
    assert_int_equal(json_array_size(missing), 1);
    assert_string_equal(json_string_value(json_array_get(missing, 0)), "depot");
    json_decref(answer);
    struct process_result result = run_clformer(NULL, "serve -m " DEMO_MODEL " --glossary terms.tsv");
    assert_refused(result, 2, "--glossary terms.tsv: has no name; write NAME=FILE");
    result = run_clformer(NULL,
                          process_format("serve -m " DEMO_MODEL " --glossary a=%s --glossary a=b", glossary));
    assert_refused(result, 2, "another glossary is called a");
}

/* A warning that clients can cause is printed once. */
static void test_warnings(void **state)
{
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL);
    for (int i = 0; i < 3; i++) {
        http_request(&last, server.port, "POST /v1/translate", JSON_TYPE,
                     "{\"text\":\"Oui. Merci.\",\"source\":\"fr\",\"target\":\"en\",\"sentences\":false}");
        assert_int_equal(last.status, 200);
    }
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_int_equal(process_count(server.process.errors, "contains several sentences"), 1);
}

static int start_shared(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "terms.tsv", "gare\tdepot\n", 11);
    snprintf(glossary, sizeof glossary, "%s/terms.tsv", folder);
    return http_start_shared(
        process_format("-m " DEMO_MODEL " -m second=en-de:" DEMO_MODEL " --glossary trains=%s", glossary));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_equal_to_command, support_teardown),
        cmocka_unit_test_teardown(test_sentences, support_teardown),
        cmocka_unit_test_teardown(test_streams, support_teardown),
        cmocka_unit_test_teardown(test_attention, support_teardown),
        cmocka_unit_test_teardown(test_attention_errors, support_teardown),
        cmocka_unit_test_teardown(test_errors, support_teardown),
        cmocka_unit_test_teardown(test_glossary, support_teardown),
        cmocka_unit_test_teardown(test_warnings, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_shared, http_stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
