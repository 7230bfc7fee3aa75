/* Log-mel spectrograms of 16 kHz audio, as Whisper uses them (Radford et al. 2022, 2.2): windows of 25 ms
 * every 10 ms, and the power in bands with equal widths on the mel scale of Slaney's Auditory Toolbox. */
#ifndef CLF_OPS_LOG_MEL_H
#define CLF_OPS_LOG_MEL_H

#include "math/tensor/tensor.h"

enum {
    CLF__LOG_MEL_RATE = 16000,
    CLF__LOG_MEL_FRAME = 400, /* samples of a frame and of its Hann window */
    CLF__LOG_MEL_HOP = 160,   /* samples between frames */
    CLF__LOG_MEL_BINS = CLF__LOG_MEL_FRAME / 2 + 1,
    CLF__LOG_MEL_LEAST_BANDS = 1,
    CLF__LOG_MEL_MOST_BANDS = 512,
};

/* Device tables of the window, the transform and the bands, computed in double; owns the tensors. */
struct clf__log_mel {
    struct clf__tensor tables;  /* (1, n) in the order of cl/audio/log_mel.cl */
    struct clf__tensor filters; /* (bands, CLF__LOG_MEL_BINS) */
    struct clf__tensor spans;   /* (bands, 2) i32: the first bin of each band, and the bin after the last */
};

/* `bands` must be within the limits above. A failure leaves no memory allocated. */
clf_status clf__log_mel_create(struct clf__log_mel *out, struct clf_device *device, int bands);
void clf__log_mel_free(struct clf__log_mel *log_mel);

/* Computes the triangular filters (bands, CLF__LOG_MEL_BINS) on the host, with height 2 / width in Hz. The
 * band edges are equidistant in mels from 0 to 8 kHz: a mel is 200/3 Hz below 1 kHz, and a factor of
 * 6.4^(1/27) above. */
void clf__log_mel_filters(double *filters, int bands);

/* y[t] = log10(max(1e-10, power in each band)) of the frame centred at sample first + 160 t. Samples are
 * reflected at both ends, so a chunk of a longer recording needs 200 extra samples on each side. peaks[t]
 * is the maximum of y[t], ignoring NaN; NaN samples give NaN frames. */
clf_status clf__log_mel_forward(struct clf__tensor y,       /* (T, bands) */
                                struct clf__tensor peaks,   /* (1, T) */
                                struct clf__tensor samples, /* (1, n) in -1 .. 1 */
                                int first, const struct clf__log_mel *log_mel);

/* y = (max(y, lowest) + 4) / 4 in place; `lowest` is the maximum of the whole recording minus 8. */
clf_status clf__log_mel_scale(struct clf__tensor y, float lowest); /* (T, bands) */

#endif
