/* Joins the ranks of a distributed run. */
#ifndef CLF_CLUSTER_RANKS_H
#define CLF_CLUSTER_RANKS_H

#include <clformer/ranks.h>

#include "runtime/cluster/communicator.h"

struct clf_ranks {
    struct clf__communicator communicator;
};

/* Returns the communicator of the ranks; NULL: a single rank. */
const struct clf__communicator *clf__ranks_communicator(const struct clf_ranks *ranks);

/* Returns the number of processes that mpirun or srun started together; 1 without a launcher. */
int clf__ranks_started(void);

/* Functions of mpi.c. Without MPI, clf__mpi_join() fails. */
const char *clf__mpi_library(void); /* NULL: built without MPI */
int clf__mpi_is_begun(void);        /* the calling program initialised MPI */
/* Fills a communicator; clf__mpi_leave() frees its context. `started`: see clf__ranks_started(). */
clf_status clf__mpi_join(struct clf__communicator *out, int started);
void clf__mpi_leave(const struct clf__communicator *communicator, clf_status status);

#endif
