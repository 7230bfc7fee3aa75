#include "runtime/device/caps.h"

#include <stdio.h>

#include "base/environment.h"
#include "base/memory.h"
#include "runtime/device/device.h"

/* An integrated GPU shares host memory with other programs, and the system does not swap to make space for
 * the GPU. */
static uint64_t find_usable(const struct clf__listed_device *device)
{
    const struct clf_device_info *info = &device->info;
    uint64_t usable = info->memory_bytes;
    uint64_t available = info->kind == CLF_DEVICE_GPU && info->shares_memory ? clf__available_memory() : 0;
    if (available > 0 && available < usable) {
        usable = available;
    }
    return device->free_bytes > 0 && device->free_bytes < usable ? device->free_bytes : usable;
}

clf_status clf__caps_choose(struct clf__caps *out, const struct clf__listed_device *device,
                            const struct clf_device_options *options)
{
    const struct clf_device_info *info = &device->info;
    unsigned without = 0;
    CLF__TRY(clf__environment_without(&without));
    *out = (struct clf__caps){
        .variant = options->variant != CLF_VARIANT_AUTO ? options->variant : info->variant,
        .gemm = CLF_GEMM_NATIVE,
        .attention = options->attention != CLF_ATTENTION_AUTO ? options->attention : CLF_ATTENTION_FUSED,
        .compute_units = info->compute_units,
        .max_work_group = without & CLF__WITHOUT_LONG_GROUPS && device->max_work_group > CLF__TILE_GROUP
                              ? CLF__TILE_GROUP
                              : device->max_work_group,
        .local_memory_bytes = info->local_memory_bytes,
        .memory_bytes = info->memory_bytes,
        .usable_bytes = find_usable(device),
        .max_buffer_bytes = info->max_buffer_bytes,
        .has_integer_dot_product =
            ((info->has_integer_dot_product && device->has_fast_dot) || device->has_dp4a) &&
            options->instructions != CLF_INSTRUCTIONS_PORTABLE && (without & CLF__WITHOUT_DOT) == 0,
        .instructions = options->instructions,
        .level = clf__level_portable(), /* until the probe kernel has run */
        .has_device_atomics = device->has_device_atomics && (without & CLF__WITHOUT_ATOMICS) == 0,
        .has_fixed_addresses = info->kind == CLF_DEVICE_CPU, /* its buffers are host memory */
        .is_paced = info->kind == CLF_DEVICE_GPU && (without & CLF__WITHOUT_PACE) == 0,
        .without = without,
        .tuning = clf__tuning_standard(),
    };
    /* Native GEMM by default: only native GEMM gives a sentence the same bits in every batch. */
    if (options->gemm != CLF_GEMM_AUTO) {
        out->gemm = options->gemm;
    }
    if (out->variant == CLF_VARIANT_GPU && out->max_work_group < CLF__TILE_GROUP) {
        return clf__fail(CLF_UNSUPPORTED,
                         "device %d \"%s\": supports %zu work-items per group, but the GPU kernels need %d; "
                         "use the CPU kernels (CLFORMER_VARIANT=cpu)",
                         info->index, info->name, out->max_work_group, CLF__TILE_GROUP);
    }
    return CLF_OK;
}

clf_status clf__caps_build_options(char **out, const struct clf__listed_device *device,
                                   const struct clf__caps *caps)
{
    const struct clf_device_info *info = &device->info;
    /* Sub-groups, dot products and C11 atomics need OpenCL C 3.0; everything else needs 1.2. No
     * -cl-mad-enable or relaxed math, because results must not depend on the optimiser: kernels call fma()
     * explicitly. -w, because some drivers print compiler warnings to standard error. Division is
     * correctly rounded if the device supports it; otherwise it is off by a few units in the last place. */
    int has_subgroups = info->has_subgroups && (caps->without & CLF__WITHOUT_SUBGROUPS) == 0;
    int is_exact = device->has_exact_division && (caps->without & CLF__WITHOUT_EXACT_DIVISION) == 0;
    int needs_3 = has_subgroups || (info->has_integer_dot_product && caps->has_integer_dot_product) ||
                  caps->has_device_atomics;
    char program_key[32] = "";
    if (caps->program_key > 0) {
        snprintf(program_key, sizeof program_key, " -DPROGRAM_KEY=%d", caps->program_key);
    }
    const char *matrix = caps->level->matrix.define;
    return clf__format(
        out,
        "-w -cl-std=%s%s -DVARIANT_%s%s%s%s%s%s -DVECTOR_LANES=%d -DBLOCK_ROWS=%d "
        "-DINT8_BYTES=%d%s%s%s%s%s%s%s%s%s",
        needs_3 ? "CL3.0" : "CL1.2", is_exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
        caps->variant == CLF_VARIANT_CPU ? "CPU" : "GPU", info->has_fp16 ? " -DHAS_FP16" : "",
        has_subgroups ? " -DHAS_SUBGROUPS" : "",
        caps->has_integer_dot_product ? " -DHAS_INTEGER_DOT_PRODUCT" : "",
        caps->has_integer_dot_product && device->has_dp4a ? " -DHAS_DP4A" : "",
        caps->has_device_atomics ? " -DHAS_DEVICE_ATOMICS" : "", caps->level->lanes, caps->level->block_rows,
        caps->level->int8_bytes, caps->has_fenced_atomics ? " -DHAS_FENCED_ATOMICS" : "",
        caps->level->instructions & CLF__DOT_INT8_ANY ? " -DHAS_DOT_INT8" : "",
        caps->level->instructions & CLF__DOT_BF16 ? " -DHAS_DOT_BF16" : "",
        caps->level->instructions & CLF__TILES ? " -DHAS_TILES" : "", matrix != NULL ? " -DHAS_MATRIX " : "",
        matrix != NULL ? matrix : "", matrix != NULL && caps->is_int8_plain ? " -DINT8_IS_PLAIN" : "",
        matrix != NULL && !caps->level->matrix.has_bf16 ? " -DBF16_IS_PLAIN" : "", program_key);
}

int clf__caps_have_matrix(const struct clf__caps *caps)
{
    return caps->variant == CLF_VARIANT_GPU && caps->level->matrix.define != NULL;
}

int clf__caps_use_matrix(const struct clf__caps *caps, enum clf__precision precision)
{
    return clf__caps_have_matrix(caps) && precision != CLF__PRECISION_FP32 &&
           !(precision == CLF__PRECISION_INT8 && caps->is_int8_plain) &&
           !(precision == CLF__PRECISION_BF16 && !caps->level->matrix.has_bf16);
}

const struct clf__caps *clf__device_caps(const struct clf_device *device)
{
    return &device->caps;
}

int clf__caps_pipelined_steps(const struct clf__caps *caps)
{
    int tuned = caps->tuning.values[CLF__TUNABLE_PIPELINED_STEPS];
    if ((caps->without & CLF__WITHOUT_PIPELINE) != 0) {
        return 1;
    }
    return tuned > 0 ? tuned : caps->variant == CLF_VARIANT_GPU ? 2 : 1;
}

void clf__device_set_tunable(struct clf_device *device, enum clf__tunable tunable, int value)
{
    device->caps.tuning.values[tunable] = value;
}
