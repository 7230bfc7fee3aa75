#include "audio/wav.h"

#include <string.h>

#include "base/little_endian.h"

int clf__wav_measure(int64_t *declared, int64_t *present, const struct clf__byte_range *bytes)
{
    enum { RIFF = 12, CHUNK = 8, MOST_CHUNKS = 1000, STREAMS = 0x7ffff000 };
    unsigned char head[RIFF];
    struct clf__byte_range range = *bytes;
    range.at = 0;
    int is_wav = clf__byte_range_read(&range, head, RIFF) == RIFF && memcmp(head, "RIFF", 4) == 0 &&
                 memcmp(head + 8, "WAVE", 4) == 0;
    for (int i = 0; is_wav && i < MOST_CHUNKS && clf__byte_range_read(&range, head, CHUNK) == CHUNK; i++) {
        *declared = clf__read_32(head + 4);
        if (memcmp(head, "data", 4) == 0) {
            *present = clf__byte_range_size(&range) - range.at;
            return *declared < STREAMS;
        }
        range.at += *declared + *declared % 2;
    }
    return 0;
}
