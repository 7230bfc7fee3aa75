/* Ranks: processes started together by mpirun or srun, on one or several machines. Training distributes its
 * work over the ranks (clf_train_hooks.ranks). */
#ifndef CLFORMER_RANKS_H
#define CLFORMER_RANKS_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_ranks; /* the membership of this process in a group of ranks */

/**
 * Returns the name and version of the MPI library, such as "Open MPI v4.1.4".
 *
 * @return a static string; NULL if clformer was built without MPI.
 */
CLF_API const char *clf_ranks_library(void);

/**
 * Joins the other ranks; every rank must make this call, once per process. A process that was not started by
 * mpirun or srun is a single rank, and this function does not initialise MPI. All clf_ranks_*() calls, and
 * clf_train() with ranks, must be made on the same thread.
 *
 * @param out receives the ranks; free the object with clf_ranks_leave().
 * @return CLF_UNSUPPORTED if there are several ranks and the library was built without MPI or with an MPI
 *         library other than mpirun's; CLF_NETWORK if MPI fails.
 */
CLF_API clf_status clf_ranks_join(struct clf_ranks **out);

/**
 * Returns the rank of this process.
 *
 * @param ranks NULL means a single rank.
 * @return 0 to clf_ranks_size() - 1.
 */
CLF_API int clf_ranks_rank(const struct clf_ranks *ranks);

/**
 * Returns the number of ranks.
 *
 * @param ranks NULL means a single rank.
 * @return 1 or more.
 */
CLF_API int clf_ranks_size(const struct clf_ranks *ranks);

/**
 * Returns the rank of this process among the ranks on the same host, so that each rank can use a separate
 * device.
 *
 * @param ranks NULL means a single rank.
 * @return 0 or more.
 */
CLF_API int clf_ranks_host_rank(const struct clf_ranks *ranks);

/**
 * Waits for all ranks and returns an error on every rank if one of them passes an error. Call it on every
 * rank, after work that only some ranks do.
 *
 * @param ranks NULL means a single rank.
 * @param status the status of this rank; if it is an error, clf_last_error() must describe it.
 * @return CLF_OK if every rank passed CLF_OK; else the status of the first rank that failed, with its number
 *         and host at the beginning of clf_last_error(); CLF_NETWORK if MPI fails. A single rank returns
 *         `status`.
 */
CLF_API clf_status clf_ranks_agree(struct clf_ranks *ranks, clf_status status);

/**
 * Leaves the other ranks and frees the object; every rank must make this call.
 *
 * @param ranks may be NULL.
 * @param status the final status of this rank. If the other ranks cannot learn of a failure (such as an MPI
 *     failure), MPI_Abort() ends them and this process.
 */
CLF_API void clf_ranks_leave(struct clf_ranks *ranks, clf_status status);

#ifdef __cplusplus
}
#endif
#endif
