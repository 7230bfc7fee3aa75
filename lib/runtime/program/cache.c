#include "runtime/program/cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "base/signals.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"
#include "runtime/tuning/device_key.h"

/* A file consists of this header, the key, the list of kernels and the binary. Binaries are executable
 * code, so only files that no other user can write are read. Drivers crash on damaged binaries, so the
 * checksum and the whole key are compared before anything is used. Numbers are in native byte order:
 * binaries are not portable. */
struct header {
    char magic[16];
    uint64_t checksum; /* checksum of the rest of the file */
    uint64_t key_size;
    uint64_t kernels_size;
    uint64_t binary_size;
};
static const char magic[16] = "clformer program"; /* no NUL: exactly 16 bytes */
static const size_t largest_file = (size_t)256 << 20;

void clf__program_cache_warn(struct clf_device *device)
{
    if (!device->programs->cache.has_warned) {
        device->programs->cache.has_warned = 1;
        clf__log(CLF_LOG_WARNING, "program cache: %s; kernels are compiled again", clf_last_error());
    }
}

/* Returns whether this warning is new: a process that opens several devices warns only once. */
static int is_news(const char *problem)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char said[512];
    char sentence[sizeof said] = {0};
    snprintf(sentence, sizeof sentence, "%s", problem);
    pthread_mutex_lock(&lock);
    int is_new = strcmp(said, sentence) != 0;
    memcpy(said, sentence, sizeof said);
    pthread_mutex_unlock(&lock);
    return is_new;
}

clf_status clf__program_cache_open(struct clf_device *device)
{
    struct clf__program_cache *cache = &device->programs->cache;
    char *path = NULL;
    CLF__TRY(clf__environment_cache_bytes(&cache->most_bytes));
    if (cache->most_bytes == 0) {
        return CLF_OK;
    }
    clf_status status = clf__environment_cache_folder(&path);
    if (status == CLF_OK) {
        status = clf__owned_folder_find(&cache->folder, path);
    }
    clf__free(path);
    if (status == CLF_FILE) {
        if (is_news(clf_last_error())) {
            clf__program_cache_warn(device);
        }
        return CLF_OK;
    }
    return status;
}

/* Builds the key of a program, which contains everything that its binary depends on, and the path of its
 * file. The caller frees both, even after a failure. */
static clf_status locate(char **key, char **path, const struct clf_device *device,
                         const struct clf__program *program)
{
    char *device_key = NULL;
    CLF__TRY(clf__device_key(&device_key, device->info));
    clf_status status = clf__format(key, "%sprogram %s\noptions %s\n%s", device_key, program->name,
                                    program->options, program->source);
    clf__free(device_key);
    CLF__TRY(status);
    return clf__format(path, "%s/%s-%016" PRIx64 ".bin", device->programs->cache.folder, program->name,
                       clf__checksum(*key, strlen(*key)));
}

/* Reads the header of a file. Returns CLF_FORMAT, with the reason, if the file is not a cached program, is
 * incomplete, or has another key. */
static clf_status check_file(struct header *header, const char *path, const char *bytes, size_t size,
                             const char *key)
{
    if (size < sizeof *header || memcmp(bytes, magic, sizeof magic) != 0) {
        return clf__fail(CLF_FORMAT, "%s: is not a program compiled by clformer", path);
    }
    memcpy(header, bytes, sizeof *header);
    size_t start = offsetof(struct header, key_size);
    uint64_t rest = size - sizeof *header;
    if (header->checksum != clf__checksum(bytes + start, size - start) || header->key_size > rest ||
        header->kernels_size > rest - header->key_size ||
        header->binary_size != rest - header->key_size - header->kernels_size) {
        return clf__fail(CLF_FORMAT, "%s: is damaged", path);
    }
    if (header->key_size != strlen(key) || memcmp(bytes + sizeof *header, key, header->key_size) != 0) {
        return clf__fail(CLF_FORMAT, "%s: belongs to another program with the same hash", path);
    }
    return CLF_OK;
}

/* Creates the program from the binary in a checked file. */
static clf_status use_file(struct clf_device *device, struct clf__program *program, const char *path,
                           const struct header *header, const char *bytes)
{
    const char *kernels = bytes + sizeof *header + header->key_size;
    const unsigned char *binary = (const unsigned char *)kernels + header->kernels_size;
    size_t size = header->binary_size;
    cl_int error = CL_SUCCESS, accepted = CL_SUCCESS;
    cl_program built = CLF__CL_CREATE(&error, clCreateProgramWithBinary(device->context, 1, &device->id,
                                                                        &size, &binary, &accepted, &error));
    if (built && accepted == CL_SUCCESS) {
        error = CLF__CL(clBuildProgram(built, 1, &device->id, program->options, NULL, NULL));
    }
    clf_status status = clf__opencl_check(error != CL_SUCCESS ? error : accepted,
                                          "%s: device %s rejects the compiled program", path, device->label);
    if (status == CLF_OK) {
        status = clf__copy_bytes(&program->stored_kernels, kernels, header->kernels_size);
    }
    if (status == CLF_OK) {
        program->program = built;
    } else if (built) {
        clReleaseProgram(built);
    }
    return status;
}

static clf_status load(struct clf_device *device, struct clf__program *program, const char *path,
                       const char *key)
{
    if (!clf__file_exists(path)) {
        return CLF_OK;
    }
    struct header header;
    char *bytes = NULL;
    size_t size = 0;
    clf_status status = clf__owned_file_read(&bytes, &size, path, largest_file);
    if (status == CLF_OK) {
        status = check_file(&header, path, bytes, size, key);
    }
    if (status == CLF_OK) {
        status = use_file(device, program, path, &header, bytes);
    }
    if (status == CLF_OK) {
        utimensat(AT_FDCWD, path, NULL, 0); /* mark as used; if this fails, the file may be removed too
                                             * early */
    }
    clf__free(bytes);
    return status;
}

clf_status clf__program_cache_try(struct clf_device *device, struct clf__program *program)
{
    if (device->programs->cache.folder == NULL) {
        return CLF_OK;
    }
    char *key = NULL, *path = NULL;
    clf_status status = locate(&key, &path, device, program);
    if (status == CLF_OK) {
        status = load(device, program, path, key);
    }
    clf__free(path);
    clf__free(key);
    return status;
}

clf_status clf__program_cache_load(struct clf_device *device, struct clf__program *program)
{
    clf_status status = clf__program_cache_try(device, program);
    if (status != CLF_OK && status != CLF_OUT_OF_MEMORY && status != CLF_INTERRUPTED) {
        clf__program_cache_warn(device);
        return CLF_OK;
    }
    return status;
}

int clf__program_cache_has(const struct clf__kernel *kernel)
{
    size_t length = strlen(kernel->name);
    const char *found = kernel->program->stored_kernels;
    while (found != NULL && (found = strstr(found, kernel->name)) != NULL) {
        if (found[-1] == '\n' && found[length] == '\n') { /* the list begins with a newline */
            return 1;
        }
        found += length;
    }
    return 0;
}

/* Lists the kernels that have run, in this process or before the file was written, each name enclosed in
 * newlines. PoCL compiles a kernel when it first runs, and a binary contains only the kernels compiled by
 * then. *grew: the list has a kernel that the file lacks. */
static clf_status list_kernels(char **out, int *grew, const struct clf__programs *programs,
                               const struct clf__program *program)
{
    *grew = 0;
    CLF__TRY(clf__copy_string(out, program->stored_kernels ? program->stored_kernels : "\n"));
    for (int i = 0; i < programs->kernel_capacity; i++) {
        const struct clf__kernel *kernel = programs->kernels[i];
        if (kernel == NULL || kernel->program != program || !kernel->has_run) {
            continue;
        }
        char *entry = NULL;
        CLF__TRY(clf__format(&entry, "\n%s\n", kernel->name));
        clf_status status = CLF_OK;
        if (strstr(*out, entry) == NULL) {
            *grew = 1;
            status = clf__append(out, "%s", entry + 1);
        }
        clf__free(entry);
        CLF__TRY(status);
    }
    return CLF_OK;
}

void clf__program_cache_tell(struct clf_device *device)
{
    struct clf__program_cache *cache = &device->programs->cache;
    if (cache->folder == NULL || cache->has_told) {
        return;
    }
    cache->has_told = 1;
    char *made = NULL;
    if (clf__owned_folder_create(&made, cache->folder) != CLF_OK) {
        clf__program_cache_warn(device);
        clf__free(cache->folder);
        cache->folder = NULL;
        return;
    }
    clf__free(made);
    clf__log(CLF_LOG_NOTICE,
             "compiling kernels for device %s (this takes a few seconds); they are cached for the next start",
             device->label);
}

/* Assembles the contents of the file; *size is 0 if the driver returns no binary. */
static clf_status make_file(char **out, size_t *size, const struct clf_device *device, cl_program program,
                            const char *key, const char *kernels)
{
    size_t binary_size = 0;
    cl_int error =
        CLF__CL(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof binary_size, &binary_size, NULL));
    *size = 0;
    if (error == CL_SUCCESS && binary_size == 0) {
        return CLF_OK;
    }
    if (error == CL_SUCCESS) {
        struct header header = {
            .key_size = strlen(key), .kernels_size = strlen(kernels), .binary_size = binary_size};
        memcpy(header.magic, magic, sizeof magic);
        size_t text_size = sizeof header + header.key_size + header.kernels_size;
        CLF__TRY(clf__allocate(out, text_size + binary_size, 1));
        char *bytes = *out;
        memcpy(bytes, &header, sizeof header);
        memcpy(bytes + sizeof header, key, header.key_size);
        memcpy(bytes + sizeof header + header.key_size, kernels, header.kernels_size);
        unsigned char *binary = (unsigned char *)bytes + text_size;
        error = CLF__CL(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
        *size = text_size + binary_size;
        size_t start = offsetof(struct header, key_size);
        header.checksum = clf__checksum(bytes + start, *size - start);
        memcpy(bytes, &header, sizeof header);
    }
    return clf__opencl_check(error, "device %s does not return a compiled program", device->label);
}

static clf_status write_file(struct clf_device *device, const struct clf__program *program,
                             const char *kernels)
{
    char *key = NULL, *path = NULL, *bytes = NULL;
    size_t size = 0;
    cl_program fresh = NULL;
    clf_status status = locate(&key, &path, device, program);
    /* A program created from a binary returns only that binary, without kernels compiled since then. */
    if (status == CLF_OK && program->stored_kernels) {
        status = clf__program_compile(&fresh, device, program);
    }
    if (status == CLF_OK) {
        sigset_t signals;
        clf__signals_block(&signals); /* PoCL runs its linker */
        status = make_file(&bytes, &size, device, fresh ? fresh : program->program, key, kernels);
        clf__signals_restore(&signals);
    }
    if (status == CLF_OK && size > 0) {
        status = clf__owned_file_write(path, bytes, size);
    }
    if (fresh) {
        clReleaseProgram(fresh);
    }
    clf__free(bytes);
    clf__free(path);
    clf__free(key);
    return status;
}

/* Announces the write, which is slow: to return a binary, PoCL recompiles every kernel for any work-group
 * size. */
static void tell_end(struct clf_device *device)
{
    if (!device->programs->cache.has_told_end) {
        device->programs->cache.has_told_end = 1;
        clf__log(CLF_LOG_NOTICE, "writing compiled kernels to %s for the next start",
                 device->programs->cache.folder);
    }
}

static clf_status store(struct clf_device *device, const struct clf__program *program, int *wrote)
{
    char *kernels = NULL;
    int grew = 0;
    clf_status status = list_kernels(&kernels, &grew, device->programs, program);
    if (status == CLF_OK && grew) {
        tell_end(device);
        *wrote = 1;
        status = write_file(device, program, kernels);
    }
    clf__free(kernels);
    return status;
}

void clf__program_cache_store_all(struct clf_device *device)
{
    clf__task_wait(&device->programs->ahead.loading);
    if (device->programs->cache.folder == NULL || device->programs->count == 0) {
        return;
    }
    clf_status status = CLF_OK;
    int wrote = 0;
    for (int i = 0; status == CLF_OK && i < device->programs->count; i++) {
        status = clf__interrupt_check();
        if (status == CLF_OK) {
            status = store(device, device->programs->programs[i], &wrote);
        }
    }
    if (status == CLF_OK && wrote) {
        status = clf__program_cache_limit(device->programs->cache.folder, device->programs->cache.most_bytes);
    }
    if (status != CLF_OK && status != CLF_INTERRUPTED) {
        clf__program_cache_warn(device);
    }
}
