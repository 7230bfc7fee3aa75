#include "audio/spans.h"

#include <math.h>

#include <clformer/audio.h>

#include "base/memory.h"

clf_status clf__spans_add(struct clf__spans *spans, struct clf__span span)
{
    CLF__TRY(clf__grow(&spans->data, spans->count, &spans->capacity, sizeof *spans->data));
    spans->data[spans->count++] = span;
    return CLF_OK;
}

void clf__spans_free(struct clf__spans *spans)
{
    clf__free(spans->data);
    *spans = (struct clf__spans){0};
}

int64_t clf__spans_length(const struct clf__span *spans, int count)
{
    int64_t length = 0;
    for (int i = 0; i < count; i++) {
        length += spans[i].end - spans[i].start;
    }
    return length;
}

int clf__spans_find(const struct clf__span *spans, int count, double seconds, int is_end)
{
    int64_t sample = llrint(seconds * CLF_AUDIO_RATE) - (is_end != 0), end = 0;
    for (int i = 0; i < count - 1; i++) {
        end += spans[i].end - spans[i].start;
        if (sample < end) {
            return i;
        }
    }
    return count - 1;
}

double clf__spans_time(const struct clf__span *spans, int index, double seconds)
{
    int64_t skipped = spans[index].start - clf__spans_length(spans, index);
    return rint((seconds + (double)skipped / CLF_AUDIO_RATE) * 100.0) / 100.0;
}
