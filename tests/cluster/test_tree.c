/* Tree sums: the nodes, and that the sum equals the tree over all leaves bit for bit, however many ranks hold
 * them, in fp32 and in bf16. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "runtime/cluster/tree.h"

enum { MOST = 40, LENGTH = 3 };

static float rounded(float value, int is_bf16)
{
    return is_bf16 ? clf__float_of_bf16(clf__bf16_of(value)) : value;
}

/* The definition: left half plus right half, if there is a right half; in bf16 leaves and sums are
 * rounded. */
static float sum_of(const float *leaves, int64_t count, int64_t first, int64_t width, int is_bf16)
{
    if (width == 1) {
        return rounded(leaves[first], is_bf16);
    }
    float left = sum_of(leaves, count, first, width / 2, is_bf16);
    return first + width / 2 < count
               ? rounded(left + sum_of(leaves, count, first + width / 2, width / 2, is_bf16), is_bf16)
               : left;
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

/* Simulated ranks: when rank `rank` waits, it receives what each of them would send. */
struct stage {
    const float (*leaves)[LENGTH]; /* of the update */
    int64_t most, count;
    int is_bf16;
    size_t shares[MOST];
    float sums[LENGTH];
    size_t done; /* of them */
    struct {
        void *received;     /* NULL: no exchange in progress */
        const void *values; /* nor a gathering */
    } tickets[CLF__TICKETS];
    int finished; /* number of exchanges started and finished */
};

static size_t width_of(const struct stage *stage)
{
    return stage->is_bf16 ? 2 : 4;
}

static void put(void *out, size_t index, const struct stage *stage, float value)
{
    if (stage->is_bf16) {
        uint16_t half = clf__bf16_of(value);
        assert_true(clf__float_of_bf16(half) == value); /* it was rounded before */
        memcpy((char *)out + 2 * index, &half, sizeof half);
    } else {
        memcpy((char *)out + 4 * index, &value, sizeof value);
    }
}

static float get(const void *from, size_t index, const struct stage *stage)
{
    float value;
    uint16_t half;
    if (stage->is_bf16) {
        memcpy(&half, (const char *)from + 2 * index, sizeof half);
        return clf__float_of_bf16(half);
    }
    memcpy(&value, (const char *)from + 4 * index, sizeof value);
    return value;
}

/* The sum of a node over number `index` of each leaf. */
static float sum_of_node(const struct stage *stage, const struct clf__tree_node *node, size_t index)
{
    float column[MOST];
    for (int64_t k = 0; k < stage->count; k++) {
        column[k] = stage->leaves[k][index];
    }
    return sum_of(column, stage->count, node->index << node->level, INT64_C(1) << node->level,
                  stage->is_bf16);
}

static size_t first_of(const struct clf__communicator *communicator)
{
    const struct stage *stage = communicator->context;
    size_t first = 0;
    for (int i = 0; i < communicator->rank; i++) {
        first += stage->shares[i];
    }
    return first;
}

static clf_status begin_exchange(const struct clf__communicator *communicator, int ticket, size_t width,
                                 const void *sent, const size_t *sent_counts, void *received,
                                 const size_t *received_counts)
{
    struct stage *stage = communicator->context;
    struct clf__tree_node nodes[CLF__TREE_NODES];
    size_t own = stage->shares[communicator->rank], used = 0;
    assert_int_equal(width, width_of(stage));
    assert_true(stage->tickets[ticket].received == NULL && stage->tickets[ticket].values == NULL);
    for (int rank = 0; rank < communicator->size; rank++) {
        int count =
            clf__tree_nodes(nodes, clf__tree_share(stage->most, stage->count, communicator->size, rank));
        assert_int_equal(received_counts[rank], (size_t)count * own);
    }
    int count = clf__tree_nodes(
        nodes, clf__tree_share(stage->most, stage->count, communicator->size, communicator->rank));
    size_t place = 0;
    for (int rank = 0; rank < communicator->size; rank++) {
        assert_int_equal(sent_counts[rank], (size_t)count * stage->shares[rank]);
        for (int i = 0; i < count; i++) {
            for (size_t k = 0; k < stage->shares[rank]; k++) {
                assert_true(get(sent, used++, stage) == sum_of_node(stage, &nodes[i], place + k));
            }
        }
        place += stage->shares[rank];
    }
    stage->tickets[ticket].received = received;
    return CLF_OK;
}

static clf_status begin_gather(const struct clf__communicator *communicator, int ticket, size_t width,
                               void *values, const size_t *counts)
{
    struct stage *stage = communicator->context;
    size_t first = first_of(communicator), own = counts[communicator->rank];
    assert_int_equal(width, width_of(stage));
    assert_memory_equal(counts, stage->shares, (size_t)communicator->size * sizeof *counts);
    assert_true(stage->tickets[ticket].received == NULL && stage->tickets[ticket].values == NULL);
    for (size_t i = first; i < first + own; i++) {
        stage->sums[i] = get(values, i, stage);
    }
    stage->done += own;
    stage->tickets[ticket].values = values;
    return CLF_OK;
}

/* Delivers what others would send, late. */
static clf_status finish(const struct clf__communicator *communicator, int ticket)
{
    struct stage *stage = communicator->context;
    size_t first = first_of(communicator), own = stage->shares[communicator->rank], used = 0;
    void *received = stage->tickets[ticket].received;
    for (int rank = 0; received != NULL && rank < communicator->size; rank++) {
        struct clf__tree_node nodes[CLF__TREE_NODES];
        int count =
            clf__tree_nodes(nodes, clf__tree_share(stage->most, stage->count, communicator->size, rank));
        for (int i = 0; i < count; i++) {
            for (size_t k = 0; k < own; k++) {
                put(received, used++, stage, sum_of_node(stage, &nodes[i], first + k));
            }
        }
    }
    stage->finished += received != NULL || stage->tickets[ticket].values != NULL;
    stage->tickets[ticket].received = NULL;
    stage->tickets[ticket].values = NULL;
    return CLF_OK;
}

static struct clf__tree_options options_of(const struct stage *stage, int is_scattered)
{
    return (struct clf__tree_options){.most = stage->most,
                                      .is_bf16 = stage->is_bf16,
                                      .is_scattered = is_scattered,
                                      .bucket = LENGTH,
                                      .share = LENGTH};
}

/* One rank's part of several equal buckets, from its own nodes' values. */
static void add_as(struct stage *stage, int size, int rank, int buckets, int is_scattered)
{
    const struct clf__communicator communicator = {.rank = rank,
                                                   .size = size,
                                                   .context = stage,
                                                   .begin_exchange = begin_exchange,
                                                   .begin_gather = begin_gather,
                                                   .finish = finish};
    struct clf__tree_options options = options_of(stage, is_scattered);
    struct clf__tree_sum sum;
    struct clf__tree_node nodes[CLF__TREE_NODES];
    float values[CLF__TREE_NODES][LENGTH], *pointers[CLF__TREE_NODES], totals[12][LENGTH] = {{0}};
    int count = clf__tree_nodes(nodes, clf__tree_share(stage->most, stage->count, size, rank));
    for (int i = 0; i < size; i++) {
        stage->shares[i] = LENGTH * ((size_t)i + 1) / (size_t)size - LENGTH * (size_t)i / (size_t)size;
    }
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < LENGTH; k++) {
            values[i][k] = sum_of_node(stage, &nodes[i], k);
        }
        pointers[i] = values[i];
    }
    stage->finished = 0;
    assert_ok(clf__tree_sum_create(&sum, &communicator, &options));
    clf__tree_begin(&sum, stage->count);
    for (int i = 0; i < buckets; i++) {
        assert_ok(clf__tree_push(&sum, pointers, totals[i], stage->shares));
        assert_true(sum.begun - sum.ended <= CLF__TREE_FLIGHTS);
    }
    assert_ok(clf__tree_finish(&sum));
    assert_int_equal(sum.ended, buckets);
    assert_int_equal(stage->finished, is_scattered ? buckets : 2 * buckets);
    for (int i = 0; i < buckets; i++) {
        for (size_t k = first_of(&communicator), left = stage->shares[rank]; left > 0; k++, left--) {
            struct clf__tree_node root = {0, 6};
            assert_true(totals[i][k] == sum_of_node(stage, &root, k));
        }
    }
    clf__tree_sum_free(&sum);
}

static void fill_leaves(float (*leaves)[LENGTH])
{
    struct support_random random = {7};
    for (int i = 0; i < MOST; i++) {
        for (int k = 0; k < LENGTH; k++) {
            leaves[i][k] = support_uniform(&random) - 0.5F;
        }
    }
}

/* Every number of micro-batches, of ranks that divide it, and every shorter update. */
static void check_sums(int is_bf16)
{
    float leaves[MOST][LENGTH], expected[LENGTH];
    int unlike = 0;
    fill_leaves(leaves);
    for (int most = 1; most <= MOST; most++) {
        for (int count = 1; count <= most; count++) {
            float in_sequence = 0;
            for (int k = 0; k < LENGTH; k++) {
                float column[MOST];
                for (int i = 0; i < count; i++) {
                    column[i] = leaves[i][k];
                }
                expected[k] = sum_of(column, count, 0, 64, is_bf16);
            }
            for (int i = 0; i < count; i++) {
                in_sequence += leaves[i][0];
            }
            unlike += in_sequence != expected[0];
            for (int size = 1; size <= most; size++) {
                struct stage stage = {.leaves = leaves, .most = most, .count = count, .is_bf16 = is_bf16};
                for (int rank = 0; rank < size && most % size == 0; rank++) {
                    add_as(&stage, size, rank, 1, 0);
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

static void test_the_sum_does_not_depend_on_the_ranks(void **state)
{
    (void)state;
    check_sums(0);
}

static void test_nor_in_bf16(void **state)
{
    (void)state;
    check_sums(1);
}

/* Several buckets are in flight at a time; sharding needs half the calls. */
static void test_buckets(void **state)
{
    (void)state;
    float leaves[MOST][LENGTH];
    fill_leaves(leaves);
    for (int buckets = 0; buckets <= 12; buckets++) {
        for (int rank = 0; rank < 3; rank++) {
            for (int choice = 0; choice < 4; choice++) {
                struct stage stage = {.leaves = leaves, .most = 6, .count = 5, .is_bf16 = choice / 2};
                add_as(&stage, 3, rank, buckets, choice % 2);
            }
        }
    }
}

/* A single rank with several nodes. */
static void test_alone(void **state)
{
    (void)state;
    for (int is_bf16 = 0; is_bf16 < 2; is_bf16++) {
        float first[] = {1e8F, 1}, second[] = {3, 2}, third[] = {-1e8F, 4};
        float *values[] = {first, second, third};
        const size_t shares[] = {2};
        struct clf__tree_sum sum;
        const struct clf__tree_options options = {.most = 7, .is_bf16 = is_bf16, .bucket = 2, .share = 2};
        float large = rounded(1e8F, is_bf16);
        assert_ok(clf__tree_sum_create(&sum, &clf__communicator_null, &options));
        assert_true(clf__tree_sum_bytes(&clf__communicator_null, &options) > 0);
        clf__tree_begin(&sum, 7);
        assert_ok(clf__tree_push(&sum, values, third, shares));
        assert_ok(clf__tree_finish(&sum));
        assert_true(third[0] == large + rounded(3 + -large, is_bf16) && third[1] == 7);
        clf__tree_sum_free(&sum);
    }
}

/* NaN and infinity are kept, and values too large for bf16 become infinite. */
static void test_rounding(void **state)
{
    (void)state;
    float values[] = {1.00390625F, 1.01171875F, 3.4e38F, INFINITY, -INFINITY, NAN, -0.0F};
    clf__tree_round(values, 7);
    assert_true(values[0] == 1.0F && values[1] == 1.015625F); /* ties to even */
    assert_true(isinf(values[2]) && isinf(values[3]) && values[4] == -INFINITY && isnan(values[5]));
    assert_true(values[6] == 0 && signbit(values[6]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_the_sum_does_not_depend_on_the_ranks),
        cmocka_unit_test(test_nor_in_bf16),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
