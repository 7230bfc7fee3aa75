/* Detects audio files that need FFmpeg's libraries, based on their first bytes. */
#ifndef CLF_AUDIO_CONTAINER_H
#define CLF_AUDIO_CONTAINER_H

#include "audio/byte_range.h"

/* Returns the name of a format, such as "M4A and MP4", or NULL for other files. */
const char *clf__container_name(const struct clf__byte_range *bytes);

/* Returns the duration in the header of a WMA file in seconds; 0: unknown. FFmpeg does not report the
 * duration of a truncated file. */
double clf__container_wma_seconds(const struct clf__byte_range *bytes);

#endif
