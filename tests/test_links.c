/* The files of lib/ have no cyclic dependencies: an object file uses no symbols of files that use, directly
 * or through others, its own symbols. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SYMBOLS = 1 << 15, MAX_FILES = 1024 };

/* A global name in one object: defined there, or used. */
struct symbol {
    char name[96];
    int file, is_defined;
};

static struct {
    char files[MAX_FILES][160];
    int file_count;
    struct symbol symbols[MAX_SYMBOLS];
    int symbol_count;
    unsigned char uses[MAX_FILES][MAX_FILES]; /* (user, used), different files */
    unsigned char is_gone[MAX_FILES];
} links;

static int by_name(const void *a, const void *b)
{
    const struct symbol *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : right->is_defined - left->is_defined; /* definitions first */
}

/* Parses a line of nm -A -P, files in sequence: "path: name type value size". */
static void read_line(const char *line)
{
    char file[512], type;
    struct symbol *symbol = &links.symbols[links.symbol_count];
    if (sscanf(line, "%511[^:]: %95s %c", file, symbol->name, &type) != 3 || strchr("TDRBU", type) == NULL) {
        return;
    }
    const char *path = strstr(file, ".dir/");
    path = path ? path + strlen(".dir/") : file;
    if (links.file_count == 0 || strcmp(links.files[links.file_count - 1], path) != 0) {
        assert_true(links.file_count < MAX_FILES && strlen(path) < sizeof links.files[0]);
        strcpy(links.files[links.file_count++], path);
    }
    symbol->file = links.file_count - 1;
    symbol->is_defined = type != 'U';
    assert_true(++links.symbol_count < MAX_SYMBOLS);
}

static void find_uses(void)
{
    qsort(links.symbols, (size_t)links.symbol_count, sizeof *links.symbols, by_name);
    const struct symbol *definition = NULL;
    for (int i = 0; i < links.symbol_count; i++) {
        const struct symbol *symbol = &links.symbols[i];
        if (symbol->is_defined) {
            definition = symbol;
        } else if (definition && strcmp(definition->name, symbol->name) == 0) {
            links.uses[symbol->file][definition->file] = symbol->file != definition->file;
        }
    }
}

static int is_in_use(int file, int direction)
{
    for (int other = 0; other < links.file_count; other++) {
        if (!links.is_gone[other] && links.uses[direction ? other : file][direction ? file : other]) {
            return 1;
        }
    }
    return 0;
}

/* Removes files that use no other or that no other uses; returns the number of files left, which are on
 * cycles. */
static int count_cyclic(void)
{
    int left = links.file_count, before;
    find_uses();
    do {
        before = left;
        for (int file = 0; file < links.file_count; file++) {
            if (!links.is_gone[file] && (!is_in_use(file, 0) || !is_in_use(file, 1))) {
                links.is_gone[file] = 1;
                left--;
            }
        }
    } while (left < before);
    return left;
}

static int clear(void **state)
{
    (void)state;
    memset(&links, 0, sizeof links);
    return 0;
}

static void test_no_cyclic_dependencies(void **state)
{
    (void)state;
    FILE *nm = popen("xargs -d '\\n' nm -A -P -g <'" CLF_BUILD_FOLDER "/generated/objects.txt'", "r");
    assert_non_null(nm);
    char line[2048];
    while (fgets(line, sizeof line, nm)) {
        read_line(line);
    }
    assert_int_equal(pclose(nm), 0);
    assert_true(links.file_count > 100);
    if (count_cyclic() > 0) {
        for (int file = 0; file < links.file_count; file++) {
            if (!links.is_gone[file]) {
                print_message("%s\n", links.files[file]);
            }
        }
        fail_msg("the files above depend on each other; remove one of the uses (lib/README.md)");
    }
}

static void test_cycles_are_found(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "x.dir/lib/a.c.o: b U",     "x.dir/lib/a.c.o: a T 0 9", /* a, b and c need each other in turn */
        "x.dir/lib/b.c.o: c U",     "x.dir/lib/b.c.o: b T 0 9", "x.dir/lib/c.c.o: a U",
        "x.dir/lib/c.c.o: c T 0 9", "x.dir/lib/d.c.o: a U",     "x.dir/lib/d.c.o: d T 0 9", /* d needs them */
        "x.dir/lib/c.c.o: e U",     "x.dir/lib/e.c.o: e T 0 9", "x.dir/lib/e.c.o: e U"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        read_line(lines[i]);
    }
    assert_int_equal(count_cyclic(), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_cyclic_dependencies, clear),
        cmocka_unit_test_setup(test_cycles_are_found, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
