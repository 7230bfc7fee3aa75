/* Ranks: processes that work together, and what they say to each other. Nobody else calls the
 * network: another way to reach the ranks is another table of these functions. */
#ifndef CLF_CLUSTER_COMMUNICATOR_H
#define CLF_CLUSTER_COMMUNICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Calls that were begun are known by their tickets, 0 .. CLF__TICKETS - 1. */
enum { CLF__TICKETS = 8 };

/* Every rank makes the same calls in the same order; each call that does not only begin waits for all of
 * them. A rank that fails by itself makes one last call, agree(): whatever the others call then fails as it
 * did. After a failure all calls fail, and say nothing to anybody.
 *
 * What only begins does not hear of failures: the others count on it that a rank which fails among such calls
 * makes the rest of them all the same, with whatever numbers, and then brings its failure to agree(). The
 * numbers given stay as they are until finish() of their ticket, which no other call uses before. */
struct clf__communicator {
    int rank, size;       /* of this process, from 0; how many there are. Rank 0 writes the files */
    int host_rank;        /* the same among those on this rank's host */
    const double *waited; /* seconds in which it had nothing to do but wait for others and their numbers */
    void *context;        /* for the functions */
    /* The numbers of every rank become their sum over all ranks, the same bits on each; in which order they
     * are added is open. */
    clf_status (*sum_doubles)(const struct clf__communicator *communicator, double *values, size_t count);
    clf_status (*sum_integers)(const struct clf__communicator *communicator, int64_t *values, size_t count);
    /* Rank 0's bytes, to every rank. */
    clf_status (*broadcast)(const struct clf__communicator *communicator, void *bytes, size_t count);
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

    /* Begins such a sum of floats; fewer than 2^31. */
    clf_status (*begin_sum)(const struct clf__communicator *communicator, int ticket, float *values,
                            size_t count);
    /* Begins: to rank i goes the i-th stretch of `sent`, sent_counts[i] numbers of `width` bytes, 2 or 4;
     * what comes from it is the i-th of `received`. Fewer than 2^31 numbers. */
    clf_status (*begin_exchange)(const struct clf__communicator *communicator, int ticket, size_t width,
                                 const void *sent, const size_t *sent_counts, void *received,
                                 const size_t *received_counts);
    /* Begins: the i-th stretch of `values`, counts[i] numbers, is rank i's; then every rank has all of them.
     */
    clf_status (*begin_gather)(const struct clf__communicator *communicator, int ticket, size_t width,
                               void *values, const size_t *counts);
    /* What was begun goes on while this rank does something else: to be called now and then. */
    clf_status (*progress)(const struct clf__communicator *communicator);
    /* Waits for the end of what was begun; nothing where nothing was. */
    clf_status (*finish)(const struct clf__communicator *communicator, int ticket);
};

/* One rank alone: nothing to say, and nobody to wait for. */
extern const struct clf__communicator clf__communicator_null;

#endif
