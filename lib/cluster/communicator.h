/* Ranks: processes that work together, and what they say to each other. Nobody else calls the
 * network: another way to reach the ranks is another table of these functions. */
#ifndef CLF_CLUSTER_COMMUNICATOR_H
#define CLF_CLUSTER_COMMUNICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Every rank makes the same calls in the same order; each call waits for all of them. A rank that fails by
 * itself makes one last call, agree(): whatever the others call then fails as it did. After a failure all
 * calls fail, and say nothing to anybody. */
struct clf__communicator {
    int rank, size;       /* of this process, from 0; how many there are. Rank 0 writes the files */
    int host_rank;        /* the same among those on this rank's host */
    const double *waited; /* seconds in which it had nothing to do but wait for others */
    void *context;        /* for the functions */
    /* The numbers of every rank become their sum over all ranks, the same bits on each; in which order they
     * are added is open. */
    clf_status (*sum_floats)(const struct clf__communicator *communicator, float *values, size_t count);
    clf_status (*sum_doubles)(const struct clf__communicator *communicator, double *values, size_t count);
    clf_status (*sum_integers)(const struct clf__communicator *communicator, int64_t *values, size_t count);
    /* Rank 0's bytes, to every rank. */
    clf_status (*broadcast)(const struct clf__communicator *communicator, void *bytes, size_t count);
    /* To rank i goes the i-th stretch of `sent`, sent_counts[i] floats; what comes from it is the i-th of
     * `received`. A call brings fewer than 2^31 floats. */
    clf_status (*exchange)(const struct clf__communicator *communicator, const float *sent,
                           const size_t *sent_counts, float *received, const size_t *received_counts);
    /* The i-th stretch of `values`, counts[i] floats, is rank i's; then every rank has all of them. */
    clf_status (*gather)(const struct clf__communicator *communicator, float *values, const size_t *counts);
    /* CLF_OK where every rank brings that; else each of them fails as the first that did, with its sentence.
     */
    clf_status (*agree)(const struct clf__communicator *communicator, clf_status status);
    /* A message to one other rank, fewer than 2^31 bytes; those that come meanwhile are kept. These two are
     * calls of one rank alone: who uses them sees to it that every message is received before the ranks make
     * their next call together. */
    clf_status (*send)(const struct clf__communicator *communicator, int to, const void *bytes, size_t count);
    /* The next message that came, with who sent it; the caller frees *bytes, which is NULL where none did. */
    clf_status (*receive)(const struct clf__communicator *communicator, int *from, void **bytes,
                          size_t *count);
};

/* One rank alone: nothing to say, and nobody to wait for. */
extern const struct clf__communicator clf__communicator_null;

#endif
