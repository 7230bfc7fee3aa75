#include "runtime/cluster/ranks.h"

#include <stdlib.h>

#include "base/environment.h"
#include "base/memory.h"

static int number_of(const char *variable)
{
    enum { MOST = 1 << 24 };
    const char *text = clf__environment_value(variable);
    long number = text != NULL ? strtol(text, NULL, 10) : 0;
    return number > 0 && number <= MOST ? (int)number : 0;
}

/* Detects a launcher by its environment variables, because MPI_Init() without a launcher may start daemons
 * or fail: Open MPI's mpirun, MPICH or srun for MPICH, or srun with PMIx. With PMIx only a Slurm variable
 * holds the number of ranks; batch scripts have that variable too, but no rank. */
int clf__ranks_started(void)
{
    int count = number_of("OMPI_COMM_WORLD_SIZE");
    if (count == 0) {
        count = number_of("PMI_SIZE");
    }
    if (count == 0 && clf__environment_value("PMIX_RANK") != NULL) {
        count = number_of("SLURM_STEP_NUM_TASKS");
    }
    return count > 0 ? count : 1;
}

const struct clf__communicator *clf__ranks_communicator(const struct clf_ranks *ranks)
{
    return ranks != NULL ? &ranks->communicator : &clf__communicator_null;
}

const char *clf_ranks_library(void)
{
    return clf__mpi_library();
}

clf_status clf_ranks_join(struct clf_ranks **out)
{
    *out = NULL;
    struct clf_ranks *ranks;
    CLF__TRY(clf__allocate(&ranks, 1, sizeof *ranks));
    ranks->communicator = clf__communicator_null;
    clf_status status = CLF_OK;
    int started = clf__ranks_started();
    if (started > 1 || clf__mpi_is_begun()) {
        status = clf__mpi_join(&ranks->communicator, started);
    }
    if (status != CLF_OK) {
        clf__free(ranks);
        return status;
    }
    *out = ranks;
    return CLF_OK;
}

int clf_ranks_rank(const struct clf_ranks *ranks)
{
    return clf__ranks_communicator(ranks)->rank;
}

int clf_ranks_host_rank(const struct clf_ranks *ranks)
{
    return clf__ranks_communicator(ranks)->host_rank;
}

int clf_ranks_size(const struct clf_ranks *ranks)
{
    return clf__ranks_communicator(ranks)->size;
}

clf_status clf_ranks_agree(struct clf_ranks *ranks, clf_status status)
{
    const struct clf__communicator *communicator = clf__ranks_communicator(ranks);
    return communicator->agree(communicator, status);
}

void clf_ranks_leave(struct clf_ranks *ranks, clf_status status)
{
    if (ranks != NULL && ranks->communicator.context != NULL) {
        clf__mpi_leave(&ranks->communicator, status);
    }
    clf__free(ranks);
}
