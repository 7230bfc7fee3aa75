/* The length in the header of a WAV file. */
#ifndef CLF_AUDIO_WAV_H
#define CLF_AUDIO_WAV_H

#include <stdint.h>

#include "audio/byte_range.h"

/* Sets *said to the bytes of samples that the header promises, and *there to those that the file has:
 * libsndfile reads the smaller number and reports nothing. Returns 0 if the file has no such header, or a
 * stream's header, whose writer did not know the length. */
int clf__wav_measure(int64_t *said, int64_t *there, const struct clf__byte_range *bytes);

#endif
