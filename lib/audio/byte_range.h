/* A range of bytes in a file, read like a separate file. */
#ifndef CLF_AUDIO_BYTE_RANGE_H
#define CLF_AUDIO_BYTE_RANGE_H

#include <stdint.h>

struct clf__byte_range {
    int descriptor;
    int64_t begin, end; /* the range, as offsets in the file */
    int64_t at;         /* offset of the next byte, relative to `begin` */
};

int64_t clf__byte_range_size(const struct clf__byte_range *range);
/* Returns the number of bytes read, which is less than `wanted` at the end or after an error. */
int64_t clf__byte_range_read(struct clf__byte_range *range, void *target, int64_t wanted);
/* Seeks like fseek(), but an offset before the beginning becomes 0. Returns the new offset. */
int64_t clf__byte_range_seek(struct clf__byte_range *range, int64_t offset, int whence);

#endif
