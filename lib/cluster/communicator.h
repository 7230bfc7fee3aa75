/* Ranks: processes that train one model together, and what they say to each other. Nobody else calls the
 * network: another way to reach the ranks is another table of these functions. */
#ifndef CLF_CLUSTER_COMMUNICATOR_H
#define CLF_CLUSTER_COMMUNICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Every rank makes the same calls in the same order; each call waits for all of them. */
struct clf__communicator {
    int rank, size; /* of this process, from 0; how many there are. Rank 0 writes the files */
    void *context;  /* for the functions */
    /* The numbers of every rank become their sum over all ranks, the same bits on each. */
    clf_status (*sum_floats)(const struct clf__communicator *communicator, float *values, size_t count);
    clf_status (*sum_doubles)(const struct clf__communicator *communicator, double *values, size_t count);
    clf_status (*sum_integers)(const struct clf__communicator *communicator, int64_t *values, size_t count);
    /* Rank 0's bytes, to every rank. */
    clf_status (*broadcast)(const struct clf__communicator *communicator, void *bytes, size_t count);
    /* CLF_OK where every rank brings that; else each of them fails as one did. */
    clf_status (*agree)(const struct clf__communicator *communicator, clf_status status);
};

/* One rank alone: nothing to say, and nobody to wait for. */
extern const struct clf__communicator clf__communicator_null;

#endif
