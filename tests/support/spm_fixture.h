/* .spm files that a test changes. */
#ifndef CLF_TESTS_SPM_FIXTURE_H
#define CLF_TESTS_SPM_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "text/segmenters/sentencepiece_library.h"

enum {
    SPM_PIECE = 1 << 3 | 2,
    SPM_NORMALIZER = 3 << 3 | 2,
    SPM_SELF_TEST = 4 << 3 | 2,
    SPM_CHARSMAP = 2 << 3 | 2
};

/* A growing file; `data` is freed by clf__free(). */
struct bytes {
    uint8_t *data;
    size_t size;
};

struct bytes spm_read(const char *path);
void spm_append(struct bytes *bytes, const void *data, size_t size);
void spm_append_varint(struct bytes *bytes, uint64_t number);
/* A field of bytes, whatever its tag. */
void spm_append_field(struct bytes *bytes, uint64_t tag, const void *data, size_t size);

/* Loads and, where that works, uses a model in memory of exactly its size. */
clf_status spm_use(const uint8_t *data, size_t size);

/* A clf__piece_function whose user is a size_t: the bytes of all pieces. */
clf_status spm_drop_piece(void *user, const char *piece, size_t length);

#endif
