#include "runtime/device/profile.h"
#include "runtime/device/lock.h"
#include "runtime/device/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"

/* The limit exists because drivers hold resources for every live event. */
enum { MOST_PENDING = 4096 };

struct pending {
    cl_event before; /* if not NULL, the time starts at the end of this event */
    cl_event event;
    int entry;
    double asked; /* host time before the command was enqueued */
    struct clf__cost cost;
};

struct clf__profile {
    struct clf_kernel_time *entries; /* owns the names */
    int entry_count;
    struct pending *pending; /* (MOST_PENDING), in the order of the queue */
    int pending_count;
    double asked;                  /* host time before the next command; 0: none */
    int has_discarded;             /* a time was discarded and a warning logged */
    struct clf_kernel_time *times; /* the sorted entries of the last query */
};

clf_status clf__profile_create(struct clf__profile **out)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    return clf__allocate(&(*out)->pending, MOST_PENDING, sizeof *(*out)->pending);
}

static void release(cl_event event)
{
    if (event) {
        clReleaseEvent(event);
    }
}

static void forget(struct clf__profile *profile)
{
    for (int i = 0; i < profile->pending_count; i++) {
        release(profile->pending[i].before);
        release(profile->pending[i].event);
    }
    for (int i = 0; i < profile->entry_count; i++) {
        clf__free((void *)profile->entries[i].name);
    }
    clf__free(profile->entries);
    clf__free(profile->times);
    profile->entries = NULL;
    profile->times = NULL;
    profile->entry_count = profile->pending_count = 0;
}

void clf__profile_free(struct clf__profile *profile)
{
    if (profile) {
        forget(profile);
        clf__free(profile->pending);
        clf__free(profile);
    }
}

cl_event *clf__profile_slot(struct clf__profile *profile, cl_event *event)
{
    if (profile == NULL) {
        return NULL;
    }
    if (!(profile->asked > 0.0)) {
        profile->asked = clf__seconds();
    }
    return event;
}

static cl_int read_time(cl_ulong *nanoseconds, cl_event event, cl_profiling_info what)
{
    return CLF__CL(clGetEventProfilingInfo(event, what, sizeof *nanoseconds, nanoseconds, NULL));
}

/* Reads the time of a finished command. *is_true: the time is plausible, given that the command had
 * finished when the host time was `now`. Some drivers report wrong units, constants, or times of commands
 * that have not run. */
static cl_int read_seconds(double *seconds, int *is_true, const struct pending *pending, double now)
{
    const cl_ulong least_end = 1000; /* ns; device clocks have started long before */
    const double most_operations = 1e17, most_bytes = 1e15, shortest = 1e-6, clock_error = 1.1, delay = 1e-4;
    cl_ulong start = 0, end = 0;
    cl_int error = pending->before ? read_time(&start, pending->before, CL_PROFILING_COMMAND_END)
                                   : read_time(&start, pending->event, CL_PROFILING_COMMAND_START);
    if (error == CL_SUCCESS) {
        error = read_time(&end, pending->event, CL_PROFILING_COMMAND_END);
    }
    *is_true = error == CL_SUCCESS && end >= least_end && end >= start;
    *seconds = *is_true ? 1e-9 * (double)(end - start) : 0.0;
    double least = *seconds > shortest ? *seconds : shortest; /* the host clock is coarse */
    *is_true = *is_true && *seconds <= clock_error * (now - pending->asked) + delay &&
               pending->cost.operations <= most_operations * least &&
               pending->cost.bytes <= most_bytes * least;
    return error == CL_PROFILING_INFO_NOT_AVAILABLE ? CL_SUCCESS : error;
}

static void add_time(struct clf_device *device, const struct pending *pending, double seconds, int is_true)
{
    struct clf_kernel_time *entry = &device->profile->entries[pending->entry];
    if (is_true) {
        entry->seconds += seconds;
        return;
    }
    entry->discarded++;
    if (!device->profile->has_discarded) {
        device->profile->has_discarded = 1;
        clf__log(
            CLF_LOG_WARNING,
            "device %s: the driver reports impossible times, for example for kernel %s; they are ignored",
            device->label, entry->name);
    }
}

/* Waits for the `count` oldest events and adds up their times. */
static clf_status collect(struct clf_device *device, int count)
{
    struct clf__profile *profile = device->profile;
    if (count == 0) {
        return CLF_OK;
    }
    struct pending *pending = profile->pending;
    CLF__TRY(clf__device_flush(device)); /* some drivers do not flush when an event is waited for */
    cl_int error = CLF__CL(clWaitForEvents(1, &pending[count - 1].event)); /* also waits for all earlier
                                                                            * events */
    double now = clf__seconds();
    int done = 0;
    while (done < count && error == CL_SUCCESS) {
        double seconds = 0.0;
        int is_true = 0;
        error = read_seconds(&seconds, &is_true, &pending[done], now);
        if (error == CL_SUCCESS) {
            add_time(device, &pending[done], seconds, is_true);
            release(pending[done].before);
            release(pending[done++].event);
        }
    }
    profile->pending_count -= done;
    memmove(pending, pending + done, (size_t)profile->pending_count * sizeof *pending);
    return clf__opencl_check(error, "reading kernel times on device %s", device->label);
}

static clf_status find_entry(int *index, struct clf__profile *profile, const char *name,
                             enum clf__precision precision)
{
    for (int i = 0; i < profile->entry_count; i++) {
        if (profile->entries[i].precision == clf__precision_public(precision) &&
            strcmp(profile->entries[i].name, name) == 0) {
            *index = i;
            return CLF_OK;
        }
    }
    CLF__TRY(clf__resize(&profile->entries, (size_t)profile->entry_count + 1, sizeof *profile->entries));
    char *copy = NULL;
    CLF__TRY(clf__copy_string(&copy, name));
    *index = profile->entry_count++;
    profile->entries[*index] =
        (struct clf_kernel_time){.name = copy, .precision = clf__precision_public(precision)};
    return CLF_OK;
}

static clf_status add(struct clf_device *device, const char *name, struct clf__cost cost, cl_event before,
                      cl_event event)
{
    struct clf__profile *profile = device->profile;
    int index = 0;
    CLF__TRY(find_entry(&index, profile, name, cost.precision));
    if (profile->pending_count == MOST_PENDING) {
        CLF__TRY(collect(device, MOST_PENDING / 2)); /* half of the events stay pending to keep the queue
                                                      * busy */
    }
    struct clf_kernel_time *entry = &profile->entries[index];
    entry->launches++;
    entry->operations += cost.operations;
    entry->bytes += cost.bytes;
    profile->pending[profile->pending_count++] = (struct pending){before, event, index, profile->asked, cost};
    profile->asked = 0.0;
    return CLF_OK;
}

clf_status clf__profile_add(struct clf_device *device, const char *name, struct clf__cost cost,
                            cl_event before, cl_event event)
{
    clf_status status = event ? add(device, name, cost, before, event) : CLF_OK;
    if (event == NULL || status != CLF_OK) {
        release(before);
        release(event);
    }
    return status;
}

clf_status clf__profile_mark(struct clf_device *device, cl_event *event)
{
    if (device->profile == NULL) {
        return CLF_OK;
    }
    cl_int error = CLF__CL(
        clEnqueueMarkerWithWaitList(device->queue, 0, NULL, clf__profile_slot(device->profile, event)));
    return clf__opencl_check(error, "enqueueing a marker on device %s", device->label);
}

/* Sorts by descending time, then by name. */
static int compare(const void *left, const void *right)
{
    const struct clf_kernel_time *a = left, *b = right;
    if (a->seconds != b->seconds) {
        return a->seconds < b->seconds ? 1 : -1;
    }
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (int)a->precision - (int)b->precision;
}

clf_status clf_device_profile(const struct clf_kernel_time **out, int *count, struct clf_device *device)
{
    CLF__LOCK_DEVICE(device);
    struct clf__profile *profile = device->profile;
    *out = NULL;
    *count = 0;
    if (profile == NULL) {
        return CLF_OK;
    }
    CLF__TRY(collect(device, profile->pending_count));
    CLF__TRY(clf__resize(&profile->times, (size_t)profile->entry_count, sizeof *profile->times));
    for (int i = 0; i < profile->entry_count; i++) {
        profile->times[i] = profile->entries[i];
    }
    qsort(profile->times, (size_t)profile->entry_count, sizeof *profile->times, compare);
    *out = profile->times;
    *count = profile->entry_count;
    return CLF_OK;
}

clf_status clf_device_profile_reset(struct clf_device *device)
{
    CLF__LOCK_DEVICE(device);
    CLF__TRY(clf__device_finish(device));
    if (device->profile) {
        forget(device->profile);
    }
    return CLF_OK;
}
