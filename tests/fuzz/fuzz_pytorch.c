/* Any bytes as pytorch_model.bin. */
#include "fuzz/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_weights("pytorch_model.bin", CLF_UNSUPPORTED, data, size);
    return 0;
}
