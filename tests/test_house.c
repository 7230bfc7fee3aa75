/* Checks the rules of lib/README.md in the sources: includes between folders, OpenCL headers only in
 * lib/runtime/opencl, CLBlast's and MPI's in one file each, one file each for the environment and for
 * allocation, no printing or exiting, and no tests for an architecture by name. Links of Markdown documents
 * must lead to files. */
#include "support/support.h"

#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/config/types.h"

enum { MAX_FOLDERS = 32, MAX_SOURCE = 1 << 20 };

static struct {
    char path[48]; /* relative to lib/ */
    int level;     /* level in the table * MAX_FOLDERS + number of "then" before the part */
    int is_flat;   /* its subfolders are entries of their own */
} folders[MAX_FOLDERS];
static int folder_count;

static void add_folder(int level, int is_flat, const char *parent, const char *name)
{
    assert_true(folder_count < MAX_FOLDERS);
    snprintf(folders[folder_count].path, sizeof folders[folder_count].path, "%s%s/", parent, name);
    folders[folder_count].is_flat = is_flat;
    folders[folder_count++].level = level;
}

/* Adds the parts of a folder in the order of their levels: "`opencl/`, `tuning/`, then `device/`". A part
 * with the name of the folder is the files that are directly in the folder. */
static void read_parts(const char *folder, int level, const char *content)
{
    int first = folder_count;
    for (const char *p = content; *p;) {
        char name[32];
        int length = 0;
        if (strncmp(p, "then ", 5) == 0) {
            level++;
        }
        if (sscanf(p, "`%31[a-z]/`%n", name, &length) == 1 && length > 0) {
            int is_itself = strncmp(name, folder, strlen(name)) == 0 && strlen(folder) == strlen(name) + 1;
            add_folder(level, is_itself, is_itself ? "" : folder, name);
        }
        p += length > 0 ? length : 1;
    }
    if (folder_count == first) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strlen(folder) - 1, folder);
        add_folder(level, 0, "", name);
    }
}

/* Reads the table of lib/README.md: lines such as "| base/ | 0 | utilities |". */
static int read_folders(void **state)
{
    (void)state;
    FILE *readme = fopen(CLF_SOURCE_FOLDER "/lib/README.md", "r");
    assert_non_null(readme);
    char line[1024], folder[32];
    while (fgets(line, sizeof line, readme)) {
        int level, content = 0;
        if (sscanf(line, "| %30[a-z/] | %d | %n", folder, &level, &content) == 2 && content > 0) {
            read_parts(folder, level * MAX_FOLDERS, line + content);
        }
    }
    fclose(readme);
    assert_true(folder_count > 0);
    return 0;
}

/* Returns the index of the folder that a path relative to lib/ is in, -1 if none. */
static int folder_of(const char *path)
{
    int found = -1;
    size_t longest = 0;
    for (int i = 0; i < folder_count; i++) {
        size_t length = strlen(folders[i].path);
        if (length > longest && strncmp(path, folders[i].path, length) == 0 &&
            !(folders[i].is_flat && strchr(path + length, '/'))) {
            longest = length;
            found = i;
        }
    }
    return found;
}

static int is_named(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static int is_self_test; /* violations are expected, and not printed */

static int report(const char *path, const char *what, const char *rule)
{
    if (!is_self_test) {
        print_message("lib/%s: %s: %s\n", path, what, rule);
    }
    return 1;
}

static int clblast_files; /* files that include its header */

static int check_system_include(const char *path, const char *name)
{
    if (strcmp(name, "mpi.h") == 0) {
        return strcmp(path, "runtime/cluster/mpi.c") != 0
                   ? report(path, name, "only lib/runtime/cluster/mpi.c includes MPI's header")
                   : 0;
    }
    int in_opencl = strncmp(path, "runtime/opencl/", strlen("runtime/opencl/")) == 0;
    if (strncmp(name, "clblast", 7) == 0) {
        clblast_files++;
        return clblast_files > 1 ? report(path, name, "only one file includes CLBlast's header") : 0;
    }
    return strncmp(name, "CL/", 3) == 0 && !in_opencl
               ? report(path, name, "only lib/runtime/opencl includes OpenCL's headers")
               : 0;
}

static int check_folder_include(const char *path, const char *name)
{
    int own = folder_of(path), other = folder_of(name);
    if (own < 0 || other < 0) {
        return report(path, name, "write \"folder/file.h\", with a folder of the table in lib/README.md");
    }
    return other != own && folders[other].level >= folders[own].level
               ? report(path, name,
                        "a folder includes only itself and folders of a lower level (lib/README.md)")
               : 0;
}

static int check_include(const char *path, const char *line)
{
    char name[256];
    if (sscanf(line, " # include \"%255[^\"\n]", name) == 1) {
        return check_folder_include(path, name);
    }
    return sscanf(line, " # include <%255[^>\n]", name) == 1 ? check_system_include(path, name) : 0;
}

static int check_word(const char *path, const char *word)
{
    static const char *const printing[] = {"printf", "vprintf", "puts", "putchar", "perror", "stdout",
                                           "stderr", "cout",    "cerr", "clog",    NULL};
    static const char *const ending[] = {"exit", "_exit", "_Exit", "quick_exit", "abort", NULL};
    static const char *const environment[] = {"getenv", "secure_getenv", "setenv", "putenv", "environ", NULL};
    static const char *const allocating[] = {"malloc",  "calloc",   "realloc", "strdup",
                                             "strndup", "asprintf", NULL};
    static const char *const architectures[] = {
#define ARCHITECTURE(name, lower) "CLF__" #name,
        CLF__ARCHITECTURE_LIST(ARCHITECTURE)
#undef ARCHITECTURE
            NULL};
    if (is_named(word, architectures) &&
        strncmp(path, "model/config/architectures/", strlen("model/config/architectures/")) != 0) {
        return report(path, word, "only lib/model/config/architectures compares the name of an architecture");
    }
    if (is_named(word, printing)) {
        return report(path, word, "lib/ never prints");
    }
    if (is_named(word, ending)) {
        return report(path, word, "lib/ never ends the process");
    }
    if (is_named(word, environment) && strcmp(path, "base/environment.c") != 0) {
        return report(path, word, "only lib/base/environment.c reads the environment");
    }
    if (is_named(word, allocating) && strcmp(path, "base/memory.c") != 0) {
        return report(path, word, "memory comes from lib/base/memory.h");
    }
    return 0;
}

/* Checks a string that starts here. */
static int check_string(const char *path, const char *text)
{
    static const char *const architectures[] = {
#define ARCHITECTURE(name, lower) "\"" #lower "\"",
        CLF__ARCHITECTURE_LIST(ARCHITECTURE)
#undef ARCHITECTURE
    };
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (strncmp(text, architectures[i], strlen(architectures[i])) == 0 &&
            strncmp(path, "model/config/architectures/", strlen("model/config/architectures/")) != 0 &&
            strncmp(path, "text/tokenizers/classes/", strlen("text/tokenizers/classes/")) != 0) {
            return report(
                path, architectures[i],
                "only lib/model/config/architectures and lib/text/tokenizers/classes name architectures");
        }
    }
    return 0;
}

/* Returns the position after the comment, string or character literal that starts here, or NULL if none
   does. */
static const char *skip_text(const char *p)
{
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '/' && p[1] == '/') {
        return p + strcspn(p, "\n");
    }
    if (*p != '"' && *p != '\'') {
        return NULL;
    }
    char quote = *p++;
    while (*p && *p != quote) {
        p += *p == '\\' && p[1] ? 2 : 1;
    }
    return *p ? p + 1 : p;
}

/* Returns how many rules the source of a file (its path is relative to lib/) breaks. */
static int check_source(const char *path, const char *source)
{
    int broken = 0, line_start = 1;
    for (const char *p = source; *p;) {
        const char *end = skip_text(p);
        if (end) {
            broken += check_string(path, p);
            p = end;
        } else if (*p == '#' && line_start) {
            broken += check_include(path, p);
            p += strcspn(p, strncmp(p + 1 + strspn(p + 1, " "), "include", 7) == 0 ? "\n" : " \n");
        } else if (isalpha((unsigned char)*p) || *p == '_') {
            char word[64];
            size_t length = 0;
            while (isalnum((unsigned char)p[length]) || p[length] == '_') {
                length++;
            }
            snprintf(word, sizeof word, "%.*s", (int)length, p);
            broken += check_word(path, word);
            /* __attribute__((format(printf, 1, 2))) prints nothing */
            p += strcmp(word, "format") == 0 ? strcspn(p, ",;") : length;
            line_start = 0;
        } else {
            line_start = *p == '\n' || (line_start && isspace((unsigned char)*p));
            p++;
        }
    }
    return broken;
}

static int broken_rules, source_files;

static void assert_no_broken_rules(void)
{
    if (broken_rules > 0) {
        fail_msg("correct the lines listed above");
    }
}

/* Returns the text of a file with one of the suffixes, counted in source_files, valid until the next call;
 * NULL for other files. */
static const char *read_source(const char *path, int kind, const char *const *suffixes)
{
    const char *end = strrchr(path, '.');
    if (kind != FTW_F || end == NULL || !is_named(end, suffixes)) {
        return NULL;
    }
    static char source[MAX_SOURCE];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(source, 1, sizeof source - 1, file);
    assert_true(feof(file));
    fclose(file);
    source[length] = '\0';
    source_files++;
    return source;
}

static int check_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)walk;
    static const char *const suffixes[] = {".c", ".cc", ".h", NULL};
    const char *source = read_source(path, kind, suffixes);
    if (source != NULL) {
        broken_rules += check_source(path + strlen(CLF_SOURCE_FOLDER "/lib/"), source);
    }
    return 0;
}

static void test_every_file_keeps_the_rules(void **state)
{
    (void)state;
    clblast_files = broken_rules = source_files = 0;
    assert_int_equal(nftw(CLF_SOURCE_FOLDER "/lib", check_file, 16, FTW_PHYS), 0);
    assert_true(source_files > folder_count);
    assert_no_broken_rules();
}

static void test_each_rule_catches_its_breach(void **state)
{
    (void)state;
    static const struct {
        const char *path, *source;
        int broken;
    } cases[] = {
        {"math/tensor/tensor.c", "#include \"math/ops/softmax.h\"\n", 1},
        {"text/batch.c", "#include \"runtime/device/caps.h\"\n", 1},
        {"model/config/architectures/marian.c",
         "#include \"model/config/config.h\"\n#include \"base/json.h\"\n", 0},
        {"model/tree.c", "#include \"model/weights/format.h\"\n#include \"model/infer/session.h\"\n", 1},
        {"model/infer/step.c", "#include \"model/tree.h\"\n", 0},
        {"model/infer/step.c", "#include \"model/backprop/internal.h\"\n#include \"model/rest/a.h\"\n", 2},
        {"base/json.c", "#include \"json.h\"\n", 1},
        {"base/json.c", "  #  include \"text/batch.h\"\n", 1},
        {"math/ops/softmax.c", "#include <CL/cl.h>\n", 1},
        {"runtime/opencl/platform.c", "#include <CL/cl.h>\n#include <string.h>\n", 0},
        {"runtime/cluster/mpi.c", "#include <mpi.h>\n", 0},
        {"runtime/cluster/ranks.c", "#include <mpi.h>\n", 1},
        {"train/train.c", "#include <mpi.h>\n", 1},
        {"math/gemm/a.c", "#include <clblast_c.h>\n", 0},
        {"math/gemm/b.c", "#include <clblast_c.h>\n", 1},
        {"runtime/device/caps.c", "#include \"math/gemm/gemm.h\"\n", 1},
        {"runtime/opencl/choice.c", "#include \"runtime/device/caps.h\"\n", 1},
        {"base/log.c", "void f(void) { printf(\"x\"); }\n", 1},
        {"base/log.c", "#define SAY(x) fputs(x, stderr)\n", 1},
        {"base/log.c", "/* printf */ // exit\nchar *s = \"abort \\\" exit\", c = '\"'; int printf_count;\n",
         0},
        {"base/log.c", "void f(void) { exit(1); abort(); }\n", 2},
        {"base/log.c", "char *f(void) { return getenv(\"HOME\"); }\n", 1},
        {"base/environment.c", "char *f(void) { return getenv(\"HOME\"); }\n", 0},
        {"text/batch.c", "void *f(void) { return malloc(1); }\n", 1},
        {"train/run.c", "int f(int preset) { return preset == CLF__MARIAN; }\n", 1},
        {"model/config/architectures/marian.c", "int f(int preset) { return preset == CLF__MARIAN; }\n", 0},
        {"train/run.c", "const char *f(void) { return \"jadore\"; }\n", 1},
        {"train/run.c", "const char *f(void) { return \"as jadore\"; } /* \"jadore\" */\n", 0},
        {"model/config/architectures/jadore.c", "const char *f(void) { return \"jadore\"; }\n", 0},
    };
    clblast_files = 0;
    is_self_test = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(check_source(cases[i].path, cases[i].source), cases[i].broken);
    }
    is_self_test = 0;
}

/* The umask belongs to the whole process: reading it by setting it changes it for every other thread. */
static int check_mask(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)walk;
    static const char *const suffixes[] = {".c", NULL};
    const char *source = read_source(path, kind, suffixes);
    const char *found = source != NULL ? strstr(source, "umask(") : NULL;
    broken_rules += found != NULL && report(path, "umask", "only the caller sets the umask of the process");
    return 0;
}

static void test_nobody_sets_the_mask(void **state)
{
    (void)state;
    static const char *const parts[] = {"lib", "tools", "bench"};
    broken_rules = 0;
    for (int i = 0; i < 3; i++) {
        char path[512];
        source_files = 0;
        snprintf(path, sizeof path, "%s/%s", CLF_SOURCE_FOLDER, parts[i]);
        assert_int_equal(nftw(path, check_mask, 16, FTW_PHYS), 0);
        assert_true(source_files > 0);
    }
    assert_no_broken_rules();
}

/* Returns how many links of a Markdown document in a folder lead to no file. */
static int count_broken_links(const char *folder, const char *text)
{
    int broken = 0;
    for (const char *link = strstr(text, "]("); link != NULL; link = strstr(link, "](")) {
        link += 2;
        int length = (int)strcspn(link, ")#\n");
        char target[1024];
        snprintf(target, sizeof target, "%s/%.*s", folder, length, link);
        if (length > 0 && strstr(target, "://") == NULL && access(target, F_OK) != 0) {
            if (!is_self_test) {
                print_message("%s: no such file; a document in %s links to it\n", target, folder);
            }
            broken++;
        }
    }
    return broken;
}

static int check_document(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    static const char *const suffixes[] = {".md", NULL};
    const char *text = read_source(path, kind, suffixes);
    if (text != NULL) {
        char folder[512];
        snprintf(folder, sizeof folder, "%.*s", walk->base - 1, path);
        broken_rules += count_broken_links(folder, text);
    }
    return 0;
}

static void test_links_of_documents(void **state)
{
    (void)state;
    static const char *const places[] = {"README.md", "bench", "cl", "include", "lib", "tests", "tools"};
    is_self_test = 1;
    assert_int_equal(
        count_broken_links(CLF_SOURCE_FOLDER, "[a](README.md) [b](lib/) [c](https://a.b/c) [d](#e)"), 0);
    assert_int_equal(
        count_broken_links(CLF_SOURCE_FOLDER "/lib", "[a](README.md#b) [c](../README.md) [d](no.md)"), 1);
    is_self_test = 0;
    broken_rules = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[512];
        source_files = 0;
        snprintf(path, sizeof path, "%s/%s", CLF_SOURCE_FOLDER, places[i]);
        assert_int_equal(nftw(path, check_document, 16, FTW_PHYS), 0);
        assert_true(source_files > 0);
    }
    assert_no_broken_rules();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_file_keeps_the_rules),
        cmocka_unit_test(test_nobody_sets_the_mask),
        cmocka_unit_test(test_each_rule_catches_its_breach),
        cmocka_unit_test(test_links_of_documents),
    };
    return cmocka_run_group_tests(tests, read_folders, NULL);
}
