/* Any bytes as a weights file: an error that names the file, or tensors inside the file with as many values
 * as their shapes declare. */
#ifndef CLF_FUZZ_WEIGHTS_H
#define CLF_FUZZ_WEIGHTS_H

#include "base/memory.h"
#include "fuzz/files.h"
#include "model/weights/weights.h"

static inline void fuzz_read_tensor(const struct clf__stored_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->dimensions; i++) {
        count *= (size_t)tensor->shape[i];
    }
    float *values;
    if (clf__allocate(&values, count, sizeof *values) != CLF_OK) {
        abort(); /* no more elements than the file has bytes */
    }
    clf_status status = clf__stored_tensor_read(tensor, values);
    int may_fail = tensor->scales.count > 0; /* a scale may be NaN or infinite */
    if (!may_fail && (status != CLF_OK) != (tensor->type == CLF__STORED_OTHER)) {
        abort();
    }
    clf__free(values);
}

/* Opens the weights at a path. `refused`: an accepted error besides CLF_FORMAT, which names `file`. */
static inline void fuzz_opened(clf_status (*open)(struct clf__weights **, const char *), const char *path,
                               const char *file, clf_status refused, size_t size)
{
    struct clf__weights *weights;
    clf_status status = open(&weights, path);
    if (status != CLF_OK) {
        if ((status != CLF_FORMAT && status != refused) || strstr(clf_last_error(), file) == NULL) {
            abort();
        }
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
}

/* Opens a folder with only these bytes under this name. */
static inline void fuzz_weights(const char *name, clf_status refused, const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(name, data, size);
    fuzz_opened(clf__weights_open, fuzz_folder(), path, refused, size);
}

#endif
