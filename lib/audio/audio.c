/* A recording: a decoded file, samples in memory, or spans of another recording. */
#include <clformer/audio.h>

#include <math.h>
#include <string.h>

#include "audio/decoder.h"
#include "audio/spans.h"
#include "base/memory.h"

struct clf_audio {
    char *name;
    struct clf__decoder *decoder; /* NULL: samples in memory, or spans */
    const float *samples;
    size_t count, next;       /* number of samples in memory; index of the next sample */
    struct clf_audio *source; /* NULL, or the recording that the spans belong to */
    const struct clf__span *spans;
    int span_count, span; /* number of spans; index of the next span to read */
    int64_t at;           /* number of samples of that span that were read */
    int64_t read;         /* number of samples read so far */
};

static clf_status create(struct clf_audio **out, const char *name)
{
    struct clf_audio *audio;
    CLF__TRY(clf__allocate(&audio, 1, sizeof *audio));
    clf_status status = clf__copy_string(&audio->name, name);
    if (status != CLF_OK) {
        clf__free(audio);
        return status;
    }
    *out = audio;
    return CLF_OK;
}

static clf_status open_file(struct clf_audio **out, const char *path, int raw_rate)
{
    *out = NULL;
    struct clf_audio *audio;
    CLF__TRY(create(&audio, strcmp(path, "-") == 0 ? "standard input" : path));
    clf_status status = clf__decoder_open(&audio->decoder, path, audio->name, raw_rate);
    if (status != CLF_OK) {
        clf_audio_free(audio);
        return status;
    }
    *out = audio;
    return CLF_OK;
}

clf_status clf_audio_open(struct clf_audio **out, const char *path)
{
    return open_file(out, path, 0);
}

clf_status clf_audio_open_raw(struct clf_audio **out, const char *path, int rate)
{
    *out = NULL;
    if (rate < CLF__LEAST_RATE || rate > CLF__MOST_RATE) {
        return clf__fail(CLF_BAD_ARGUMENT, "a sample rate of %d Hz is not supported; use %d to %d Hz", rate,
                         CLF__LEAST_RATE, CLF__MOST_RATE);
    }
    return open_file(out, path, rate);
}

clf_status clf_audio_open_samples(struct clf_audio **out, const float *samples, size_t count)
{
    *out = NULL;
    struct clf_audio *audio;
    CLF__TRY(create(&audio, "samples"));
    audio->samples = samples;
    audio->count = count;
    *out = audio;
    return CLF_OK;
}

clf_status clf__audio_open_spans(struct clf_audio **out, struct clf_audio *source,
                                 const struct clf__span *spans, int count)
{
    *out = NULL;
    struct clf_audio *audio;
    CLF__TRY(create(&audio, source->name));
    audio->source = source;
    audio->spans = spans;
    audio->span_count = count;
    *out = audio;
    return CLF_OK;
}

/* Reads samples of a recording starting at `first`; restarts from the beginning if the position is past
 * `first`. */
static clf_status read_from(struct clf_audio *audio, int64_t first, float *samples, size_t wanted,
                            size_t *count)
{
    enum { SKIPPED = 4096 };
    CLF__TRY(first < audio->read ? clf_audio_rewind(audio) : CLF_OK);
    while (audio->read < first) {
        float skipped[SKIPPED];
        size_t left = (size_t)(first - audio->read);
        CLF__TRY(clf_audio_read(skipped, count, audio, left < SKIPPED ? left : SKIPPED));
        if (*count == 0) {
            return CLF_OK;
        }
    }
    return clf_audio_read(samples, count, audio, wanted);
}

/* Reads fewer samples than the spans contain only if the source has become shorter. */
static clf_status read_spans(struct clf_audio *audio, float *samples, size_t wanted, size_t *count)
{
    while (*count < wanted && audio->span < audio->span_count) {
        const struct clf__span *span = &audio->spans[audio->span];
        size_t left = (size_t)(span->end - span->start - audio->at), read = 0;
        size_t most = left < wanted - *count ? left : wanted - *count;
        if (most > 0) {
            CLF__TRY(read_from(audio->source, span->start + audio->at, samples + *count, most, &read));
        }
        *count += read;
        audio->at += (int64_t)read;
        if (read < most || read == left) {
            audio->span++;
            audio->at = 0;
        }
    }
    return CLF_OK;
}

static void read_memory(struct clf_audio *audio, float *samples, size_t wanted, size_t *count)
{
    size_t left = audio->count - audio->next;
    *count = wanted < left ? wanted : left;
    if (*count > 0) {
        memcpy(samples, audio->samples + audio->next, *count * sizeof *samples);
    }
    audio->next += *count;
}

clf_status clf_audio_read(float *samples, size_t *count, struct clf_audio *audio, size_t wanted)
{
    *count = 0;
    if (audio->decoder != NULL) {
        CLF__TRY(clf__decoder_read(audio->decoder, samples, wanted, count));
    } else if (audio->source != NULL) {
        CLF__TRY(read_spans(audio, samples, wanted, count));
    } else {
        read_memory(audio, samples, wanted, count);
    }
    for (size_t i = 0; i < *count; i++) {
        if (!isfinite(samples[i])) {
            return clf__fail(CLF_FORMAT,
                             "%s: the sample at %.2f s is NaN or infinite; record or convert the file again",
                             audio->name, (double)(audio->read + (int64_t)i) / CLF_AUDIO_RATE);
        }
        samples[i] = fminf(fmaxf(samples[i], -1.0F), 1.0F);
    }
    audio->read += (int64_t)*count;
    return CLF_OK;
}

clf_status clf_audio_rewind(struct clf_audio *audio)
{
    audio->next = 0;
    audio->read = 0;
    audio->span = 0;
    audio->at = 0;
    return audio->decoder != NULL ? clf__decoder_rewind(audio->decoder) : CLF_OK;
}

int64_t clf_audio_length(const struct clf_audio *audio)
{
    return audio->decoder != NULL  ? clf__decoder_length(audio->decoder)
           : audio->source != NULL ? clf__spans_length(audio->spans, audio->span_count)
                                   : (int64_t)audio->count;
}

const char *clf_audio_name(const struct clf_audio *audio)
{
    return audio->name;
}

void clf_audio_free(struct clf_audio *audio)
{
    if (audio != NULL) {
        clf__decoder_free(audio->decoder);
        clf__free(audio->name);
        clf__free(audio);
    }
}

int clf_audio_reads_files(void)
{
    return clf__decoder_exists();
}
