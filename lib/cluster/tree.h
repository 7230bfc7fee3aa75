/* The order in which what ranks computed is added up: a binary tree over the micro-batches of an update,
 * which depends on nothing but their number. A node of level k is the sum of 2^k leaves, the first of which
 * is a multiple of 2^k: that of its left half plus that of its right half. What is left at the end is added
 * from the last node to the first. */
#ifndef CLF_CLUSTER_TREE_H
#define CLF_CLUSTER_TREE_H

#include "cluster/communicator.h"

struct clf__tree_node {
    int64_t index; /* its first leaf is index * 2^level */
    int level;
};

/* Consecutive leaves. */
struct clf__tree_leaves {
    int64_t first, count;
};

/* At most so many nodes make up any stretch of leaves. */
enum { CLF__TREE_NODES = 128 };

/* The largest nodes that make up a stretch, from left to right; returns how many. */
int clf__tree_nodes(struct clf__tree_node *nodes, struct clf__tree_leaves leaves);

/* Whether b is the right half of a node whose left half is a. */
int clf__tree_are_halves(const struct clf__tree_node *a, const struct clf__tree_node *b);

/* How many sums wait at most for their right halves while the leaves of a stretch come one after the other.
 */
int clf__tree_waiting(struct clf__tree_leaves leaves);

/* The leaves of a rank where `ranks` of them, which divide `most`, share an update of up to `most` leaves, of
 * which this one has `count`. */
struct clf__tree_leaves clf__tree_share(int64_t most, int64_t count, int ranks, int rank);

/* What is sent of the sums, which are in fp32 in either case. */
struct clf__tree_options {
    int64_t most; /* leaves of an update */
    /* Leaves and sums of nodes are rounded to bf16, wherever they were computed, and so sent: half the bytes,
     * and still the same bits for any number of ranks. */
    int is_bf16;
    int is_scattered;      /* a rank gets its own share of the sum alone */
    size_t stretch, share; /* the most floats of a stretch, and of a rank's share of one */
};

/* How many floats are the shares of the ranks before one; of all ranks: the length of a stretch. */
size_t clf__tree_shares_before(const size_t *shares, int rank);

/* As they count with is_bf16. */
void clf__tree_round(float *values, size_t count);
/* The sum of two halves of a node: into[i] += from[i]. */
void clf__tree_add_halves(const struct clf__tree_options *options, float *into, const float *from,
                          size_t count);

/* Stretches that are on their way at a time. */
enum { CLF__TREE_FLIGHTS = CLF__TICKETS / 2 };

/* One stretch on its way: first every rank gets all nodes of its share of it, and adds them up; then they
 * exchange their sums. */
struct clf__tree_flight {
    const size_t *shares;    /* (size) floats of each rank */
    float *total;            /* where the sum goes, of all shares */
    size_t *sent, *received; /* (size) counts */
    void *packed;            /* what goes to the others; then, in bf16, the sum */
    void *parts;             /* of all nodes, this rank's share */
};

/* What adds up the nodes of all ranks, stretch after stretch. */
struct clf__tree_sum {
    const struct clf__communicator *communicator;
    struct clf__tree_options options;
    struct clf__tree_node *nodes; /* of all ranks, from left to right */
    int *node_counts;             /* (size) */
    int node_count;
    struct clf__tree_flight flights[CLF__TREE_FLIGHTS];
    float *floats;        /* the parts of one flight, where they came in bf16 */
    int64_t begun, ended; /* stretches of the update */
};

/* Room for sums. Freed by clf__tree_sum_free(), also after a failure. */
clf_status clf__tree_sum_create(struct clf__tree_sum *out, const struct clf__communicator *communicator,
                                const struct clf__tree_options *options);
void clf__tree_sum_free(struct clf__tree_sum *sum);

/* Bytes of host memory that it takes. */
size_t clf__tree_sum_bytes(const struct clf__communicator *communicator,
                           const struct clf__tree_options *options);

/* Begins an update of `count` leaves. */
void clf__tree_begin(struct clf__tree_sum *sum, int64_t count);

/* Begins the sum of the next stretch: values[i] are the floats of this rank's i-th node, shares[k] of them
 * the k-th rank's share, borrowed. They stay until the stretch has ended, when the sum is in `total`, which
 * may be one of values. Only CLF_NETWORK; the sums of earlier stretches go on. */
clf_status clf__tree_push(struct clf__tree_sum *sum, float *const *values, float *total,
                          const size_t *shares);

/* Waits until all stretches have ended. */
clf_status clf__tree_finish(struct clf__tree_sum *sum);

#endif
