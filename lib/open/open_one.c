#include "open/open_one.h"

#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "open/barrier_choice.h"
#include "open/barrier_stress.h"
#include "open/check.h"
#include "open/external.h"
#include "open/gemm_rate.h"
#include "open/level_choice.h"
#include "open/probe.h"
#include "open/probe_matrix.h"
#include "open/program_key.h"
#include "runtime/device/buffer.h"
#include "runtime/device/exclusive.h"
#include "runtime/device/profile.h"
#include "runtime/opencl/listed_device.h"
#include "runtime/program/program.h"

void clf_device_options_init_sized(struct clf_device_options *options, size_t size)
{
    const struct clf_device_options defaults = {
        .size = sizeof defaults, .use_program_cache = 1, .use_tuning = 1};
    clf__options_init(options, size, &defaults);
}

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

/* reason: why matrix instructions fail, or "". */
static clf_status fail_level(const struct clf_device *device, int instructions, const char *reason)
{
    char runs[256] = "";
    list_levels(runs, sizeof runs, instructions);
    return clf__fail(CLF_UNSUPPORTED,
                     "device %s: does not support the requested instructions %s%s%s%s; choose from: %s",
                     device->label, clf__level_words[device->caps.instructions], *reason ? " (" : "", reason,
                     *reason ? ")" : "", runs);
}

/* Selects the instruction set level for all later programs. */
static clf_status take_level(struct clf_device *device, struct clf__listed_device *listed,
                             const struct clf__level *level, int is_int8_plain)
{
    device->caps.level = level;
    device->caps.is_int8_plain = is_int8_plain;
    listed->info.instructions = level->name;
    int has_dp4a = device->caps.has_integer_dot_product && listed->has_dp4a;
    listed->info.has_dot_int8 =
        has_dp4a || (level->instructions & (CLF__DOT_INT8_ANY | CLF__MATRIX_ANY)) != 0;
    listed->info.has_dot_bf16 = (level->instructions & CLF__DOT_BF16) != 0 || level->matrix.has_bf16;
    char *options = NULL;
    CLF__TRY(clf__caps_build_options(&options, listed, &device->caps));
    clf__free(device->build_options);
    device->build_options = options;
    return CLF_OK;
}

/* Finds out whether the device supports the matrix instructions that the options request. CLF_UNSUPPORTED or
 * CLF_BUILD if not. */
static clf_status probe_requested(int *instructions, struct clf_device *device,
                                  const struct clf__listed_device *listed)
{
    const struct clf__level *level = clf__level_find(device->caps.instructions, CLF__MATRIX_ANY);
    if (device->caps.variant == CLF_VARIANT_GPU && device->caps.instructions != CLF_INSTRUCTIONS_AUTO &&
        level != NULL && level->matrix.define != NULL && clf__level_is_possible(level, listed)) {
        CLF__TRY(clf__probe_matrix(device, level));
        *instructions |= level->instructions;
    }
    return CLF_OK;
}

/* Returns the trial of the level that AUTO uses, or NULL. */
static const struct clf__level_trial *used_trial(const struct clf_device *device)
{
    const struct clf__level_trials *trials = &device->trials;
    const struct clf__level_trial *last = &trials->trials[trials->count > 0 ? trials->count - 1 : 0];
    return trials->count > 0 && clf__level_trial_is_used(last) ? last : NULL;
}

/* Checks that the device computes correctly, and detects its instructions. */
static clf_status probe(struct clf_device *device, struct clf__listed_device *listed,
                        enum clf__opening_purpose purpose)
{
    int instructions = 0;
    CLF__TRY(clf__probe(device, "probe", &instructions));
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
    clf_status status = probe_requested(&instructions, device, listed);
    if (purpose != CLF__OPEN_FOR_TRIAL && (status == CLF_UNSUPPORTED || status == CLF_BUILD)) {
        return fail_level(device, instructions, clf_last_error());
    }
    CLF__TRY(status);
    const struct clf__level_trial *trial = used_trial(device);
    if (trial != NULL) {
        instructions |= clf__level_find(trial->level, CLF__MATRIX_ANY)->instructions;
    }
    const struct clf__level *level = clf__level_find(device->caps.instructions, instructions);
    if (level == NULL) {
        return fail_level(device, instructions, "");
    }
    return take_level(device, listed, level, trial != NULL && !clf__level_trial_serves_int8(trial));
}

/* If the kernels with matrix instructions fail and AUTO selected them, falls back to kernels without them.
 * Other failures are returned: in a trial, CLF_UNSUPPORTED for a permanent one. */
static clf_status check(struct clf_device *device, struct clf__listed_device *listed,
                        enum clf__opening_purpose purpose)
{
    int is_lasting = 0;
    clf_status status = clf__check_once(device, &is_lasting);
    if (status != CLF_OK && is_lasting && purpose == CLF__OPEN_FOR_TRIAL) {
        return clf__fail(CLF_UNSUPPORTED, "%s", clf_last_error());
    }
    int is_choice =
        device->caps.instructions == CLF_INSTRUCTIONS_AUTO && clf__caps_have_matrix(&device->caps);
    if (status == CLF_OK || status == CLF_OUT_OF_MEMORY || status == CLF_INTERRUPTED || !is_choice) {
        return status;
    }
    clf__log(CLF_LOG_WARNING, "device %s: matrix instructions %s are disabled: %s", device->label,
             clf__level_words[device->caps.level->name], clf_last_error());
    CLF__TRY(take_level(device, listed, clf__level_portable(), 0));
    return clf__check_once(device, &is_lasting);
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
                       const struct clf__opening *opening, const struct clf__tuning *tuning)
{
    const struct clf_device_options *options = opening->options;
    device->info = &listed->info;
    device->id = listed->id;
    CLF__TRY(clf__format(&device->label, "%d \"%s\"", listed->info.index, listed->info.name));
    struct clf_device_options tuned = *options;
    CLF__TRY(clf__tuning_choose(&tuned, tuning));
    CLF__TRY(clf__caps_choose(&device->caps, listed, &tuned));
    device->caps.tuning = *tuning;
    device->caps.has_fenced_atomics = clf__barrier_trial_is_used(&device->barrier_trial);
    if (device->caps.without != 0) {
        clf__log(CLF_LOG_INFO, "device %s: features disabled by CLFORMER_WITHOUT: %s", device->label,
                 clf__environment_value("CLFORMER_WITHOUT"));
    }
    device->caps.asks_for_clblast =
        device->caps.gemm == CLF_GEMM_CLBLAST &&
        (options->gemm != CLF_GEMM_AUTO || clf__environment_value("CLFORMER_GEMM") != NULL);
    clf__program_key_acquire(device);
    CLF__TRY(clf__caps_build_options(&device->build_options, listed, &device->caps));
    CLF__TRY(take_context(device, listed, opening->external));
    CLF__TRY(take_queue(device, opening->external, options->profile));
    int are_kept = options->use_program_cache && (device->caps.without & CLF__WITHOUT_CACHE) == 0;
    CLF__TRY(clf__programs_create(device, are_kept));
    CLF__TRY(probe(device, listed, opening->purpose));
    CLF__TRY(opening->purpose == CLF__OPEN_PLAIN ? CLF_OK : check(device, listed, opening->purpose));
    return options->profile ? clf__profile_create(&device->profile) : CLF_OK;
}

void clf__open_free(struct clf_device *device)
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

static clf_status run_trials(struct clf_device *device, struct clf_device_list *list, int index,
                             const struct clf__opening *opening, const struct clf__tuning *tuning);

static clf_status open_tuned(struct clf_device **out, struct clf_device_list *list, int index,
                             const struct clf__opening *opening, const struct clf__tuning *tuning)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    clf__fair_lock_init(&(*out)->lock);
    clf_status status = run_trials(*out, list, index, opening, tuning);
    if (status == CLF_OK) {
        status = fill(*out, &list->devices[index], opening, tuning);
    }
    if (status != CLF_OK) {
        clf__open_free(*out);
        *out = NULL;
    }
    return status;
}

clf_status clf__open_index(struct clf_device **out, struct clf_device_list *list, int index,
                           const struct clf__opening *opening)
{
    struct clf__listed_device *listed = &list->devices[index];
    struct clf__tuning tuning;
    int is_tuned = 0;
    CLF__TRY(clf__tuning_load(&tuning, &is_tuned, &listed->info, opening->options));
    clf_status status = open_tuned(out, list, index, opening, &tuning);
    if (is_tuned && status != CLF_OK && status != CLF_OUT_OF_MEMORY && status != CLF_INTERRUPTED) {
        clf__log(CLF_LOG_WARNING, "device %d: fails with its tuned parameters and is opened without them: %s",
                 listed->info.index, clf_last_error());
        tuning = clf__tuning_standard();
        status = open_tuned(out, list, index, opening, &tuning);
    }
    return status;
}

/* Measures GEMM on a device that is opened for this. The duration covers the time in which the clock of an
 * idle device rises. */
static clf_status measure_level(double rates[CLF__TRIAL_PRECISIONS], struct clf_device_list *list, int index,
                                const struct clf__opening *opening)
{
    enum { SIZE = 1024, ROWS_PER_UNIT = 16, FEWEST_ROWS = 64, MOST_ROWS = 2048 };
    static const enum clf__precision precisions[CLF__TRIAL_PRECISIONS] = {CLF__PRECISION_FP16,
                                                                          CLF__PRECISION_INT8};
    struct clf_device *device;
    CLF__TRY(clf__open_index(&device, list, index, opening));
    unsigned units = device->caps.compute_units;
    struct clf__gemm_case gemm = {.rows = FEWEST_ROWS, .size = SIZE, .seconds = 0.02};
    while (gemm.rows < MOST_ROWS && (unsigned)gemm.rows < ROWS_PER_UNIT * units) {
        gemm.rows *= 2;
    }
    clf_status status = CLF_OK;
    for (int i = 0; i < CLF__TRIAL_PRECISIONS && status == CLF_OK; i++) {
        gemm.precision = precisions[i];
        status = clf__gemm_rate(&rates[i], device, &gemm);
    }
    clf__program_cache_store_all(device);
    clf__open_free(device);
    return status;
}

/* Returns the message of the last failure without the name of the device. */
static const char *failure_of(const struct clf_device_info *info)
{
    const char *failure = clf_last_error();
    char device[512];
    snprintf(device, sizeof device, "device %d \"%s\": ", info->index, info->name);
    return failure + (strncmp(failure, device, strlen(device)) == 0 ? strlen(device) : 0);
}

clf_status clf__level_try(struct clf__level_trial *trial, struct clf_device_list *list, int index,
                          int uses_cache)
{
    struct clf_device_options options;
    struct clf__opening opening = {.options = &options, .purpose = CLF__OPEN_FOR_TRIAL};
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.use_tuning = 0;
    options.use_program_cache = uses_cache;
    options.instructions = trial->level;
    clf_status status = measure_level(trial->rates, list, index, &opening);
    int is_lasting = status == CLF_OK || status == CLF_BUILD || status == CLF_UNSUPPORTED;
    if (status == CLF_OK) {
        options.instructions = CLF_INSTRUCTIONS_AUTO;
        opening.purpose = CLF__OPEN_PLAIN;
        status = measure_level(trial->plain_rates, list, index, &opening);
        is_lasting = status == CLF_OK;
    }
    if (status == CLF_OUT_OF_MEMORY || status == CLF_INTERRUPTED) {
        return status;
    }
    trial->failure[0] = '\0';
    trial->is_lasting = is_lasting;
    if (status != CLF_OK) {
        clf__level_trial_fail(trial, is_lasting, failure_of(&list->devices[index].info));
    }
    return CLF_OK;
}

clf_status clf__barrier_try(struct clf__barrier_trial *trial, struct clf_device_list *list, int index,
                            int uses_cache)
{
    enum { ROUNDS = 128, LAUNCHES = 8 };
    const struct clf__barrier_stress stress = {ROUNDS, LAUNCHES, -1, -1};
    struct clf_device *device = NULL;
    struct clf_device_options options;
    const struct clf__opening opening = {.options = &options, .purpose = CLF__OPEN_PLAIN};
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.use_tuning = 0;
    options.use_program_cache = uses_cache;
    clf_status status = clf__open_index(&device, list, index, &opening);
    int is_lasting = status == CLF_OK;
    if (status == CLF_OK) {
        status = clf__barrier_stress(device, &stress);
        is_lasting = status == CLF_OK || status == CLF_BUILD || status == CLF_UNSUPPORTED;
        clf__program_cache_store_all(device);
    }
    *trial = (struct clf__barrier_trial){.is_tried = 1, .is_lasting = is_lasting};
    if (status != CLF_OK) {
        clf__trial_copy_failure(trial->failure, failure_of(&list->devices[index].info));
    }
    if (device != NULL) {
        clf__open_free(device);
    }
    return status == CLF_OUT_OF_MEMORY || status == CLF_INTERRUPTED ? status : CLF_OK;
}

/* A device for trials in this process. */
struct candidate {
    struct clf_device_list *list;
    int index, uses_cache;
};

static clf_status try_level_here(struct clf__level_trial *trial, void *user)
{
    const struct candidate *candidate = user;
    return clf__level_try(trial, candidate->list, candidate->index, candidate->uses_cache);
}

static clf_status try_barrier_here(struct clf__barrier_trial *trial, void *user)
{
    const struct candidate *candidate = user;
    return clf__barrier_try(trial, candidate->list, candidate->index, candidate->uses_cache);
}

/* Tries matrix instructions if the options leave the level open, and waiting work-groups, on a GPU with the
 * GPU variant. */
static clf_status run_trials(struct clf_device *device, struct clf_device_list *list, int index,
                             const struct clf__opening *opening, const struct clf__tuning *tuning)
{
    const struct clf__listed_device *listed = &list->devices[index];
    struct clf_device_options options = *opening->options;
    unsigned without = 0;
    uint64_t kept_bytes = 0;
    CLF__TRY(clf__tuning_choose(&options, tuning));
    CLF__TRY(clf__environment_without(&without));
    CLF__TRY(clf__environment_cache_bytes(&kept_bytes));
    clf_variant variant = options.variant != CLF_VARIANT_AUTO ? options.variant : listed->info.variant;
    if (opening->purpose != CLF__OPEN_FOR_USE || listed->info.kind == CLF_DEVICE_CPU ||
        variant != CLF_VARIANT_GPU) {
        return CLF_OK;
    }
    int is_kept = options.use_program_cache && kept_bytes > 0 && (without & CLF__WITHOUT_CACHE) == 0;
    struct candidate candidate = {list, index, options.use_program_cache};
    if (options.instructions == CLF_INSTRUCTIONS_AUTO && (without & CLF__WITHOUT_MATRIX) == 0) {
        const struct clf__trial_method method = {is_kept, without, try_level_here, &candidate};
        CLF__TRY(clf__levels_choose(&device->trials, listed, &method));
    }
    const struct clf__level_trial *used = used_trial(device);
    clf_instructions level = used != NULL ? used->level : options.instructions;
    if (level == CLF_INSTRUCTIONS_NV80 || !clf__barrier_needs_trial(listed, without)) {
        return CLF_OK; /* clf__grid_barrier_works() */
    }
    const struct clf__barrier_method method = {is_kept, try_barrier_here, &candidate};
    return clf__barrier_choose(&device->barrier_trial, listed, &method);
}
