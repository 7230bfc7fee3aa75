/* Any bytes as a vocab.json: a clear failure, or a vocabulary in which every piece leads to its id and back.
 * The first byte of the input is the size that the model's configuration would give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char path[] = "/tmp/fuzz_vocabulary.XXXXXX";
    int descriptor = mkstemp(path);
    if (descriptor < 0) {
        abort();
    }
    if (write(descriptor, data + 1, size - 1) != (ssize_t)(size - 1)) {
        abort();
    }
    close(descriptor);
    struct clf__vocabulary vocabulary;
    clf_status status = clf__vocabulary_load(&vocabulary, path, data[0]);
    unlink(path);
    if (status != CLF_OK) {
        if (status == CLF_FORMAT && strstr(clf_last_error(), path) == NULL) {
            abort();
        }
        return 0;
    }
    for (int id = 0; id < vocabulary.size; id++) {
        const char *piece = vocabulary.pieces[id];
        if (clf__vocabulary_id(&vocabulary, piece, strlen(piece)) != id) {
            abort();
        }
    }
    clf__vocabulary_free(&vocabulary);
    return 0;
}
