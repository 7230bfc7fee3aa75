/* Reads the data size in the header of a WAV file. */
#ifndef CLF_AUDIO_WAV_H
#define CLF_AUDIO_WAV_H

#include <stdint.h>

#include "audio/byte_range.h"

/* Sets *declared to the number of sample bytes according to the header, and *present to the number in the
 * file; libsndfile silently reads the smaller of the two. Returns 0 if the file has no such header, or if the
 * header was written for a stream of unknown length. */
int clf__wav_measure(int64_t *declared, int64_t *present, const struct clf__byte_range *bytes);

#endif
