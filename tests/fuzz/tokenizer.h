/* Shared by the tokenizer fuzzers: any bytes as the only file of a folder, and invariants of the result. */
#ifndef CLF_FUZZ_TOKENIZER_H
#define CLF_FUZZ_TOKENIZER_H

#include "base/memory.h"
#include "base/utf8.h"
#include "fuzz/files.h"
#include "text/tokenizers/tokenizer.h"

static inline void cut_and_join(const struct clf__tokenizer *tokenizer, int rows)
{
    static const char text[] =
        "  Je suis l\u00e0... <s>aab abab\tabc'll 12 \u65e5\u672c x\u0301 \u2581a\xF0\x9F\x98\x80\nx ";
    struct clf__ids ids = {0};
    char *joined;
    clf_status status = clf__tokenizer_encode(tokenizer, &ids, text, sizeof text - 1, 0, 0);
    if (status != CLF_OK && status != CLF_TEXT) {
        abort();
    }
    for (int32_t id = 0; id < rows; id++) {
        if (clf__ids_append(&ids, id) != CLF_OK) {
            abort();
        }
    }
    status = clf__tokenizer_decode(tokenizer, &joined, ids.data, ids.count, 0);
    if (status == CLF_OK) {
        if (clf__utf8_valid_prefix(joined, strlen(joined)) != strlen(joined)) {
            abort();
        }
        clf__free(joined);
    } else if (status != CLF_TEXT) {
        abort();
    }
    clf__ids_free(&ids);
}

/* An error that names the file, or a tokenizer whose ids are tokens and whose texts are UTF-8. */
static inline void fuzz_tokenizer(const char *class_name, const char *name, int rows, const uint8_t *data,
                                  size_t size)
{
    const char *path = fuzz_file(name, data, size);
    struct clf__tokenizer_options options = {rows, rows, 0, -1, -1, -1, -1, -1, class_name};
    struct clf__tokenizer *tokenizer;
    clf_status status = clf__tokenizer_load(&tokenizer, fuzz_folder(), &options);
    if (status == CLF_OK) {
        cut_and_join(tokenizer, rows);
        clf__tokenizer_free(tokenizer);
    } else if ((status != CLF_FORMAT && status != CLF_UNSUPPORTED && status != CLF_TEXT) ||
               strstr(clf_last_error(), path) == NULL) {
        abort();
    }
}

#endif
