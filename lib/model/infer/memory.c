#include <assert.h>
#include <string.h>

#include "math/ops/cache.h"
#include "model/infer/internal.h"
#include "runtime/device/buffer.h"
#include "runtime/device/lock.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"

/* Returns the row after the last row of a slot. */
static int end_of(const struct clf__session *session, int slot)
{
    return session->slots[slot].first + session->slots[slot].reserved;
}

static int reserve_rows(struct clf__session *session, int slot, int length)
{
    assert(slot >= 0 && slot < session->limits.sources && length >= 0);
    assert(session->slots[slot].first < 0);
    int first = 0, at = 0;
    for (; at < session->occupied_count; at++) {
        if (session->slots[session->occupied[at]].first - first >= length) {
            break;
        }
        first = end_of(session, session->occupied[at]);
    }
    if (session->source_rows - first < length) {
        return 0;
    }
    memmove(session->occupied + at + 1, session->occupied + at,
            (size_t)(session->occupied_count - at) * sizeof *session->occupied);
    session->occupied[at] = slot;
    session->occupied_count++;
    session->slots[slot] = (struct clf__session_slot){.first = first, .length = length, .reserved = length};
    return 1;
}

int clf__session_reserve(struct clf__session *session, int slot, int length)
{
    return reserve_rows(session, slot, clf__session_source_rows(session, length));
}

void clf__session_shorten(struct clf__session *session, int slot, int rows)
{
    assert(rows > 0 && rows <= session->slots[slot].reserved);
    session->slots[slot].length = rows;
}

int clf__session_slot_rows(const struct clf__session *session, int slot)
{
    return session->slots[slot].length;
}

void clf__session_release(struct clf__session *session, int slot)
{
    int at = 0;
    while (session->occupied[at] != slot) {
        at++;
        assert(at < session->occupied_count);
    }
    session->occupied_count--;
    memmove(session->occupied + at, session->occupied + at + 1,
            (size_t)(session->occupied_count - at) * sizeof *session->occupied);
    session->slots[slot].first = -1;
}

void clf__session_release_all(struct clf__session *session)
{
    while (session->occupied_count > 0) {
        session->slots[session->occupied[--session->occupied_count]].first = -1;
    }
}

/* Where encoded rows are stored on the device. */
struct memory_views {
    struct clf__tensor rows;
    int first;         /* row of the first source in the memory */
    int is_contiguous; /* the other sources follow without gaps */
};

static clf_status upload_memory(struct clf__session *session, struct memory_views *views, const int *slots)
{
    struct clf__upload *upload = &session->placed;
    int count = session->source_first[session->sources];
    int32_t *hidden, *rows;
    upload->count = 0;
    /* The host buffer keeps every row's flag between batches. */
    struct clf__tensor hidden_view = clf__upload_take(upload, session->source_rows, &hidden);
    views->rows = clf__upload_take(upload, count, &rows);
    views->is_contiguous = 1;
    for (int b = 0; b < session->sources; b++) {
        const struct clf__session_slot *slot = &session->slots[slots[b]];
        int first = session->source_first[b];
        assert(slot->length == session->source_first[b + 1] - first);
        for (int i = 0; i < slot->length; i++) {
            rows[first + i] = slot->first + i;
            hidden[slot->first + i] = session->encoded_hidden[first + i];
        }
        views->is_contiguous &= slot->first == rows[0] + first;
    }
    views->first = rows[0];
    int hides = session->transformer->config.mask_pad_tokens && session->frames.buffer == NULL;
    session->hidden_sources = hides ? hidden_view : CLF__NO_TENSOR;
    return clf__upload_send(upload);
}

clf_status clf__session_cache(struct clf__session *session, const int *slots)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    const struct clf__stack *decoder = &session->transformer->decoder;
    struct clf__tensor x = clf__tensor_rows(clf__workspace_operand(&session->workspace), 0,
                                            session->source_first[session->sources]);
    struct memory_views views;
    CLF__TRY(upload_memory(session, &views, slots));
    for (int i = 0; i < decoder->layer_count; i++) {
        struct clf__tensor memory = session->memory[i];
        /* Use one GEMM for all rows even if they are not contiguous in the memory, because a GEMM per source
         * would read the weights several times. */
        int is_in_place = views.is_contiguous && memory.type == CLF__F32;
        struct clf__tensor y =
            is_in_place ? clf__tensor_rows(memory, views.first, x.rows)
                        : clf__tensor_columns(clf__tensor_rows(session->workspace.projected, 0, x.rows), 0,
                                              memory.columns);
        CLF__TRY(clf__linear_forward(y, x, &decoder->layers[i].cross_attention.memory, CLF__IDENTITY,
                                     CLF__NO_TENSOR));
        if (!is_in_place) {
            CLF__TRY(clf__cache_place(memory, y, views.rows));
        }
    }
    return clf__device_finish_stage(session->transformer->device);
}

clf_status clf__session_cache_all(struct clf__session *session)
{
    clf__session_release_all(session);
    for (int b = 0; b < session->sources; b++) {
        session->slot_numbers[b] = b;
        int length = session->source_first[b + 1] - session->source_first[b];
        int is_reserved = reserve_rows(session, b, length);
        assert(is_reserved);
        (void)is_reserved;
    }
    return clf__session_cache(session, session->slot_numbers);
}

clf_status clf__session_start(struct clf__session *session, const struct clf__sequences *sources)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    CLF__TRY(clf__session_encode(session, sources));
    return clf__session_cache_all(session);
}
