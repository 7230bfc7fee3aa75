/* Log-mel frames of windows of recordings, computed on a device. Any number of threads may use a maker. */
#ifndef CLF_AUDIO_WINDOW_MAKER_H
#define CLF_AUDIO_WINDOW_MAKER_H

#include "audio/spectrogram.h"
#include "model/config/sides.h"

enum {
    CLF__WINDOW_SAMPLES = CLF__WINDOW_FRAMES * CLF__FRAME_SAMPLES, /* samples per window */
    CLF__CHUNK_SAMPLES = CLF__WINDOW_SAMPLES + CLF__SILENCE_SAMPLES,
};

/* The samples of a window and around it. */
struct clf__window_samples {
    float *samples; /* (CLF__CHUNK_SAMPLES), with zeros after the end of the recording */
    int centre;     /* position of the first frame's centre */
};

struct clf__window_maker;

clf_status clf__window_maker_create(struct clf__window_maker **out, struct clf_device *device, int bands);
void clf__window_maker_free(struct clf__window_maker *maker);

/* Computes the maximum of the unscaled frames of a window. */
clf_status clf__window_maker_measure(float *peak, struct clf__window_maker *maker,
                                     const struct clf__window_samples *samples);

/* Computes the first `count` frames of a window into y (CLF__WINDOW_FRAMES, bands), followed by zeros; `peak`
 * is the maximum over the recording. y is on the device of the maker. */
clf_status clf__window_maker_fill(struct clf__window_maker *maker, struct clf__tensor y,
                                  const struct clf__window_samples *samples, int count, float peak);

#endif
