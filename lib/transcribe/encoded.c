/* Windows that are encoded once: encoding, copies to and from the host, and the jobs of calls that read them.
 */
#include "transcribe/encoded.h"

#include <math.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "model/config/sides.h"
#include "transcribe/internal.h"

struct clf__window_capacity clf__windows_usual_capacity(const struct clf__config *config)
{
    enum { USUAL_BEAMS = 5, USUAL_BANNED = 128 };
    return (struct clf__window_capacity){
        .search = {.beams = USUAL_BEAMS,
                   .samples = USUAL_BEAMS,
                   .positions = config->decoder_max_positions,
                   .wanted = USUAL_BEAMS,
                   .finished = 2 * USUAL_BEAMS,
                   .banned = USUAL_BANNED + config->decoder_max_positions,
                   .logits = config->target_vocabulary},
        .inputs = clf__min_int(clf__words_most_inputs(config), config->decoder_max_positions),
    };
}

clf_status clf__windows_check_ids(const struct clf_windows *windows, const int32_t *ids, int count,
                                  const char *what, int index)
{
    int vocabulary = clf__windows_config(windows)->target_vocabulary;
    if (count < 0 || (ids == NULL && count > 0)) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s %d: the count is %d, but there is no list", what, index,
                         count);
    }
    for (int i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= vocabulary) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s %d: id %d is outside the vocabulary; use 0 to %d", what,
                             index, (int)ids[i], vocabulary - 1);
        }
    }
    return CLF_OK;
}

/* A call that reads windows. */
struct call {
    struct clf__window *windows; /* (job.count) */
    struct clf_translate_options hooks;
    struct clf__job job;
};

static clf_status run(struct call *call, struct clf_engine *engine)
{
    CLF__TRY(clf__job_run(engine, &call->job));
    for (int i = 0; i < call->job.count; i++) {
        CLF__TRY(clf__failure_again(&call->windows[i].failure));
    }
    return CLF_OK;
}

clf_status clf__windows_run_all(struct clf_windows *windows, const struct clf__window_kind *kind,
                                const struct clf__window_capacity *capacity, int frames, void *contexts,
                                size_t size)
{
    struct call call = {.job = {.count = windows->count}};
    if (clf__service_is_here(windows->engine)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "the windows were used in the callback of a job, which would delay all "
                         "other callbacks; use them on another thread");
    }
    CLF__TRY(clf__engine_fit_windows(windows->engine, capacity));
    CLF__TRY(clf__allocate(&call.windows, (size_t)windows->count, sizeof *call.windows));
    clf_status status = clf__allocate(&call.job.units, (size_t)windows->count, sizeof *call.job.units);
    for (int i = 0; i < windows->count && status == CLF_OK; i++) {
        call.windows[i] = (struct clf__window){.kind = kind,
                                               .capacity = capacity,
                                               .context = (char *)contexts + (size_t)i * size,
                                               .frames = frames,
                                               .encoding = &windows->encodings[i]};
        call.job.units[i].window = &call.windows[i];
        call.job.units[i].cost = CLF__WINDOW_FRAMES;
    }
    call.job.options = &call.hooks;
    status = status == CLF_OK ? run(&call, windows->engine) : status;
    clf__free(call.windows);
    clf__free(call.job.units);
    return status;
}

static clf_status check_count(const char *what, int value, int most)
{
    return value >= 1 && value <= most
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "%s: %d is out of range; use 1 to %d", what, value, most);
}

static clf_status prepare(struct clf_windows *windows, struct clf_engine *engine, const float *values,
                          int count)
{
    enum { MOST_WINDOWS = 1 << 20 };
    if (engine == NULL || values == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, engine == NULL
                                               ? "engine: is NULL; create one with clf_engine_create()"
                                               : "windows: the pointer to the numbers is NULL; pass them");
    }
    windows->engine = engine;
    windows->model = engine->lanes[0].model;
    const struct clf__config *config = clf__windows_config(windows);
    if (!clf__config_hears_windows(config)) {
        return clf__fail(CLF_UNSUPPORTED, "%s: is not a Whisper model; windows need one",
                         windows->model->folder);
    }
    CLF__TRY(check_count("windows", count, MOST_WINDOWS));
    CLF__TRY(clf__speech_tokens_find(&windows->tokens, windows->model->tokenizer, windows->model->folder));
    CLF__TRY(clf__allocate(&windows->encodings, (size_t)count, sizeof *windows->encodings));
    windows->count = count;
    windows->width = config->d_model;
    return CLF_OK;
}

/* Adds the windows to the engine's users, or frees them after a failure. */
static clf_status finish(struct clf_windows **out, struct clf_windows *windows, clf_status status)
{
    if (status == CLF_OK) {
        *out = windows;
        return CLF_OK;
    }
    clf_windows_free(windows);
    return status;
}

static clf_status create(struct clf_windows **out, struct clf_engine *engine, const float *values, int count)
{
    struct clf_windows *windows;
    CLF__TRY(clf__allocate(&windows, 1, sizeof *windows));
    clf_status status = prepare(windows, engine, values, count);
    if (status != CLF_OK) {
        clf__free(windows->encodings);
        clf__free(windows);
        return status;
    }
    clf__engine_join(engine);
    *out = windows;
    return CLF_OK;
}

/* The features of a window. */
struct features {
    const float *values; /* (bands, frames) */
    int bands, frames;
};

static clf_status load(void *context, struct clf__window_maker *maker, struct clf__tensor frames)
{
    const struct features *features = context;
    float *turned;
    (void)maker;
    size_t bands = (size_t)features->bands, count = (size_t)features->frames;
    CLF__TRY(clf__allocate(&turned, bands * count, sizeof *turned));
    for (size_t t = 0; t < count; t++) {
        for (size_t band = 0; band < bands; band++) {
            turned[t * bands + band] = features->values[band * count + t];
        }
    }
    clf_status status = clf__tensor_write(frames, turned);
    clf__free(turned);
    return status;
}

static const struct clf__window_kind encoding = {.load = load};

static clf_status encode(struct clf_windows *windows, const float *features, int bands, int frames)
{
    struct features *each;
    struct clf__window_capacity capacity = clf__windows_usual_capacity(clf__windows_config(windows));
    CLF__TRY(clf__allocate(&each, (size_t)windows->count, sizeof *each));
    for (int i = 0; i < windows->count; i++) {
        each[i] = (struct features){features + (size_t)i * (size_t)bands * (size_t)frames, bands, frames};
    }
    clf_status status = clf__windows_run_all(windows, &encoding, &capacity, frames, each, sizeof *each);
    clf__free(each);
    windows->positions = status == CLF_OK ? windows->encodings[0].rows.rows : 0;
    return status;
}

clf_status clf_windows_encode(struct clf_windows **out, struct clf_engine *engine, const float *features,
                              int count, int bands, int frames)
{
    struct clf_windows *windows;
    *out = NULL;
    CLF__TRY(create(&windows, engine, features, count));
    int needed = clf__windows_config(windows)->feature_size;
    clf_status status = check_count("frames", frames, CLF__WINDOW_FRAMES);
    if (status == CLF_OK && bands != needed) {
        status =
            clf__fail(CLF_BAD_ARGUMENT, "features: have %d mel bands, but the model needs %d", bands, needed);
    }
    return finish(out, windows, status == CLF_OK ? encode(windows, features, bands, frames) : status);
}

/* Returns the device of the first lane whose device works. */
static struct clf_device *choose_device(struct clf_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    int i = 0;
    while (i < engine->count - 1 && engine->lanes[i].is_lost) {
        i++;
    }
    struct clf_device *device = engine->lanes[i].model->transformer->device;
    pthread_mutex_unlock(&engine->lock);
    return device;
}

static clf_status copy_rows(struct clf_windows *windows, const float *encoded, int positions)
{
    struct clf_device *device = choose_device(windows->engine);
    size_t each = (size_t)positions * (size_t)windows->width;
    windows->positions = positions;
    for (int i = 0; i < windows->count; i++) {
        CLF__TRY(clf__encoding_write(&windows->encodings[i], device, encoded + (size_t)i * each, positions,
                                     windows->width));
    }
    return CLF_OK;
}

clf_status clf_windows_from_host(struct clf_windows **out, struct clf_engine *engine, const float *encoded,
                                 int count, int positions, int width)
{
    enum { FRAMES_A_POSITION = 2 };
    struct clf_windows *windows;
    *out = NULL;
    CLF__TRY(create(&windows, engine, encoded, count));
    clf_status status = check_count("positions", positions, CLF__WINDOW_FRAMES / FRAMES_A_POSITION);
    if (status == CLF_OK && width != windows->width) {
        status = clf__fail(CLF_BAD_ARGUMENT, "encoded windows: have width %d, but the model needs %d", width,
                           windows->width);
    }
    return finish(out, windows, status == CLF_OK ? copy_rows(windows, encoded, positions) : status);
}

void clf_windows_shape(int *count, int *positions, int *width, const struct clf_windows *windows)
{
    *count = windows->count;
    *positions = windows->positions;
    *width = windows->width;
}

clf_status clf_windows_read(float *encoded, const struct clf_windows *windows)
{
    size_t each = (size_t)windows->positions * (size_t)windows->width;
    for (int i = 0; i < windows->count; i++) {
        CLF__TRY(clf__encoding_read(&windows->encodings[i], encoded + (size_t)i * each));
    }
    return CLF_OK;
}

void clf_windows_free(struct clf_windows *windows)
{
    if (windows == NULL) {
        return;
    }
    for (int i = 0; i < windows->count; i++) {
        clf__encoding_free(&windows->encodings[i]);
    }
    clf__engine_leave(windows->engine, 0);
    clf__free(windows->encodings);
    clf__free(windows);
}
