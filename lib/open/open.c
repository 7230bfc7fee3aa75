#include "runtime/device/device.h"

#include <stdio.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "open/check.h"
#include "open/external.h"
#include "open/probe.h"
#include "open/probe_matrix.h"
#include "open/program_key.h"
#include "open/speed.h"
#include "runtime/device/buffer.h"
#include "runtime/device/exclusive.h"
#include "runtime/device/profile.h"
#include "runtime/opencl/listed_device.h"
#include "runtime/program/program.h"

/* Lists the levels that a device supports, lowest first: "portable, avx2". */
static void list_levels(char *text, size_t size, int instructions)
{
    size_t used = 0;
    for (int i = CLF_INSTRUCTIONS_PORTABLE; clf__level_words[i] != NULL && used < size; i++) {
        if (clf__level_find((clf_instructions)i, instructions) != NULL) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", clf__level_words[i]);
        }
    }
}

static clf_status fail_level(const struct clf_device *device, int instructions)
{
    char runs[256] = "";
    list_levels(runs, sizeof runs, instructions);
    return clf__fail(CLF_UNSUPPORTED,
                     "device %s: does not support the requested instructions %s; choose from: %s",
                     device->label, clf__level_words[device->caps.instructions], runs);
}

/* Selects the instruction set level for all later programs. */
static clf_status take_level(struct clf_device *device, struct clf__listed_device *listed,
                             const struct clf__level *level)
{
    device->caps.level = level;
    listed->info.instructions = level->name;
    int has_dp4a = device->caps.has_integer_dot_product && listed->has_dp4a;
    listed->info.has_dot_int8 =
        has_dp4a || (level->instructions & (CLF__DOT_INT8_ANY | CLF__MATRIX_ANY)) != 0;
    listed->info.has_dot_bf16 = (level->instructions & (CLF__DOT_BF16 | CLF__MATRIX_ANY)) != 0;
    char *options = NULL;
    CLF__TRY(clf__caps_build_options(&options, listed, &device->caps));
    clf__free(device->build_options);
    device->build_options = options;
    return CLF_OK;
}

/* Checks that the device computes correctly, and detects its instructions. */
static clf_status probe(struct clf_device *device, struct clf__listed_device *listed)
{
    int instructions = 0, matrix = 0;
    CLF__TRY(clf__probe(device, "probe", &instructions));
    CLF__TRY(clf__probe_matrix(&matrix, device, listed));
    instructions |= matrix;
    if (instructions & CLF__TILES_REFUSED) {
        clf__log(CLF_LOG_INFO,
                 "device %s: has AMX instructions, but the operating system does not permit them; using "
                 "another level",
                 device->label);
    }
    if (device->caps.without & CLF__WITHOUT_DOT) {
        instructions &= ~(CLF__DOT_INT8_ANY | CLF__DOT_BF16 | CLF__TILES);
    }
    instructions |= listed->float_width >= 16 ? CLF__WIDE : 0;
    const struct clf__level *level = clf__level_find(device->caps.instructions, instructions);
    if (level == NULL) {
        return fail_level(device, instructions);
    }
    return take_level(device, listed, level);
}

/* If the kernels with matrix instructions fail and AUTO selected them, falls back to kernels without them.
 * Other failures are returned. */
static clf_status check(struct clf_device *device, struct clf__listed_device *listed)
{
    clf_status status = clf__check_once(device);
    int is_choice =
        device->caps.instructions == CLF_INSTRUCTIONS_AUTO && clf__caps_have_matrix(&device->caps);
    if (status == CLF_OK || status == CLF_OUT_OF_MEMORY || status == CLF_INTERRUPTED || !is_choice) {
        return status;
    }
    clf__log(CLF_LOG_WARNING, "device %s: matrix instructions %s are disabled: %s", device->label,
             clf__level_words[device->caps.level->name], clf_last_error());
    CLF__TRY(take_level(device, listed, clf__level_portable()));
    return clf__check_once(device);
}

/* Uses the caller's context, or creates one. */
static clf_status take_context(struct clf_device *device, const struct clf__listed_device *listed,
                               const struct clf__external *external)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)listed->platform, 0};
    cl_int error = CL_SUCCESS;
    if (external == NULL) {
        device->context =
            CLF__CL_CREATE(&error, clCreateContext(properties, 1, &device->id, NULL, NULL, &error));
    } else if ((error = CLF__CL(clRetainContext(external->context))) == CL_SUCCESS) {
        device->context = external->context;
    }
    return clf__opencl_check(error, "opening device %s", device->label);
}

/* Uses the caller's queue, or creates one. */
static clf_status take_queue(struct clf_device *device, const struct clf__external *external, int is_profiled)
{
    cl_command_queue_properties timed = is_profiled ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int error = CL_SUCCESS;
    if (external == NULL || external->queue == NULL) {
        device->queue =
            CLF__CL_CREATE(&error, clCreateCommandQueue(device->context, device->id, timed, &error));
    } else if ((error = CLF__CL(clRetainCommandQueue(external->queue))) == CL_SUCCESS) {
        device->queue = external->queue;
    }
    return clf__opencl_check(error, "creating a queue on device %s", device->label);
}

static clf_status fill(struct clf_device *device, struct clf__listed_device *listed,
                       const struct clf_device_options *options, const struct clf__tuning *tuning,
                       const struct clf__external *external)
{
    device->info = &listed->info;
    device->id = listed->id;
    CLF__TRY(clf__format(&device->label, "%d \"%s\"", listed->info.index, listed->info.name));
    struct clf_device_options tuned = *options;
    CLF__TRY(clf__tuning_choose(&tuned, tuning));
    CLF__TRY(clf__caps_choose(&device->caps, listed, &tuned));
    device->caps.tuning = *tuning;
    if (device->caps.without != 0) {
        clf__log(CLF_LOG_INFO, "device %s: features disabled by CLFORMER_WITHOUT: %s", device->label,
                 clf__environment_value("CLFORMER_WITHOUT"));
    }
    device->caps.asks_for_clblast =
        device->caps.gemm == CLF_GEMM_CLBLAST &&
        (options->gemm != CLF_GEMM_AUTO || clf__environment_value("CLFORMER_GEMM") != NULL);
    clf__program_key_acquire(device);
    CLF__TRY(clf__caps_build_options(&device->build_options, listed, &device->caps));
    CLF__TRY(take_context(device, listed, external));
    CLF__TRY(take_queue(device, external, options->profile));
    int are_kept = options->use_program_cache && (device->caps.without & CLF__WITHOUT_CACHE) == 0;
    CLF__TRY(clf__programs_create(device, are_kept));
    CLF__TRY(probe(device, listed));
    CLF__TRY(check(device, listed));
    return options->profile ? clf__profile_create(&device->profile) : CLF_OK;
}

/* Frees everything except the list, which is needed for the next candidate. */
static void free_device(struct clf_device *device)
{
    clf__profile_free(device->profile);
    clf__programs_free(device->programs);
    clf__buffer_free(device->packed);
    clf__buffer_free(device->transposed);
    if (device->queue) {
        clReleaseCommandQueue(device->queue);
    }
    if (device->context) {
        clReleaseContext(device->context);
    }
    clf__program_key_release(device);
    clf__device_release(device);
    clf__free(device->build_options);
    clf__free(device->label);
    clf__fair_lock_destroy(&device->lock);
    clf__free(device);
}

static clf_status open_tuned(struct clf_device **out, struct clf__listed_device *listed,
                             const struct clf_device_options *options, const struct clf__tuning *tuning,
                             const struct clf__external *external)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    clf__fair_lock_init(&(*out)->lock);
    clf_status status = fill(*out, listed, options, tuning, external);
    if (status != CLF_OK) {
        free_device(*out);
        *out = NULL;
    }
    return status;
}

static clf_status open_index(struct clf_device **out, struct clf_device_list *list, int index,
                             const struct clf_device_options *options, const struct clf__external *external)
{
    struct clf__listed_device *listed = &list->devices[index];
    struct clf__tuning tuning;
    int is_tuned = 0;
    CLF__TRY(clf__tuning_load(&tuning, &is_tuned, &listed->info, options));
    clf_status status = open_tuned(out, listed, options, &tuning, external);
    if (is_tuned && status != CLF_OK && status != CLF_OUT_OF_MEMORY && status != CLF_INTERRUPTED) {
        clf__log(CLF_LOG_WARNING, "device %d: fails with its tuned parameters and is opened without them: %s",
                 listed->info.index, clf_last_error());
        tuning = clf__tuning_standard();
        status = open_tuned(out, listed, options, &tuning, external);
    }
    return status;
}

/* Returns whether the device caused the failure, so another device may work. */
static int is_devices_fault(clf_status status)
{
    return status == CLF_DEVICE || status == CLF_DEVICE_MEMORY || status == CLF_BUILD ||
           status == CLF_UNSUPPORTED;
}

/* Reads the speed of a listed device, or measures it if it is unknown; 0 if the device fails. */
static clf_status find_speed(double *rate, struct clf_device_list *list, int index,
                             const struct clf_device_options *options)
{
    CLF__TRY(clf__speed_read(rate, &list->devices[index].info));
    if (*rate > 0.0) {
        return CLF_OK;
    }
    struct clf_device *device;
    clf_status status = open_index(&device, list, index, options, NULL);
    if (status == CLF_OK) {
        status = clf__speed_measure(rate, device);
        clf__program_cache_store_all(device);
        free_device(device);
    }
    return is_devices_fault(status) ? CLF_OK : status;
}

/* Puts the faster of two devices first if only a measurement can decide. Skipped without a cache folder,
 * because every start would take seconds longer, and if a kernel variant is requested. */
static clf_status order_by_speed(struct clf_device_list *list, const struct clf_device_options *options)
{
    unsigned without = 0;
    uint64_t kept_bytes = 0;
    CLF__TRY(clf__environment_without(&without));
    CLF__TRY(clf__environment_cache_bytes(&kept_bytes));
    int rival = clf__choice_rival(list), first = clf__choice_candidate(list, 0);
    if (rival < 0 || !options->use_program_cache || kept_bytes == 0 || options->variant != CLF_VARIANT_AUTO ||
        clf__environment_value("CLFORMER_VARIANT") != NULL ||
        (without & (CLF__WITHOUT_SPEED | CLF__WITHOUT_CACHE)) != 0) {
        return CLF_OK;
    }
    const double clearly = 1.1;
    double rates[2];
    CLF__TRY(find_speed(&rates[1], list, first, options));
    CLF__TRY(find_speed(&rates[0], list, rival, options));
    if (rates[1] > 0.0 && rates[0] > clearly * rates[1]) {
        clf__choice_prefer(list, rival, rates);
    }
    return CLF_OK;
}

/* Returns the first device of the default order other than `index`, or -1. */
static int next_candidate(const struct clf_device_list *list, int index)
{
    int order = list->devices[index].info.candidate_order;
    int next = clf__choice_candidate(list, order + 1);
    return next >= 0 ? next : clf__choice_candidate(list, order == 0 ? 1 : 0);
}

static clf_status open_selected(struct clf_device **out, struct clf_device_list *list, const char *selector,
                                const struct clf_device_options *options)
{
    int index = -1;
    CLF__TRY(clf__choice_select(&index, list, selector));
    clf_status status = open_index(out, list, index, options, NULL);
    int next = status == CLF_OK ? -1 : next_candidate(list, index);
    if (next >= 0 && next != index && is_devices_fault(status)) {
        return clf__fail(status, "%s; the next candidate is device %d \"%s\"", clf_last_error(), next,
                         list->devices[next].info.name);
    }
    return status;
}

static clf_status open_default(struct clf_device **out, struct clf_device_list *list,
                               const struct clf_device_options *options)
{
    clf_status status = CLF_NO_DEVICE;
    CLF__TRY(order_by_speed(list, options));
    for (int order = 0;; order++) {
        int index = clf__choice_candidate(list, order);
        if (index < 0) {
            return order == 0 ? clf__choice_nothing(list) : status;
        }
        status = open_index(out, list, index, options, NULL);
        if (status == CLF_OK) {
            const struct clf_device_info *info = &list->devices[index].info;
            clf__log(CLF_LOG_INFO, "device %d \"%s\" is the default: %s", index, info->name,
                     info->order_reason);
            return CLF_OK;
        }
        if (!is_devices_fault(status)) {
            return status;
        }
        clf__log(CLF_LOG_WARNING, "device %d: skipped: %s", index, clf_last_error());
    }
}

/* Transfers ownership of the list to the opened device, or frees the list on failure; returns `status`. */
static clf_status keep_list(struct clf_device *device, struct clf_device_list *list, clf_status status)
{
    if (status == CLF_OK) {
        device->list = list;
    } else {
        clf_device_list_free(list);
    }
    return status;
}

void clf_device_options_init_sized(struct clf_device_options *options, size_t size)
{
    const struct clf_device_options defaults = {
        .size = sizeof defaults, .use_program_cache = 1, .use_tuning = 1};
    clf__options_init(options, size, &defaults);
}

clf_status clf_device_open(struct clf_device **out, const char *selector,
                           const struct clf_device_options *options)
{
    *out = NULL;
    struct clf_device_options own;
    clf_device_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_device_options"));
    if (selector == NULL || *selector == '\0') {
        selector = clf__environment_value("CLFORMER_DEVICE");
    }
    struct clf_device_list *list = NULL;
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = selector ? open_selected(out, list, selector, &own) : open_default(out, list, &own);
    return keep_list(*out, list, status);
}

static clf_status open_external(struct clf_device **out, struct clf_device_list *list,
                                const struct clf__external *external,
                                const struct clf_device_options *options)
{
    cl_device_id id = NULL;
    CLF__TRY(clf__external_device(&id, external, options->profile));
    for (int i = 0; i < list->count; i++) {
        if (list->devices[i].id == id) {
            return open_index(out, list, i, options, external);
        }
    }
    return clf__fail(CLF_NO_DEVICE,
                     "context: its device is not among the %d devices that `clformer devices` lists",
                     list->count);
}

clf_status clf_device_open_context(struct clf_device **out, void *context, void *queue,
                                   const struct clf_device_options *options)
{
    *out = NULL;
    if (context == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "context: is NULL; pass a context, or call clf_device_open()");
    }
    struct clf_device_options own;
    clf_device_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_device_options"));
    const struct clf__external external = {context, queue};
    struct clf_device_list *list = NULL;
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = open_external(out, list, &external, &own);
    return keep_list(*out, list, status);
}

const struct clf_device_info *clf_device_describe(const struct clf_device *device)
{
    return device->info;
}

void clf_device_close(struct clf_device *device)
{
    if (device == NULL) {
        return;
    }
    struct clf_device_list *list = device->list;
    clf__programs_ahead_store(device);
    clf__program_cache_store_all(device);
    free_device(device);
    clf_device_list_free(list);
}
