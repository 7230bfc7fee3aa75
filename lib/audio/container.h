/* Files of which FFmpeg's libraries read the audio, by their first bytes. */
#ifndef CLF_AUDIO_CONTAINER_H
#define CLF_AUDIO_CONTAINER_H

#include "audio/byte_range.h"

/* Returns a name such as "M4A and MP4", or NULL for anything else. */
const char *clf__container_name(const struct clf__byte_range *bytes);

/* Seconds that the header of a WMA file says it lasts; 0 where it does not say. FFmpeg does not tell them of
 * a file that is cut off. */
double clf__container_wma_seconds(const struct clf__byte_range *bytes);

#endif
