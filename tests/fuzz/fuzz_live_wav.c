/* Any bytes as a stream of WAV samples: it is read to its end, or refused with its name. */
#include "fuzz/files.h"

#include <string.h>

#include "audio/live_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROOM = 3000, MOST_RATIO = 17 };
    const char *path = fuzz_file("stream.wav", data, size);
    float samples[ROOM];
    size_t count, total = 0;
    struct clf__live_reader *reader;
    clf_status status = clf__live_reader_open(&reader, path, 0, NULL, NULL);
    fuzz_check(status == CLF_OK);
    do {
        status = clf__live_reader_read(samples, &count, reader, ROOM);
        fuzz_check(status == CLF_OK || (status == CLF_FORMAT && count == 0));
        fuzz_check(count <= ROOM);
        total += count;
    } while (count > 0);
    fuzz_check(total <= MOST_RATIO * size + ROOM); /* at least 1,000 samples per second, of a byte each */
    fuzz_check(status == CLF_OK || strstr(clf_last_error(), path) != NULL);
    clf__live_reader_free(reader);
    return 0;
}
