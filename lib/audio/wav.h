/* Reads the data size in the header of a WAV file. */
#ifndef CLF_AUDIO_WAV_H
#define CLF_AUDIO_WAV_H

#include <stdint.h>

#include "audio/byte_range.h"

/* Sets *declared to the sample bytes that the header declares, and *present to those in the file: libsndfile
 * reads the smaller number and reports nothing. Returns 0 if there is no such header, or if it was written
 * for a stream of unknown length. */
int clf__wav_measure(int64_t *declared, int64_t *present, const struct clf__byte_range *bytes);

#endif
