#include "audio/window_maker.h"

#include "base/memory.h"
#include "runtime/device/lock.h"

/* The device's lock guards the spectrogram. */
struct clf__window_maker {
    struct clf__spectrogram spectrogram; /* for CLF__CHUNK_SAMPLES samples and CLF__WINDOW_FRAMES frames */
    struct clf__arena arena;
    struct clf__tensor measured; /* (CLF__WINDOW_FRAMES, bands) frames of which only the peaks are needed */
    float *zeros;                /* same shape */
};

static clf_status create(struct clf__window_maker *maker, struct clf_device *device, int bands)
{
    clf__arena_init(&maker->arena, device);
    CLF__TRY(clf__spectrogram_create(&maker->spectrogram, device, bands));
    CLF__TRY(clf__spectrogram_resize(&maker->spectrogram, CLF__CHUNK_SAMPLES, CLF__WINDOW_FRAMES));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->measured, CLF__F32, CLF__WINDOW_FRAMES, bands,
                                "frames of a window"));
    CLF__TRY(clf__arena_allocate(&maker->arena));
    return clf__allocate(&maker->zeros, (size_t)CLF__WINDOW_FRAMES * (size_t)bands, sizeof *maker->zeros);
}

clf_status clf__window_maker_create(struct clf__window_maker **out, struct clf_device *device, int bands)
{
    CLF__LOCK_DEVICE(device);
    struct clf__window_maker *maker;
    *out = NULL;
    CLF__TRY(clf__allocate(&maker, 1, sizeof *maker));
    clf_status status = create(maker, device, bands);
    if (status != CLF_OK) {
        clf__window_maker_free(maker);
        return status;
    }
    *out = maker;
    return CLF_OK;
}

void clf__window_maker_free(struct clf__window_maker *maker)
{
    if (maker == NULL) {
        return;
    }
    CLF__LOCK_DEVICE(maker->spectrogram.device);
    clf__spectrogram_free(&maker->spectrogram);
    clf__arena_free(&maker->arena);
    clf__free(maker->zeros);
    clf__free(maker);
}

/* Computes unscaled frames. */
static clf_status compute(struct clf__window_maker *maker, struct clf__tensor y,
                          const struct clf__window_samples *samples, int count)
{
    const struct clf__frame_range range = {
        .samples = CLF__CHUNK_SAMPLES, .centre = samples->centre, .frames = count};
    CLF__TRY(clf__tensor_write(clf__tensor_columns(maker->spectrogram.samples, 0, CLF__CHUNK_SAMPLES),
                               samples->samples));
    return clf__spectrogram_compute(&maker->spectrogram, y, &range);
}

clf_status clf__window_maker_measure(float *peak, struct clf__window_maker *maker,
                                     const struct clf__window_samples *samples)
{
    CLF__LOCK_DEVICE(maker->spectrogram.device);
    CLF__TRY(compute(maker, maker->measured, samples, CLF__WINDOW_FRAMES));
    CLF__TRY(clf__spectrogram_read_peaks(&maker->spectrogram, CLF__WINDOW_FRAMES));
    *peak = clf__spectrogram_peak(&maker->spectrogram, 0, CLF__WINDOW_FRAMES);
    return CLF_OK;
}

clf_status clf__window_maker_fill(struct clf__window_maker *maker, struct clf__tensor y,
                                  const struct clf__window_samples *samples, int count, float peak)
{
    CLF__LOCK_DEVICE(maker->spectrogram.device);
    int left = CLF__WINDOW_FRAMES - count;
    if (count > 0) {
        CLF__TRY(compute(maker, y, samples, count));
        CLF__TRY(clf__spectrogram_scale(clf__tensor_rows(y, 0, count), peak));
    }
    return left > 0 ? clf__tensor_write(clf__tensor_rows(y, count, left), maker->zeros) : CLF_OK;
}
