/* Checks the sources in cl/: NVIDIA's compiler accepts them, and their functions and files stay short enough
 * to read. clang-tidy checks the functions of C files. */
#include "support/support.h"

#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 60, MOST_FILE_LINES = 500, MAX_SOURCE = 1 << 20 };

/* Returns whether the source defines a variadic macro. */
static int has_variadic_macro(const char *source)
{
    for (const char *line = source; line != NULL; line = strchr(line, '\n')) {
        char parameters[256];
        line += *line == '\n';
        if (sscanf(line, " # define %*[A-Za-z0-9_](%255[^)\n]", parameters) == 1 &&
            strstr(parameters, "...")) {
            return 1;
        }
    }
    return 0;
}

static const char *after(const char *p, const char *end)
{
    const char *found = strstr(p, end);
    return found != NULL ? found + strlen(end) : p + strlen(p);
}

/* Returns the end of the comment, string or preprocessor directive that starts here, or NULL if none does. */
static const char *skip_rest(const char *p)
{
    if (strncmp(p, "/*", 2) == 0) {
        return after(p + 2, "*/");
    }
    if (strncmp(p, "//", 2) == 0) {
        return p + strcspn(p, "\n");
    }
    if (*p == '"') {
        return after(p + 1, "\"");
    }
    if (*p != '#') {
        return NULL;
    }
    p += strcspn(p, "\n");
    while (p[0] == '\n' && p[-1] == '\\') {
        p += 1 + strcspn(p + 1, "\n");
    }
    return p;
}

static int count_lines(const char *from, const char *end)
{
    int lines = 0;
    for (; from < end; from++) {
        lines += *from == '\n';
    }
    return lines;
}

/* Reports a definition, which ends before `end`, if it is too long. path NULL: a self-test, prints nothing.
 */
static int check_length(const char *path, const char *source, const char *definition, const char *end)
{
    int lines = count_lines(definition, end) + 1;
    if (lines > MOST_LINES && path != NULL) {
        print_message("%s:%d: %d lines; divide functions and macros of more than %d lines\n", path,
                      count_lines(source, definition) + 1, lines, MOST_LINES);
    }
    return lines > MOST_LINES;
}

/* Returns how many functions, macros and other definitions of a file are too long, plus one if the file is
 * too long or its braces do not match. */
static int count_long(const char *path, const char *source)
{
    int broken = 0, depth = 0;
    const char *definition = NULL; /* start of the current one */
    for (const char *p = source; *p;) {
        const char *end = skip_rest(p);
        if (end != NULL) {
            broken += *p == '#' && check_length(path, source, p, end);
            p = end;
            continue;
        }
        definition = definition == NULL && !isspace((unsigned char)*p) ? p : definition;
        depth += (*p == '{') - (*p == '}');
        p++;
        if (depth == 0 && (p[-1] == '}' || p[-1] == ';' || strncmp(p - 1, "\n\n", 2) == 0)) {
            broken += definition != NULL && check_length(path, source, definition, p);
            definition = NULL;
        }
    }
    int lines = count_lines(source, source + strlen(source));
    if ((depth != 0 || lines > MOST_FILE_LINES) && path != NULL) {
        print_message("%s: %d lines, %d braces not closed; divide files of more than %d lines\n", path, lines,
                      depth, MOST_FILE_LINES);
    }
    return broken + (depth != 0 || lines > MOST_FILE_LINES);
}

static int broken_rules, files;

static int check_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)walk;
    static char source[MAX_SOURCE];
    const char *suffix = strrchr(path, '.');
    if (kind != FTW_F || suffix == NULL || strcmp(suffix, ".cl") != 0) {
        return 0;
    }
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    source[fread(source, 1, sizeof source - 1, file)] = '\0';
    assert_true(feof(file));
    fclose(file);
    files++;
    broken_rules += count_long(path, source);
    if (has_variadic_macro(source)) {
        print_message(
            "%s: NVIDIA's compiler rejects variadic macros; use one macro for each number of arguments\n",
            path);
        broken_rules++;
    }
    return 0;
}

static void test_every_kernel_keeps_the_rules(void **state)
{
    (void)state;
    assert_int_equal(nftw(CLF_SOURCE_FOLDER "/cl", check_file, 16, FTW_PHYS), 0);
    assert_true(files > 0);
    if (broken_rules > 0) {
        fail_msg("correct the lines listed above");
    }
}

static void test_variadic_macros_are_found(void **state)
{
    (void)state;
    assert_true(has_variadic_macro("int a;\n#define F(x, ...) x\n"));
    assert_true(has_variadic_macro("#  define F(...) __VA_ARGS__\n"));
    assert_false(has_variadic_macro("#define F(x) x /* ... */\n#define G (...)\n"));
}

/* Returns count_long() of `lines` repetitions of `line` between `start` and `end`. */
static int count_long_of(const char *start, const char *line, int lines, const char *end)
{
    static char source[MAX_SOURCE];
    size_t used = (size_t)snprintf(source, sizeof source, "%s", start);
    for (int i = 0; i < lines; i++) {
        used += (size_t)snprintf(source + used, sizeof source - used, "%s", line);
    }
    snprintf(source + used, sizeof source - used, "%s", end);
    return count_long(NULL, source);
}

static void test_long_definitions_are_found(void **state)
{
    (void)state;
    const char *function = "CPU_KERNEL void f(__global float *x)\n{\n";
    assert_int_equal(count_long_of(function, "    x++;\n", MOST_LINES - 3, "}\n"), 0);
    assert_int_equal(count_long_of(function, "    x++;\n", MOST_LINES - 2, "}\n"), 1);
    assert_int_equal(count_long_of(function, "    if (*x) { /* } */\n    }\n", MOST_LINES / 2, "}\n"), 1);
    assert_int_equal(count_long_of("#define F(x)", " x; \\\n", MOST_LINES, "{\n"), 1);
    assert_int_equal(count_long_of("#define F(x)", " x; \\\n", MOST_LINES - 1, "{\n"), 0);
    assert_int_equal(count_long_of(function, "#pragma unroll\n", MOST_LINES - 2, "}\n"), 1);
    assert_int_equal(count_long_of("", "static void f(void)\n{\n}\n\n", MOST_FILE_LINES / 4, ""), 0);
    assert_int_equal(count_long_of("", "static void f(void)\n{\n}\n\n", MOST_FILE_LINES / 4, "\n"), 1);
    assert_int_equal(count_long_of("#define F(x) \\\n", "\n", MOST_LINES, "int a;\n"), 0);
    assert_int_equal(count_long_of("/* A comment.", "\n", MOST_LINES, "*/\nint a;\nint b;\n"), 0);
    assert_int_equal(count_long_of("", "DEFINE_ROWS(1)\n\n", MOST_LINES, "int a;\n"), 0);
    assert_int_equal(count_long_of("int f(void) {\n", "", 0, ""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_keeps_the_rules),
        cmocka_unit_test(test_variadic_macros_are_found),
        cmocka_unit_test(test_long_definitions_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
