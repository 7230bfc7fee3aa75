/* How a process becomes one of several ranks, or stays single; and communication between ranks by MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cluster/ranks.h"
#include "support/ranks.h"

static const char *program; /* this one */

static void forget_launchers(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                                            "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        unsetenv(variables[i]);
    }
}

static int started_with(const char *first, const char *value, const char *second, const char *other_value)
{
    forget_launchers();
    setenv(first, value, 1);
    if (second != NULL) {
        setenv(second, other_value, 1);
    }
    int count = clf__ranks_started();
    forget_launchers();
    return count;
}

static void test_only_a_launcher_makes_ranks(void **state)
{
    (void)state;
    forget_launchers();
    assert_int_equal(clf__ranks_started(), 1);
    assert_int_equal(started_with("OMPI_COMM_WORLD_SIZE", "4", NULL, NULL), 4);
    assert_int_equal(started_with("PMI_SIZE", "3", NULL, NULL), 3);
    assert_int_equal(started_with("PMIX_RANK", "0", "SLURM_STEP_NUM_TASKS", "2"), 2);
    assert_int_equal(started_with("SLURM_STEP_NUM_TASKS", "2", NULL, NULL), 1); /* a batch script */
    assert_int_equal(started_with("PMIX_RANK", "0", NULL, NULL), 1);
    assert_int_equal(started_with("OMPI_COMM_WORLD_SIZE", "four", NULL, NULL), 1);
    assert_int_equal(started_with("OMPI_COMM_WORLD_SIZE", "-4", NULL, NULL), 1);
    assert_int_equal(started_with("OMPI_COMM_WORLD_SIZE", "1", NULL, NULL), 1);
}

/* Without a launcher, MPI is not initialised. */
static void test_alone(void **state)
{
    (void)state;
    struct clf_ranks *ranks;
    forget_launchers();
    assert_ok(clf_ranks_join(&ranks));
    assert_false(clf__mpi_is_begun());
    assert_int_equal(clf_ranks_rank(ranks), 0);
    assert_int_equal(clf_ranks_size(ranks), 1);
    assert_int_equal(clf_ranks_host_rank(ranks), 0);
    assert_ok(clf_ranks_agree(ranks, CLF_OK));
    clf__ranks_communicator(ranks)->agree(clf__ranks_communicator(ranks), CLF_OK);
    assert_int_equal(clf_ranks_agree(ranks, CLF_FILE), CLF_FILE);
    clf_ranks_leave(ranks, CLF_FILE);
    clf_ranks_leave(NULL, CLF_OK);
    assert_int_equal(clf_ranks_rank(NULL), 0);
    assert_int_equal(clf_ranks_size(NULL), 1);
    assert_int_equal(clf_ranks_agree(NULL, CLF_FILE), CLF_FILE);
    assert_int_equal(*clf__communicator_null.waited, 0);
}

static void test_without_mpi(void **state)
{
    (void)state;
    struct clf_ranks *ranks;
    if (clf_ranks_library() != NULL) {
        print_message("skipped: clformer was built with MPI\n");
        skip();
    }
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_fails(clf_ranks_join(&ranks), CLF_UNSUPPORTED,
                 "one of 2 ranks, but clformer was built without MPI");
    forget_launchers();
}

/* A rank prints its error on standard output, and exits with a status that all other checks passed. */
static int fails; /* of this rank */

static void expect(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "wrong: %s\n", what);
        fails++;
    }
}

static void check_sums(const struct clf__communicator *ranks)
{
    float floats[] = {1, (float)ranks->rank};
    double doubles[] = {0.5, ranks->rank};
    int64_t integers[] = {INT64_C(1) << 40, ranks->rank}, sum = ranks->size * (ranks->size - 1) / 2;
    expect(ranks->begin_sum(ranks, 3, floats, 2) == CLF_OK && ranks->progress(ranks) == CLF_OK &&
               ranks->finish(ranks, 3) == CLF_OK && floats[0] == (float)ranks->size &&
               floats[1] == (float)sum,
           "the sum of floats");
    expect(ranks->sum_doubles(ranks, doubles, 2) == CLF_OK && doubles[0] == 0.5 * ranks->size &&
               doubles[1] == (double)sum,
           "the sum of doubles");
    expect(ranks->sum_integers(ranks, integers, 2) == CLF_OK &&
               integers[0] == ranks->size * (INT64_C(1) << 40) && integers[1] == sum,
           "the sum of integers");
}

/* The data of one ticket: from rank i to rank k, i + 1 numbers that encode ranks and ticket. */
struct exchanged {
    size_t sent_counts[8], received_counts[8], counts[8];
    float sent[64], received[64], gathered[64];
    uint16_t sent_halves[64], received_halves[64];
};

static float number_of(int from, int to, int index, int ticket)
{
    return (float)(1000 * ticket + 100 * from + 10 * to + index);
}

static void begin_exchange(const struct clf__communicator *ranks, struct exchanged *its, int ticket)
{
    size_t used = 0;
    for (int i = 0; i < ranks->size; i++) {
        its->sent_counts[i] = (size_t)ranks->rank + 1;
        its->received_counts[i] = (size_t)i + 1;
        its->counts[i] = i == 1 ? 0 : 2;
        for (int k = 0; k <= ranks->rank; k++) {
            its->sent_halves[used] = (uint16_t)number_of(ranks->rank, i, k, ticket);
            its->sent[used++] = number_of(ranks->rank, i, k, ticket);
        }
        if (i == ranks->rank && i != 1) {
            int place = i == 0 ? 0 : 2 * (i - 1);
            its->gathered[place] = its->gathered[place + 1] = number_of(i, 0, 5, ticket);
        }
    }
    const void *sent = ticket % 2 == 0 ? (const void *)its->sent : its->sent_halves;
    void *received = ticket % 2 == 0 ? (void *)its->received : its->received_halves;
    expect(ranks->begin_exchange(ranks, ticket, ticket % 2 == 0 ? 4 : 2, sent, its->sent_counts, received,
                                 its->received_counts) == CLF_OK,
           "exchanging");
}

static void end_exchange(const struct clf__communicator *ranks, struct exchanged *its, int ticket)
{
    expect(ranks->finish(ranks, ticket) == CLF_OK, "the end of an exchange");
    for (int i = 0, place = 0; i < ranks->size; i++) {
        for (int k = 0; k <= i; k++, place++) {
            float number = ticket % 2 == 0 ? its->received[place] : (float)its->received_halves[place];
            expect(number == number_of(i, ranks->rank, k, ticket), "what was exchanged");
        }
    }
    expect(ranks->begin_gather(ranks, ticket, 4, its->gathered, its->counts) == CLF_OK, "gathering");
}

static void end_gather(const struct clf__communicator *ranks, const struct exchanged *its, int ticket)
{
    expect(ranks->finish(ranks, ticket) == CLF_OK, "the end of a gathering");
    expect(ranks->finish(ranks, ticket) == CLF_OK, "that nothing is under way");
    for (int i = 0; i < ranks->size; i++) {
        int place = i == 0 ? 0 : 2 * (i - 1);
        float number = number_of(i, 0, 5, ticket);
        expect(i == 1 || (its->gathered[place] == number && its->gathered[place + 1] == number),
               "what was gathered");
    }
}

/* All tickets at a time. */
static void check_exchange(const struct clf__communicator *ranks)
{
    static struct exchanged all[CLF__TICKETS];
    for (int ticket = 0; ticket < CLF__TICKETS; ticket++) {
        begin_exchange(ranks, &all[ticket], ticket);
    }
    expect(ranks->progress(ranks) == CLF_OK, "going on");
    for (int ticket = 0; ticket < CLF__TICKETS; ticket++) {
        end_exchange(ranks, &all[ticket], ticket);
    }
    for (int ticket = 0; ticket < CLF__TICKETS; ticket++) {
        end_gather(ranks, &all[ticket], ticket);
    }
}

static void check_broadcast(const struct clf__communicator *ranks)
{
    char bytes[] = "rank 0", own[] = "rank ?";
    own[5] = (char)('0' + ranks->rank);
    expect(ranks->broadcast(ranks, own, sizeof own) == CLF_OK && strcmp(own, bytes) == 0, "the broadcast");
}

/* `fails_at`: the rank that fails on its own during a reduction; -1: none. `mute`: it sends no message. */
static int run_child(int fails_at, int is_mute)
{
    struct clf_ranks *handle;
    clf_status status = clf_ranks_join(&handle);
    if (status != CLF_OK) {
        fprintf(stderr, "%s\n", clf_last_error());
        return 1;
    }
    const struct clf__communicator *ranks = clf__ranks_communicator(handle);
    check_sums(ranks);
    check_exchange(ranks);
    check_broadcast(ranks);
    expect(ranks->agree(ranks, CLF_OK) == CLF_OK && *ranks->waited >= 0, "that all is well");
    expect(clf_ranks_host_rank(handle) == ranks->rank, "the rank on its host");
    if (fails_at == ranks->rank) {
        status = clf__fail(CLF_DEVICE, "the card fell out");
        status = is_mute ? status : clf_ranks_agree(handle, status);
    } else if (fails_at >= 0) {
        int64_t number = 1;
        status = ranks->sum_integers(ranks, &number, 1);
    }
    printf("rank %d of %d: %s\n", ranks->rank, ranks->size, status == CLF_OK ? "done" : clf_last_error());
    fflush(stdout);
    expect(status == (fails_at < 0 ? CLF_OK : CLF_DEVICE), "the status");
    if (status != CLF_OK && !is_mute) {
        double number = 1;
        float other = 1;
        expect(ranks->sum_doubles(ranks, &number, 1) == CLF_NETWORK, "that nothing is said after a failure");
        expect(ranks->begin_sum(ranks, 0, &other, 1) == CLF_NETWORK, "nor begun");
    }
    clf_ranks_leave(handle, status);
    return fails > 0;
}

static void test_what_ranks_say(void **state)
{
    (void)state;
    ranks_need();
    for (int count = 1; count <= 4; count++) {
        struct process_result result = ranks_run(count, program, "child -1 0");
        if (result.status != 0 || process_count(result.output, ": done\n") != count) {
            fail_msg("%d ranks: status %d, %s%s", count, result.status, result.output, result.errors);
        }
    }
}

/* Whichever rank fails, all report the same error, and exit in order. */
static void test_one_fails(void **state)
{
    (void)state;
    ranks_need();
    for (int rank = 0; rank < 3; rank++) {
        struct process_result result = ranks_run(3, program, process_format("child %d 0", rank));
        assert_int_equal(result.status, 0);
        assert_int_equal(process_count(result.output, process_format(" of 3: rank %d on ", rank)), 3);
        assert_int_equal(process_count(result.output, ": the card fell out\n"), 3);
    }
}

/* A rank that exits after a failure it could not report ends all of them. */
static void test_one_leaves(void **state)
{
    (void)state;
    ranks_need();
    struct process_result result = ranks_run(3, program, "child 1 1");
    assert_true(result.status != 0);
    assert_int_equal(process_count(result.output, "rank 1 of 3: the card fell out\n"), 1);
    assert_int_equal(process_count(result.output, "\n"), 1);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 4 && strcmp(argv[1], "child") == 0) {
        return run_child(atoi(argv[2]), atoi(argv[3]));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_launcher_makes_ranks),
        cmocka_unit_test_teardown(test_alone, support_teardown),
        cmocka_unit_test_teardown(test_without_mpi, support_teardown),
        cmocka_unit_test_teardown(test_what_ranks_say, support_teardown),
        cmocka_unit_test_teardown(test_one_fails, support_teardown),
        cmocka_unit_test_teardown(test_one_leaves, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
