/* The compression ratio of a text with zlib, a measure of repetition. */
#include <math.h>

#include "base/memory.h"
#include "transcribe/internal.h"

#ifdef CLF_HAS_ZLIB

#include <zlib.h>

int clf__compression_is_known(void)
{
    return 1;
}

double clf__compression_ratio(const char *text, size_t size)
{
    uLongf compressed = compressBound((uLong)size);
    Bytef *bytes = NULL;
    double ratio = NAN;
    if (clf__allocate(&bytes, (size_t)compressed, 1) == CLF_OK &&
        compress(bytes, &compressed, (const Bytef *)text, (uLong)size) == Z_OK) {
        ratio = (double)size / (double)compressed;
    }
    clf__free(bytes);
    return ratio;
}

#else

int clf__compression_is_known(void)
{
    return 0;
}

double clf__compression_ratio(const char *text, size_t size)
{
    (void)text;
    (void)size;
    return NAN;
}

#endif
