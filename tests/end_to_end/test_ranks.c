/* `mpirun clformer train`: only rank 0 prints and writes, with the results of one process. */
#include "support/digits.h"

#include <string.h>

#include <jansson.h>

#include <clformer/ranks.h>

#include "support/ranks.h"

#define SMALL                                                                                                \
    "train --size tiny --gemm native --tokens --config d_model=32 --config encoder_layers=1 --config "       \
    "decoder_layers=1 --config encoder_ffn_dim=32 --config decoder_ffn_dim=32 --batch-tokens 40 --warm-up "  \
    "2 --max-updates 4 --validate-every 2 --micro-batches 6 "

static const char *make_texts(void)
{
    const char *folder = support_temporary_folder();
    digits_write(folder, "train", 60, 8, 1);
    digits_write(folder, "valid", 10, 8, 2);
    return folder;
}

static char *command(const char *folder, const char *name)
{
    return process_format(SMALL "--train %s/train.source %s/train.target --valid %s/valid.source "
                                "%s/valid.target --log %s/%s.log -o %s/%s",
                          folder, folder, folder, folder, folder, name, folder, name);
}

/* A log's lines without values that differ between runs: time, duration, location. */
static char *told_in(const char *folder, const char *name, int ranks)
{
    size_t size;
    char *rest = process_read(folder, process_format("%s.log", name), &size), *line;
    char *told = support_array(2 * size + 1, 1);
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        json_t *start = json_object_get(object, "start");
        if (start != NULL) {
            assert_int_equal(json_integer_value(json_object_get(start, "ranks")), ranks);
        }
        assert_true(json_number_value(json_object_get(object, "waited")) >= 0);
        json_object_del(object, "start");
        json_object_del(object, "seconds");
        json_object_del(object, "waited");
        json_object_del(json_object_get(object, "validation"), "checkpoint");
        char *text = json_dumps(object, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
        strcat(strcat(told, text), "\n");
        free(text);
        json_decref(object);
    }
    return told;
}

static void test_train(void **state)
{
    (void)state;
    ranks_need();
    const char *folder = make_texts();
    struct process_result one = run_clformer(NULL, command(folder, "one"));
    assert_int_equal(one.status, 0);
    assert_null(strstr(one.errors, "ranks"));
    struct process_result three = ranks_run(3, NULL, command(folder, "three"));
    assert_int_equal(three.status, 0);
    assert_int_equal(process_count(three.errors, ", on each of 3 ranks\n"), 1);
    assert_int_equal(process_count(three.errors, "validation loss"), 2);
    assert_int_equal(process_count(three.errors, "done after update 4"), 1);
    assert_string_equal(told_in(folder, "three", 3), told_in(folder, "one", 1));
    size_t sizes[2];
    const char *models[] = {process_read(folder, "one/model.safetensors", &sizes[0]),
                            process_read(folder, "three/model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(models[0], models[1], sizes[0]);
}

static void test_failures_are_said_once(void **state)
{
    (void)state;
    ranks_need();
    const char *folder = make_texts();
    struct process_result result =
        ranks_run(2, NULL, process_format("%s --micro-batches 3", command(folder, "m")));
    assert_true(result.status != 0);
    assert_int_equal(process_count(result.errors, "micro-batches: 3 cannot be divided evenly among 2 ranks"),
                     1);
    assert_int_equal(process_count(result.errors, "clformer: rank 0 on "), 1);
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", command(folder, "m"),
                              process_format("%s --device no-such-device", command(folder, "m")));
    assert_true(result.status != 0);
    assert_non_null(strstr(result.errors, "clformer: rank 1 on "));
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer",
                              process_format("%s --log /no/such/folder/log", command(folder, "m")),
                              command(folder, "m"));
    assert_true(result.status != 0);
    assert_non_null(strstr(result.errors, "/no/such/folder/log: cannot be written"));
    assert_false(digits_has_file(folder, "m"));
}

static void test_version(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "--version");
    const char *library = clf_ranks_library();
    assert_non_null(strstr(result.output, library != NULL ? process_format("MPI: %s\n", library)
                                                          : "MPI: no (built without MPI)\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_train, support_teardown),
        cmocka_unit_test_teardown(test_failures_are_said_once, support_teardown),
        cmocka_unit_test_teardown(test_version, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
