#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "model/config/sides.h"
#include "model/infer/internal.h"
#include "runtime/device/lock.h"

struct target_views {
    struct clf__sequence_views inputs;
    struct clf__sequence_ranges cross;
};

static clf_status upload_targets(struct clf__session *session, struct target_views *views,
                                 const struct clf__sequences *inputs, const int *slot)
{
    struct clf__upload *upload = &session->target;
    int longest_source = 0;
    int32_t *cross;
    upload->count = 0;
    clf__upload_take_sequences(&views->inputs, upload, &session->transformer->config, inputs, CLF__DECODER);
    views->cross = clf__upload_take_ranges(upload, inputs->count, &cross);
    for (int b = 0; b < inputs->count; b++) {
        int first = inputs->first[b], length = inputs->first[b + 1] - first;
        const struct clf__session_slot *source = &session->slots[slot != NULL ? *slot : b];
        memcpy(cross + 4 * b, (int32_t[4]){first, length, source->first, source->length}, 4 * sizeof *cross);
        longest_source = source->length > longest_source ? source->length : longest_source;
    }
    views->cross.max_queries = views->inputs.ranges.max_queries;
    views->cross.max_keys = longest_source;
    clf__ranges_count(&views->cross, cross, 0);
    return clf__upload_send(upload);
}

clf_status clf__session_force(struct clf__session *session, const struct clf__sequences *inputs,
                              const int *slot, const struct clf__decoder_maps *maps)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    int rows = inputs->first[inputs->count];
    assert(inputs->count == (slot != NULL ? 1 : session->occupied_count) &&
           rows <= session->limits.target_tokens);
    session->target_rows = rows;
    int longest = 0;
    for (int i = 0; i < inputs->count; i++) {
        longest = clf__max_int(longest, inputs->first[i + 1] - inputs->first[i]);
    }
    CLF__TRY(clf__session_ensure_positions(session, 0, longest));
    struct target_views views;
    CLF__TRY(upload_targets(session, &views, inputs, slot));
    struct clf__tensor x = clf__tensor_rows(session->workspace.x, 0, rows);
    const struct clf__front_end_input input = {.ids = views.inputs.ids};
    CLF__TRY(clf__embedder_forward(x, &decoder->embedder, &input, views.inputs.positions));
    struct clf__heads heads = clf__config_heads(&session->transformer->config, CLF__DECODER);
    struct clf__attention_call self = {
        .heads = heads,
        .ranges = views.inputs.ranges,
        .mask = {.causal = 1,
                 .hidden_keys = views.inputs.hidden,
                 .relative = decoder->embedder.relative.table},
        .scratch = &session->scratch,
    };
    struct clf__attention_call cross = clf__session_cross(session, views.cross);
    if (maps != NULL) {
        int keys = session->slots[slot != NULL ? *slot : 0].length;
        cross.maps = clf__tensor_packed(session->maps[1], heads.count * rows, keys);
    }
    if (maps != NULL && maps->self != NULL) {
        self.maps = clf__tensor_packed(session->maps[0], heads.count * rows, rows);
    }
    struct clf__layer_call call = {.self_call = &self, .cross_call = &cross};
    return clf__session_run_decoder(session, rows, &call, maps);
}

clf_status clf__session_teacher_force(struct clf__session *session, const struct clf__sequences *inputs)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    return clf__session_force(session, inputs, NULL, NULL);
}

clf_status clf__session_logits(struct clf__session *session, int first, int count, float *target)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    assert(session->limits.logits && first >= 0 && first + count <= session->target_rows);
    struct clf__projection projection = clf__session_projection(session);
    struct clf__tensor logits;
    for (int done = 0; done < count; done += session->projection.rows) {
        int chunk = count - done < session->projection.rows ? count - done : session->projection.rows;
        CLF__TRY(clf__projection_logits(&logits, clf__tensor_rows(session->workspace.x, first + done, chunk),
                                        &projection, &session->projection));
        CLF__TRY(clf__tensor_read(logits, target + (size_t)done * (size_t)logits.columns));
    }
    return CLF_OK;
}

clf_status clf__session_pick(struct clf__session *session, const int32_t *labels, float *log_probabilities)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    int rows = session->target_rows;
    struct clf__upload *upload = &session->target;
    int32_t *staged;
    upload->count = 0;
    struct clf__tensor targets = clf__upload_take(upload, rows, &staged);
    memcpy(staged, labels, (size_t)rows * sizeof *staged);
    CLF__TRY(clf__upload_send(upload));
    struct clf__projection projection = clf__session_projection(session);
    struct clf__tensor picked = clf__tensor_columns(session->results, 0, rows);
    CLF__TRY(clf__projection_pick(picked, clf__tensor_rows(session->workspace.x, 0, rows), &projection,
                                  targets, &session->projection));
    return clf__tensor_read(picked, log_probabilities);
}

clf_status clf__session_attend_source(struct clf__session *session, const struct clf__sequences *source,
                                      const struct clf__session_maps *maps)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    assert(session->limits.maps && source->count == 1);
    CLF__TRY(clf__session_encode_maps(session, source, maps->encoder));
    return clf__session_cache_all(session);
}

clf_status clf__session_attend_target(struct clf__session *session, const struct clf__sequences *inputs,
                                      const struct clf__session_maps *maps)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    assert(session->limits.maps && inputs->count == 1);
    struct clf__heads heads = clf__config_heads(&session->transformer->config, CLF__DECODER);
    size_t targets = (size_t)inputs->first[1], sources = (size_t)session->slots[0].length;
    struct clf__decoder_maps decoder_maps = {
        .self = maps->decoder,
        .self_stride = (size_t)heads.count * targets * targets,
        .cross = maps->cross,
        .cross_stride = (size_t)heads.count * targets * sources,
    };
    return clf__session_force(session, inputs, NULL, &decoder_maps);
}
