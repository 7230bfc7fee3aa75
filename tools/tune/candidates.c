/* The values of a parameter that are measured on a device. */
#include "runtime/device/caps.h"
#include "tune/tune.h"

int tune_candidates(int *out, enum clf__tunable tunable)
{
    const struct clf__tunable_info *info = &clf__tunables[tunable];
    int count = 0;
    out[count++] = info->standard;
    for (int i = 0; i < info->candidate_count; i++) {
        if (info->candidates[i] != info->standard) {
            out[count++] = info->candidates[i];
        }
    }
    return count;
}

int tune_makes_a_difference(const struct clf_device *device, const struct flags *flags,
                            enum clf__tunable tunable)
{
    const struct clf__caps *caps = clf__device_caps(device);
    unsigned precision = clf__precision_of(flags->model_options.precision);
    int is_native = caps->gemm == CLF_GEMM_NATIVE || precision != CLF__PRECISION_FP32;
    int is_cpu = caps->variant == CLF_VARIANT_CPU;
    if (tunable >= CLF__TUNABLE_STEP_ROWS) {
        return tunable - CLF__TUNABLE_STEP_ROWS == precision && is_native && is_cpu &&
               caps->has_device_atomics && caps->attention == CLF_ATTENTION_FUSED;
    }
    if (tunable >= CLF__TUNABLE_SKINNY_ROWS) {
        return tunable - CLF__TUNABLE_SKINNY_ROWS == precision && is_native && !is_cpu;
    }
    if (tunable == CLF__TUNABLE_BATCH_TOKENS) {
        return !is_cpu;
    }
    return tunable == CLF__TUNABLE_ROW_MAJOR_ROWS ? !is_native && !is_cpu : is_native && is_cpu;
}

int tune_alternative(const struct clf_device *device, const struct flags *flags, enum clf__tunable tunable)
{
    const struct clf__caps *caps = clf__device_caps(device);
    switch (tunable) {
    case CLF__TUNABLE_VARIANT:
        return caps->variant == CLF_VARIANT_CPU ? CLF_VARIANT_GPU : CLF_VARIANT_CPU;
    case CLF__TUNABLE_GEMM:
        if (flags->model_options.precision != CLF_PRECISION_FP32) {
            return 0;
        }
        if (caps->gemm == CLF_GEMM_CLBLAST) {
            return CLF_GEMM_NATIVE;
        }
        /* CLBlast is tuned for GPUs; on a CPU, it would only make the results of a line depend on its batch.
         */
        return caps->variant == CLF_VARIANT_GPU ? CLF_GEMM_CLBLAST : 0;
    default:
        return caps->attention == CLF_ATTENTION_FUSED ? CLF_ATTENTION_BATCHED : CLF_ATTENTION_FUSED;
    }
}
