/* Communication between ranks, the processes of a distributed run. Only implementations of this table of
 * functions use the network. */
#ifndef CLF_CLUSTER_COMMUNICATOR_H
#define CLF_CLUSTER_COMMUNICATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Asynchronous operations have tickets, 0 .. CLF__TICKETS - 1. */
enum { CLF__TICKETS = 8 };

/* Every rank makes the same calls in the same order; all except the begin_ calls wait for all ranks. A
 * rank that fails makes one last call of agree(): the pending call of every other rank then fails with the
 * same status. After a failure all calls fail without communication.
 *
 * The begin_ calls do not report failures of other ranks. A rank that fails between them still makes the
 * remaining ones, with any numbers, and then reports its failure with agree(). Buffers must stay unchanged
 * until finish() of their ticket, and a ticket is reused only after finish(). */
struct clf__communicator {
    int rank, size;       /* rank of this process, from 0, and number of ranks; rank 0 writes files */
    int host_rank;        /* rank among the processes on the same host */
    const double *waited; /* seconds spent waiting for other ranks */
    void *context;        /* context of the functions */
    /* Replaces numbers by their sums over all ranks, with the same bits on each rank; the order of summation
     * is unspecified. */
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
    /* Advances asynchronous operations; to be called regularly during other work. */
    clf_status (*progress)(const struct clf__communicator *communicator);
    /* Waits for the operation of a ticket; does nothing if there is none. */
    clf_status (*finish)(const struct clf__communicator *communicator, int ticket);
};

/* A single rank, without communication. */
extern const struct clf__communicator clf__communicator_null;

#endif
