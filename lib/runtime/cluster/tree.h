/* The order in which gradients of micro-batches are summed: a binary tree over the micro-batches of an
 * update, whose shape depends only on their number. A node of level k is the sum of 2^k leaves, starting
 * at a multiple of 2^k: its left half plus its right half. Nodes that remain at the end are added from
 * last to first. */
#ifndef CLF_CLUSTER_TREE_H
#define CLF_CLUSTER_TREE_H

#include "runtime/cluster/communicator.h"

struct clf__tree_node {
    int64_t index; /* first leaf / 2^level */
    int level;
};

/* A range of consecutive leaves. */
struct clf__tree_leaves {
    int64_t first, count;
};

/* Maximum number of nodes that make up a range of leaves. */
enum { CLF__TREE_NODES = 128 };

/* Lists the largest nodes that make up a range of leaves, from left to right; returns the count. */
int clf__tree_nodes(struct clf__tree_node *nodes, struct clf__tree_leaves leaves);

/* Returns whether b is the right half of a node whose left half is a. */
int clf__tree_are_halves(const struct clf__tree_node *a, const struct clf__tree_node *b);

/* Returns the maximum number of sums that wait for their right halves while the leaves of a range are added
 * in order. */
int clf__tree_waiting(struct clf__tree_leaves leaves);

/* Returns the leaves of a rank in an update of `count` leaves. Updates have at most `most` leaves, a
 * multiple of `ranks`. */
struct clf__tree_leaves clf__tree_share(int64_t most, int64_t count, int ranks, int rank);

/* Options of sums, which are always computed in fp32. */
struct clf__tree_options {
    int64_t most; /* maximum leaves of an update */
    /* Rounds leaves and node sums to bf16 and sends them as bf16: half the bytes, and the result is still
     * bit-identical for any number of ranks. */
    int is_bf16;
    int is_scattered;     /* reduce-scatter: a rank receives only its share of the sum */
    size_t bucket, share; /* maximum floats of a bucket, and of a rank's share of a bucket */
};

/* Returns the number of floats in the shares of ranks 0 .. rank - 1. If `rank` is the number of ranks,
 * this is the length of the bucket. */
size_t clf__tree_shares_before(const size_t *shares, int rank);

/* Rounds values to bf16. */
void clf__tree_round(float *values, size_t count);
/* Adds two halves of a node: into[i] += from[i]. */
void clf__tree_add_halves(const struct clf__tree_options *options, float *into, const float *from,
                          size_t count);

/* Maximum number of buckets in flight. */
enum { CLF__TREE_FLIGHTS = CLF__TICKETS / 2 };

/* A bucket in flight: each rank receives all nodes of its share and adds them, then the ranks exchange the
 * sums. */
struct clf__tree_flight {
    const size_t *shares;    /* (size) floats of the share of each rank */
    float *total;            /* receives the sum of all shares */
    size_t *sent, *received; /* (size) counts */
    void *packed;            /* data sent to other ranks; later the sum, if in bf16 */
    void *parts;             /* all nodes of this rank's share */
};

/* The state of summing the nodes of all ranks, bucket by bucket. */
struct clf__tree_sum {
    const struct clf__communicator *communicator;
    struct clf__tree_options options;
    struct clf__tree_node *nodes; /* nodes of all ranks, from left to right */
    int *node_counts;             /* (size) */
    int node_count;
    struct clf__tree_flight flights[CLF__TREE_FLIGHTS];
    float *floats;        /* parts of one flight as fp32, if they were sent as bf16 */
    int64_t begun, ended; /* numbers of buckets of the update that have begun and ended */
};

/* Reserves memory for sums. Call clf__tree_sum_free() also after a failure. */
clf_status clf__tree_sum_create(struct clf__tree_sum *out, const struct clf__communicator *communicator,
                                const struct clf__tree_options *options);
void clf__tree_sum_free(struct clf__tree_sum *sum);

/* Returns the host memory of a sum in bytes. */
size_t clf__tree_sum_bytes(const struct clf__communicator *communicator,
                           const struct clf__tree_options *options);

/* Begins an update of `count` leaves. */
void clf__tree_begin(struct clf__tree_sum *sum, int64_t count);

/* Begins to sum the next bucket: values[i] holds the floats of this rank's node i, and rank k sums
 * shares[k] of them. `values` and `shares` are borrowed and must not change until the bucket ends; then
 * `total`, which may be one of `values`, holds the sum. Fails only with CLF_NETWORK; earlier buckets
 * continue. */
clf_status clf__tree_push(struct clf__tree_sum *sum, float *const *values, float *total,
                          const size_t *shares);

/* Waits until all buckets have ended. */
clf_status clf__tree_finish(struct clf__tree_sum *sum);

#endif
