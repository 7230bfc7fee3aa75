/* How a process comes to be one of several ranks. */
#ifndef CLF_CLUSTER_RANKS_H
#define CLF_CLUSTER_RANKS_H

#include <clformer/ranks.h>

#include "cluster/communicator.h"

struct clf_ranks {
    struct clf__communicator communicator;
};

/* NULL: those of one rank alone. */
const struct clf__communicator *clf__ranks_communicator(const struct clf_ranks *ranks);

/* As many as mpirun or srun says that it started, of which this process is one; 1 where neither did. */
int clf__ranks_started(void);

/* MPI, or, where the library was built without it, what says so (mpi.c). */
const char *clf__mpi_library(void); /* NULL: without */
int clf__mpi_is_begun(void);        /* by the caller of the library */
/* Fills a table whose context clf__mpi_leave() frees. started: see clf__ranks_started(). */
clf_status clf__mpi_join(struct clf__communicator *out, int started);
void clf__mpi_leave(const struct clf__communicator *communicator, clf_status status);

#endif
