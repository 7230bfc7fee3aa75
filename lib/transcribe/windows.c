/* Reads a recording window by window. */
#include <string.h>

#include "base/memory.h"
#include "transcribe/internal.h"

clf_status clf__audio_windows_begin(struct clf__audio_windows *windows, struct clf_audio *audio)
{
    if (windows->samples == NULL) {
        CLF__TRY(clf__allocate(&windows->samples, CLF__CHUNK_SAMPLES, sizeof *windows->samples));
    }
    windows->audio = audio;
    windows->first = 0;
    windows->count = 0;
    windows->ended = 0;
    return clf_audio_rewind(audio);
}

/* Fills the buffer with the samples starting at `first`, and with zeros after the end of the recording. */
static clf_status hold(struct clf__audio_windows *windows, int64_t first)
{
    float *samples = windows->samples;
    int64_t spent = first - windows->first;
    if (spent < 0) {
        CLF__TRY(clf__audio_windows_begin(windows, windows->audio));
        spent = first;
    }
    while (spent > 0 || windows->count < CLF__CHUNK_SAMPLES) {
        int gone = spent < windows->count ? (int)spent : windows->count;
        size_t read = 0;
        windows->count -= gone;
        windows->first += gone;
        spent -= gone;
        memmove(samples, samples + gone, (size_t)windows->count * sizeof *samples);
        float *end = samples + windows->count;
        size_t room = (size_t)(CLF__CHUNK_SAMPLES - windows->count);
        if (!windows->ended) {
            CLF__TRY(clf_audio_read(end, &read, windows->audio, room));
            windows->ended = read < room;
            windows->total = windows->first + windows->count + (int64_t)read;
        }
        memset(end + read, 0, (room - read) * sizeof *end);
        windows->count = CLF__CHUNK_SAMPLES;
    }
    return CLF_OK;
}

clf_status clf__audio_windows_read(struct clf__window_samples *out, struct clf__audio_windows *windows,
                                   int64_t first)
{
    int64_t middle = first * CLF__FRAME_SAMPLES;
    int64_t from = middle > CLF__FRAME_CONTEXT ? middle - CLF__FRAME_CONTEXT : 0;
    CLF__TRY(hold(windows, from));
    *out = (struct clf__window_samples){.samples = windows->samples, .centre = (int)(middle - from)};
    return CLF_OK;
}

int clf__audio_windows_has(const struct clf__audio_windows *windows, int64_t first)
{
    return !windows->ended || first < clf__frames_of(windows->total); /* they may overlap the recording */
}

clf_status clf__audio_windows_end_measure(struct clf__audio_windows *windows)
{
    windows->frames = windows->total / CLF__FRAME_SAMPLES;
    return clf__audio_windows_begin(windows, windows->audio);
}
