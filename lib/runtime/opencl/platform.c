#include "runtime/opencl/listed_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/signals.h"
#include "runtime/opencl/identity.h"
#include "runtime/opencl/quirks.h"

/* PoCL 3.1 (Debian 12) initialises itself at the first device query without a lock: a concurrent query
 * crashes or returns no device. */
static pthread_mutex_t one_listing = PTHREAD_MUTEX_INITIALIZER;

/* Queries a string of a device, or of a platform if id is NULL. The caller frees *out, even after a
 * failure. */
static clf_status read_text(const char **out, cl_platform_id platform, cl_device_id id, cl_uint what)
{
    size_t size = 0;
    cl_int error = CLF__CL(id ? clGetDeviceInfo(id, what, 0, NULL, &size)
                              : clGetPlatformInfo(platform, what, 0, NULL, &size));
    if (error == CL_SUCCESS) {
        char *text = NULL;
        CLF__TRY(clf__allocate(&text, size + 1, 1));
        *out = text;
        error = CLF__CL(id ? clGetDeviceInfo(id, what, size, text, NULL)
                           : clGetPlatformInfo(platform, what, size, text, NULL));
    }
    return clf__opencl_check(error, "reading the properties of an OpenCL %s", id ? "device" : "platform");
}

static clf_status device_value(void *out, size_t size, cl_device_id id, cl_device_info what)
{
    return clf__opencl_check(CLF__CL(clGetDeviceInfo(id, what, size, out, NULL)),
                             "reading the extensions of an OpenCL device");
}

/* Parses a version: "OpenCL 3.0 CUDA" gives 30, "OpenCL C 1.2 " gives 12, anything else 0. */
static int parse_version(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    int major = 0, minor = 0;
    if (strncmp(text, prefix, length) != 0 || sscanf(text + length, "%2d.%1d", &major, &minor) != 2) {
        return 0;
    }
    return 10 * major + minor;
}

/* Finds the newest OpenCL C version: OpenCL 3.0 drivers may still report 1.2 in CL_DEVICE_OPENCL_C_VERSION
 * and list newer versions separately. */
static clf_status read_c_version(struct clf__listed_device *device)
{
    const char *text = NULL;
    clf_status status = read_text(&text, NULL, device->id, CL_DEVICE_OPENCL_C_VERSION);
    if (status == CLF_OK) {
        device->c_version = parse_version(text, "OpenCL C ");
    }
    clf__free((void *)text);
    CLF__TRY(status);
    size_t size = 0;
    if (device->version < 30 ||
        CLF__CL(clGetDeviceInfo(device->id, CL_DEVICE_OPENCL_C_ALL_VERSIONS, 0, NULL, &size)) != CL_SUCCESS) {
        return CLF_OK;
    }
    cl_name_version *versions = NULL;
    CLF__TRY(clf__allocate(&versions, size / sizeof *versions + 1, sizeof *versions));
    status = device_value(versions, size, device->id, CL_DEVICE_OPENCL_C_ALL_VERSIONS);
    for (size_t i = 0; status == CLF_OK && i < size / sizeof *versions; i++) {
        int version =
            (int)(10 * CL_VERSION_MAJOR(versions[i].version) + CL_VERSION_MINOR(versions[i].version));
        device->c_version = version > device->c_version ? version : device->c_version;
    }
    clf__free(versions);
    return status;
}

static clf_status read_extensions(struct clf__listed_device *device)
{
    const char *extensions = NULL;
    clf_status status = read_text(&extensions, NULL, device->id, CL_DEVICE_EXTENSIONS);
    if (status == CLF_OK) {
        device->info.has_fp16 = clf__identity_lists(extensions, "cl_khr_fp16");
        /* Sub-groups and integer dot products need OpenCL C 3.0: Intel's compilers hide the functions in
         * older versions. */
        int is_3 = device->c_version >= 30;
        device->info.has_subgroups = is_3 && (clf__identity_lists(extensions, "cl_khr_subgroups") ||
                                              clf__identity_lists(extensions, "cl_intel_subgroups"));
        device->info.has_integer_dot_product =
            is_3 && clf__identity_lists(extensions, "cl_khr_integer_dot_product");
        status = clf__identity_read(device, extensions);
    }
    clf__free((void *)extensions);
    return status;
}

static clf_device_kind kind_of(cl_device_type type)
{
    switch (type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT) {
    case CL_DEVICE_TYPE_GPU:
        return CLF_DEVICE_GPU;
    case CL_DEVICE_TYPE_CPU:
        return CLF_DEVICE_CPU;
    default: /* accelerators, and emulators that report all types */
        return CLF_DEVICE_OTHER;
    }
}

static clf_status read_numbers(struct clf__listed_device *device)
{
    struct clf_device_info *info = &device->info;
    cl_device_type type = 0;
    cl_bool compiler = CL_FALSE, available = CL_FALSE;
    cl_device_id id = device->id;
    CLF__TRY(device_value(&type, sizeof type, id, CL_DEVICE_TYPE));
    CLF__TRY(device_value(&info->compute_units, sizeof info->compute_units, id, CL_DEVICE_MAX_COMPUTE_UNITS));
    CLF__TRY(device_value(&info->memory_bytes, sizeof info->memory_bytes, id, CL_DEVICE_GLOBAL_MEM_SIZE));
    CLF__TRY(device_value(&info->max_buffer_bytes, sizeof info->max_buffer_bytes, id,
                          CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    CLF__TRY(device_value(&info->local_memory_bytes, sizeof info->local_memory_bytes, id,
                          CL_DEVICE_LOCAL_MEM_SIZE));
    CLF__TRY(device_value(&device->max_work_group, sizeof device->max_work_group, id,
                          CL_DEVICE_MAX_WORK_GROUP_SIZE));
    CLF__TRY(device_value(&compiler, sizeof compiler, id, CL_DEVICE_COMPILER_AVAILABLE));
    CLF__TRY(device_value(&available, sizeof available, id, CL_DEVICE_AVAILABLE));
    info->size = sizeof *info;
    info->kind = kind_of(type);
    info->has_compiler = compiler == CL_TRUE;
    device->is_available = available == CL_TRUE;
    /* A CPU runs a work-group on one core, so one work-item uses wide vectors. A device that reports all
     * types is a CPU emulator. */
    info->variant = type & CL_DEVICE_TYPE_CPU ? CLF_VARIANT_CPU : CLF_VARIANT_GPU;
    return CLF_OK;
}

/* Call after the versions have been read. */
static clf_status read_atomics(struct clf__listed_device *device)
{
    const cl_device_atomic_capabilities wanted =
        CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_SCOPE_DEVICE;
    cl_device_atomic_capabilities atomics = 0;
    if (device->version >= 30 && device->c_version >= 30) {
        CLF__TRY(device_value(&atomics, sizeof atomics, device->id, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES));
    }
    device->has_device_atomics = (atomics & wanted) == wanted;
    return CLF_OK;
}

static clf_status read_device(struct clf__listed_device *device)
{
    struct clf_device_info *info = &device->info;
    cl_platform_id platform = device->platform;
    cl_device_id id = device->id;
    CLF__TRY(read_text(&info->name, NULL, id, CL_DEVICE_NAME));
    CLF__TRY(read_text(&info->vendor, NULL, id, CL_DEVICE_VENDOR));
    CLF__TRY(read_text(&info->version, NULL, id, CL_DEVICE_VERSION));
    CLF__TRY(read_text(&info->driver, NULL, id, CL_DRIVER_VERSION));
    CLF__TRY(read_text(&info->platform_name, platform, NULL, CL_PLATFORM_NAME));
    CLF__TRY(read_text(&info->platform_vendor, platform, NULL, CL_PLATFORM_VENDOR));
    CLF__TRY(read_text(&info->platform_version, platform, NULL, CL_PLATFORM_VERSION));
    device->version = parse_version(info->version, "OpenCL ");
    CLF__TRY(read_numbers(device));
    CLF__TRY(read_c_version(device));
    CLF__TRY(read_atomics(device));
    return read_extensions(device);
}

static void free_device(struct clf__listed_device *device)
{
    const struct clf_device_info *info = &device->info;
    const char *const texts[] = {
        info->name,          info->vendor,          info->version,          info->driver,
        info->platform_name, info->platform_vendor, info->platform_version, info->pci_address,
        info->uuid};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clf__free((void *)texts[i]);
    }
}

static clf_status add_device(struct clf_device_list *list, cl_platform_id platform, cl_device_id id)
{
    CLF__TRY(clf__resize(&list->devices, (size_t)list->count + 1, sizeof *list->devices));
    struct clf__listed_device *device = &list->devices[list->count];
    *device = (struct clf__listed_device){.platform = platform, .id = id};
    clf_status status = read_device(device);
    if (status != CLF_OK) {
        free_device(device);
        return status;
    }
    device->info.index = list->count++;
    return CLF_OK;
}

/* Records that a platform has no devices, for the message if no device is found. */
static clf_status add_silent(struct clf_device_list *list, cl_platform_id platform)
{
    static const cl_platform_info asked[] = {CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION};
    const char *texts[] = {NULL, NULL, NULL};
    clf_status status = CLF_OK;
    for (int i = 0; i < 3 && status == CLF_OK; i++) {
        status = read_text(&texts[i], platform, NULL, asked[i]);
    }
    if (status == CLF_OK) {
        const char *advice = clf__quirk_no_devices(texts[0], texts[1], texts[2]);
        status = clf__append(&list->silent, "; platform \"%s\" has no device%s%s%s", texts[0],
                             *advice ? " (" : "", advice, *advice ? ")" : "");
    }
    for (int i = 0; i < 3; i++) {
        clf__free((void *)texts[i]);
    }
    return status;
}

static clf_status add_platform(struct clf_device_list *list, cl_platform_id platform)
{
    cl_uint count = 0;
    cl_int error = CLF__CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count));
    if (error == CL_DEVICE_NOT_FOUND || (error == CL_SUCCESS && count == 0)) {
        return add_silent(list, platform);
    }
    cl_device_id *ids = NULL;
    if (error == CL_SUCCESS) {
        CLF__TRY(clf__allocate(&ids, count, sizeof(cl_device_id)));
        error = CLF__CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL));
    }
    clf_status status = clf__opencl_check(error, "listing the devices of an OpenCL platform");
    for (cl_uint i = 0; status == CLF_OK && i < count; i++) {
        status = add_device(list, platform, ids[i]);
    }
    clf__free(ids);
    return status;
}

/* Skips a driver that fails; if no other device exists, the error message contains the reason. */
static clf_status leave_out(struct clf_device_list *list, cl_uint index)
{
    list->left_out++;
    return clf__append(&list->silent, "; platform %u was skipped: %s", (unsigned)index, clf_last_error());
}

static clf_status fill(struct clf_device_list *list)
{
    CLF__TRY(clf__copy_string(&list->silent, ""));
    cl_uint count = 0;
    cl_int error = CLF__CL(clGetPlatformIDs(0, NULL, &count));
    if (error == CL_PLATFORM_NOT_FOUND_KHR || (error == CL_SUCCESS && count == 0)) {
        return CLF_OK;
    }
    cl_platform_id *platforms = NULL;
    if (error == CL_SUCCESS) {
        CLF__TRY(clf__allocate(&platforms, count, sizeof(cl_platform_id)));
        error = CLF__CL(clGetPlatformIDs(count, platforms, NULL));
    }
    clf_status status = clf__opencl_check(error, "listing the OpenCL platforms");
    for (cl_uint i = 0; status == CLF_OK && i < count; i++) {
        status = add_platform(list, platforms[i]);
        if (status == CLF_DEVICE) {
            status = leave_out(list, i);
        }
    }
    list->platform_count = (int)count;
    clf__free(platforms);
    clf__choice_order(list);
    return status;
}

clf_status clf_device_list_create(struct clf_device_list **out)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    struct clf_device_list *list = *out;
    sigset_t signals;
    pthread_mutex_lock(&one_listing);
    clf__signals_block(&signals); /* PoCL starts threads that run its linker */
    clf_status status = fill(list);
    clf__signals_restore(&signals);
    pthread_mutex_unlock(&one_listing);
    if (status != CLF_OK) {
        clf_device_list_free(list);
        *out = NULL;
    } else if (list->left_out > 0) { /* log after unlocking, because the log hook may list devices */
        clf__log(CLF_LOG_WARNING, "%d of %d OpenCL platforms were skipped%s", list->left_out,
                 list->platform_count, list->silent);
    }
    return status;
}

int clf_device_list_count(const struct clf_device_list *list)
{
    return list->count;
}

const struct clf_device_info *clf_device_list_at(const struct clf_device_list *list, int index)
{
    return index >= 0 && index < list->count ? &list->devices[index].info : NULL;
}

void clf_device_list_free(struct clf_device_list *list)
{
    if (list == NULL) {
        return;
    }
    for (int i = 0; i < list->count; i++) {
        free_device(&list->devices[i]);
    }
    clf__free(list->devices);
    clf__free(list->silent);
    clf__free(list);
}
