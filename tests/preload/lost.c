/* Preloaded, loses a device: after $LOST_AFTER launches, the queue accepts nothing more; clFinish() fails
 * after earlier work is done, as PoCL may still write to freed memory. $LOST_ALL: all queues; $LOST_RANK: one
 * MPI rank; $LOST_KILLS: kills the process; $LOST_DISK: files cannot grow; $LOST_ONCE: only this launch
 * fails. */
#define _GNU_SOURCE
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static atomic_long launches;
static _Atomic(cl_command_queue) lost;

/* Variables of Open MPI's and MPICH's launchers. */
static int is_here(void)
{
    const char *wanted = getenv("LOST_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank != NULL ? rank : getenv("PMI_RANK");
    return wanted == NULL || (rank != NULL && strcmp(wanted, rank) == 0);
}

static void lose(cl_command_queue queue)
{
    if (getenv("LOST_KILLS") != NULL) {
        raise(SIGKILL);
    }
    if (getenv("LOST_DISK") != NULL) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
        return;
    }
    atomic_store(&lost, queue);
}

static int is_lost(cl_command_queue queue)
{
    return atomic_load(&lost) == queue || (atomic_load(&lost) != NULL && getenv("LOST_ALL") != NULL);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *size, const size_t *group, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*launch)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                     cl_uint, const cl_event *, cl_event *);
    const char *after = getenv("LOST_AFTER");
    if (after != NULL && is_here() && atomic_fetch_add(&launches, 1) + 1 == atol(after)) {
        if (getenv("LOST_ONCE") != NULL) {
            return CL_OUT_OF_RESOURCES;
        }
        lose(queue);
    }
    *(void **)&launch = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    return is_lost(queue) ? CL_OUT_OF_RESOURCES
                          : launch(queue, kernel, dimensions, offset, size, group, count, events, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits, size_t offset, size_t size,
                           void *bytes, cl_uint count, const cl_event *events, cl_event *event)
{
    cl_int (*read)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,
                   cl_event *);
    *(void **)&read = dlsym(RTLD_NEXT, "clEnqueueReadBuffer");
    return is_lost(queue) ? CL_OUT_OF_RESOURCES
                          : read(queue, memory, waits, offset, size, bytes, count, events, event);
}

cl_int clFinish(cl_command_queue queue)
{
    cl_int (*finish)(cl_command_queue);
    *(void **)&finish = dlsym(RTLD_NEXT, "clFinish");
    cl_int result = finish(queue);
    return is_lost(queue) ? CL_OUT_OF_RESOURCES : result;
}
