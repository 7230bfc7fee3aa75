/* Log-mel frames of samples, computed and scaled on the device as Whisper does. A frame's scale depends on
 * the maximum over the whole recording: compute frames, read their peaks, then scale the frames. */
#ifndef CLF_AUDIO_SPECTROGRAM_H
#define CLF_AUDIO_SPECTROGRAM_H

#include "math/ops/log_mel.h"

enum {
    CLF__FRAME_SAMPLES = CLF__LOG_MEL_HOP,       /* samples between frames */
    CLF__FRAME_CONTEXT = CLF__LOG_MEL_FRAME / 2, /* samples on either side of a frame's centre */
    /* Silence appended to a recording so that frames centred after its end contain no reflected samples. */
    CLF__SILENCE_SAMPLES = 2 * CLF__FRAME_CONTEXT,
};

/* A queue of samples with their frames. The caller fills samples_host. */
struct clf__spectrogram {
    struct clf_device *device;
    struct clf__log_mel log_mel;
    struct clf__arena arena;
    struct clf__tensor samples;       /* (1, capacity in samples) */
    struct clf__tensor peaks;         /* (1, capacity in frames): the maximum of each frame */
    float *samples_host, *peaks_host; /* same shapes */
};

/* Frames of a range of samples. */
struct clf__frame_range {
    int first_sample, samples;
    int centre;              /* position of the first frame's centre, counted from first_sample */
    int first_frame, frames; /* rows of the frames, and columns of `peaks` */
};

/* Creates the tables for computing frames, without space for samples. */
clf_status clf__spectrogram_create(struct clf__spectrogram *out, struct clf_device *device, int bands);
void clf__spectrogram_free(struct clf__spectrogram *spectrogram);

/* Replaces the space for samples and frames; after a failure there is none. */
clf_status clf__spectrogram_resize(struct clf__spectrogram *spectrogram, int samples, int frames);

/* Returns the number of frames that overlap a recording. */
int64_t clf__frames_of(int64_t samples);

/* Copies the first `count` samples to the device. */
clf_status clf__spectrogram_upload(const struct clf__spectrogram *spectrogram, int count);

/* Computes unscaled frames into their rows of y (frames, bands). */
clf_status clf__spectrogram_compute(const struct clf__spectrogram *spectrogram, struct clf__tensor y,
                                    const struct clf__frame_range *range);

/* Copies the peaks of the first `count` frames from the device. */
clf_status clf__spectrogram_read_peaks(const struct clf__spectrogram *spectrogram, int count);

/* Returns the maximum over frames whose peaks have been read. */
float clf__spectrogram_peak(const struct clf__spectrogram *spectrogram, int first_frame, int frames);

/* Scales frames in place; `peak` is the maximum over their recording. */
clf_status clf__spectrogram_scale(struct clf__tensor frames, float peak);

#endif
