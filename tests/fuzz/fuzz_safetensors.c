/* Any bytes as model.safetensors. */
#include "fuzz/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_weights("model.safetensors", CLF_FORMAT, data, size);
    return 0;
}
