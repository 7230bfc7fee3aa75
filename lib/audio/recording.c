#include <string.h>

#include <clformer/audio.h>

#include "audio/frames.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "math/ops/log_mel.h"
#include "model/config/types.h"

clf_status clf__frames_are_stored(int *out, const char *path)
{
    static const char magic[] = "\x93NUMPY", ending[] = ".npy";
    enum { MAGIC = sizeof magic - 1, ENDING = sizeof ending - 1 };
    struct clf__file file;
    char bytes[MAGIC];
    size_t length = strlen(path);
    clf_status status = CLF_OK;
    CLF__TRY(clf__file_open(&file, path));
    *out = length >= ENDING && strcmp(path + length - ENDING, ending) == 0;
    if (!*out && file.size >= MAGIC) {
        status = clf__file_read_at(&file, 0, bytes, MAGIC);
        *out = status == CLF_OK && memcmp(bytes, magic, MAGIC) == 0;
    }
    clf__file_close(&file);
    return status;
}

struct clf__frame_layout clf__frame_layout_of(const struct clf__config *config)
{
    return (struct clf__frame_layout){.bands = config->feature_size / config->frame_stack,
                                      .stack = config->frame_stack,
                                      .step = config->frame_step};
}

static clf_status read_samples(struct clf__recording *recording, struct clf_audio *audio, int most, int step)
{
    enum { FIRST = 1 << 16 };
    int capacity = 0;
    size_t read = 0;
    do {
        if (recording->count == capacity) {
            int room = capacity < most / 2 ? clf__max_int(2 * capacity, FIRST) : most;
            capacity = room < most ? room : most;
            CLF__TRY(clf__resize(&recording->samples, (size_t)capacity, sizeof *recording->samples));
        }
        size_t wanted = (size_t)(capacity - recording->count);
        CLF__TRY(clf_audio_read(recording->samples + recording->count, &read, audio, wanted));
        recording->count += (int)read;
    } while (recording->count == capacity && capacity < most);
    int64_t there = clf__max_int64(recording->count, recording->count == most ? clf_audio_length(audio) : 0);
    int64_t frames = there / CLF__LOG_MEL_HOP;
    recording->rows = (frames + step - 1) / step;
    return CLF_OK;
}

clf_status clf__recording_read(struct clf__recording *out, const struct clf__frame_layout *layout,
                               const char *path, int most_rows)
{
    struct clf_audio *audio;
    *out = (struct clf__recording){.samples = NULL};
    CLF__TRY(clf_audio_open(&audio, path));
    /* One frame more than the last row needs, so that a longer recording is detected. */
    int64_t frames = (int64_t)most_rows * layout->step + layout->stack;
    int most = frames < INT32_MAX / CLF__LOG_MEL_HOP ? (int)frames * CLF__LOG_MEL_HOP : INT32_MAX;
    clf_status status = read_samples(out, audio, most, layout->step);
    clf_audio_free(audio);
    if (status != CLF_OK) {
        clf__recording_free(out);
    }
    return status;
}

void clf__recording_free(struct clf__recording *recording)
{
    clf__free(recording->samples);
    *recording = (struct clf__recording){.samples = NULL};
}
