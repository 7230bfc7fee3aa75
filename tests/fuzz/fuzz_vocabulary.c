/* Any bytes as a vocab.json: an error, or a vocabulary that maps every token to its id and back. The first
 * byte is the size in the model's configuration. */
#include "fuzz/files.h"
#include "text/tokenizers/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *path = fuzz_file("vocab.json", data + 1, size - 1);
    struct clf__vocabulary vocabulary;
    clf_status status = clf__vocabulary_load(&vocabulary, path, data[0]);
    if (status != CLF_OK) {
        if (status == CLF_FORMAT && strstr(clf_last_error(), path) == NULL) {
            abort();
        }
        return 0;
    }
    for (int id = 0; id < vocabulary.size; id++) {
        const char *token = vocabulary.tokens[id];
        if (clf__vocabulary_id(&vocabulary, token, strlen(token)) != id) {
            abort();
        }
    }
    clf__vocabulary_free(&vocabulary);
    return 0;
}
