/* Any bytes as a network in ONNX. */
#include "fuzz/weights.h"

#include "audio/vad/silero.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("network.onnx", data, size);
    struct clf__silero *network;
    fuzz_opened(clf__weights_open_network, path, path, CLF_UNSUPPORTED, size);
    if (clf__silero_open(&network, path) == CLF_OK) {
        struct clf__silero_state state = {0};
        float samples[CLF__VAD_CHUNK] = {0}, probability;
        for (int i = 0; i < 3; i++) {
            clf_status status = clf__silero_run(&probability, network, &state, samples);
            fuzz_check(status == CLF_FORMAT || (status == CLF_OK && probability >= 0 && probability <= 1));
        }
        clf__silero_free(network);
    } else {
        fuzz_check(strstr(clf_last_error(), path) != NULL);
    }
    return 0;
}
