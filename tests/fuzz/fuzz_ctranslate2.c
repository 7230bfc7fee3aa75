/* Any bytes as CTranslate2's model.bin. */
#include "fuzz/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_weights("model.bin", CLF_UNSUPPORTED, data, size);
    return 0;
}
