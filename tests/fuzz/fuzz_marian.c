/* Any bytes as a Marian weights file, of either container, and as the options inside. */
#include "fuzz/weights.h"

#include "model/weights/marian.h"

static void check_failure(clf_status status, const char *path)
{
    if ((status != CLF_FORMAT && status != CLF_UNSUPPORTED) || strstr(clf_last_error(), path) == NULL) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("model.bin", data, size);
    struct clf__weights *weights;
    clf_status status = clf__weights_open_marian(&weights, path);
    if (status != CLF_OK) {
        check_failure(status, path);
    } else {
        for (int i = 0; i < clf__weights_count(weights); i++) {
            const struct clf__stored_tensor *tensor = clf__weights_at(weights, i);
            if (tensor->size > size || clf__weights_find(weights, tensor->name) != tensor) {
                abort();
            }
            fuzz_read_tensor(tensor);
        }
        clf__weights_close(weights);
    }
    json_t *options;
    status = clf__marian_options(&options, path);
    if (status != CLF_OK) {
        check_failure(status, path);
    } else if (!json_is_object(options)) {
        abort();
    }
    json_decref(options);
    return 0;
}
