#include "runtime/program/ahead.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "runtime/device/device.h"
#include "runtime/device/lock.h"
#include "runtime/program/program.h"
#include "runtime/tuning/device_key.h"

/* A list is an empty line, followed by one line per program: its name, a tab and its defines. */
static const size_t largest_list = (size_t)1 << 20;

/* A failure is ignored here; the later request for the program reports it. */
static void *load_all(void *argument)
{
    struct clf_device *device = argument;
    char *lines = NULL;
    if (clf__copy_string(&lines, device->programs->ahead.list) == CLF_OK) {
        for (char *rest = lines, *name;
             (name = strtok_r(rest, "\n", &rest)) != NULL && clf__interrupt_check() == CLF_OK;) {
            char *tab = strchr(name, '\t');
            if (tab) {
                *tab = '\0';
                (void)clf__program_load(device, name, tab + 1);
            }
        }
    }
    clf__free(lines);
    return NULL;
}

static clf_status find_list(struct clf_device *device, const char *work)
{
    struct clf__programs *programs = device->programs;
    char *key = NULL;
    clf_status status = clf__device_key(&key, device->info);
    if (status == CLF_OK) {
        status = clf__append(&key, "%s\n%s", device->build_options, work);
    }
    if (status == CLF_OK) {
        status = clf__format(&programs->ahead.path, "%s/ahead-%016" PRIx64 ".list", programs->cache.folder,
                             clf__checksum(key, strlen(key)));
    }
    clf__free(key);
    if (status == CLF_OK && clf__file_exists(programs->ahead.path)) {
        size_t size;
        status = clf__owned_file_read(&programs->ahead.list, &size, programs->ahead.path, largest_list);
    }
    return status;
}

void clf__programs_ahead_begin(struct clf_device *device, const char *work)
{
    CLF__LOCK_DEVICE(device);
    struct clf__programs_ahead *ahead = &device->programs->ahead;
    if (device->programs->cache.folder == NULL || ahead->path != NULL) {
        return;
    }
    if (find_list(device, work) == CLF_OK && ahead->list != NULL) {
        (void)clf__task_begin(&ahead->loading, load_all, device);
    }
}

static int is_taken(const struct clf__programs *programs, const struct clf__program *program)
{
    for (int i = 0; i < programs->kernel_capacity; i++) {
        if (programs->kernels[i] && programs->kernels[i]->program == program) {
            return 1;
        }
    }
    return 0;
}

/* Writes the list of programs in use. *grew: the stored list lacks some of them. */
static clf_status list_taken(char **out, int *grew, const struct clf__programs *programs)
{
    *grew = 0;
    CLF__TRY(clf__copy_string(out, "\n"));
    for (int i = 0; i < programs->count; i++) {
        const struct clf__program *program = programs->programs[i];
        if (!is_taken(programs, program)) {
            continue;
        }
        char *entry = NULL;
        CLF__TRY(clf__format(&entry, "\n%s\t%s\n", program->name, program->defines));
        *grew |= programs->ahead.list == NULL || strstr(programs->ahead.list, entry) == NULL;
        clf_status status = clf__append(out, "%s", entry + 1);
        clf__free(entry);
        CLF__TRY(status);
    }
    return CLF_OK;
}

void clf__programs_ahead_store(struct clf_device *device)
{
    struct clf__programs *programs = device->programs;
    clf__task_wait(&programs->ahead.loading);
    if (programs->ahead.path == NULL) {
        return;
    }
    char *list = NULL;
    int grew = 0;
    clf_status status = list_taken(&list, &grew, programs);
    if (status == CLF_OK && grew) {
        status = clf__owned_file_write(programs->ahead.path, list, strlen(list));
    }
    clf__free(list);
    if (status != CLF_OK) {
        clf__program_cache_warn(device);
    }
}
