/* Sums in a tree: which nodes there are, and that the sum's bits are those of the tree over all leaves,
 * however many ranks have them. */
#include "support/support.h"

#include <string.h>

#include "cluster/tree.h"

enum { MOST = 40, LENGTH = 3 };

/* The definition: left half plus right half, where there is a right half. */
static float sum_of(const float *leaves, int64_t count, int64_t first, int64_t width)
{
    if (width == 1) {
        return leaves[first];
    }
    float left = sum_of(leaves, count, first, width / 2);
    return first + width / 2 < count ? left + sum_of(leaves, count, first + width / 2, width / 2) : left;
}

static void test_nodes(void **state)
{
    (void)state;
    static const struct {
        struct clf__tree_leaves leaves;
        int count, levels[4];
    } cases[] = {
        {{0, 0}, 0, {0}},    {{0, 1}, 1, {0}},     {{0, 8}, 1, {3}},    {{0, 7}, 3, {2, 1, 0}},
        {{3, 3}, 2, {0, 1}}, {{6, 6}, 2, {1, 2}},  {{5, 1}, 1, {0}},    {{1, 7}, 3, {0, 1, 2}},
        {{12, 4}, 1, {2}},   {{4, 12}, 2, {2, 3}}, {{2, 4}, 2, {1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__tree_node nodes[CLF__TREE_NODES];
        int64_t first = cases[i].leaves.first;
        assert_int_equal(clf__tree_nodes(nodes, cases[i].leaves), cases[i].count);
        for (int k = 0; k < cases[i].count; k++) {
            assert_int_equal(nodes[k].level, cases[i].levels[k]);
            assert_int_equal(nodes[k].index << nodes[k].level, first);
            first += INT64_C(1) << nodes[k].level;
        }
        assert_int_equal(first, cases[i].leaves.first + cases[i].leaves.count);
    }
    assert_int_equal(clf__tree_waiting((struct clf__tree_leaves){0, 1}), 0);
    assert_int_equal(clf__tree_waiting((struct clf__tree_leaves){0, 8}), 3);
    assert_int_equal(clf__tree_waiting((struct clf__tree_leaves){3, 3}), 2);
}

static void test_shares(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 12; ranks++) {
        for (int64_t count = 0; count <= 12 && 12 % ranks == 0; count++) {
            int64_t next = 0;
            for (int rank = 0; rank < ranks; rank++) {
                struct clf__tree_leaves share = clf__tree_share(12, count, ranks, rank);
                assert_true(share.count == 0 || share.first == next);
                assert_true(share.count >= 0 && share.count <= 12 / ranks);
                next += share.count;
            }
            assert_int_equal(next, count);
        }
    }
}

/* Ranks that are none: what each would send is put where rank `rank` would receive it. */
struct stage {
    const float (*leaves)[LENGTH]; /* of the update */
    int64_t most, count;
    float sums[LENGTH];
    size_t done; /* of them */
};

/* The sum of a node over the numbers first .. of each leaf. */
static void put_node(float *out, const struct stage *stage, const struct clf__tree_node *node, size_t first,
                     size_t length)
{
    for (size_t i = 0; i < length; i++) {
        float column[MOST];
        for (int64_t k = 0; k < stage->count; k++) {
            column[k] = stage->leaves[k][first + i];
        }
        out[i] = sum_of(column, stage->count, node->index << node->level, INT64_C(1) << node->level);
    }
}

static clf_status exchange(const struct clf__communicator *communicator, const float *sent,
                           const size_t *sent_counts, float *received, const size_t *received_counts)
{
    struct stage *stage = communicator->context;
    size_t first = 0, own = 0;
    (void)sent;
    for (int i = 0; i <= communicator->rank; i++) {
        first = LENGTH * (size_t)i / (size_t)communicator->size;
        own = LENGTH * ((size_t)i + 1) / (size_t)communicator->size - first;
    }
    for (int rank = 0; rank < communicator->size; rank++) {
        struct clf__tree_node nodes[CLF__TREE_NODES];
        int count =
            clf__tree_nodes(nodes, clf__tree_share(stage->most, stage->count, communicator->size, rank));
        assert_int_equal(received_counts[rank], (size_t)count * own);
        for (int i = 0; i < count; i++, received += own) {
            put_node(received, stage, &nodes[i], first, own);
        }
        if (rank == communicator->rank) {
            size_t share = LENGTH * ((size_t)rank + 1) / (size_t)communicator->size -
                           LENGTH * (size_t)rank / (size_t)communicator->size;
            assert_int_equal(sent_counts[rank], (size_t)count * share);
        }
    }
    return CLF_OK;
}

static clf_status gather(const struct clf__communicator *communicator, float *values, const size_t *counts)
{
    struct stage *stage = communicator->context;
    size_t first = 0;
    for (int i = 0; i < communicator->rank; i++) {
        first += counts[i];
    }
    memcpy(stage->sums + first, values + first, counts[communicator->rank] * sizeof *values);
    stage->done += counts[communicator->rank];
    return CLF_OK;
}

/* One rank's part of the sum, from its own nodes' values. */
static void add_as(struct stage *stage, int size, int rank)
{
    const struct clf__communicator communicator = {
        .rank = rank, .size = size, .context = stage, .exchange = exchange, .gather = gather};
    struct clf__tree_sum sum;
    struct clf__tree_node nodes[CLF__TREE_NODES];
    float values[CLF__TREE_NODES][LENGTH], *pointers[CLF__TREE_NODES], total[LENGTH];
    int count = clf__tree_nodes(nodes, clf__tree_share(stage->most, stage->count, size, rank));
    for (int i = 0; i < count; i++) {
        put_node(values[i], stage, &nodes[i], 0, LENGTH);
        pointers[i] = values[i];
    }
    assert_ok(clf__tree_sum_create(&sum, &communicator, stage->most));
    assert_ok(clf__tree_add(&sum, stage->most, stage->count, pointers, total, LENGTH));
    clf__tree_sum_free(&sum);
}

/* Every number of micro-batches, of ranks that divide it, and every shorter update. */
static void test_the_sum_does_not_depend_on_the_ranks(void **state)
{
    (void)state;
    struct support_random random = {7};
    float leaves[MOST][LENGTH], expected[LENGTH];
    int unlike = 0;
    for (int i = 0; i < MOST; i++) {
        for (int k = 0; k < LENGTH; k++) {
            leaves[i][k] = support_uniform(&random) - 0.5F;
        }
    }
    for (int most = 1; most <= MOST; most++) {
        for (int count = 1; count <= most; count++) {
            float in_sequence = 0;
            for (int k = 0; k < LENGTH; k++) {
                float column[MOST];
                for (int i = 0; i < count; i++) {
                    column[i] = leaves[i][k];
                }
                expected[k] = sum_of(column, count, 0, 64);
            }
            for (int i = 0; i < count; i++) {
                in_sequence += leaves[i][0];
            }
            unlike += in_sequence != expected[0];
            for (int size = 1; size <= most; size++) {
                struct stage stage = {.leaves = leaves, .most = most, .count = count};
                for (int rank = 0; rank < size && most % size == 0; rank++) {
                    add_as(&stage, size, rank);
                }
                if (most % size == 0) {
                    assert_int_equal(stage.done, LENGTH);
                    assert_memory_equal(stage.sums, expected, sizeof expected);
                }
            }
        }
    }
    assert_true(unlike > 0); /* the order matters */
}

/* One rank alone, with what it has in several nodes. */
static void test_alone(void **state)
{
    (void)state;
    float first[] = {1e8F, 1}, second[] = {3, 2}, third[] = {-1e8F, 4};
    float *values[] = {first, second, third};
    struct clf__tree_sum sum;
    assert_ok(clf__tree_sum_create(&sum, &clf__communicator_null, 7));
    assert_ok(clf__tree_add(&sum, 7, 7, values, third, 2));
    assert_true(third[0] == 1e8F + (3 + -1e8F) && third[1] == 7);
    clf__tree_sum_free(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_the_sum_does_not_depend_on_the_ranks),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
