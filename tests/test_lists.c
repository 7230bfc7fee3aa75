/* Checks the lists, documents and tests that must name every architecture or every op. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "model/config/architectures/architecture.h"
#include "support/process.h"

#define ONE(name, word) +1
enum { ARCHITECTURES = CLF__ARCHITECTURE_LIST(ONE), LEAST_FIXTURES = 2 };

static int exists(const char *path)
{
    return access(process_format(CLF_SOURCE_FOLDER "/%s", path), F_OK) == 0;
}

static int count_fixtures(const char *key, const char *value)
{
    int count = 0;
    for (const char *const *name = support_fixture_folders("models", "expected.json"); *name != NULL;
         name++) {
        json_t *config =
            json_load_file(process_format("%s/%s/config.json", support_fixture("models"), *name), 0, NULL);
        const char *found = json_string_value(json_object_get(config, key));
        count += found != NULL && strcmp(found, value) == 0;
        json_decref(config);
    }
    return count;
}

static void test_architectures(void **state)
{
    (void)state;
    size_t size;
    char *keys = process_read(CLF_SOURCE_FOLDER, "lib/model/config/KEYS.md", &size);
    *strstr(keys, "\n| key |") = '\0'; /* the list of types and presets precedes the table */
    for (int i = 0; i < ARCHITECTURES; i++) {
        const char *type = clf__architecture_of((enum clf__architecture_id)i)->hugging_face;
        if (type == NULL) {
            continue;
        }
        if (strstr(keys, process_format("(%s,", type)) == NULL &&
            strstr(keys, process_format(" %s,", type)) == NULL &&
            strstr(keys, process_format("\n%s,", type)) == NULL &&
            strstr(keys, process_format(" %s)", type)) == NULL) {
            fail_msg("lib/model/config/KEYS.md does not list the model_type %s; add it to the list before "
                     "the table",
                     type);
        }
        if (clf__architecture_refused_type(type) != NULL) {
            fail_msg("refused.c lists the model_type %s as unsupported; remove it there", type);
        }
        if (count_fixtures("model_type", type) < LEAST_FIXTURES) {
            fail_msg("tests/fixtures/models has fewer than %d folders of %s with expected.json; add some "
                     "(lib/model/ADD_ARCHITECTURE.md)",
                     LEAST_FIXTURES, type);
        }
    }
}

/* Returns whether a file of the self-test includes the header of an op. */
static int is_in_selftest(const char *op)
{
    const char *found = process_shell(process_format(
        "cat '" CLF_SOURCE_FOLDER "/tools/selftest/'*.c | grep -F '#include \"math/ops/%s.h\"' || :", op));
    return *found != '\0';
}

/* An op has a file in lib/math/ops and kernels in a file of the same name. */
static void test_ops(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(CLF_SOURCE_FOLDER "/cl/*/*.cl", 0, NULL, &files), 0);
    int ops = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = strrchr(files.gl_pathv[i], '/') + 1;
        const char *op = process_format("%.*s", (int)strcspn(name, "."), name);
        int is_part = strcmp(op, "chunks") == 0; /* of other ops */
        if (is_part || !exists(process_format("lib/math/ops/%s.c", op))) {
            continue;
        }
        ops++;
        if (!exists(process_format("tests/ops/test_%s.c", op))) {
            fail_msg("lib/math/ops/%s.c has no test; add tests/ops/test_%s.c", op, op);
        }
        if (exists(process_format("lib/math/ops/%s.h", op)) && !is_in_selftest(op)) {
            fail_msg("`clformer selftest` does not check lib/math/ops/%s.h; add a check to tools/selftest "
                     "(rows.c, gemm.c or, for gradients, gradients.c)",
                     op);
        }
    }
    globfree(&files);
    assert_true(ops > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_architectures, support_teardown),
        cmocka_unit_test_teardown(test_ops, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
