#include "audio/spectrogram.h"

#include <math.h>

#include "base/memory.h"

/* Dynamic range below the maximum, in powers of ten; lower values are clamped. */
static const float RANGE = 8.0F;

clf_status clf__spectrogram_create(struct clf__spectrogram *out, struct clf_device *device, int bands)
{
    *out = (struct clf__spectrogram){.device = device};
    clf__arena_init(&out->arena, device);
    return clf__log_mel_create(&out->log_mel, device, bands);
}

static void free_space(struct clf__spectrogram *spectrogram)
{
    clf__arena_free(&spectrogram->arena);
    clf__free(spectrogram->samples_host);
    clf__free(spectrogram->peaks_host);
    spectrogram->samples_host = spectrogram->peaks_host = NULL;
    spectrogram->samples.columns = spectrogram->peaks.columns = 0;
}

void clf__spectrogram_free(struct clf__spectrogram *spectrogram)
{
    free_space(spectrogram);
    clf__log_mel_free(&spectrogram->log_mel);
}

static clf_status allocate_space(struct clf__spectrogram *spectrogram, int samples, int frames)
{
    struct clf__arena *arena = &spectrogram->arena;
    CLF__TRY(clf__allocate(&spectrogram->samples_host, (size_t)samples, sizeof *spectrogram->samples_host));
    CLF__TRY(clf__allocate(&spectrogram->peaks_host, (size_t)frames, sizeof *spectrogram->peaks_host));
    CLF__TRY(clf__arena_reserve(arena, &spectrogram->samples, CLF__F32, 1, samples, "samples"));
    CLF__TRY(clf__arena_reserve(arena, &spectrogram->peaks, CLF__F32, 1, frames, "peaks of log-mel frames"));
    return clf__arena_allocate(arena);
}

clf_status clf__spectrogram_resize(struct clf__spectrogram *spectrogram, int samples, int frames)
{
    free_space(spectrogram);
    clf_status status = allocate_space(spectrogram, samples, frames);
    if (status != CLF_OK) {
        free_space(spectrogram);
    }
    return status;
}

int64_t clf__frames_of(int64_t samples)
{
    return (samples + CLF__FRAME_CONTEXT + CLF__FRAME_SAMPLES - 1) / CLF__FRAME_SAMPLES;
}

clf_status clf__spectrogram_upload(const struct clf__spectrogram *spectrogram, int count)
{
    return clf__tensor_write(clf__tensor_columns(spectrogram->samples, 0, count), spectrogram->samples_host);
}

clf_status clf__spectrogram_compute(const struct clf__spectrogram *spectrogram, struct clf__tensor y,
                                    const struct clf__frame_range *range)
{
    return clf__log_mel_forward(
        clf__tensor_rows(y, range->first_frame, range->frames),
        clf__tensor_columns(spectrogram->peaks, range->first_frame, range->frames),
        clf__tensor_columns(spectrogram->samples, range->first_sample, range->samples), range->centre,
        &spectrogram->log_mel);
}

clf_status clf__spectrogram_read_peaks(const struct clf__spectrogram *spectrogram, int count)
{
    return clf__tensor_read(clf__tensor_columns(spectrogram->peaks, 0, count), spectrogram->peaks_host);
}

float clf__spectrogram_peak(const struct clf__spectrogram *spectrogram, int first_frame, int frames)
{
    float peak = -INFINITY;
    for (int i = first_frame; i < first_frame + frames; i++) {
        peak = fmaxf(peak, spectrogram->peaks_host[i]);
    }
    return peak;
}

clf_status clf__spectrogram_scale(struct clf__tensor frames, float peak)
{
    return clf__log_mel_scale(frames, peak - RANGE);
}
