/* Ranks: processes that mpirun or srun started together, on one machine or on several. Training shares its
 * work out among them (clf_train_hooks.ranks). */
#ifndef CLFORMER_RANKS_H
#define CLFORMER_RANKS_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_ranks;

/**
 * The MPI that the library was built with, such as "Open MPI v4.1.4".
 *
 * @return a static string; NULL: it was built without.
 */
const char *clf_ranks_library(void);

/**
 * Joins the other ranks, which all make this call; once in a process. A process that nobody started as one of
 * several is one rank alone, and MPI is not even begun, unless the caller did so before. The calls about
 * ranks, and clf_train() with them, are made by one thread.
 *
 * @param out freed by clf_ranks_leave().
 * @return CLF_UNSUPPORTED where there are several, and the library was built without MPI, or with another
 * one than that which started them; CLF_NETWORK where MPI fails.
 */
clf_status clf_ranks_join(struct clf_ranks **out);

/**
 * Which rank this process is.
 *
 * @param ranks NULL: one alone.
 * @return from 0.
 */
int clf_ranks_rank(const struct clf_ranks *ranks);

/**
 * How many ranks there are.
 *
 * @param ranks NULL: one alone.
 * @return 1 or more.
 */
int clf_ranks_size(const struct clf_ranks *ranks);

/**
 * Which rank this process is among those on its host, so that each can take a device of its own.
 *
 * @param ranks NULL: one alone.
 * @return from 0.
 */
int clf_ranks_host_rank(const struct clf_ranks *ranks);

/**
 * Waits for all ranks, and fails on each of them where one brings a failure: for what a rank does alone
 * before or after it works with the others.
 *
 * @param ranks  NULL: one alone.
 * @param status what this rank brings; clf_last_error() is then its sentence.
 * @return CLF_OK where every rank brought that; else the status of the first rank that did not, whose number
 * and host begin the sentence; CLF_NETWORK where MPI fails. One rank alone: `status`.
 */
clf_status clf_ranks_agree(struct clf_ranks *ranks, clf_status status);

/**
 * Leaves the other ranks, which all make this call, and frees what belonged to them.
 *
 * @param ranks  may be NULL.
 * @param status with what this rank ends: where the others cannot have heard of a failure, as of one of MPI,
 * they are ended, and so is this process, by MPI_Abort().
 */
void clf_ranks_leave(struct clf_ranks *ranks, clf_status status);

#ifdef __cplusplus
}
#endif
#endif
