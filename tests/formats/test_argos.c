/* Argos Translate packages as downloaded (zip archives): the results of Argos' own pipeline, equal to the
 * unpacked folder; and archives that are damaged or unsafe to unpack. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/formats/unpack.h"
#include "model/weights/zip.h"
#include "support/process.h"
#include "support/support.h"

enum { LONGEST_OUTPUT = 20 };

static const char *package_of(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "formats/argos/%s.argosmodel", name);
    return support_fixture(path);
}

/* From now on, packages are unpacked there. */
static const char *use_temporary_folder(void)
{
    const char *folder = support_temporary_folder();
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    return folder;
}

static int count_files(const char *folder)
{
    struct clf__names names;
    assert_ok(clf__folder_list(&names, folder));
    int count = names.count;
    clf__names_free(&names);
    return count;
}

static void check_texts(struct clf_translator *translator, const json_t *cases)
{
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *expected = json_object_get(one, "hypotheses");
        const char *text = json_string_value(json_object_get(one, "text"));
        struct clf_line line = {.text = text, .size = strlen(text)};
        struct clf_translation *translation;
        assert_ok(clf_translate(&translation, translator, &line, 1));
        assert_int_equal(translation->count, json_array_size(expected));
        for (int n = 0; n < translation->count; n++) {
            const json_t *wanted = json_array_get(expected, (size_t)n);
            double score = json_real_value(json_object_get(wanted, "score"));
            const struct clf_hypothesis *given = &translation->hypotheses[n];
            assert_string_equal(given->text, json_string_value(json_object_get(wanted, "text")));
            if (fabs((double)given->score - score) > 1e-4) {
                fail_msg("\"%s\", hypothesis %d, \"%s\": score %.6f, expected %.6f", text, n + 1, given->text,
                         (double)given->score, score);
            }
        }
        clf_translations_free(translation, 1);
    }
}

static void check_package(const char *path, const json_t *cases)
{
    struct clf_model *model;
    struct clf_model_options model_options;
    clf_model_options_init(&model_options);
    model_options.precision = CLF_PRECISION_FP32;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), path, &model_options));
    assert_string_equal(clf_model_describe(model)->folder, path);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.n_best = 4;
    options.max_length = LONGEST_OUTPUT;
    struct clf_translator *translator;
    assert_ok(clf_translator_create(&translator, model, &options));
    check_texts(translator, cases);
    clf_translator_free(translator);
    clf_model_free(model);
}

static void test_texts(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "prefix"};
    json_t *cases = json_load_file(support_fixture("formats/argos/expected.json"), 0, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folder = use_temporary_folder(), *package = package_of(names[i]);
        check_package(package, json_object_get(cases, names[i]));
        assert_int_equal(count_files(folder), 0);
        struct clf__unpacked unpacked; /* as a folder, too */
        assert_ok(clf__unpack(&unpacked, package));
        assert_int_equal(count_files(unpacked.folder), 4); /* one is the mark */
        check_package(unpacked.folder, json_object_get(cases, names[i]));
        assert_ok(clf__unpacked_close(&unpacked, package, CLF_OK));
    }
    json_decref(cases);
}

/* BPE on Moses words, and lists of abbreviations in the package. */
static void test_pairs(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder();
    json_t *cases = json_load_file(support_fixture("formats/argos-pairs/expected.json"), 0, NULL);
    const char *package = support_fixture("formats/argos-pairs/pairs.argosmodel");
    check_package(package, cases);
    assert_int_equal(count_files(folder), 0);
    struct clf__unpacked unpacked;
    assert_ok(clf__unpack(&unpacked, package));
    assert_int_equal(count_files(unpacked.folder), 6);
    check_package(unpacked.folder, cases);
    char *converted = support_temporary_path("converted");
    assert_ok(clf_convert(converted, package, CLF_PRECISION_FP32));
    check_package(converted, cases);
    json_decref(cases);
    struct clf_model *model;
    process_write(unpacked.folder, "metadata.json", "{\"from_code\": \"en\"}", 19);
    assert_fails(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), unpacked.folder, NULL), CLF_FORMAT,
                 "metadata.json: \"to_code\" is missing, but the tokenizer of bpe.model requires");
    assert_ok(clf__unpacked_close(&unpacked, package, CLF_OK));
}

static void test_inspect(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder(), *package = package_of("prefix");
    char *json;
    assert_ok(clf_inspect(&json, package));
    assert_non_null(strstr(json, "\"format\":\"Argos Translate\""));
    assert_non_null(strstr(json, package));
    clf_string_free(json);
    assert_int_equal(count_files(folder), 0);
    assert_fails(clf_inspect(&json, package_of("no-token")), CLF_FORMAT,
                 "no-token.argosmodel/metadata.json: \"target_prefix\" \">>de<<\" is not in the model's");
    assert_int_equal(count_files(folder), 0);
}

/* With any name of the archive, unless it is a file of another model. */
static void test_names(void **state)
{
    (void)state;
    use_temporary_folder();
    static const char *const taken[] = {"model", "x.zip", "x.argosmodel"};
    const char *folder = support_temporary_folder();
    char path[256];
    struct clf__unpacked unpacked;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, taken[i]);
        assert_ok(clf__file_copy(path, package_of("damaged/good")));
        assert_ok(clf__unpack(&unpacked, path));
        assert_non_null(unpacked.made);
        assert_ok(clf__unpacked_close(&unpacked, path, CLF_OK));
    }
    process_write(folder, "config.json", "{}", 2);
    snprintf(path, sizeof path, "%s/model", folder);
    assert_ok(clf__unpack(&unpacked, path));
    assert_null(unpacked.made);
    assert_ok(clf__unpacked_close(&unpacked, path, CLF_OK));
}

static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *name, *part;
        clf_status status;
    } rows[] = {
        {"outside", "outside.argosmodel: \"a/model/../../x\" in the package has a path outside the package",
         CLF_FORMAT},
        {"absolute", "absolute.argosmodel: \"/tmp/x\" in the package has a path outside the package",
         CLF_FORMAT},
        {"stroke", "in the package has a path outside the package", CLF_FORMAT},
        {"link", "link.argosmodel: \"a/model/link\" in the package is a link", CLF_FORMAT},
        {"encrypted", "encrypted.argosmodel: \"a/model/model.bin\" in the package is encrypted", CLF_FORMAT},
        {"checksum", "checksum.argosmodel: damaged (\"a/model/model.bin\" in the archive has the wrong",
         CLF_FORMAT},
        {"longer", "(\"a/model/model.bin\" in the archive is longer than declared)", CLF_FORMAT},
        {"shorter", "(\"a/model/model.bin\" in the archive is shorter than declared)", CLF_FORMAT},
        {"stream", "(\"a/model/model.bin\" in the archive cannot be decompressed)", CLF_FORMAT},
        {"large", "large.argosmodel: the unpacked files would be more than 100 times as large", CLF_FORMAT},
        {"method", "in the archive is compressed with a method other than DEFLATE", CLF_UNSUPPORTED},
        {"cut", "cut.argosmodel: not a zip archive, or damaged (no end record)", CLF_FORMAT},
        {"text", "text.argosmodel: not a zip archive, or damaged (too few bytes)", CLF_FORMAT},
        {"other", "other.argosmodel: not an Argos Translate package (no metadata.json in", CLF_FORMAT},
        {"two", "two.argosmodel: not an Argos Translate package (more than one metadata.json", CLF_FORMAT},
    };
    const char *folder = use_temporary_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        struct clf__unpacked unpacked;
        snprintf(name, sizeof name, "damaged/%s", rows[i].name);
        assert_fails(clf__unpack(&unpacked, package_of(name)), rows[i].status, rows[i].part);
        assert_int_equal(count_files(folder), 0);
    }
    struct clf_model *model;
    assert_fails(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), package_of("damaged/good"), NULL),
                 CLF_FILE, "good.argosmodel: neither sentencepiece.model nor bpe.model");
    assert_int_equal(count_files(folder), 0);
    setenv("TMPDIR", "/no/such/folder", 1);
    assert_fails(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), package_of("damaged/good"), NULL),
                 CLF_FILE, "/no/such/folder");
}

/* A truncated archive is rejected, or complete in all that matters. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder();
    size_t size;
    char *bytes, *path = support_temporary_path("x.argosmodel");
    struct clf__unpacked unpacked;
    assert_ok(clf__file_read(&bytes, &size, package_of("damaged/good"), 1 << 20));
    for (size_t kept = 0; kept < size; kept++) {
        assert_ok(clf__file_write(path, bytes, kept));
        assert_fails(clf__unpack(&unpacked, path), CLF_FORMAT, path);
    }
    for (size_t at = 0; at < size; at++) { /* one changed byte */
        bytes[at] = (char)~bytes[at];
        assert_ok(clf__file_write(path, bytes, size));
        clf_status status = clf__unpack(&unpacked, path);
        assert_true(status == CLF_OK || strstr(clf_last_error(), path) != NULL);
        clf__unpacked_close(&unpacked, path, CLF_OK);
        bytes[at] = (char)~bytes[at];
    }
    clf__free(bytes);
    assert_int_equal(count_files(folder), 0);
}

/* User folders whose names begin like clformer's: only a mark inside identifies a temporary folder. */
static void test_folders_of_others(void **state)
{
    (void)state;
    static const char *const names[] = {"clformer-package-my-models", "clformer-package-abcdef",
                                        "clformer-package-", "clformer-package-XXXXXX"};
    const char *folder = use_temporary_folder(), *package = package_of("damaged/good");
    for (int i = 0; i < 4; i++) {
        char *own, *notes;
        assert_ok(clf__path_join(&own, folder, names[i]));
        assert_ok(clf__folder_create_owned(own));
        assert_ok(clf__path_join(&notes, own, i == 1 ? ".clformer-temporary" : "notes.txt"));
        assert_ok(clf__file_write(notes, "precious", 8)); /* a file with the mark's name and other contents is
                                                             not the mark */
        struct clf__unpacked unpacked;
        assert_ok(clf__unpack(&unpacked, package));
        assert_ok(clf__unpacked_close(&unpacked, package, CLF_OK));
        assert_true(clf__file_exists(notes));
        clf__free(own);
        clf__free(notes);
    }
    assert_int_equal(count_files(folder), 4);
}

/* A killed process leaves its folder, which the next one removes, unlike folders in use. */
static void test_killed(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder(), *package = package_of("damaged/good");
    pid_t child = fork();
    if (child == 0) {
        struct clf__unpacked unpacked;
        _exit(clf__unpack(&unpacked, package) != CLF_OK); /* as if it was killed now */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(folder), 1);
    struct clf__unpacked one, other;
    assert_ok(clf__unpack(&one, package));
    assert_int_equal(count_files(folder), 1);
    struct stat about;
    assert_int_equal(stat(one.folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_ok(clf__unpack(&other, package));
    assert_int_equal(count_files(folder), 2);
    assert_string_not_equal(one.folder, other.folder);
    assert_ok(clf__unpacked_close(&one, package, CLF_OK));
    assert_true(clf__folder_exists(other.folder));
    assert_ok(clf__unpacked_close(&other, package, CLF_OK));
    assert_int_equal(count_files(folder), 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder(), *package = package_of("damaged/good");
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        struct clf__unpacked unpacked;
        clf__memory_fail_at(n);
        status = clf__unpack(&unpacked, package);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        clf__unpacked_close(&unpacked, package, CLF_OK);
    }
    assert_int_equal(count_files(folder), 0);
}

static void test_command(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder(), *package = package_of("plain");
    struct process_result result = run_clformer("see the sea\n", process_format("translate -m %s", package));
    assert_int_equal(result.status, 0);
    char *source = support_temporary_path("source");
    assert_ok(clf__file_write(source, "see the sea\n", 12));
    result = run_clformer(NULL, process_format("score -m %s %s %s", package, source, source));
    assert_int_equal(result.status, 0);
    result = run_clformer(NULL, process_format("inspect %s", package));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "Argos Translate"));
    result = run_clformer(NULL, process_format("average %s %s -o %s/out", package, package, folder));
    assert_refused(result, 1, "but a model folder is needed; unpack the package");
    result = run_clformer(NULL, "--version");
    assert_non_null(strstr(result.output, "Argos Translate packages: yes\n"));
    assert_int_equal(count_files(folder), 0);
}

/* A package is converted to a folder that translates like it; the unpacked files are removed, also after an
 * error. */
static void test_convert(void **state)
{
    (void)state;
    const char *folder = use_temporary_folder(), *package = package_of("prefix");
    char *to = support_temporary_path("converted");
    assert_ok(clf_convert(to, package, CLF_PRECISION_FP32));
    assert_fails(clf_convert(to, package, CLF_PRECISION_FP32), CLF_FILE, "already exists");
    assert_int_equal(count_files(folder), 0);
    struct process_result a = run_clformer("see the sea\n", process_format("translate -m %s", package));
    char *expected = strdup(a.output);
    struct process_result b = run_clformer("see the sea\n", process_format("translate -m %s", to));
    assert_int_equal(b.status, 0);
    assert_string_equal(b.output, expected);
    free(expected);
}

static void test_without_zlib(void **state)
{
    (void)state;
    struct clf__unpacked unpacked;
    assert_fails(clf__unpack(&unpacked, package_of("plain")), CLF_UNSUPPORTED,
                 "plain.argosmodel: an Argos Translate package, but clformer was built without zlib");
    struct process_result result = run_clformer(NULL, "--version");
    assert_non_null(strstr(result.output, "Argos Translate packages: unpacked folders only"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_texts, support_teardown),
        cmocka_unit_test_teardown(test_pairs, support_teardown),
        cmocka_unit_test_teardown(test_inspect, support_teardown),
        cmocka_unit_test_teardown(test_names, support_teardown),
        cmocka_unit_test_teardown(test_damaged, support_teardown),
        cmocka_unit_test_teardown(test_cut_anywhere, support_teardown),
        cmocka_unit_test_teardown(test_folders_of_others, support_teardown),
        cmocka_unit_test_teardown(test_killed, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
        cmocka_unit_test_teardown(test_command, support_teardown),
        cmocka_unit_test_teardown(test_convert, support_teardown),
    };
    const struct CMUnitTest others[] = {cmocka_unit_test_teardown(test_without_zlib, support_teardown)};
    return clf__zip_can_unpack() ? cmocka_run_group_tests(tests, NULL, NULL)
                                 : cmocka_run_group_tests(others, NULL, NULL);
}
