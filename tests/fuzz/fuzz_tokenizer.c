/* Any bytes as a .spm file: an error, or a model that segments and joins text without a crash. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/sentencepiece_library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TOKENS = 256 };

struct tokens {
    char *texts[MAX_TOKENS];
    int count;
};

static clf_status keep(void *user, const char *token, size_t length)
{
    struct tokens *tokens = user;
    if (tokens->count == MAX_TOKENS) {
        return CLF_OK;
    }
    return clf__copy_bytes(&tokens->texts[tokens->count++], token, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] =
        "  Je suis \u201cl\u00e0\u201d\u2026 \ufb01n e\u0301 \u65e5\u672c \U0001F600 x<0x41>zz";
    struct clf__sentencepiece *model;
    if (clf__sentencepiece_load(&model, data, size, "fuzzed.spm") != CLF_OK) {
        if (strstr(clf_last_error(), "fuzzed.spm") == NULL) {
            abort();
        }
        return 0;
    }
    struct tokens tokens = {0};
    if (clf__sentencepiece_encode(model, text, sizeof text - 1, keep, &tokens) == CLF_OK) {
        char *joined;
        clf__sentencepiece_decode(model, &joined, (const char *const *)tokens.texts, tokens.count);
        clf__free(joined);
    }
    for (int i = 0; i < tokens.count; i++) {
        clf__free(tokens.texts[i]);
    }
    clf__sentencepiece_free(model);
    return 0;
}
