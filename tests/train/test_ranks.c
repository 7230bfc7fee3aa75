/* Several ranks train one model: results equal a single process's bit for bit for any number of ranks. If any
 * rank fails, all end, and the same command resumes. */
#include "support/digits.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "runtime/opencl/testing.h"
#include "support/ranks.h"

enum { UPDATES = 10, VALIDATIONS = 2 };

static const char *program; /* this one */

/* The child trains as the test requests and records its callbacks. */
struct child {
    struct clf_ranks *ranks;
    const char *trouble; /* "none", "killed", "disk", "device", "interrupted" */
    int at;              /* the rank that has it */
    int asked;           /* calls of the interrupt callback: before each update, and more often on rank 0 */
    int updates;         /* updates reported to rank 0 */
    FILE *notes;
};

static void note_start(const struct clf_train_start *start, void *user)
{
    struct child *child = user;
    fprintf(child->notes, "begins at %d with %d ranks\n", (int)start->first_update, start->ranks);
}

static void fill_disk(void)
{
    struct rlimit little = {20000,
                            RLIM_INFINITY}; /* less than the weights, and than a shard of the moments */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
}

static void note_update(const struct clf_train_update *update, void *user)
{
    struct child *child = user;
    child->updates++;
    fprintf(child->notes, "update %d %a %a %a %d %d\n", (int)update->update, update->loss, update->nll,
            update->gradient_norm, (int)update->source_tokens, (int)update->target_tokens);
    fflush(child->notes);
    if (child->updates == 8 && child->at == 0 && strcmp(child->trouble, "disk") == 0) { /* saved next */
        fill_disk();
    }
}

static void note_validation(const struct clf_train_validation *validation, void *user)
{
    struct child *child = user;
    fprintf(child->notes, "validation %d %a %a %a\n", (int)validation->update, validation->loss,
            validation->nll, validation->bleu);
    fflush(child->notes);
}

/* The sixth update fails, or an earlier one on ranks above 0; the last checkpoint is of the fourth. */
static int make_trouble(void *user)
{
    struct child *child = user;
    int rank = clf_ranks_rank(child->ranks), done = rank == 0 ? child->updates : child->asked++;
    int is_time = done == 5 && rank == child->at;
    if (is_time && strcmp(child->trouble, "killed") == 0) {
        raise(SIGKILL);
    }
    if (is_time && rank > 0 && strcmp(child->trouble, "disk") == 0) { /* only rank 0 reports updates */
        fill_disk();
    }
    if (is_time && strcmp(child->trouble, "device") == 0) {
        clf__device_fail_at(20);
    }
    return is_time && strcmp(child->trouble, "interrupted") == 0;
}

/* "NAME=VALUE" of a recipe. */
static void choose(struct clf_recipe *recipe, const char *choice)
{
    const char *value = strchr(choice, '=') + 1;
    digits_set(recipe, process_format("%.*s", (int)(value - 1 - choice), choice), value);
}

/* Arguments: data, output, notes, trouble, rank, choices. */
static int run_child(char **arguments, int count)
{
    struct child child = {.trouble = arguments[3], .at = atoi(arguments[4])};
    struct clf_recipe *recipe = digits_recipe(arguments[0]);
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    struct clf_train_hooks hooks = {sizeof hooks, note_start,   note_update, note_validation,
                                    NULL,         make_trouble, &child,      NULL};
    options.gemm = CLF_GEMM_NATIVE;
    digits_set(recipe, "batch-tokens", "20");
    digits_set(recipe, "learning-rate", "0.01");
    digits_set(recipe, "warm-up", "2");
    digits_set(recipe, "max-updates", "10");
    digits_set(recipe, "save-every", "4");
    digits_set(recipe, "validate-every", "5");
    for (int i = 5; i < count; i++) {
        choose(recipe, arguments[i]);
    }
    assert_ok(clf_ranks_join(&child.ranks));
    hooks.ranks = child.ranks;
    child.notes = fopen(
        clf_ranks_rank(child.ranks) == 0 ? arguments[2] : process_format("%s.other", arguments[2]), "a");
    assert_ok(clf_device_open(&device, NULL, &options));
    clf_status status = clf_train(device, recipe, arguments[1], &hooks);
    clf__device_fail_at(0);
    if (status != CLF_OK) {
        printf("rank %d ends: %s\n", clf_ranks_rank(child.ranks), clf_last_error());
        fflush(stdout);
    }
    clf_device_close(device);
    clf_recipe_free(recipe);
    fclose(child.notes);
    clf_ranks_leave(child.ranks, status);
    support_free_all();
    return 0;
}

/* One test's folder. */
struct place {
    const char *folder;
    int runs;
};

static struct place make_place(void)
{
    struct place place = {support_temporary_folder(), 0};
    digits_write(place.folder, "train", 60, 8, 1);
    digits_write(place.folder, "valid", 10, 8, 2);
    return place;
}

static char *arguments_of(const struct place *place, const char *output, const char *trouble, int at,
                          const char *choices)
{
    return process_format("child %s %s/%s %s/%s.notes %s %d %s", place->folder, place->folder, output,
                          place->folder, output, trouble, at, choices);
}

static struct process_result run(const struct place *place, int ranks, const char *output,
                                 const char *choices)
{
    struct process_result result = ranks_run(ranks, program, arguments_of(place, output, "none", 0, choices));
    if (result.status != 0 || result.output_size > 0) {
        fail_msg("%d ranks: status %d, %s%s", ranks, result.status, result.output, result.errors);
    }
    return result;
}

/* The records without run starts and repeated updates, which must be equal. */
static char *read_notes(const struct place *place, const char *output)
{
    size_t size;
    char *notes = process_read(place->folder, process_format("%s.notes", output), &size);
    char *kept = support_array(size + 1, 1), *rest = notes, *line;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        char *whole = process_format("%s\n", line);
        if (strncmp(line, "begins", 6) != 0 && strstr(kept, whole) == NULL) {
            strcat(kept, whole);
        }
    }
    return kept;
}

static void check_same_run(const struct place *place, const char *output, const char *expected)
{
    size_t sizes[2];
    const char *notes = read_notes(place, output);
    assert_string_equal(notes, read_notes(place, expected));
    assert_int_equal(process_count(notes, "update "), UPDATES);
    assert_int_equal(process_count(notes, "validation "), VALIDATIONS);
    const char *models[] = {
        process_read(process_format("%s/%s", place->folder, output), "model.safetensors", &sizes[0]),
        process_read(process_format("%s/%s", place->folder, expected), "model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(models[0], models[1], sizes[0]);
}

static int count_files(const struct place *place, const char *output, const char *part)
{
    struct clf__names names;
    int count = 0;
    assert_ok(clf__folder_list(&names, process_format("%s/%s/checkpoints", place->folder, output)));
    for (int i = 0; i < names.count; i++) {
        count += strstr(names.items[i], part) != NULL;
    }
    clf__names_free(&names);
    return count;
}

/* Updates of twelve micro-batches, fewer in the last of an epoch; some ranks have none of them. */
static void test_the_bits_do_not_depend_on_the_ranks(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    run(&place, 1, "one", "micro-batches=12");
    static const int counts[] = {2, 6};
    for (int i = 0; i < ranks_cases(2); i++) {
        const char *output = process_format("ranks-%d", counts[i]);
        run(&place, counts[i], output, "micro-batches=12");
        check_same_run(&place, output, "one");
        /* Only rank 0 is told. */
        size_t size;
        process_read(place.folder, process_format("%s.notes.other", output), &size);
        assert_int_equal(size, 0);
    }
}

/* With gradients accumulated within a micro-batch, clipping, and another model, whose loss is not
   normalized. */
static void test_other_recipes(void **state)
{
    (void)state;
    static const char *const choices[] = {
        "micro-batches=2 accumulate=3 clip-norm=0.5 optimizer=adamw decay=0.1",
        "micro-batches=4 preset=jadore schedule=constant",
        "micro-batches=4 loss=kl average=2 best=loss bleu=none",
    };
    ranks_need();
    for (int i = 0; i < ranks_cases(sizeof choices / sizeof *choices); i++) {
        struct place place = make_place();
        run(&place, 1, "one", choices[i]);
        run(&place, 2, "two", choices[i]);
        check_same_run(&place, "two", "one");
    }
}

/* A run resumes with a different number of ranks. */
static void test_the_ranks_may_change(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    run(&place, 1, "one", "micro-batches=12");
    run(&place, 4, "changed", "micro-batches=12 max-updates=4");
    run(&place, 1, "changed", "micro-batches=12 max-updates=5");
    run(&place, 3, "changed", "micro-batches=12 max-updates=7");
    run(&place, 2, "changed", "micro-batches=12");
    const char *notes = read_notes(&place, "changed");
    assert_int_equal(process_count(notes, "update "), UPDATES);
    size_t size;
    assert_non_null(strstr(process_read(place.folder, "changed.notes", &size), "begins at 6 with 3 ranks"));
    /* max-updates adds a validation at the end of each part */
    char *line = read_notes(&place, "one"), *rest = line;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        assert_non_null(strstr(notes, line));
    }
}

/* In bf16 the sums differ, but are equal for any number of ranks. */
static void test_reduced_in_bf16(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    run(&place, 1, "fp32", "micro-batches=12");
    run(&place, 1, "one", "micro-batches=12 reduce-precision=bf16");
    run(&place, 3, "three", "micro-batches=12 reduce-precision=bf16");
    check_same_run(&place, "three", "one");
    assert_string_not_equal(read_notes(&place, "one"), read_notes(&place, "fp32"));
}

/* Sharding the moments changes no bit, even with clipping, whose norm covers all shards. */
static void test_sharded(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    const char *choices = "micro-batches=12 clip-norm=0.5 optimizer=adamw decay=0.1";
    run(&place, 1, "one", choices);
    static const int counts[] = {4, 1};
    for (int i = 0; i < ranks_cases(2); i++) {
        int ranks = counts[i];
        const char *output = process_format("sharded-%d", ranks);
        run(&place, ranks, output, process_format("%s shard-optimizer=true", choices));
        check_same_run(&place, output, "one");
    }
    choices = "micro-batches=12 reduce-precision=bf16";
    run(&place, 1, "one-bf16", choices);
    run(&place, 3, "three-bf16", process_format("%s shard-optimizer=true", choices));
    check_same_run(&place, "three-bf16", "one-bf16");
}

static int has_shards(const struct place *place, const char *output, const char *update, int ranks)
{
    const char *folder = process_format("%s/%s/checkpoints/%s", place->folder, output, update);
    int count = 0;
    for (int i = 1; i <= ranks; i++) {
        count += digits_has_file(folder, process_format("optimizer-%05d-of-%05d.safetensors", i, ranks));
    }
    return count == ranks && !digits_has_file(folder, "optimizer.safetensors");
}

/* A sharded checkpoint resumes with a different number of ranks or without shards, and vice versa. */
static void test_shards_may_change(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    run(&place, 1, "one", "micro-batches=12");
    run(&place, 3, "changed", "micro-batches=12 shard-optimizer=true max-updates=3");
    assert_true(has_shards(&place, "changed", "update-00000003", 3));
    run(&place, 2, "changed", "micro-batches=12 shard-optimizer=true max-updates=5");
    assert_true(has_shards(&place, "changed", "update-00000005", 2));
    run(&place, 1, "changed", "micro-batches=12 max-updates=7");
    run(&place, 4, "changed", "micro-batches=12 shard-optimizer=true");
    const char *notes = read_notes(&place, "changed");
    assert_int_equal(process_count(notes, "update "), UPDATES);
    char *line = read_notes(&place, "one"), *rest = line;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        assert_non_null(strstr(notes, line));
    }
}

/* Sums in another order differ slightly. */
static void test_fast_reduce(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    run(&place, 1, "one", "micro-batches=6");
    run(&place, 3, "three", "micro-batches=6 fast-reduce=true");
    char *expected = read_notes(&place, "one"), *notes = read_notes(&place, "three");
    for (int i = 0; i < UPDATES; i++) {
        double losses[2];
        const char *start = process_format("update %d %%lf", i + 1);
        const char *lines[] = {strstr(expected, process_format("update %d ", i + 1)),
                               strstr(notes, process_format("update %d ", i + 1))};
        assert_true(lines[0] && lines[1]);
        assert_true(sscanf(lines[0], start, &losses[0]) == 1 && sscanf(lines[1], start, &losses[1]) == 1);
        assert_true(losses[0] > 0 && losses[1] < 1.001 * losses[0] && losses[1] > 0.999 * losses[0]);
    }
}

static const char alone[] = "micro-batches=6", sharded[] = "micro-batches=6 shard-optimizer=true";

/* If any rank fails, all report the same message, no half-written checkpoint is left, and the same command
 * resumes with equal bits. */
static void check_trouble(const char *trouble, int at, const char *sentence, const char *choices)
{
    struct place place = make_place();
    run(&place, 1, "one", "micro-batches=6");
    struct process_result result = ranks_run(3, program, arguments_of(&place, "torn", trouble, at, choices));
    if (process_count(result.output, " ends: ") != 3 || process_count(result.output, sentence) != 3) {
        fail_msg("%s at %d: status %d, %s%s", trouble, at, result.status, result.output, result.errors);
    }
    assert_int_equal(count_files(&place, "torn", ".tmp"), 0);
    run(&place, 2, "torn", choices);
    check_same_run(&place, "torn", "one");
}

/* Failure on rank `at` of three, with these choices. */
struct trouble {
    int at;
    const char *sentence, *choices;
};

static void test_a_device_is_lost(void **state)
{
    (void)state;
    static const struct trouble rows[] = {
        {1, "ends: rank 1 on ", sharded}, {0, "ends: rank 0 on ", alone}, {2, "ends: rank 2 on ", alone}};
    ranks_need();
    for (int i = 0; i < ranks_cases(3); i++) {
        check_trouble("device", rows[i].at, rows[i].sentence, rows[i].choices);
    }
}

static void test_the_disk_is_full(void **state)
{
    (void)state;
    static const struct trouble rows[] = {{1, ": rank 1 on ", sharded},
                                          {0, "was not saved (last checkpoint: ", alone},
                                          {0, ": rank 0 on ", sharded}};
    ranks_need();
    for (int i = 0; i < ranks_cases(3); i++) {
        check_trouble("disk", rows[i].at, rows[i].sentence, rows[i].choices);
    }
}

static void test_one_rank_is_interrupted(void **state)
{
    (void)state;
    ranks_need();
    /* The library asks at every update, and while it compiles. */
    check_trouble("interrupted", 1, "training was interrupted after update ", alone);
}

/* mpirun names rank and host, and ends the others. */
static void test_a_rank_is_killed(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place();
    run(&place, 1, "one", "micro-batches=6");
    for (int at = 0; at < 3; at++) {
        struct process_result result =
            ranks_run(3, program, arguments_of(&place, "torn", "killed", at, "micro-batches=6 save-every=1"));
        assert_true(result.status != 0);
        if (strstr(clf_ranks_library(), "Open MPI") != NULL &&
            strstr(result.errors, process_format("rank %d with PID", at)) == NULL) {
            fail_msg("rank %d was killed, and mpirun says %s", at, result.errors);
        }
        assert_true(count_files(&place, "torn", "update-") > 0);
        assert_ok(clf__folder_remove(process_format("%s/torn", place.folder)));
    }
    ranks_run(3, program, arguments_of(&place, "torn", "killed", 2, sharded));
    run(&place, 3, "torn", sharded);
    check_same_run(&place, "torn", "one");
}

static void check_refused(const struct process_result *result, const char *part)
{
    if (process_count(result->output, " ends: ") != 2 || process_count(result->output, part) != 2) {
        fail_msg("wanted two ranks that say \"%s\": %s%s", part, result->output, result->errors);
    }
}

static void test_ranks_that_do_not_fit(void **state)
{
    (void)state;
    ranks_need();
    struct place place = make_place(), other = make_place();
    struct process_result result =
        ranks_run(2, program, arguments_of(&place, "odd", "none", 0, "micro-batches=3"));
    check_refused(&result, "micro-batches: 3 cannot be divided evenly among 2 ranks");
    assert_false(digits_has_file(place.folder, "odd"));
    const char *own = arguments_of(&place, "unlike", "none", 0, "micro-batches=2");
    result =
        ranks_run_unlike(program, own, arguments_of(&place, "unlike", "none", 0, "micro-batches=2 seed=7"));
    check_refused(&result, "seed is 7 on this rank but 1 on rank 0; it must be the same on all ranks");
    assert_non_null(strstr(result.output, "rank 1 on "));
    assert_false(digits_has_file(place.folder, "unlike"));
    /* Texts that differ on one host: rank 1 uses another path here. */
    digits_write(other.folder, "train", 61, 8, 1);
    const char *moved = process_format("child %s %s/unlike %s/n none 0 micro-batches=2", other.folder,
                                       place.folder, place.folder);
    result = ranks_run_unlike(program, own, moved);
    check_refused(&result, "train is ");
    /* An output folder that differs between ranks. */
    const char *elsewhere = process_format("child %s %s/elsewhere %s/n none 0 micro-batches=2", place.folder,
                                           place.folder, place.folder);
    result = ranks_run_unlike(program, own, elsewhere);
    check_refused(&result, "exists on rank 0 but not on this rank; all ranks need the same folder");
    assert_false(digits_has_file(place.folder, "unlike"));
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 6 && strcmp(argv[1], "child") == 0) {
        return run_child(argv + 2, argc - 2);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_bits_do_not_depend_on_the_ranks, support_teardown),
        cmocka_unit_test_teardown(test_other_recipes, support_teardown),
        cmocka_unit_test_teardown(test_the_ranks_may_change, support_teardown),
        cmocka_unit_test_teardown(test_reduced_in_bf16, support_teardown),
        cmocka_unit_test_teardown(test_sharded, support_teardown),
        cmocka_unit_test_teardown(test_shards_may_change, support_teardown),
        cmocka_unit_test_teardown(test_fast_reduce, support_teardown),
        cmocka_unit_test_teardown(test_a_device_is_lost, support_teardown),
        cmocka_unit_test_teardown(test_the_disk_is_full, support_teardown),
        cmocka_unit_test_teardown(test_one_rank_is_interrupted, support_teardown),
        cmocka_unit_test_teardown(test_a_rank_is_killed, support_teardown),
        cmocka_unit_test_teardown(test_ranks_that_do_not_fit, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
