#include "audio/wav.h"

#include <string.h>

int clf__wav_measure(int64_t *said, int64_t *there, const struct clf__byte_range *bytes)
{
    enum { RIFF = 12, CHUNK = 8, MOST_CHUNKS = 1000, STREAMS = 0x7ffff000 };
    unsigned char head[RIFF];
    struct clf__byte_range range = *bytes;
    range.at = 0;
    int is_wav = clf__byte_range_read(&range, head, RIFF) == RIFF && memcmp(head, "RIFF", 4) == 0 &&
                 memcmp(head + 8, "WAVE", 4) == 0;
    for (int i = 0; is_wav && i < MOST_CHUNKS && clf__byte_range_read(&range, head, CHUNK) == CHUNK; i++) {
        *said = (int64_t)head[4] | (int64_t)head[5] << 8 | (int64_t)head[6] << 16 | (int64_t)head[7] << 24;
        if (memcmp(head, "data", 4) == 0) {
            *there = clf__byte_range_size(&range) - range.at;
            return *said < STREAMS;
        }
        range.at += *said + *said % 2;
    }
    return 0;
}
