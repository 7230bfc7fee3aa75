/* A part of a file, read like a file by itself. */
#ifndef CLF_AUDIO_BYTE_RANGE_H
#define CLF_AUDIO_BYTE_RANGE_H

#include <stdint.h>

struct clf__byte_range {
    int descriptor;
    int64_t begin, end; /* bytes of the file */
    int64_t at;         /* next byte, from `begin` on */
};

int64_t clf__byte_range_size(const struct clf__byte_range *range);
/* Returns the number of bytes read: fewer than wanted at the end, or where the file cannot be read. */
int64_t clf__byte_range_read(struct clf__byte_range *range, void *target, int64_t wanted);
/* Moves as fseek() does, not before the beginning. Returns the new place. */
int64_t clf__byte_range_seek(struct clf__byte_range *range, int64_t offset, int whence);

#endif
