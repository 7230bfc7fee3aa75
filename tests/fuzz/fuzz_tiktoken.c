/* Any bytes as a .tiktoken file: an error that names it, or a tokenizer whose ids are tokens. */
#include "fuzz/tokenizer.h"

enum { ROWS = 1774 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("x.tiktoken", data, size);
    const struct clf__tokenizer_options options = {ROWS, ROWS, 0, -1, -1, -1, -1, -1, NULL};
    struct clf__tokenizer *tokenizer;
    clf_status status = clf__tokenizer_load_tiktoken(&tokenizer, fuzz_folder(), "x.tiktoken", &options);
    if (status == CLF_OK) {
        cut_and_join(tokenizer, ROWS);
        clf__tokenizer_free(tokenizer);
    } else if (status != CLF_FORMAT || strstr(clf_last_error(), path) == NULL) {
        abort();
    }
    return 0;
}
