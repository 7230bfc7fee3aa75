#include "runtime/program/program.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/program/cache.h"
#include "runtime/program/testing.h"

/* Adds a string and its terminating NUL to the hash. */
static uint64_t hash_string(uint64_t hash, const char *string)
{
    return clf__fnv(hash, string, strlen(string) + 1);
}

static void free_program(struct clf__program *program)
{
    if (program->program) {
        clReleaseProgram(program->program);
    }
    clf__free(program->stored_kernels);
    clf__free(program->source);
    clf__free(program->options);
    clf__free(program->defines);
    clf__free(program->name);
    clf__free(program);
}

/* Describes a program: everything that its binary depends on. */
static clf_status describe_program(struct clf__program **out, struct clf_device *device, const char *name,
                                   const char *defines)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    struct clf__program *program = *out;
    CLF__TRY(clf__copy_string(&program->name, name));
    CLF__TRY(clf__copy_string(&program->defines, defines));
    CLF__TRY(clf__format(&program->options, "%s%s%s", device->build_options, *defines ? " " : "", defines));
    return clf__program_source(&program->source, device->programs, name);
}

static struct clf__program *find_program(const struct clf__programs *programs, const char *name,
                                         const char *defines)
{
    for (int i = 0; i < programs->count; i++) {
        struct clf__program *program = programs->programs[i];
        if (strcmp(program->name, name) == 0 && strcmp(program->defines, defines) == 0) {
            return program;
        }
    }
    return NULL;
}

/* Takes ownership of a program, even on failure. */
static clf_status keep_program(struct clf__programs *programs, struct clf__program *program,
                               clf_status status)
{
    if (status == CLF_OK) {
        status = clf__resize(&programs->programs, (size_t)programs->count + 1, sizeof *programs->programs);
    }
    if (status == CLF_OK && program->program) {
        programs->programs[programs->count++] = program;
    } else if (program) {
        free_program(program);
    }
    return status;
}

clf_status clf__program_load(struct clf_device *device, const char *name, const char *defines)
{
    if (find_program(device->programs, name, defines)) {
        return CLF_OK;
    }
    struct clf__program *program = NULL;
    clf_status status = describe_program(&program, device, name, defines);
    if (status == CLF_OK) {
        status = clf__program_cache_try(device, program);
    }
    return keep_program(device->programs, program, status);
}

static clf_status get_program(struct clf__program **out, struct clf_device *device, const char *name,
                              const char *defines)
{
    clf__task_wait(&device->programs->ahead.loading);
    *out = find_program(device->programs, name, defines);
    if (*out) {
        return CLF_OK;
    }
    clf_status status = describe_program(out, device, name, defines);
    if (status == CLF_OK) {
        status = clf__program_cache_load(device, *out);
    }
    if (status == CLF_OK && (*out)->program == NULL) {
        clf__program_cache_tell(device);
        double begin = clf__seconds();
        status = clf__program_compile(&(*out)->program, device, *out);
        (*out)->build_seconds = clf__seconds() - begin;
    }
    return keep_program(device->programs, *out, status);
}

static void free_kernel(struct clf__kernel *kernel)
{
    if (kernel->kernel) {
        clReleaseKernel(kernel->kernel);
    }
    clf__argument_values_free(kernel->values, kernel->argument_count);
    clf__free(kernel->name);
    clf__free(kernel);
}

static void read_limits(struct clf__kernel *kernel, const struct clf_device *device)
{
    size_t items = 0;
    cl_ulong bytes = 0;
    if (device->caps.variant == CLF_VARIANT_CPU) {
        return; /* a group has one work-item and no local memory */
    }
    if (CLF__CL(clGetKernelWorkGroupInfo(kernel->kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof items,
                                         &items, NULL)) == CL_SUCCESS) {
        kernel->most_items = items;
    }
    if (CLF__CL(clGetKernelWorkGroupInfo(kernel->kernel, device->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes,
                                         &bytes, NULL)) == CL_SUCCESS) {
        kernel->local_bytes = bytes;
    }
}

static clf_status create_kernel(struct clf__kernel **out, const struct clf_device *device,
                                struct clf__program *program, const char *name)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    struct clf__kernel *kernel = *out;
    kernel->program = program;
    clf_status status = clf__copy_string(&kernel->name, name);
    if (status == CLF_OK) {
        cl_int error = CL_SUCCESS;
        kernel->kernel = CLF__CL_CREATE(&error, clCreateKernel(program->program, name, &error));
        if (kernel->kernel) {
            error = CLF__CL(clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof kernel->argument_count,
                                            &kernel->argument_count, NULL));
        }
        status = clf__opencl_check(error, "creating kernel %s of program %s on device %s", name,
                                   program->name, device->label);
    }
    if (status == CLF_OK && kernel->argument_count > 0) {
        status = clf__allocate(&kernel->values, kernel->argument_count, sizeof *kernel->values);
    }
    if (status == CLF_OK) {
        read_limits(kernel, device);
    }
    if (status != CLF_OK) {
        free_kernel(kernel);
        *out = NULL;
    }
    return status;
}

/* Returns the slot of a kernel, or the free slot for it. */
static struct clf__kernel **find_slot(struct clf__kernel **table, int capacity, uint64_t hash,
                                      const char *program, const char *kernel, const char *defines)
{
    size_t mask = (size_t)capacity - 1;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        const struct clf__kernel *entry = table[at];
        if (entry == NULL ||
            (entry->hash == hash && strcmp(entry->name, kernel) == 0 &&
             strcmp(entry->program->name, program) == 0 && strcmp(entry->program->defines, defines) == 0)) {
            return &table[at];
        }
    }
}

/* Grows the table so that it stays at most half full. */
static clf_status make_room(struct clf__programs *programs)
{
    if (2 * (programs->kernel_count + 1) <= programs->kernel_capacity) {
        return CLF_OK;
    }
    int capacity = programs->kernel_capacity > 0 ? 2 * programs->kernel_capacity : 64;
    struct clf__kernel **table = NULL;
    CLF__TRY(clf__allocate(&table, (size_t)capacity, sizeof(struct clf__kernel *)));
    for (int i = 0; i < programs->kernel_capacity; i++) {
        struct clf__kernel *kernel = programs->kernels[i];
        if (kernel) {
            *find_slot(table, capacity, kernel->hash, kernel->program->name, kernel->name,
                       kernel->program->defines) = kernel;
        }
    }
    clf__free(programs->kernels);
    programs->kernels = table;
    programs->kernel_capacity = capacity;
    return CLF_OK;
}

clf_status clf__program_kernel(struct clf__kernel **out, struct clf_device *device, const char *program,
                               const char *kernel, const char *defines)
{
    struct clf__programs *programs = device->programs;
    defines = defines ? defines : "";
    uint64_t hash = hash_string(hash_string(hash_string(CLF__FNV_BEGIN, program), kernel), defines);
    CLF__TRY(make_room(programs));
    struct clf__kernel **slot =
        find_slot(programs->kernels, programs->kernel_capacity, hash, program, kernel, defines);
    if (*slot == NULL) {
        struct clf__program *built = NULL;
        CLF__TRY(get_program(&built, device, program, defines));
        CLF__TRY(create_kernel(slot, device, built, kernel));
        (*slot)->hash = hash;
        programs->kernel_count++;
    }
    *out = *slot;
    return CLF_OK;
}

clf_status clf__program_add_source(struct clf_device *device, const char *name, const char *text)
{
    struct clf__programs *programs = device->programs;
    CLF__TRY(clf__resize(&programs->added, (size_t)programs->added_count + 1, sizeof *programs->added));
    programs->added[programs->added_count++] = (struct clf__kernel_source){name, name, text};
    return CLF_OK;
}

void clf__program_counts(const struct clf_device *device, int *built, int *loaded)
{
    clf__task_wait(&device->programs->ahead.loading);
    *built = *loaded = 0;
    for (int i = 0; i < device->programs->count; i++) {
        ++*(device->programs->programs[i]->stored_kernels ? loaded : built);
    }
}

clf_status clf__programs_create(struct clf_device *device, int are_kept)
{
    CLF__TRY(clf__allocate(&device->programs, 1, sizeof *device->programs));
    return are_kept ? clf__program_cache_open(device) : CLF_OK;
}

void clf__programs_free(struct clf__programs *programs)
{
    if (programs == NULL) {
        return;
    }
    for (int i = 0; i < programs->kernel_capacity; i++) {
        if (programs->kernels[i]) {
            free_kernel(programs->kernels[i]);
        }
    }
    for (int i = 0; i < programs->count; i++) {
        free_program(programs->programs[i]);
    }
    clf__free(programs->kernels);
    clf__free(programs->programs);
    clf__free(programs->added);
    clf__free(programs->cache.folder);
    clf__free(programs->ahead.path);
    clf__free(programs->ahead.list);
    clf__free(programs);
}
