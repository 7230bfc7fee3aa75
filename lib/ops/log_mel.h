/* Log-mel frames of a recording at 16 kHz, as Whisper takes them (Radford et al. 2022, 2.2): windows of 25 ms
 * every 10 ms, and the power in bands that are even on the mel scale of Slaney's Auditory Toolbox. */
#ifndef CLF_OPS_LOG_MEL_H
#define CLF_OPS_LOG_MEL_H

#include "tensor/tensor.h"

enum {
    CLF__LOG_MEL_RATE = 16000,
    CLF__LOG_MEL_FRAME = 400, /* samples that a frame looks at, its Hann window over them */
    CLF__LOG_MEL_HOP = 160,   /* samples from one frame to the next */
    CLF__LOG_MEL_BINS = CLF__LOG_MEL_FRAME / 2 + 1,
    CLF__LOG_MEL_LEAST_BANDS = 1,
    CLF__LOG_MEL_MOST_BANDS = 512,
};

/* The tables of the window, the transform and the bands on the device, computed in double. Owned tensors. */
struct clf__log_mel {
    struct clf__tensor tables;  /* (1, n) as cl/audio/log_mel.cl has them */
    struct clf__tensor filters; /* (bands, CLF__LOG_MEL_BINS) */
    struct clf__tensor spans;   /* (bands, 2) i32: the first bin of each, and the end of its bins */
};

/* `bands` must be within the two limits. A failure leaves no memory allocated. */
clf_status clf__log_mel_create(struct clf__log_mel *out, struct clf_device *device, int bands);
void clf__log_mel_free(struct clf__log_mel *log_mel);

/* The triangles of all bands on the host, filters (bands, CLF__LOG_MEL_BINS), each of area 2 / its width in
 * Hz: the band edges are even in mels from 0 to 8 kHz, a mel being 200/3 Hz below 1 kHz and a 27th of a
 * factor 6.4 above. */
void clf__log_mel_filters(double *filters, int bands);

/* y[t] = log10(max(1e-10, power in each band)) of the frame whose middle is sample first + 160 t. Samples
 * are reflected at either end for frames that exceed them, so a chunk of a recording needs 200 more
 * samples on each side. peaks[t] is the largest of y[t], ignoring NaN; NaN samples make NaN frames. */
clf_status clf__log_mel_forward(struct clf__tensor y,       /* (T, bands) */
                                struct clf__tensor peaks,   /* (1, T) */
                                struct clf__tensor samples, /* (1, n) in -1 .. 1 */
                                int first, const struct clf__log_mel *log_mel);

/* y = (max(y, lowest) + 4) / 4 in place, `lowest` being 8 below the largest of the whole recording. */
clf_status clf__log_mel_scale(struct clf__tensor y, float lowest); /* (T, bands) */

#endif
