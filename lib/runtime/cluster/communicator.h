/* Communication between ranks (the processes of a distributed run). Only implementations of this interface
 * use the network. */
#ifndef CLF_CLUSTER_COMMUNICATOR_H
#define CLF_CLUSTER_COMMUNICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Asynchronous operations are identified by tickets 0 .. CLF__TICKETS - 1. */
enum { CLF__TICKETS = 8 };

/* Every rank must make the same calls in the same order; all calls except begin_...() wait for all ranks. A
 * rank that fails must finally call agree(), which makes the pending call of every other rank fail with the
 * same status. After a failure all calls fail without communication.
 *
 * begin_...() does not report failures of other ranks. A rank that fails between these calls must still
 * make the remaining ones, with arbitrary data, and then report its failure with agree(). Buffers must not
 * change, and the ticket must not be reused, before finish(). */
struct clf__communicator {
    int rank, size;       /* rank of this process, from 0, and number of ranks; rank 0 writes files */
    int host_rank;        /* rank among the processes on the same host */
    const double *waited; /* seconds spent waiting for other ranks */
    void *context;        /* private data of the implementation */
    /* All-reduces (sums) numbers in place. Every rank gets the same bits; the order of summation is
     * unspecified. */
    clf_status (*sum_doubles)(const struct clf__communicator *communicator, double *values, size_t count);
    clf_status (*sum_integers)(const struct clf__communicator *communicator, int64_t *values, size_t count);
    /* Broadcasts rank 0's bytes to every rank. */
    clf_status (*broadcast)(const struct clf__communicator *communicator, void *bytes, size_t count);
    /* Returns CLF_OK if every rank passes CLF_OK; otherwise every rank fails with the status and message
     * of the first rank that failed. */
    clf_status (*agree)(const struct clf__communicator *communicator, clf_status status);
    /* Sends a message of fewer than 2^31 bytes to another rank; incoming messages are queued meanwhile.
     * send() and receive() are not collective: every message must be received before the next collective
     * call. */
    clf_status (*send)(const struct clf__communicator *communicator, int to, const void *bytes, size_t count);
    /* Returns the next queued message and its sender; the caller frees *bytes, which is NULL if the queue
     * is empty. */
    clf_status (*receive)(const struct clf__communicator *communicator, int *from, void **bytes,
                          size_t *count);

    /* Begins an asynchronous all-reduce (sum) of fewer than 2^31 floats. */
    clf_status (*begin_sum)(const struct clf__communicator *communicator, int ticket, float *values,
                            size_t count);
    /* Begins an asynchronous all-to-all of fewer than 2^31 numbers of `width` bytes (2 or 4): segment i of
     * `sent`, sent_counts[i] numbers, goes to rank i; segment i of `received` comes from rank i. */
    clf_status (*begin_exchange)(const struct clf__communicator *communicator, int ticket, size_t width,
                                 const void *sent, const size_t *sent_counts, void *received,
                                 const size_t *received_counts);
    /* Begins an asynchronous all-gather: rank i contributes segment i of `values`, counts[i] numbers, and
     * receives all segments. */
    clf_status (*begin_gather)(const struct clf__communicator *communicator, int ticket, size_t width,
                               void *values, const size_t *counts);
    /* Advances asynchronous operations; call regularly during other work. */
    clf_status (*progress)(const struct clf__communicator *communicator);
    /* Waits for the operation of a ticket; does nothing if there is none. */
    clf_status (*finish)(const struct clf__communicator *communicator, int ticket);
};

/* A single rank, without communication. */
extern const struct clf__communicator clf__communicator_null;

#endif
