/* tools/package: the source archive is reproducible and can be configured; the bill of materials names every
 * library of the command; recipes and RPM packages; the service is restricted. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <clformer/version.h>
#include <jansson.h>

#include "support/process.h"
#include "support/support.h"

static int run(const char *script)
{
    process_set_environment();
    int status = system(script);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_source_archive(void **state)
{
    (void)state;
    static const char script[] =
        "set -e; place=$(mktemp -d); trap 'rm -rf \"$place\"' EXIT; cd \"$place\"; mkdir one two\n"
        "one=$('" CLF_SOURCE_FOLDER "/tools/package/make_source' one)\n"
        "two=$('" CLF_SOURCE_FOLDER "/tools/package/make_source' two)\n"
        "cmp \"$one\" \"$two\"\n"
        "tar -xf \"$one\"; cd clformer-*; test -f lib/README.md; test ! -e build\n"
        "cmake -S . -B build -DCLF_TESTS=OFF >/dev/null\n"
        /* without git, the archive makes itself again */
        "mkdir again; mv build \"$place/build\"; three=$(tools/package/make_source again); "
        "mv \"$three\" \"$place\"; rmdir again; four=$(tools/package/make_source \"$place/two\"); "
        "cmp \"$four\" \"$one\"\n";
    assert_int_equal(run(script), 0);
}

static json_t *read_json(const char *path)
{
    json_error_t error;
    json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (value == NULL) {
        fail_msg("%s:%d: %s", path, error.line, error.text);
    }
    return value;
}

static json_t *read_bill(void)
{
    return read_json(CLF_BUILD_FOLDER "/generated/clformer.spdx.json");
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int is_text(const json_t *object, const char *key, const char *value)
{
    const char *text = text_of(object, key);
    return text != NULL && strcmp(text, value) == 0;
}

/* Returns the package of the bill with an SPDXID or name, or NULL. */
static json_t *find_package(const json_t *bill, const char *key, const char *value)
{
    json_t *package;
    size_t i;
    json_array_foreach(json_object_get(bill, "packages"), i, package)
    {
        if (is_text(package, key, value)) {
            return package;
        }
    }
    return NULL;
}

/* The document has the fields that SPDX 2.3 requires, and its relationships refer to its packages. */
static void test_bill_fields(void **state)
{
    (void)state;
    static const char *const document_fields[] = {"SPDXID", "name", "documentNamespace"};
    static const char *const package_fields[] = {"SPDXID", "name", "downloadLocation", "licenseDeclared"};
    json_t *bill = read_bill(), *item;
    size_t i;
    assert_string_equal(text_of(bill, "spdxVersion"), "SPDX-2.3");
    assert_string_equal(text_of(bill, "dataLicense"), "CC0-1.0");
    for (i = 0; i < sizeof document_fields / sizeof *document_fields; i++) {
        assert_non_null(text_of(bill, document_fields[i]));
    }
    assert_non_null(text_of(json_object_get(bill, "creationInfo"), "created"));
    assert_true(json_array_size(json_object_get(json_object_get(bill, "creationInfo"), "creators")) > 0);
    json_array_foreach(json_object_get(bill, "packages"), i, item)
    {
        for (size_t j = 0; j < sizeof package_fields / sizeof *package_fields; j++) {
            assert_non_null(text_of(item, package_fields[j]));
        }
        assert_ptr_equal(find_package(bill, "SPDXID", text_of(item, "SPDXID")), item); /* unique */
    }
    json_array_foreach(json_object_get(bill, "relationships"), i, item)
    {
        assert_non_null(text_of(item, "relationshipType"));
        assert_true(is_text(item, "spdxElementId", "SPDXRef-DOCUMENT") ||
                    find_package(bill, "SPDXID", text_of(item, "spdxElementId")) != NULL);
        assert_non_null(find_package(bill, "SPDXID", text_of(item, "relatedSpdxElement")));
    }
    assert_string_equal(text_of(find_package(bill, "name", "clformer"), "versionInfo"), CLF_VERSION_STRING);
    json_decref(bill);
}

/* Returns 1 if a file name such as libz.so.1 belongs to lib<library>; SentencePiece has two libraries. */
static int is_library(const char *file, const char *library)
{
    size_t length = strlen(library);
    return strncmp(file, "lib", 3) == 0 && strncmp(file + 3, library, length) == 0 &&
           (file[3 + length] == '.' || file[3 + length] == '_');
}

/* Returns 1 if the bill has a relationship of this type between clformer and a package. */
static int is_linked(const json_t *bill, const json_t *package)
{
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(bill, "relationships"), i, item)
    {
        if (is_text(item, "spdxElementId", "SPDXRef-clformer") &&
            is_text(item, "relationshipType", "DYNAMIC_LINK") &&
            is_text(item, "relatedSpdxElement", text_of(package, "SPDXID"))) {
            return 1;
        }
    }
    return 0;
}

/* Fails unless the bill has the library of a file that the command is linked with. */
static void check_linked(const json_t *bill, const json_t *table, const char *file)
{
    static const char *const system_libraries[] = {"c",  "m",    "stdc++", "gcc_s", "pthread",
                                                   "dl", "asan", "ubsan",  "tsan",  "atomic"};
    for (size_t i = 0; i < sizeof system_libraries / sizeof *system_libraries; i++) {
        if (is_library(file, system_libraries[i])) {
            return;
        }
    }
    json_t *row;
    size_t i;
    json_array_foreach(table, i, row)
    {
        const char *library = text_of(row, "library");
        if (library != NULL && is_library(file, library)) {
            json_t *package = find_package(bill, "name", text_of(row, "name"));
            if (package == NULL || !is_linked(bill, package)) {
                fail_msg("%s: not in clformer.spdx.json", file);
            }
            return;
        }
    }
    fail_msg("the command is linked with %s; add a row to tools/package/dependencies.json", file);
}

static void test_bill_libraries(void **state)
{
    (void)state;
    json_t *bill = read_bill(), *table = read_json(CLF_SOURCE_FOLDER "/tools/package/dependencies.json");
    char *files =
        process_format("%s", process_shell("readelf --dynamic --wide '" CLF_BUILD_FOLDER "/clformer' | "
                                           "sed -n 's/.*(NEEDED).*\\[\\(lib.*\\)\\]/\\1/p'"));
    int count = 0;
    for (char *file; (file = strtok_r(files, "\n", &files)) != NULL; count++) {
        check_linked(bill, table, file);
    }
    assert_true(count > 8);
    json_decref(table);
    json_decref(bill);
}

/* `clformer --version` names the build, the system, and the version of every library of the bill. */
static void test_version(void **state)
{
    (void)state;
    struct process_result version = run_clformer(NULL, "--version");
    json_t *bill = read_bill(), *package;
    size_t i;
    assert_int_equal(strncmp(version.output, "clformer " CLF_VERSION_STRING "\nbuild: ",
                             strlen("clformer " CLF_VERSION_STRING "\nbuild: ")),
                     0);
    assert_non_null(strstr(version.output, "\nsystem: Linux "));
    json_array_foreach(json_object_get(bill, "packages"), i, package)
    {
        const char *number = text_of(package, "versionInfo");
        const char *name = text_of(package, "name");
        int is_part = is_linked(bill, package) || strncmp(name, "libav", 5) == 0;
        if (is_part && number != NULL &&
            strstr(version.output, process_format(" %s %s", name, number)) == NULL) {
            fail_msg("clformer --version does not name %s %s", name, number);
        }
    }
    json_decref(bill);
}

/* The recipes of Homebrew, conda and Nix: their syntax, and the lists of dependencies.json in them. */
static void test_recipes(void **state)
{
    (void)state;
    static const char script[] =
        "set -e; place=$(mktemp -d); trap 'rm -rf \"$place\"' EXIT; mkdir \"$place/out\"\n"
        "package='" CLF_SOURCE_FOLDER "/tools/package'; archive=$(\"$package/make_source\" \"$place\")\n"
        "url=https://example.org/$(basename \"$archive\")\n"
        "\"$package/make_recipes\" \"$place/out\" \"$archive\" \"$url\"\n"
        "ruby -w -c \"$place/out/clformer.rb\"\n"
        "ruby -w '" CLF_SOURCE_FOLDER "/tests/end_to_end/packages/check_recipes.rb' '" CLF_SOURCE_FOLDER
        "' \"$place/out\" \"$archive\" \"$url\"\n"
        "! command -v nix-instantiate || nix-instantiate --parse \"$place/out/clformer.nix\" >/dev/null\n";
    if (run("command -v ruby >/dev/null") != 0) {
        print_message("ruby is not installed\n");
        skip();
    }
    assert_int_equal(run(script), 0);
}

/* cpack writes RPM packages that can be installed, run and removed. */
static void test_rpm(void **state)
{
    (void)state;
    static const char script[] =
        "set -e; place=$(mktemp -d); trap 'rm -rf \"$place\"' EXIT; cd \"$place\"; mkdir root\n"
        "cpack -G RPM --config '" CLF_BUILD_FOLDER "/CPackConfig.cmake' -B \"$place\" >log 2>&1 || "
        "{ cat log; exit 1; }\n"
        "rpm --query --package --requires clformer-[0-9]*.rpm >requires\n"
        "for library in OpenCL clblast jansson; do grep -q \"^lib$library.so\" requires; done\n"
        "rpm --root=\"$place/root\" --nodeps --noscripts --install ./*.rpm\n"
        "test \"$(root/usr/bin/clformer --version)\" = \"$('" CLF_BUILD_FOLDER "/clformer' --version)\"\n"
        "grep -q '^ExecStart=/usr/bin/clformer ' root/usr/lib/systemd/system/clformer.service\n"
        "test -f root/usr/include/clformer/clformer.h; test -f root/etc/default/clformer\n"
        "test \"$(rpm --root=\"$place/root\" --query --all | grep -c '^clformer')\" = 3\n"
        "rpm --root=\"$place/root\" --nodeps --noscripts --erase clformer clformer-devel clformer-server\n"
        "test -z \"$(find root -name '*clformer*')\"\n";
    if (run("command -v rpmbuild >/dev/null") != 0) {
        print_message("rpmbuild is not installed\n");
        skip();
    }
    assert_int_equal(run(script), 0);
}

static void test_service(void **state)
{
    (void)state;
    if (run("command -v systemd-analyze >/dev/null") != 0) {
        print_message("systemd-analyze is not installed\n");
        skip();
    }
    assert_int_equal(run("systemd-analyze security --offline=yes --threshold=20 "
                         "'" CLF_SOURCE_FOLDER "/tools/package/debian/clformer.service' >/dev/null"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_archive),
        cmocka_unit_test_teardown(test_bill_fields, support_teardown),
        cmocka_unit_test_teardown(test_bill_libraries, support_teardown),
        cmocka_unit_test_teardown(test_version, support_teardown),
        cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_rpm),
        cmocka_unit_test(test_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
