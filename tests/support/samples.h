/* Reads whole recordings. */
#ifndef CLF_SUPPORT_SAMPLES_H
#define CLF_SUPPORT_SAMPLES_H

#include <clformer/audio.h>

/* Reads all samples, at most `most`, in blocks of unusual sizes; returns the count. */
int support_read_samples(float *samples, int most, struct clf_audio *audio);

#endif
