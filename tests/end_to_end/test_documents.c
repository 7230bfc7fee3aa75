/* clformer translate FILE...: subtitles and plain text, from files to files. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/hash.h"
#include "support/archive.h"
#include "support/process.h"

#define TRANSLATE "translate -m " DEMO_MODEL " "

static const char subtitles[] =
    "1\r\n00:00:01,000 --> 00:00:03,500\r\nJe pense que nous devrions\r\naller \xc3\xa0 la maison\r\n\r\n"
    "2\r\n00:00:03,600 --> 00:00:05,000\r\navant qu'il ne fasse nuit.\r\n\r\n"
    "3\r\n00:00:06,000 --> 00:00:08,000\r\n- Tu viens <i>demain</i> ?\r\n- Non, je suis malade.\r\n";
static const char translated[] =
    "1\r\n00:00:01,000 --> 00:00:03,500\r\nI think we should go home\r\n\r\n"
    "2\r\n00:00:03,600 --> 00:00:05,000\r\nbefore night.\r\n\r\n"
    "3\r\n00:00:06,000 --> 00:00:08,000\r\n- Are you coming <i>tomorrow</i>?\r\n- No, I'm sick.\r\n";

/* Creates a folder with a file. */
static const char *make_folder(const char *name, const char *bytes)
{
    const char *folder = support_temporary_folder();
    process_write(folder, name, bytes, strlen(bytes));
    return folder;
}

static const char *path_in(const char *folder, const char *name)
{
    return process_format("%s/%s", folder, name);
}

static void assert_file(const char *folder, const char *name, const char *expected)
{
    size_t size;
    assert_string_equal(process_read(folder, name, &size), expected);
}

static void test_subtitles(void **state)
{
    (void)state;
    const char *folder = make_folder("film.srt", subtitles);
    struct process_result result =
        run_clformer(NULL, process_format(TRANSLATE "%s/film.srt -o %s/film.en.srt", folder, folder));
    assert_output(result, "");
    assert_string_equal(result.errors, "");
    assert_file(folder, "film.en.srt", translated);
    assert_file(folder, "film.srt", subtitles);
    result = run_clformer(NULL, process_format(TRANSLATE "%s/film.srt", folder));
    assert_output(result, translated);
    result = run_clformer(NULL, process_format(TRANSLATE "%s/film.srt -o /dev/stdout", folder));
    assert_output(result, translated);
    result = run_clformer(subtitles, TRANSLATE "--format SRT -");
    assert_output(result, translated);
}

static void test_layout(void **state)
{
    (void)state;
    const char *folder = make_folder("film.srt", subtitles), *call = process_format("%s/film.srt", folder);
    struct process_result result =
        run_clformer(NULL, process_format(TRANSLATE "--subtitle-width 14 --reading-speed 15 %s", call));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "\r\nI think we\r\nshould go home\r\n"));
    assert_string_equal(result.errors, process_format("clformer: warning: %s: 1 subtitle longer than two "
                                                      "lines of 14 characters; the first is at line 11\n"
                                                      "clformer: warning: %s: 1 subtitle to be read faster "
                                                      "than 15 characters per second; the first is at "
                                                      "line 11\n",
                                                      call, call));
    result = run_clformer(
        NULL, process_format(TRANSLATE "--quiet --subtitle-width 0 --reading-speed none %s", call));
    assert_output(result, translated);
    assert_string_equal(result.errors, "");
}

static void test_plain_text(void **state)
{
    (void)state;
    static const char text[] = "  Je suis \xc3\xa9tudiant. Il est tard.\n\n12\nBonjour.";
    const char *folder = make_folder("notes.txt", text);
    struct process_result result = run_clformer(NULL, process_format(TRANSLATE "%s/notes.txt", folder));
    assert_output(result, "  I'm a student. It's late.\n\n12\nHave a nice day.");
}

static void test_xml(void **state)
{
    (void)state;
    static const char xml[] = "<r>\n <a>Merci.</a>\n <x:b>Je suis \xc3\xa9tudiant.<i>Merci.</i></x:b></r>\n";
    const char *folder = make_folder("a.xml", xml);
    struct process_result result = run_clformer(NULL, process_format(TRANSLATE "%s/a.xml", folder));
    if (strstr(result.errors, "the format is unknown") != NULL) {
        skip(); /* built without libxml2 */
    }
    result = run_clformer(NULL,
                          process_format(TRANSLATE "--elements b,c --inline-elements none %s/a.xml", folder));
    assert_output(result, "<r>\n <a>Merci.</a>\n <x:b>I'm a student.<i>Thanks.</i></x:b></r>\n");
}

#ifdef CLF_HAS_LIBZIP

static void test_office(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct process_result result =
        run_clformer(NULL, process_format(TRANSLATE "%s/tests/fixtures/documents/odfpy.odt -o %s/a.odt",
                                          CLF_SOURCE_FOLDER, folder));
    assert_output(result, "");
    struct archive archive;
    archive.bytes = process_read(folder, "a.odt", &archive.size);
    assert_non_null(strstr(archive_read(&archive, "content.xml"), "sick"));
    assert_null(strstr(archive_read(&archive, "content.xml"), "malade"));
}

#endif
static void test_encoding(void **state)
{
    (void)state;
    static const char bytes[] = "Je suis \xe9tudiant.\n";
    const char *folder = make_folder("a.txt", bytes);
    struct process_result result =
        run_clformer(NULL, process_format(TRANSLATE "--encoding windows-1252 %s/a.txt", folder));
    assert_output(result, "I'm a student.\n");
    result = run_clformer(NULL, process_format(TRANSLATE "%s/a.txt", folder));
    assert_refused(result, 1, "a.txt: line 1: is not UTF-8; name the encoding of the file");
    result = run_clformer(NULL, process_format(TRANSLATE "--encoding latin-99 %s/a.txt", folder));
    assert_refused(result, 1, "a.txt: \"latin-99\" is not an encoding");
}

#define TMX_SOURCE                                                                                           \
    "<tmx version=\"1.4\"><header srclang=\"fr\"/><body><tu><tuv xml:lang=\"fr\"><seg>Il est "               \
    "tard.</seg></tuv>"

/* A translation memory, terms that are not translated, and texts that have a translation. */
static void test_known_translations(void **state)
{
    (void)state;
    static const char memory[] = "<tmx version=\"1.4\"><header srclang=\"fr\"/><body><tu><tuv "
                                 "xml:lang=\"fr\"><seg>Bonjour.</seg></tuv>"
                                 "<tuv xml:lang=\"en\"><seg>Good morning.</seg></tuv></tu></body></tmx>\n";
    static const char messages[] =
        "msgid \"Bonjour.\"\nmsgstr \"\"\n\nmsgid \"Il est tard.\"\nmsgstr \"Late.\"\n";
    const char *folder = make_folder("a.po", messages);
    process_write(folder, "m.tmx", memory, strlen(memory));
    process_write(folder, "terms", "Bonjour\n", 8);
    process_write(folder, "bad", "\xff\n", 2);
    struct process_result result =
        run_clformer(NULL, process_format(TRANSLATE "--all --quiet %s/a.po", folder));
    assert_output(result, "msgid \"Bonjour.\"\nmsgstr \"Have a nice day.\"\n\nmsgid \"Il est tard.\"\n"
                          "msgstr \"It's late.\"\n");
    result =
        run_clformer(NULL, process_format(TRANSLATE "--do-not-translate %s/terms %s/a.po", folder, folder));
    assert_output(result, messages); /* nothing is left to translate */
#ifdef CLF_HAS_LIBXML2
    result = run_clformer(NULL, process_format(TRANSLATE "--memory %s/m.tmx %s/a.po", folder, folder));
    assert_output(result, "msgid \"Bonjour.\"\nmsgstr \"Good morning.\"\n\nmsgid \"Il est tard.\"\n"
                          "msgstr \"Late.\"\n");
    assert_string_equal(result.errors,
                        process_format("clformer: %s/a.po: 1 of 1 texts are in %s/m.tmx\n", folder, folder));
    /* Languages of files are not settings of the model, which has none. */
    result = run_clformer(
        NULL, process_format(TRANSLATE "-s fr -t en --quiet --memory %s/m.tmx %s/a.po", folder, folder));
    assert_output(result, "msgid \"Bonjour.\"\nmsgstr \"Good morning.\"\n\nmsgid \"Il est tard.\"\n"
                          "msgstr \"Late.\"\n");
    process_write(folder, "a.tmx", TMX_SOURCE "</tu></body></tmx>\n",
                  strlen(TMX_SOURCE "</tu></body></tmx>\n"));
    result = run_clformer(NULL, process_format(TRANSLATE "-t en %s/a.tmx", folder));
    assert_output(result, TMX_SOURCE "<tuv xml:lang=\"en\"><seg>It's late.</seg></tuv></tu></body></tmx>\n");
    result = run_clformer(NULL, process_format(TRANSLATE "-t en %s/a.po", folder));
    assert_refused(result, 2, "this model has no language setting; remove the language \"en\"");
    result = run_clformer(NULL, process_format(TRANSLATE "--memory %s/a.po %s/a.po", folder, folder));
    assert_refused(result, 1, "a.po: line 1: is not well-formed XML");
#endif
    result = run_clformer(NULL, process_format(TRANSLATE "--memory %s/none %s/a.po", folder, folder));
    assert_refused(result, 1, "none: cannot be opened: No such file or directory");
    result =
        run_clformer(NULL, process_format(TRANSLATE "--do-not-translate %s/bad %s/a.po", folder, folder));
    assert_refused(result, 1, "bad: invalid UTF-8 at byte offset 0");
}

/* Sentences over several subtitles, and inline tags, with the terms of a glossary. */
static void test_glossary(void **state)
{
    (void)state;
    static const char terms[] = "maison\tcottage\nmalade\tunwell\n";
    const char *folder = make_folder("film.srt", subtitles);
    process_write(folder, "terms.tsv", terms, strlen(terms));
    struct process_result result = run_clformer(
        NULL,
        process_format(TRANSLATE "--reading-speed none --glossary %s/terms.tsv %s/film.srt", folder, folder));
    assert_int_equal(result.status, 0);
    assert_string_equal(result.errors, "");
    assert_non_null(strstr(result.output, "cottage"));
    assert_non_null(strstr(result.output, "unwell"));
    assert_non_null(strstr(result.output, "- Are you coming <i>tomorrow</i>?\r\n"));
}

static void test_several_files(void **state)
{
    (void)state;
    const char *folder = make_folder("a.srt", subtitles), *output = path_in(folder, "new/english/");
    process_write(folder, "b.txt", "Bonjour.\n", 9);
    process_write(folder, "c.vtt", "no header\n", 10);
    struct process_result result =
        run_clformer(NULL, process_format(TRANSLATE "%s/a.srt %s/b.txt %s/c.vtt %s/d.srt -o %s", folder,
                                          folder, folder, folder, output));
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "c.vtt: line 1: a WebVTT file begins with \"WEBVTT\""));
    assert_non_null(strstr(result.errors, "d.srt: cannot be read: No such file or directory"));
    assert_file(output, "a.srt", translated);
    assert_file(output, "b.txt", "Have a nice day.\n");
    assert_true(clf__file_is_missing(path_in(output, "c.vtt")));
    result = run_clformer(NULL, process_format(TRANSLATE "%s/c.vtt -o %s/other/", folder, folder));
    assert_refused(result, 1, "WEBVTT");
    assert_true(clf__file_is_missing(path_in(folder, "other")));
}

static void refuse(const char *arguments, int status, const char *part)
{
    struct process_result result = run_clformer(NULL, arguments);
    assert_refused(result, status, part);
}

static void test_refusals(void **state)
{
    (void)state;
    const char *folder = make_folder("film.srt", subtitles), *film = path_in(folder, "film.srt");
    process_write(folder, "notes", "Bonjour.\n", 9);
    process_write(folder, "book.pdf", "%PDF-1.7\n", 9);
    process_write(folder, "bad.srt", "1\n00:00:01 --> 00:00:02\nOui.\n", 29);
    refuse(process_format(TRANSLATE "%s/notes -o %s/out", folder, folder), 1,
           "notes: the format is unknown; rename the file or name its format; the formats are text (.txt), "
           "srt (.srt)");
    refuse(process_format(TRANSLATE "%s/book.pdf", folder), 1,
           "book.pdf: PDF files contain positions of letters");
    refuse(process_format(TRANSLATE "%s/bad.srt", folder), 1,
           "bad.srt: line 2: \"00:00:01 --> 00:00:02\" is not");
    refuse(process_format(TRANSLATE "%s -o %s/film.vtt", film, folder), 1, "the output keeps the format of");
    refuse(process_format(TRANSLATE "%s -o %s/no/film.srt", film, folder), 1, "no/film.srt: ");
    refuse(process_format(TRANSLATE "--format doc %s", film), 2,
           "--format: \"doc\" is not a format of documents");
    refuse(process_format(TRANSLATE "%s -o %s", film, film), 2, "would overwrite");
    refuse(process_format(TRANSLATE "%s -o %s", film, folder), 2, "would overwrite");
    refuse(process_format(TRANSLATE "%s %s", film, film), 2, "add --output FOLDER");
    refuse(process_format(TRANSLATE "%s %s -o %s/new", film, film, folder), 2,
           "both translations would be written");
    refuse(process_format(TRANSLATE "- -o %s", folder), 2, "standard input has no name");
    refuse(process_format(TRANSLATE "--resume %s", film), 2, "--resume: requires an output file");
    refuse(process_format(TRANSLATE "--resume %s -o /dev/null", film), 2,
           "--resume: requires an output file");
    refuse(TRANSLATE "--format srt", 2, "--format: requires a file");
    refuse(TRANSLATE "--subtitle-width 30", 2, "--subtitle-width: requires a file");
    refuse(TRANSLATE "--reading-speed 15", 2, "--reading-speed: requires a file");
    refuse(TRANSLATE "--elements a", 2, "--elements: requires a file");
    refuse(TRANSLATE "--inline-elements a", 2, "--inline-elements: requires a file");
    refuse(TRANSLATE "--encoding latin1", 2, "--encoding: requires a file");
    refuse(TRANSLATE "--all", 2, "--all: requires a file");
    refuse(TRANSLATE "--do-not-translate a", 2, "--do-not-translate: requires a file");
    refuse(TRANSLATE "--memory a", 2, "--memory: requires a file");
    static const char *const flags[] = {
        "--json",   "--stream",       "--n-best 2",        "--alternatives 2",       "--alignments",
        "--tokens", "--exact-tokens", "--target-prefix a", "--target-prefix-file a", "--draft a"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        refuse(process_format(TRANSLATE "%s %s", flags[i], film), 2,
               "applies only to lines of standard input");
    }
    struct clf__names names;
    assert_ok(clf__folder_list(&names, folder));
    assert_int_equal(names.count, 4);
    clf__names_free(&names);
}

/* A run that a signal stops leaves no file behind. */
static void test_signal(void **state)
{
    (void)state;
    const char *folder = make_folder("film.srt", subtitles);
    struct process process = {.input = "", .signal_when_started = SIGINT};
    struct process_result result = process_run(
        &process, process_format(TRANSLATE "--verbose %s/film.srt -o %s/film.en.srt", folder, folder));
    assert_int_equal(result.status, 128 + SIGINT);
    struct clf__names names;
    assert_ok(clf__folder_list(&names, folder));
    assert_int_equal(names.count, 1);
    clf__names_free(&names);
}

/* --- Interrupted runs. --- */

/* Runs with two files; the second one's finished texts are not clformer's, so the run stops between the
 * files. */
static const char *stop_between_files(const char **call)
{
    const char *folder = make_folder("a.srt", subtitles), *out = path_in(folder, "out");
    process_write(folder, "b.srt", subtitles, strlen(subtitles));
    assert_ok(clf__folder_create(out));
    process_write(out, "b.srt.part", "x", 1);
    *call = process_format(TRANSLATE "%s/a.srt %s/b.srt -o %s", folder, folder, out);
    struct process_result result = run_clformer(NULL, *call);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.errors, "b.srt.part: is not an unfinished clformer output"));
    assert_non_null(strstr(result.errors, "3 finished texts are kept beside the output; add --resume"));
    assert_file(out, "a.srt", translated);
    assert_file(out, "b.srt.part", "x");
    assert_int_equal(unlink(path_in(out, "b.srt.part")), 0);
    return out;
}

/* Writes finished texts, and a record that counts the first `size` bytes as `lines`. */
static void write_part(const char *folder, const char *bytes, size_t size, int lines)
{
    const char *path = path_in(folder, "a.srt.part.json");
    json_t *record = json_load_file(path, 0, NULL);
    char hash[32];
    snprintf(hash, sizeof hash, "%016" PRIx64, clf__fnv(CLF__FNV_BEGIN, bytes, size));
    json_array_set_new(json_object_get(record, "inputs"), 1, json_string(hash));
    json_object_set_new(record, "lines", json_integer(lines));
    json_object_set_new(record, "bytes", json_integer((json_int_t)size));
    assert_int_equal(json_dump_file(record, path, 0), 0);
    json_decref(record);
    process_write(folder, "a.srt.part", bytes, strlen(bytes));
}

/* As after kill -9: one text is recorded, and the next line is incomplete. The recorded translation, which
 * the model would not give, is used, and the others are translated. */
static void test_resume(void **state)
{
    (void)state;
    static const char part[] = "[1,\"Today <3?\",[[6,8,-1]]]\n[2,\"hal";
    const char *call, *out = stop_between_files(&call);
    write_part(out, part, strcspn(part, "\n") + 1, 1);
    struct process_result result = run_clformer(NULL, process_format("%s --resume", call));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.errors, "a.srt.part: has 1 texts, 0 of which failed; the run continues"));
    size_t size;
    const char *written = process_read(out, "a.srt", &size);
    assert_non_null(strstr(written, "\r\n- Today <i><3</i>?\r\n- No, I'm sick.\r\n"));
    assert_non_null(strstr(written, "I think we should go home\r\n"));
    assert_file(out, "b.srt", translated);
    struct clf__names names;
    assert_ok(clf__folder_list(&names, out));
    assert_int_equal(names.count, 2);
    clf__names_free(&names);
}

/* A finished file is not translated again: all its texts come from the earlier run. */
static void test_resume_finished(void **state)
{
    (void)state;
    const char *call, *out = stop_between_files(&call);
    assert_int_equal(unlink(path_in(out, "a.srt")), 0);
    struct process_result result = run_clformer(NULL, process_format("%s --resume", call));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.errors, "a.srt.part: has 3 texts"));
    assert_file(out, "a.srt", translated);
    assert_file(out, "b.srt", translated);
}

static void refuse_resume(const char *call, const char *out, const char *message)
{
    size_t size;
    const char *part = process_read(out, "a.srt.part", &size);
    struct process_result result = run_clformer(NULL, process_format("%s --resume", call));
    assert_int_equal(result.status, 2);
    if (strstr(result.errors, message) == NULL) {
        fail_msg("%s is not in %s", message, result.errors);
    }
    assert_file(out, "a.srt.part", part);
}

static void test_resume_refusals(void **state)
{
    (void)state;
    static const char *const damaged[] = {"[9,\"a\",[]]\n",
                                          "[-1,\"a\",[]]\n",
                                          "[0,\"a\"\n",
                                          "[0]\n",
                                          "{}\n",
                                          "[1,\"a\",[]]\n",
                                          "[1,\"a\",[[0,2,-1]]]\n",
                                          "[1,\"a\",[[1,0,-1]]]\n",
                                          "[1,\"a\",[[0,1,0]]]\n",
                                          "[0,7,[]]\n",
                                          "[0,\"\\u0000\",[]]\n"};
    const char *call, *out = stop_between_files(&call);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_part(out, damaged[i], strlen(damaged[i]), 1);
        refuse_resume(call, out, "a.srt.part: is damaged; remove --resume to start again");
    }
    write_part(out, "[0,null]\n", 9, 1);
    process_write(out, "a.srt.part", "[1,null]\n", 9);
    refuse_resume(call, out, "a.srt.part: is damaged");
    process_write(out, "a.srt.part", "", 0);
    refuse_resume(call, out, "a.srt.part: has 0 bytes, fewer than the 9");
    process_write(out, "a.srt.part", "[0,null]\n", 9);
    refuse_resume(process_format("%s --beam 2", call), out, "--beam differs");
    refuse_resume(process_format("%s --subtitle-width 30", call), out, "--subtitle-width differs");
    process_write(path_in(out, ".."), "a.srt", subtitles, strlen(subtitles) - 2);
    refuse_resume(call, out, "the input differs: ");
    process_write(out, "a.srt.part.json", "{}", 2);
    refuse_resume(call, out, "is not a clformer record");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_subtitles, support_teardown),
        cmocka_unit_test_teardown(test_layout, support_teardown),
        cmocka_unit_test_teardown(test_plain_text, support_teardown),
        cmocka_unit_test_teardown(test_xml, support_teardown),
#ifdef CLF_HAS_LIBZIP
        cmocka_unit_test_teardown(test_office, support_teardown),
#endif
        cmocka_unit_test_teardown(test_encoding, support_teardown),
        cmocka_unit_test_teardown(test_known_translations, support_teardown),
        cmocka_unit_test_teardown(test_glossary, support_teardown),
        cmocka_unit_test_teardown(test_several_files, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
        cmocka_unit_test_teardown(test_signal, support_teardown),
        cmocka_unit_test_teardown(test_resume, support_teardown),
        cmocka_unit_test_teardown(test_resume_finished, support_teardown),
        cmocka_unit_test_teardown(test_resume_refusals, support_teardown),
    };
    return cmocka_run_group_tests_name("end_to_end/documents", tests, NULL, NULL);
}
