/* `clformer serve`: the OpenAPI document lists the routes of the server and the fields of /v1/translate, and
 * random requests from schemathesis get the responses that it describes. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/clformer.h>
#include <jansson.h>

#include "support/http.h"

static struct http_server with_speech;
static struct http_answer last;
static json_t *document;

static int begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Returns the value at a path of keys such as "info/version"; NULL: there is none. */
static json_t *at(json_t *value, const char *path)
{
    char *rest = process_format("%s", path), *key;
    while (value != NULL && (key = strtok_r(rest, "/", &rest)) != NULL) {
        value = json_object_get(value, key);
    }
    return value;
}

/* Checks that every "$ref" names a part of the document. */
static void check_references(json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach(value, key, member)
    {
        const char *name = strcmp(key, "$ref") == 0 ? json_string_value(member) : NULL;
        if (name != NULL && (!begins_with(name, "#/") || at(document, name + 2) == NULL)) {
            fail_msg("%s: does not exist", name);
        }
        check_references(member);
    }
    json_array_foreach(value, i, member)
    {
        check_references(member);
    }
}

static void test_document(void **state)
{
    (void)state;
    const size_t size = strlen(last.body);
    assert_string_equal(json_string_value(json_object_get(document, "openapi")), "3.1.0");
    assert_string_equal(json_string_value(at(document, "info/version")), CLF_VERSION_STRING);
    check_references(document);
    http_request(&last, http_shared.port, "HEAD /openapi.json", "", "");
    assert_int_equal(last.status, 200);
    assert_string_equal(last.body, "");
    assert_non_null(strstr(last.bytes, process_format("\r\nContent-Length: %zu\r\n", size)));
    assert_non_null(strstr(last.bytes, "\r\nContent-Type: application/json\r\n"));
    http_request(&last, http_shared.port, "POST /openapi.json", JSON_TYPE, "{}");
    assert_int_equal(last.status, 405);
    assert_non_null(strstr(last.bytes, "\r\nAllow: GET, HEAD\r\n"));
}

static const char *read_source(const char *name)
{
    size_t size;
    return process_read(CLF_SOURCE_FOLDER "/tools/serve", name, &size);
}

/* Returns a copy of the text between the first two quotes after *source, and moves *source behind it. */
static const char *next_quoted(const char **source)
{
    const char *start = strchr(*source, '"') + 1, *end = strchr(start, '"');
    *source = end + 1;
    return process_format("%.*s", (int)(end - start), start);
}

/* Adds the paths in a table of the server, each with its prefix, or "". */
static void add_routes(json_t *routes, const char *file, int has_prefixes)
{
    const char *source = read_source(file);
    while ((source = strstr(source, "\n    {\"/")) != NULL) {
        const char *path = next_quoted(&source), *prefix = has_prefixes ? next_quoted(&source) : "";
        int is_part_of_page = begins_with(path, "/page/") || strcmp(path, "/robots.txt") == 0;
        if (!is_part_of_page) {
            int continues = path[strlen(path) - 1] == '/' && strlen(path) > 1;
            json_object_set_new(routes, process_format("%s%s", path, continues ? "{name}" : ""),
                                json_string(prefix));
        }
        if (has_prefixes && begins_with(source, ", 1,")) { /* the path is a prefix */
            json_object_set_new(routes, process_format("%s/{model}", path), json_string(prefix));
        }
    }
}

/* The paths of the document are those in the tables of the server, with their prefixes. */
static void test_routes(void **state)
{
    (void)state;
    json_t *routes = json_object(), *paths = json_object_get(document, "paths"), *value;
    const char *path;
    add_routes(routes, "endpoints.c", 0);
    add_routes(routes, "page.c", 0);
    add_routes(routes, "speech_routes.c", 1);
    assert_true(json_object_size(routes) > 15);
    json_object_foreach(paths, path, value)
    {
        if (json_object_get(routes, path) == NULL) {
            fail_msg("openapi.json: %s is not a route of the server", path);
        }
    }
    json_object_foreach(routes, path, value)
    {
        json_t *documented = json_object_get(paths, path);
        const char *prefix = json_string_value(value);
        json_t *servers =
            *prefix != '\0' ? json_pack("[{s:s}, {s:s}]", "url", "/", "url", prefix) : json_null();
        json_t *found = json_object_get(documented, "servers");
        if (documented == NULL || !json_equal(found != NULL ? found : json_null(), servers)) {
            fail_msg("openapi.json: %s is missing or has other servers than / and %s", path, prefix);
        }
        json_decref(servers);
    }
    json_decref(routes);
}

/* The server has exactly the methods of the document. A GET request may have the media type of JSON. */
static void test_methods(void **state)
{
    (void)state;
    static const char *const methods[][2] = {
        {"get", "GET"}, {"post", "POST"}, {"put", "PUT"}, {"delete", "DELETE"}};
    const char *path;
    json_t *value;
    json_object_foreach(json_object_get(document, "paths"), path, value)
    {
        int needs_speech = at(value, "servers") != NULL || begins_with(path, "/v1/transcribe/");
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            int is_documented = json_object_get(value, methods[i][0]) != NULL;
            const char *query = strcmp(path, "/v3/languages") == 0 ? "?resource=translate_text" : "";
            http_request(&last, http_shared.port, process_format("%s %s%s", methods[i][1], path, query),
                         JSON_TYPE, "");
            int has_allow = strstr(last.bytes, "\r\nAllow: ") != NULL;
            int is_expected = needs_speech                                 ? last.status == 404
                              : is_documented && strchr(path, '{') != NULL ? last.status == 404
                              : !is_documented                             ? last.status == 405 && has_allow
                              : i == 0                                     ? last.status == 200
                                       : last.status == 200 || last.status == 400;
            if (!is_expected) {
                fail_msg("%s %s: %d", methods[i][1], path, last.status);
            }
        }
    }
}

/* Returns 1 if /v1/translate accepts the value of a field, 0 if it refuses the value. The value is released.
 */
static int is_accepted(const char *name, json_t *value)
{
    int is_last = strcmp(name, "sentences") == 0 || strcmp(name, "stream") == 0;
    json_t *body = json_pack("{s:s, s:s, s:s}", "text", "a", "source", "fr", "target", "en");
    if (!is_last) {
        json_object_set_new(body, "sentences", json_integer(1)); /* refused after the other fields */
    }
    json_object_set_new(body, name, value);
    char *text = json_dumps(body, 0);
    http_request(&last, http_shared.port, "POST /v1/translate", JSON_TYPE, text);
    json_t *answer = json_loads(last.body, 0, NULL);
    const char *error = json_string_value(json_object_get(answer, "error"));
    int is_refused = error != NULL && begins_with(error, process_format("%s: must be ", name));
    int is_right = is_last ? last.status == 200 : error != NULL && begins_with(error, "sentences: must be ");
    if (is_refused == is_right) {
        fail_msg("%s:\n%s", text, last.body);
    }
    free(text);
    json_decref(body);
    json_decref(answer);
    return is_right;
}

static int has_type(const json_t *schema, const char *wanted)
{
    const json_t *type = json_object_get(schema, "type"), *value;
    size_t i;
    json_array_foreach(json_object_get(schema, "anyOf"), i, value)
    {
        if (has_type(value, wanted)) {
            return 1;
        }
    }
    json_array_foreach(type, i, value)
    {
        if (strcmp(json_string_value(value), wanted) == 0) {
            return 1;
        }
    }
    return json_is_string(type) && strcmp(json_string_value(type), wanted) == 0;
}

/* Returns the next number above or below a limit. */
static json_t *beyond(const json_t *limit, int direction, int is_whole)
{
    if (is_whole && json_integer_value(limit) != INT64_MAX) {
        return json_integer(json_integer_value(limit) + direction);
    }
    return json_real(is_whole ? 0x1p63 : nextafter(json_number_value(limit), direction * INFINITY));
}

static void check_range(const char *name, const json_t *schema)
{
    json_t *low = json_object_get(schema, "minimum"), *high = json_object_get(schema, "maximum");
    int is_whole = has_type(schema, "integer");
    assert_true(low != NULL && high != NULL);
    if (!is_accepted(name, json_incref(low)) || !is_accepted(name, json_incref(high)) ||
        is_accepted(name, beyond(low, -1, is_whole)) || is_accepted(name, beyond(high, 1, is_whole))) {
        fail_msg("openapi.json: %s: the server has another range", name);
    }
    assert_int_equal(is_accepted(name, json_real(0.5)),
                     !is_whole && json_number_value(low) <= 0.5 && json_number_value(high) >= 0.5);
}

/* The server accepts the fields of the document with their types and ranges. */
static void test_fields(void **state)
{
    (void)state;
    json_t *properties = at(document, "components/schemas/TranslationRequest/properties"), *schema;
    const char *name;
    assert_true(json_object_size(properties) > 20);
    json_object_foreach(properties, name, schema)
    {
        int is_number = has_type(schema, "integer") || has_type(schema, "number");
        int is_known =
            strcmp(name, "source") == 0 || strcmp(name, "target") == 0 || strcmp(name, "glossary") == 0;
        if (!is_known) { /* the message of an unknown language or glossary does not begin with "must be" */
            assert_int_equal(is_accepted(name, json_string("a")), has_type(schema, "string"));
        }
        assert_int_equal(is_accepted(name, json_null()), has_type(schema, "null"));
        assert_int_equal(is_accepted(name, json_true()), has_type(schema, "boolean"));
        assert_int_equal(is_accepted(name, json_object()), 0);
        if (is_number) {
            check_range(name, schema);
        } else {
            assert_int_equal(is_accepted(name, json_integer(1)), 0);
        }
    }
}

/* The document has the fields in the tables of the server. */
static void test_all_fields(void **state)
{
    (void)state;
    json_t *properties = at(document, "components/schemas/TranslationRequest/properties");
    const char *source = read_source("v1_options.c");
    const char *others = strstr(source, "other_fields[] = {"), *end = strchr(others, ';');
    size_t count = 0;
    while (strchr(others, '"') < end) {
        count++;
        assert_non_null(json_object_get(properties, next_quoted(&others)));
    }
    while ((source = strstr(source, "\n    {\"")) != NULL) {
        count++;
        assert_non_null(json_object_get(properties, next_quoted(&source)));
    }
    assert_int_equal(count, json_object_size(properties));
}

#define OPENAPI      CLF_SOURCE_FOLDER "/tests/end_to_end/openapi"
#define REQUIREMENTS OPENAPI "/requirements.txt"
#define PACKAGES     CLF_BUILD_FOLDER "/schemathesis"

/* Installs schemathesis in the build folder. Returns 0 if this is not possible. */
static int install(void)
{
    const char *command = process_format(
        "exec 9>'%s.lock' && flock 9 && { cmp -s '%s' '%s/requirements.txt' || { rm -rf '%s' && "
        "python3 -m pip install -q --disable-pip-version-check --no-deps --only-binary=:all: --target '%s' "
        "-r '%s' && cp '%s' '%s/'; }; } >'%s.log' 2>&1 </dev/null",
        PACKAGES, REQUIREMENTS, PACKAGES, PACKAGES, PACKAGES, REQUIREMENTS, REQUIREMENTS, PACKAGES, PACKAGES);
    return system(command) == 0;
}

/* The endpoints for speech take minutes. */
static void test_schemathesis(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* there is one request at a time */
#endif
    if (!install()) {
        print_message("schemathesis cannot be installed; " PACKAGES ".log has the reason\n");
        skip();
    }
    if (!support_small()) {
        with_speech =
            http_start(process_format("-m " DEMO_MODEL " -m %s --metrics", support_fixture("speech/tiny")));
    }
    const char *flags = support_small() ? "-n 3 --exclude-tag live --exclude-tag OpenAI --exclude-tag "
                                          "whisper.cpp --exclude-tag whisper-asr-webservice"
                                        : "-n 20";
    const char *command =
        process_format("cd '" OPENAPI "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" PACKAGES "' "
                       "python3 -m schemathesis.cli run %s http://127.0.0.1:%d/openapi.json </dev/null",
                       flags, support_small() ? http_shared.port : with_speech.port);
    int result = system(command); /* its output explains a failure */
    if (!support_small()) {
        int status = http_stop(&with_speech, SIGTERM);
        with_speech.process.child = 0;
        assert_int_equal(status, 0);
    }
    assert_int_equal(result, 0);
}

static int stop_speech(void **state)
{
    if (with_speech.process.child > 0) {
        http_stop(&with_speech, SIGKILL);
    }
    return support_teardown(state);
}

static int start_shared(void **state)
{
    (void)state;
    http_start_shared("-m " DEMO_MODEL " --metrics");
    http_request(&last, http_shared.port, "GET /openapi.json", "", "");
    document = json_loads(last.body, JSON_REJECT_DUPLICATES, NULL);
    return document == NULL;
}

static int stop_shared(void **state)
{
    json_decref(document);
    return http_stop_shared(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_document, support_teardown),
        cmocka_unit_test_teardown(test_routes, support_teardown),
        cmocka_unit_test_teardown(test_methods, support_teardown),
        cmocka_unit_test_teardown(test_fields, support_teardown),
        cmocka_unit_test_teardown(test_all_fields, support_teardown),
        cmocka_unit_test_teardown(test_schemathesis, stop_speech),
    };
    return cmocka_run_group_tests(tests, start_shared, stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
