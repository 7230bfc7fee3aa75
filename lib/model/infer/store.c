#include "model/infer/store.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "model/infer/internal.h"
#include "runtime/device/lock.h"

struct clf__store {
    struct clf__arena arena;
    struct clf__tensor *layers; /* (layer_count) per decoder layer: (rows, columns of the memory) */
    int layer_count, rows;
};

static clf_status reserve(struct clf__store *store, const struct clf__session *session)
{
    const struct clf__tensor *memory = session->memory;
    CLF__TRY(clf__allocate(&store->layers, (size_t)store->layer_count, sizeof *store->layers));
    for (int i = 0; i < store->layer_count; i++) {
        CLF__TRY(clf__arena_reserve(&store->arena, &store->layers[i], memory[i].type, store->rows,
                                    memory[i].columns, "keys and values of earlier sources"));
    }
    return clf__arena_allocate(&store->arena);
}

clf_status clf__store_create(struct clf__store **out, const struct clf__session *session, uint64_t bytes,
                             int most_rows)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    struct clf__store *store;
    int layers = session->transformer->decoder.layer_count;
    uint64_t row = 0;
    *out = NULL;
    for (int i = 0; i < layers; i++) {
        row += (uint64_t)session->memory[i].columns * clf__type_bytes(session->memory[i].type);
    }
    int64_t rows = (int64_t)(bytes / row),
            most = clf__min_int(most_rows, INT_MAX / session->memory[0].columns);
    if (rows == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&store, 1, sizeof *store));
    store->layer_count = layers;
    store->rows = (int)clf__min_int64(rows, most);
    clf__arena_init(&store->arena, session->transformer->device);
    clf_status status = reserve(store, session);
    if (status != CLF_OK) {
        clf__store_free(store);
        return status;
    }
    *out = store;
    return CLF_OK;
}

void clf__store_free(struct clf__store *store)
{
    CLF__LOCK_DEVICE(store != NULL ? store->arena.device : NULL);
    if (store == NULL) {
        return;
    }
    clf__arena_free(&store->arena);
    clf__free(store->layers);
    clf__free(store);
}

int clf__store_rows(const struct clf__store *store)
{
    return store->rows;
}

clf_status clf__store_save(struct clf__store *store, int row, const struct clf__session *session, int slot)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    const struct clf__session_slot *source = &session->slots[slot];
    assert(row + source->length <= store->rows);
    for (int i = 0; i < store->layer_count; i++) {
        CLF__TRY(
            clf__tensor_copy_rows(store->layers[i], row, session->memory[i], source->first, source->length));
    }
    return CLF_OK;
}

/* Clears the mask of a slot's rows, if the session has a mask. */
static clf_status show_rows(struct clf__session *session, const struct clf__session_slot *slot)
{
    int32_t *hidden;
    session->placed.count = 0;
    struct clf__tensor view = clf__upload_take(&session->placed, session->source_rows, &hidden);
    memset(hidden + slot->first, 0, (size_t)slot->length * sizeof *hidden);
    int hides = session->transformer->config.mask_pad_tokens && session->frames.buffer == NULL;
    session->hidden_sources = hides ? view : CLF__NO_TENSOR;
    return hides ? clf__upload_send(&session->placed) : CLF_OK;
}

clf_status clf__store_load(const struct clf__store *store, int row, struct clf__session *session, int slot)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    const struct clf__session_slot *target = &session->slots[slot];
    assert(row + target->length <= store->rows);
    CLF__TRY(show_rows(session, target));
    for (int i = 0; i < store->layer_count; i++) {
        CLF__TRY(
            clf__tensor_copy_rows(session->memory[i], target->first, store->layers[i], row, target->length));
    }
    return CLF_OK;
}

int clf__store_takes(const struct clf__session *session, int slot)
{
    const struct clf__session_slot *source = &session->slots[slot];
    const int32_t *hidden = session->placed.staging + source->first; /* the mask comes first */
    for (int i = 0; i < source->length; i++) {
        if (hidden[i] != 0) {
            return 0;
        }
    }
    return 1;
}
