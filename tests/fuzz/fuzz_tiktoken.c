/* Any bytes as a .tiktoken file: a failure that names it, or a tokenizer whose ids are pieces. */
#include "fuzz/tokenizer.h"

enum { ROWS = 1774 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/fuzz_tiktoken.XXXXXX", path[64];
    if (!mkdtemp(folder)) {
        abort();
    }
    snprintf(path, sizeof path, "%s/x.tiktoken", folder);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        abort();
    }
    const struct clf__tokenizer_options options = {ROWS, ROWS, 0, -1, -1, -1, -1, -1, NULL};
    struct clf__tokenizer *tokenizer;
    clf_status status = clf__tokenizer_load_tiktoken(&tokenizer, folder, "x.tiktoken", &options);
    if (status == CLF_OK) {
        cut_and_join(tokenizer, ROWS);
        clf__tokenizer_free(tokenizer);
    } else if (status != CLF_FORMAT || strstr(clf_last_error(), path) == NULL) {
        abort();
    }
    unlink(path);
    rmdir(folder);
    return 0;
}
