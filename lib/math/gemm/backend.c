#include "math/gemm/backend.h"

#include "runtime/device/caps.h"

const struct clf__gemm_backend *clf__gemm_backend_of(struct clf_device *device, enum clf__precision precision)
{
    int is_clblast = clf__device_caps(device)->gemm == CLF_GEMM_CLBLAST && precision == CLF__PRECISION_FP32;
    if (is_clblast) {
        return &clf__gemm_clblast;
    }
    return clf__caps_use_matrix(clf__device_caps(device), precision) ? &clf__gemm_matrix : &clf__gemm_native;
}
