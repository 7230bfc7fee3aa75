/* `clformer serve`: files are translated like the same text, and can be downloaded; suggestions are kept. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/archive.h"
#include "support/http.h"

static struct http_answer last;

/* Sends a file with another field, unless it is NULL; returns the path of its translation. */
static char *upload_to(int port, const char *name, const char *bytes, size_t size, const char *field,
                       const char *value, int status)
{
    struct http_form form = {.bytes = NULL};
    http_form_field(&form, "source", "fr");
    http_form_file(&form, "file", name, bytes, size);
    http_form_field(&form, "target", "en");
    if (field != NULL) {
        http_form_field(&form, field, value);
    }
    http_form_post(&last, port, "/translate_file", &form);
    if (last.status != status) {
        fail_msg("%s: %d %s", name, last.status, last.body);
    }
    json_t *answer = json_loads(last.body, 0, NULL);
    const char *url = json_string_value(json_object_get(answer, "translatedFileUrl"));
    assert_true((url != NULL) == (status == 200));
    char *path = process_format("%s", url != NULL ? strstr(url, "/download_file/") : "");
    json_decref(answer);
    return path;
}

static char *upload_bytes(const char *name, const char *bytes, size_t size, int status)
{
    return upload_to(http_shared.port, name, bytes, size, NULL, NULL, status);
}

static char *upload(const char *name, const char *text, int status)
{
    return upload_bytes(name, text, strlen(text), status);
}

static void check_download(const char *path, const char *name, const char *text)
{
    http_request(&last, http_shared.port, process_format("GET %s", path), "", "");
    assert_int_equal(last.status, 200);
    assert_string_equal(last.body, text);
    assert_non_null(
        strstr(last.bytes, process_format("\r\nContent-Disposition: attachment; filename=\"%s\"\r\n", name)));
}

static void test_text(void **state)
{
    (void)state;
    char *path = upload("notes.txt", "Merci.\nOui. Merci.\n\n", 200);
    check_download(path, "notes_en.txt", "Thanks.\nYes. Thanks.\n\n");
    check_download(path, "notes_en.txt", "Thanks.\nYes. Thanks.\n\n"); /* it is still there */
    check_download(upload("/etc/a b.d\\\xc3\xbc x.txt", "Oui.", 200), "___x_en.txt", "Yes.");
    check_download(upload("none.txt.txt", "Oui.", 200), "none.txt_en.txt", "Yes.");
    char *other = upload("notes.txt", "Merci.", 200);
    assert_string_not_equal(other, path);
}

static void test_html(void **state)
{
    (void)state;
    http_request(&last, http_shared.port, "GET /frontend/settings", "", "");
    if (strstr(last.body, "\".html\"") == NULL) {
        skip(); /* built without HTML */
    }
    check_download(upload("a.html", "<P>Merci.<!-- x --></P>", 200), "a_en.html", "<P>Thanks.<!-- x --></P>");
    check_download(upload("a.html", "<meta charset=latin1>Merci.<!-- \xe9 -->", 200), "a_en.html",
                   "<meta charset=latin1>Thanks.<!-- \xe9 -->");
    upload("a.html", "caf\xe9", 400);
    assert_non_null(strstr(last.body, "Invalid request: file: line 1: is not UTF-8"));
}

/* Subtitles are translated by `clformer translate FILE` in the same way (test_documents.c). */
static void test_subtitles(void **state)
{
    (void)state;
    static const char srt[] =
        "1\r\n00:00:01,000 --> 00:00:03,500\r\nJe pense que nous devrions\r\naller \xc3\xa0 la maison"
        "\r\n\r\n2\r\n00:00:03,600 --> 00:00:05,000\r\navant qu'il ne fasse nuit.\r\n";
    check_download(upload("film.srt", srt, 200), "film_en.srt",
                   "1\r\n00:00:01,000 --> 00:00:03,500\r\nI think we should go home\r\n\r\n"
                   "2\r\n00:00:03,600 --> 00:00:05,000\r\nbefore night.\r\n");
    assert_non_null(strstr(last.bytes, "\r\nContent-Type: application/x-subrip; charset=utf-8\r\n"));
    check_download(upload("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<i>Merci.</i>\n", 200), "a_en.vtt",
                   "WEBVTT\n\n00:01.000 --> 00:02.000\n<i>Thanks.</i>\n");
    upload("a.srt", "1\n00:00:01,000 -> 00:00:02,000\nMerci.\n", 400);
    assert_non_null(strstr(last.body, "Invalid request: file: line 2: "));
}

#ifdef CLF_HAS_LIBXML2
/* A translation is added in the target language of the request. */
static void test_tmx(void **state)
{
    (void)state;
    check_download(
        upload("a.tmx", "<tmx><body><tu><tuv xml:lang='fr'><seg>Merci.</seg></tuv></tu></body></tmx>", 200),
        "a_en.tmx",
        "<tmx><body><tu><tuv xml:lang='fr'><seg>Merci.</seg></tuv>"
        "<tuv xml:lang=\"en\"><seg>Thanks.</seg></tuv></tu></body></tmx>");
}
#endif

#ifdef CLF_HAS_LIBZIP

/* A file that is not text. */
static void test_office(void **state)
{
    (void)state;
    static const struct archive_entry entries[] = {
        {"mimetype", "application/vnd.oasis.opendocument.text", 1},
        {"content.xml", "<d><text:p>Merci.</text:p></d>", 0},
        {NULL, NULL, 0},
    };
    struct archive archive = archive_make(entries);
    char *path = upload_bytes("a.odt", archive.bytes, archive.size, 200);
    http_request(&last, http_shared.port, process_format("GET %s", path), "", "");
    assert_int_equal(last.status, 200);
    const char *header = strstr(last.bytes, "\r\nContent-Length: ");
    assert_non_null(header);
    struct archive translated = {(char *)last.body, strtoul(header + 18, NULL, 10)};
    assert_string_equal(archive_read(&translated, "content.xml"), "<d><text:p>Thanks.</text:p></d>");
    assert_non_null(strstr(last.bytes, "\r\nContent-Type: application/vnd.oasis.opendocument.text\r\n"));
    upload("a.docx", "Merci.", 400);
    assert_non_null(strstr(last.body, "Invalid request: file: is not a zip archive"));
}

#endif

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *error;
    } cases[] = {
        {"a.exe", "x", "Invalid request: file format not supported"},
        {"a.TXT", "x", "Invalid request: file format not supported"},
        {".txt", "x", "Invalid request: file format not supported"},
        {"a.txt", "", "Invalid request: the file is empty"},
        {"a.txt", "caf\xe9", "Invalid request: the file is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        upload(cases[i].name, cases[i].text, 400);
        assert_string_equal(last.body, process_format("{\"error\":\"%s\"}", cases[i].error));
    }
    struct http_form form = {.bytes = NULL};
    http_form_field(&form, "source", "fr");
    http_form_post(&last, http_shared.port, "/translate_file", &form);
    assert_string_equal(last.body, "{\"error\":\"Invalid request: missing file parameter\"}");
    http_request(&last, http_shared.port, "GET /download_file/0.notes_en.txt", "", "");
    assert_int_equal(last.status, 404);
    http_request(&last, http_shared.port, "GET /download_file/", "", "");
    assert_int_equal(last.status, 404);
}

#ifdef CLF_HAS_LIBZIP /* includes libxml2, for the memory */

/* The fields encoding, memory and do_not_translate. */
static void test_fields(void **state)
{
    (void)state;
    static const char tmx[] =
        "<tmx version='1.4'><header srclang='fr'/><body><tu><tuv xml:lang='fr'><seg>Merci.</seg></tuv>"
        "<tuv xml:lang='de'><seg>Danke!</seg></tuv><tuv "
        "xml:lang='en'><seg>Cheers!</seg></tuv></tu></body></tmx>";
    static const char text[] = "Merci.\nJe suis malade.\n";
    const char *folder = support_temporary_folder();
    process_write(folder, "a.tmx", tmx, strlen(tmx));
    process_write(folder, "terms", "malade\n", 7);
    struct http_server server = http_start(process_format(
        "-m " DEMO_MODEL " --memory m=%s/a.tmx --do-not-translate brands=%s/terms", folder, folder));
    static const struct {
        const char *field, *value, *expected; /* NULL: refused */
    } cases[] = {
        {NULL, NULL, "Thanks.\nI'm sick.\n"},    {"memory", "", "Thanks.\nI'm sick.\n"},
        {"memory", "m", "Cheers!\nI'm sick.\n"}, {"memory", "brands", NULL},
        {"memory", "m=/etc/passwd", NULL},       {"memory", "/etc/passwd", NULL},
        {"do_not_translate", "m", NULL},         {"encoding", "nosuch", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = upload_to(server.port, "a.txt", text, strlen(text), cases[i].field, cases[i].value,
                               cases[i].expected != NULL ? 200 : 400);
        if (cases[i].expected != NULL) {
            http_request(&last, server.port, process_format("GET %s", path), "", "");
            assert_string_equal(last.body, cases[i].expected);
        }
    }
    char *path = upload_to(server.port, "a.txt", text, strlen(text), "do_not_translate", "brands", 200);
    http_request(&last, server.port, process_format("GET %s", path), "", "");
    assert_non_null(strstr(last.body, "malade"));
    path = upload_to(server.port, "a.txt", "caf\xe9 12\nMerci.\n", 15, "encoding", "latin1", 200);
    http_request(&last, server.port, process_format("GET %s", path), "", "");
    assert_non_null(strstr(last.body, "\nThanks.\n"));
    path = upload_to(server.port, "a.txt", "Merci.\n", 7, "memory", "m", 200); /* nothing else to translate */
    http_request(&last, server.port, process_format("GET %s", path), "", "");
    assert_string_equal(last.body, "Cheers!\n");
    http_end(&server);
}

#endif

/* Files beyond the limit replace the oldest ones. */
static void test_many(void **state)
{
    (void)state;
    char *first = process_format("GET %s", upload("a.txt", "\n", 200));
    for (int i = 0; i < 256; i++) {
        upload("a.txt", "\n", 200);
    }
    http_request(&last, http_shared.port, first, "", "");
    assert_int_equal(last.status, 404);
}

static void check_suggestion(int port, const char *type, const char *body, int status, const char *expected)
{
    http_check(&last, port, "POST /suggest", type, body, status, expected);
}

static void test_suggestions(void **state)
{
    (void)state;
    static const char success[] = "{\"success\":true}";
    const char *folder = support_temporary_folder();
    check_suggestion(http_shared.port, FORM_TYPE, "", 403,
                     "{\"error\":\"Suggestions are disabled on this server.\"}");
    process_write(folder, "kept", "{}\n", 3);
    struct http_server server =
        http_start(process_format("-m " DEMO_MODEL " --suggestions %s/kept --char-limit 6000", folder));
    http_request(&last, server.port, "GET /frontend/settings", "", "");
    assert_non_null(strstr(last.body, "\"suggestions\":true"));
    check_suggestion(server.port, FORM_TYPE, "q=Merci.&s=Thanks!&source=FR&target=en", 200, success);
    check_suggestion(server.port, JSON_TYPE,
                     "{\"q\":\"a\\nb\",\"s\":\"\\\"c\\\"\",\"source\":\"auto\",\"target\":\"en\"}", 200,
                     success);
    static const char *const refused[][2] = {
        {"", "Invalid request: missing q parameter"},
        {"q=a&s=&source=fr&target=en", "Invalid request: missing s parameter"},
        {"q=a&s=b&target=en", "Invalid request: missing source parameter"},
        {"q=a&s=b&source=fr", "Invalid request: missing target parameter"},
        {"q=a&s=b&source=fr&target=auto", "auto is not supported"},
        {"q=a&s=b&source=xx&target=en", "xx is not supported"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        check_suggestion(server.port, FORM_TYPE, refused[i][0], 400,
                         process_format("{\"error\":\"%s\"}", refused[i][1]));
    }
    check_suggestion(server.port, FORM_TYPE, process_format("q=%06001d&s=b&source=fr&target=en", 0), 400,
                     "{\"error\":\"Invalid request: request (6001) exceeds text limit (6000)\"}");
    check_suggestion(server.port, FORM_TYPE, process_format("q=a&s=%010001d&source=fr&target=en", 0), 400,
                     "{\"error\":\"Invalid request: s parameter exceeds 10000 bytes\"}");
    http_end(&server);
    size_t size;
    assert_string_equal(process_read(folder, "kept", &size),
                        "{}\n{\"q\":\"Merci.\",\"s\":\"Thanks!\",\"source\":\"fr\",\"target\":\"en\"}\n"
                        "{\"q\":\"a\\nb\",\"s\":\"\\\"c\\\"\",\"source\":\"auto\",\"target\":\"en\"}\n");
}

/* A file that cannot be written loses the suggestion, and a full file takes no more. */
static void test_full(void **state)
{
    (void)state;
    static const char fields[] = "q=a&s=b&source=fr&target=en";
    struct http_server server = http_start("-m " DEMO_MODEL " --suggestions /dev/full");
    check_suggestion(server.port, FORM_TYPE, fields, 507,
                     "{\"error\":\"The suggestion could not be stored\"}");
    http_end(&server);
    const char *path = process_format("%s/large", support_temporary_folder());
    process_shell(process_format("truncate -s 104857590 '%s'", path));
    server = http_start(process_format("-m " DEMO_MODEL " --suggestions %s", path));
    check_suggestion(server.port, FORM_TYPE, fields, 507,
                     "{\"error\":\"The server has no room for further suggestions\"}");
    http_end(&server);
    struct process_result result = run_clformer(NULL, "serve -m " DEMO_MODEL " --suggestions /nowhere/file");
    assert_refused(result, 1, "--suggestions /nowhere/file: No such file");
}

static int start_shared(void **state)
{
    (void)state;
    return http_start_shared("-m " DEMO_MODEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_text, support_teardown),
        cmocka_unit_test_teardown(test_html, support_teardown),
        cmocka_unit_test_teardown(test_subtitles, support_teardown),
#ifdef CLF_HAS_LIBXML2
        cmocka_unit_test_teardown(test_tmx, support_teardown),
#endif
#ifdef CLF_HAS_LIBZIP
        cmocka_unit_test_teardown(test_office, support_teardown),
        cmocka_unit_test_teardown(test_fields, support_teardown),
#endif
        cmocka_unit_test_teardown(test_errors, support_teardown),
        cmocka_unit_test_teardown(test_many, support_teardown),
        cmocka_unit_test_teardown(test_suggestions, support_teardown),
        cmocka_unit_test_teardown(test_full, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_shared, http_stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
