/* .spm files that tests modify. */
#ifndef CLF_TESTS_SPM_FIXTURE_H
#define CLF_TESTS_SPM_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "text/tokenizers/segmenters/sentencepiece_library.h"

enum {
    SPM_PIECE = 1 << 3 | 2,
    SPM_NORMALIZER = 3 << 3 | 2,
    SPM_SELF_TEST = 4 << 3 | 2,
    SPM_CHARSMAP = 2 << 3 | 2
};

/* The contents of a file; the caller frees `data` with clf__free(). */
struct bytes {
    uint8_t *data;
    size_t size;
};

struct bytes spm_read(const char *path);
void spm_append(struct bytes *bytes, const void *data, size_t size);
void spm_append_varint(struct bytes *bytes, uint64_t number);
/* Appends a field that holds bytes. */
void spm_append_field(struct bytes *bytes, uint64_t tag, const void *data, size_t size);

/* Loads a model, then encodes and decodes a text. Copies the data to a block of exactly its size, so that
 * sanitizers find reads beyond its end. */
clf_status spm_use(const uint8_t *data, size_t size);

/* A clf__token_function that adds the sizes of all tokens to the size_t `user`. */
clf_status spm_drop_piece(void *user, const char *piece, size_t length);

#endif
