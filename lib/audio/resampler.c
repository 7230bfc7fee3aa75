#include "audio/resampler.h"

#include <string.h>

#include <clformer/audio.h>

#include "base/memory.h"
#include "base/minmax.h"

#ifdef CLF_HAS_AUDIO

#include <soxr.h>

struct clf__resampler {
    soxr_t soxr;
    const char *name;
};

static clf_status fail(const char *name, soxr_error_t error)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "%s: the samples cannot be resampled: %s", name, error);
}

static clf_status create(struct clf__resampler *resampler, int rate)
{
    soxr_error_t error = NULL;
    resampler->soxr = soxr_create(rate, CLF_AUDIO_RATE, 1, &error, NULL, NULL, NULL);
    return error == NULL ? CLF_OK : fail(resampler->name, error);
}

void clf__resampler_free(struct clf__resampler *resampler)
{
    if (resampler != NULL) {
        soxr_delete(resampler->soxr);
        clf__free(resampler);
    }
}

static clf_status run(const struct clf__resampler *resampler, const float *from, size_t have, size_t *used,
                      float *to, size_t room, size_t *count)
{
    soxr_error_t error = soxr_process(resampler->soxr, have > 0 ? from : NULL, have, used, to, room, count);
    return error == NULL ? CLF_OK : fail(resampler->name, error);
}

#else

struct clf__resampler {
    const char *name;
};

static clf_status create(struct clf__resampler *resampler, int rate)
{
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: has %d samples per second, but clformer was built without libsndfile and soxr, "
                     "which resample; record at %d Hz",
                     resampler->name, rate, CLF_AUDIO_RATE);
}

void clf__resampler_free(struct clf__resampler *resampler)
{
    clf__free(resampler);
}

static clf_status run(const struct clf__resampler *resampler, const float *from, size_t have, size_t *used,
                      float *to, size_t room, size_t *count)
{
    (void)resampler;
    (void)from;
    (void)to;
    (void)room;
    *used = have;
    *count = 0;
    return CLF_OK;
}

#endif

clf_status clf__resampler_create(struct clf__resampler **out, int rate, const char *name)
{
    struct clf__resampler *resampler;
    *out = NULL;
    if (rate == CLF_AUDIO_RATE) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&resampler, 1, sizeof *resampler));
    resampler->name = name;
    clf_status status = create(resampler, rate);
    if (status != CLF_OK) {
        clf__free(resampler);
        return status;
    }
    *out = resampler;
    return CLF_OK;
}

clf_status clf__resampler_run(struct clf__resampler *resampler, const float *from, size_t have, size_t *used,
                              float *to, size_t room, size_t *count)
{
    *used = 0;
    if (resampler != NULL) {
        return run(resampler, from, have, used, to, room, count);
    }
    *count = *used = clf__min_size(have, room);
    if (*count > 0) {
        memcpy(to, from, *count * sizeof *to);
    }
    return CLF_OK;
}
