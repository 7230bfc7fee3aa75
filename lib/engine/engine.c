#include "engine/engine.h"

#include <limits.h>

#include "audio/frames.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "base/task.h"
#include "engine/internal.h"
#include "model/config/sides.h"
#include "runtime/device/buffer.h"

/* Chooses the size of a lane's cache. A model in training changes between calls. */
static void size_cache(struct clf__cache *cache, const struct clf_engine *engine,
                       const struct clf_model *model)
{
    enum { SHARE = 64, MOST_BYTES = 64 << 20, MOST_ROWS = 4096 }; /* as clf_engine_options documents */
    int64_t share = (int64_t)(clf__device_free_bytes(model->transformer->device) / SHARE);
    int is_chosen = engine->cache_bytes != 0;
    cache->bytes = is_chosen ? engine->cache_bytes : clf__min_int64(share, MOST_BYTES);
    cache->bytes = model->is_borrowed ? 0 : cache->bytes;
    cache->rows = is_chosen ? INT_MAX : MOST_ROWS;
}

static clf_status fill(struct clf_engine *engine, struct clf_model *const *models, int count)
{
    for (int i = 0; i < count; i++) {
        if (models[i] != NULL) {
            struct clf__lane *lane = &engine->lanes[engine->count++];
            lane->engine = engine;
            lane->model = models[i];
            lane->times.size = sizeof lane->times;
            size_cache(&lane->cache, engine, models[i]);
            clf__lane_show(lane);
        }
    }
    for (int i = 0; i < engine->count && engine->count > 1; i++) {
        engine->lanes[i].is_lost = engine->lanes[i].model->is_lost;
    }
    engine->is_threaded = engine->count > 1;
    const struct clf_model *first = engine->lanes[0].model;
    const struct clf__config *config = &first->transformer->config;
    return config->feature_size > 0
               ? clf__frame_maker_create(&engine->frame_maker, first->transformer->device,
                                         clf__frame_layout_of(config))
               : CLF_OK;
}

clf_status clf__engine_create(struct clf_engine **out, struct clf_model *const *models, int count,
                              int batch_tokens, int64_t cache_bytes)
{
    struct clf_engine *engine;
    *out = NULL;
    CLF__TRY(clf__allocate(&engine, 1, sizeof *engine));
    engine->batch_tokens = batch_tokens;
    engine->cache_bytes = cache_bytes;
    engine->own_times.size = sizeof engine->own_times;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->frames_lock, NULL);
    clf__condition_init(&engine->work);
    clf__condition_init(&engine->service.news);
    clf__condition_init(&engine->threads_ended);
    clf_status status = clf__allocate(&engine->lanes, (size_t)count, sizeof *engine->lanes);
    if (status == CLF_OK) {
        status = clf__allocate(&engine->tasks, (size_t)count, sizeof *engine->tasks);
    }
    if (status == CLF_OK) {
        status = fill(engine, models, count);
    }
    if (status != CLF_OK) {
        clf__engine_free(engine);
        return status;
    }
    *out = engine;
    return CLF_OK;
}

void clf__engine_join(struct clf_engine *engine)
{
    atomic_fetch_add(&engine->sharers, 1);
}

void clf__engine_leave(struct clf_engine *engine, int owns)
{
    if (owns) {
        clf__engine_free(engine);
    } else if (engine != NULL) {
        atomic_fetch_sub(&engine->sharers, 1);
    }
}

void clf__engine_free(struct clf_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    pthread_mutex_lock(&engine->lock);
    engine->stops = 1;
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->service.news);
    while (engine->threads > 0) {
        pthread_cond_wait(&engine->threads_ended, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
    clf__task_wait(&engine->service.task);
    for (int i = 0; i < engine->count; i++) {
        clf__task_wait(&engine->tasks[i]);
        clf__lane_free(&engine->lanes[i]);
    }
    clf__queue_end(engine);
    clf__frame_maker_free(engine->frame_maker);
    clf__free(engine->lanes);
    clf__free(engine->tasks);
    pthread_cond_destroy(&engine->work);
    pthread_cond_destroy(&engine->service.news);
    pthread_cond_destroy(&engine->threads_ended);
    pthread_mutex_destroy(&engine->frames_lock);
    pthread_mutex_destroy(&engine->lock);
    clf__free(engine);
}

clf_status clf__engine_fit(struct clf_engine *engine, const struct clf__capacity *capacity)
{
    clf_status status = CLF_OK;
    pthread_mutex_lock(&engine->lock);
    for (int i = 0; i < engine->count && status == CLF_OK; i++) {
        struct clf__lane *lane = &engine->lanes[i];
        if (lane->view.max_lines == 0 && !lane->is_lost) {
            status = clf__lane_fit(lane, capacity, engine->batch_tokens);
            clf__lane_show(lane);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

clf_status clf__engine_fit_windows(struct clf_engine *engine, const struct clf__window_capacity *capacity)
{
    clf_status status = CLF_OK;
    pthread_mutex_lock(&engine->lock);
    for (int i = 0; i < engine->count && status == CLF_OK; i++) {
        struct clf__lane *lane = &engine->lanes[i];
        if (!lane->has_windows && !lane->is_lost) {
            status = clf__windows_fit(lane, capacity, engine->batch_windows);
            lane->has_windows = status == CLF_OK;
            clf__lane_show(lane);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

int clf__engine_windows(struct clf_engine *engine)
{
    int windows = 0;
    pthread_mutex_lock(&engine->lock);
    for (int i = 0; i < engine->count; i++) {
        windows += engine->lanes[i].is_lost ? 0 : engine->lanes[i].view.windows;
    }
    pthread_mutex_unlock(&engine->lock);
    return windows;
}

struct clf__lane_view clf__engine_batch(struct clf_engine *engine)
{
    struct clf__lane_view least = {.max_lines = INT_MAX, .batch_tokens = INT_MAX};
    pthread_mutex_lock(&engine->lock);
    for (int i = 0; i < engine->count; i++) {
        const struct clf__lane_view *view = &engine->lanes[i].view;
        if (!engine->lanes[i].is_lost) {
            least.max_lines = clf__min_int(least.max_lines, view->max_lines);
            least.batch_tokens = clf__min_int(least.batch_tokens, view->batch_tokens);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return least;
}

int clf__engine_working(const struct clf_engine *engine)
{
    int working = 0;
    for (int i = 0; i < engine->count; i++) {
        working += !engine->lanes[i].is_lost;
    }
    return working;
}

void clf__engine_add_times(struct clf_engine *engine, const struct clf_stage_times *times)
{
    pthread_mutex_lock(&engine->lock);
    clf__times_add(&engine->own_times, times);
    pthread_mutex_unlock(&engine->lock);
}

void clf__engine_copy_times(struct clf_engine *engine, struct clf_stage_times *out)
{
    pthread_mutex_lock(&engine->lock);
    *out = engine->own_times;
    for (int i = 0; i < engine->count; i++) {
        clf__times_add(out, &engine->lanes[i].view.times);
    }
    pthread_mutex_unlock(&engine->lock);
}
