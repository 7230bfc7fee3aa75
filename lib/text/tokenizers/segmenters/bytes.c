/* Bytes as tokens (ByT5, Xue et al. 2022). Each token is written as GPT-2's printable character for the byte.
 */
#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/byte_level.h"
#include "text/tokenizers/segmenters/byte_pairs.h"
#include "text/tokenizers/token_list.h"

enum { BYTES = 256 };

static clf_status bytes_add_tokens(const void *state, struct clf__token_list *tokens, int skipped)
{
    (void)state;
    for (int byte = skipped; byte < BYTES; byte++) {
        char text[2];
        int length = clf__byte_pairs_character(text, byte);
        CLF__TRY(clf__token_list_add(tokens, text, (size_t)length, 0));
    }
    return CLF_OK;
}

static clf_status bytes_segment(const void *state, const char *text, size_t size,
                                clf__token_function *function, void *user)
{
    (void)state;
    for (size_t i = 0; i < size; i++) {
        char token[2];
        int length = clf__byte_pairs_character(token, (unsigned char)text[i]);
        CLF__TRY(function(user, token, (size_t)length));
    }
    return CLF_OK;
}

/* Drops invalid UTF-8, as transformers does. */
static size_t keep_valid(char *out, const char *bytes, size_t size)
{
    char *end = out;
    for (size_t at = 0; at < size;) {
        size_t next = at;
        UChar32 character;
        U8_NEXT((const uint8_t *)bytes, next, size, character);
        if (character == 0) { /* NUL would end the result */
            *end++ = ' ';
        } else if (character > 0) {
            memcpy(end, bytes + at, next - at);
            end += next - at;
        }
        at = next;
    }
    return (size_t)(end - out);
}

static clf_status bytes_join(const void *state, char **text, const char *const *tokens, int count)
{
    (void)state;
    size_t most = 0, size = 0;
    char *bytes = NULL;
    for (int i = 0; i < count; i++) {
        most += strlen(tokens[i]);
    }
    CLF__TRY(clf__allocate(&bytes, most, 1));
    for (int i = 0; i < count; i++) {
        size += clf__byte_level_bytes(bytes + size, tokens[i], strlen(tokens[i]));
    }
    clf_status status = clf__allocate(text, size + 1, 1);
    if (status == CLF_OK) {
        (*text)[keep_valid(*text, bytes, size)] = '\0';
    }
    clf__free(bytes);
    return status;
}

const struct clf__segmenter clf__segmenter_bytes = {
    .name = "bytes",
    .has_model = 1,
    .free = clf__free,
    .add_tokens = bytes_add_tokens,
    .segment = bytes_segment,
    .join = bytes_join,
};
