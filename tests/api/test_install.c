/* The result of `make install` is usable: the documentation's example is built against it with pkg-config and
 * with CMake, and translates. The manual and the completions contain every flag. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

#define EXAMPLE CLF_SOURCE_FOLDER "/tests/api/example.c"

static const char *prefix;

static int install(void **state)
{
    (void)state;
    prefix = support_temporary_folder();
    process_set_environment();
    process_shell(process_format("cmake --install '%s' --prefix '%s'", CLF_BUILD_FOLDER, prefix));
    return support_teardown(state);
}

static void translates(const char *program)
{
    assert_string_equal(process_shell(process_format("'%s' '%s' 'Je suis étudiant'", program, DEMO_MODEL)),
                        "I'm a student.\n");
    assert_non_null(
        strstr(process_shell(process_format("! '%s' /no/such/model text", program)), "/no/such/model"));
}

static void test_pkg_config(void **state)
{
    (void)state;
    static const char *const flags[] = {"", "--static "};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char *program = process_format("%s/by-pkg-config", support_temporary_folder());
        process_shell(process_format(
            "export PKG_CONFIG_PATH=$(dirname $(find '%s' -name clformer.pc)) && " CLF_C_COMPILER
            " -Wall -Wextra -Werror -std=c11 " CLF_EXAMPLE_FLAGS
            " $(pkg-config --cflags clformer) '%s' -o '%s' $(pkg-config %s--libs clformer)",
            prefix, EXAMPLE, program, flags[i]));
        translates(program);
    }
}

/* CMake prints which optional libraries it found; ctest explains a build without tests. */
static void test_configuration(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *text = process_shell(
        process_format("cmake -G '" CLF_GENERATOR "' -S '" CLF_SOURCE_FOLDER
                       "' -B '%s' -DCLF_TESTS=OFF -DCLF_MPI=OFF -DCMAKE_C_COMPILER=" CLF_C_COMPILER
                       " -DCMAKE_CXX_COMPILER=" CLF_CXX_COMPILER,
                       folder));
    const char *report = strstr(text, "-- clformer ");
    assert_non_null(report);
    assert_non_null(strstr(report, "  recordings"));
    assert_non_null(strstr(report, "--   no   several machines (needs MPI"));
    assert_non_null(strstr(report, "--   no   tests (need cmocka"));
    assert_null(strstr(text, "not found"));
    assert_non_null(strstr(process_shell(process_format("cd '%s' && ctest", folder)),
                           process_format("cmake -DCLF_TESTS=ON \"%s\"", folder)));
}

/* The last test: only the installed files are removed. */
static void test_uninstall(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *command = process_format(
        "cmake -DMANIFEST='%s/manifest' -P '" CLF_SOURCE_FOLDER "/tools/package/uninstall.cmake'", folder);
    assert_non_null(strstr(process_shell(process_format("! %s", command)), "nothing was installed"));
    process_shell(process_format("cp '" CLF_BUILD_FOLDER
                                 "/install_manifest.txt' '%s/manifest' && touch '%s/bin/other' "
                                 "'%s/include/clformer/other.h'",
                                 folder, prefix, prefix));
    assert_non_null(strstr(process_shell(command), "Removed "));
    assert_string_equal(process_shell(process_format("cd '%s' && find . -type f | sort", prefix)),
                        "./bin/other\n./include/clformer/other.h\n");
    assert_string_equal(process_shell(process_format("cd '%s' && find . -name fr-en-small", prefix)), "");
}

static void test_cmake(void **state)
{
    (void)state;
    const char *project = support_temporary_folder();
    char *text = process_format("cmake_minimum_required(VERSION 3.25)\n"
                                "project(example LANGUAGES C)\n"
                                "find_package(clformer 0.1 REQUIRED)\n"
                                "add_executable(example \"%s\")\n"
                                "target_link_libraries(example PRIVATE clformer::clformer)\n",
                                EXAMPLE);
    process_write(project, "CMakeLists.txt", text, strlen(text));
    process_shell(
        process_format("cmake -G '" CLF_GENERATOR
                       "' -S '%s' -B '%s/build' -DCMAKE_PREFIX_PATH='%s' -DCMAKE_C_COMPILER=" CLF_C_COMPILER
                       " -DCMAKE_C_FLAGS='" CLF_EXAMPLE_FLAGS "' && cmake --build '%s/build'",
                       project, project, prefix, project));
    translates(process_format("%s/build/example", project));
}

/* Returns the "--flag"s of a verb's help, one per line without the dashes, except recipe choices: the manual
 * refers to the help. */
static char *flags_of(const char *verb)
{
    return process_format("%s",
                          process_shell(process_format("PATH='%s/bin':$PATH clformer %s --help | sed -n "
                                                       "'/^Recipe/,/^$/d; s/^  ....--\\([a-z-]*\\) .*/\\1/p'",
                                                       prefix, verb)));
}

static char *completion_of(const char *verb)
{
    return process_format(
        "%s", process_shell(
                  process_format("PATH='%s/bin':$PATH bash -c 'source \"%s/share/bash-completion/completions/"
                                 "clformer\"; COMP_WORDS=(clformer %s --) COMP_CWORD=2; _clformer; printf "
                                 "\"%%s\\n\" \"${COMPREPLY[@]}\"'",
                                 prefix, prefix, verb)));
}

/* The manual has every verb and flag; the completion has every flag. */
static void test_manual_and_completion(void **state)
{
    (void)state;
    size_t size;
    char *manual = process_read(prefix, "share/man/man1/clformer.1", &size);
    for (const char *const *verb = process_verbs(); *verb != NULL; verb++) {
        char *completed = completion_of(*verb), *flags = flags_of(*verb);
        if (strstr(manual, process_format("\n.B %s\n", *verb)) == NULL) {
            fail_msg("tools/clformer.1 does not describe %s; add a paragraph with \".B %s\"", *verb, *verb);
        }
        int count = 0;
        for (char *flag; (flag = strtok_r(flags, "\n", &flags)) != NULL; count++) {
            assert_non_null(strstr(completed, process_format("--%s\n", flag)));
            char escaped[64], *out = escaped;
            for (const char *c = flag; *c; c++) {
                out = stpcpy(out, *c == '-' ? "\\-" : (char[]){*c, '\0'});
            }
            if (strstr(manual, process_format("\\-\\-%s", escaped)) == NULL) {
                fail_msg("tools/clformer.1 does not describe --%s of %s; add the flag", flag, *verb);
            }
        }
        assert_true(count > 0);
    }
}

/* The table of README.md has every verb. */
static void test_verbs_of_readme(void **state)
{
    (void)state;
    size_t size;
    char *table = strstr(process_read(CLF_SOURCE_FOLDER, "README.md", &size), "\n| verb |");
    assert_non_null(table);
    *strstr(table, "\n\n") = '\0';
    for (const char *const *verb = process_verbs(); *verb != NULL; verb++) {
        if (strstr(table, process_format("`%s`", *verb)) == NULL) {
            fail_msg("README.md: the table of verbs has no `%s`; add a row", *verb);
        }
    }
}

/* Returns bash's output of a script after loading the command's completion, in a separate folder. */
static char *bash_with_completion(const char *rest)
{
    static const char before[] = "export LC_ALL=C PATH='%s/bin':$PATH; share='%s/share'; cd '%s'\n"
                                 "source \"$share/bash-completion/completions/clformer\"\n%s";
    const char *folder = support_temporary_folder();
    char *script = process_format(before, prefix, prefix, folder, rest);
    process_write(folder, "script", script, strlen(script));
    return process_shell(process_format("bash '%s/script'", folder));
}

/* Help, manual and completions mention that a model may be a file. */
static void test_models_may_be_files(void **state)
{
    (void)state;
    static const char script[] =
        ": >fr.argosmodel\n"
        "for flag in -m --model; do COMP_WORDS=(clformer translate $flag fr) COMP_CWORD=3; _clformer\n"
        "echo \"${COMPREPLY[@]}\"; done\n";
    size_t size;
    assert_string_equal(bash_with_completion(script), "fr.argosmodel\nfr.argosmodel\n");
    assert_non_null(
        strstr(process_shell(process_format("'%s/bin/clformer' translate --help", prefix)),
               "  -m, --model MODEL                       a model folder, an Argos Translate package "));
    assert_non_null(strstr(process_read(prefix, "share/man/man1/clformer.1", &size),
                           "\n.BR \\-m \", \" \\-\\-model \" \" \\fIMODEL\\fR\n"));
}

/* Every verb of the help is completed. */
static void test_completion_of_verbs(void **state)
{
    (void)state;
    static const char script[] =
        "COMP_WORDS=(clformer tr) COMP_CWORD=1; _clformer; echo \"${COMPREPLY[@]}\"\n"
        "COMP_WORDS=(clformer '') COMP_CWORD=1; _clformer; echo ${#COMPREPLY[@]}\n";
    int words = 2; /* --help and --version, and every verb */
    for (const char *const *verb = process_verbs(); *verb != NULL; verb++) {
        words++;
    }
    assert_string_equal(bash_with_completion(script),
                        process_format("translate transcribe train\n%d\n", words));
}

/* Shells complete every choice that a verb's help lists for a flag: bash, and others if installed. */
static void test_completion_of_values(void **state)
{
    (void)state;
    static const char script[] =
        "for verb in $(clformer --help | sed -n '/^Examples/q; s/^  \\([a-z]*\\) .*/\\1/p'); do\n"
        "  while read -r flag choices; do\n"
        "    wanted=$({ tr '|' '\\n' <<<\"$choices\" | grep '^[a-z0-9-]*$'\n"
        "      [[ $choices != FILE* ]] || ls; } | sort | tr '\\n' ' ')\n"
        "    COMP_WORDS=(clformer $verb $flag '') COMP_CWORD=3; _clformer\n"
        "    found=$(printf '%s\\n' \"${COMPREPLY[@]}\" | sort | tr '\\n' ' ')\n"
        "    [[ $found == \"$wanted\" ]] || echo \"bash: $verb $flag: $found\"\n"
        "    if command -v fish >/dev/null; then\n"
        "      found=$(fish --no-config -c \"source $share/fish/vendor_completions.d/clformer.fish\n"
        "complete -C 'clformer $verb $flag '\" | sort | tr '\\n' ' ')\n"
        "      [[ $found == \"$wanted\" ]] || echo \"fish: $verb $flag: $found\"\n"
        "    fi\n"
        "    count=$((count + 1))\n"
        "  done < <(clformer $verb --help | sed -n -e ':join' -e '/|$/{N;s/\\n *//;b join' -e '}' "
        "-e 's/^  ....\\(--[a-z-]*\\) \\([^ ]*|[^ ]*\\).*/\\1 \\2/p')\n"
        "done; echo $count\n";
    char *said = bash_with_completion(script), *end;
    long count = strtol(said, &end, 10);
    if (count < 30 || strcmp(end, "\n") != 0) {
        fail_msg("%s", said);
    }
}

/* The licences: of the code, and of the weights in the model card. */
static void test_licences(void **state)
{
    (void)state;
    size_t size;
    char *ours = process_read(CLF_SOURCE_FOLDER, "LICENSE", &size);
    assert_string_equal(process_read(prefix, "share/doc/clformer/LICENSE", &size), ours);
    char *card = process_read(prefix, "share/clformer/fr-en-small/README.md", &size);
    assert_non_null(strstr(card, "\n**Licence of the weights.** CC BY 2.0 FR"));
}

/* The documentation of the C API contains the example verbatim. */
static void test_readme(void **state)
{
    (void)state;
    size_t size;
    char *readme = process_read(CLF_SOURCE_FOLDER, "include/clformer/README.md", &size);
    char *example = process_read(CLF_SOURCE_FOLDER, "tests/api/example.c", &size);
    assert_non_null(strstr(readme, process_format("```c\n%s```", example)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pkg_config, support_teardown),
        cmocka_unit_test_teardown(test_cmake, support_teardown),
        cmocka_unit_test_teardown(test_manual_and_completion, support_teardown),
        cmocka_unit_test_teardown(test_verbs_of_readme, support_teardown),
        cmocka_unit_test_teardown(test_models_may_be_files, support_teardown),
        cmocka_unit_test_teardown(test_completion_of_verbs, support_teardown),
        cmocka_unit_test_teardown(test_completion_of_values, support_teardown),
        cmocka_unit_test_teardown(test_licences, support_teardown),
        cmocka_unit_test_teardown(test_readme, support_teardown),
        cmocka_unit_test_teardown(test_configuration, support_teardown),
        cmocka_unit_test_teardown(test_uninstall, support_teardown),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
