#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "model/config/sides.h"
#include "model/infer/internal.h"
#include "runtime/device/buffer.h"
#include "runtime/device/lock.h"
#include "runtime/device/queue.h"

static clf_status upload_sources(struct clf__session *session, struct clf__sequence_views *views,
                                 struct clf__global_blocks *blocks, const struct clf__sequences *sources)
{
    struct clf__upload *upload = &session->source;
    const struct clf__sequences rows = {
        .count = sources->count, .first = session->source_first, .ids = sources->ids};
    upload->count = 0;
    clf__upload_take_sequences(views, upload, &session->transformer->config, &rows, CLF__ENCODER);
    clf__global_blocks_take(blocks, session);
    session->encoded_hidden = views->host_hidden;
    if (sources->frames != NULL) {
        int frames = sources->first[sources->count];
        CLF__TRY(clf__tensor_write(clf__tensor_rows(session->frames, 0, frames), sources->frames));
    }
    return clf__upload_send(upload);
}

clf_status clf__session_encode_maps(struct clf__session *session, const struct clf__sequences *sources,
                                    float *maps)
{
    const struct clf__stack *encoder = &session->transformer->encoder;
    int given = sources->first[sources->count];
    assert(sources->count <= session->limits.sources && given <= session->limits.source_tokens);
    int longest = 0;
    session->sources = sources->count;
    for (int b = 0; b < sources->count; b++) {
        int length = encoder->embedder.front_end.kind->rows(sources->first[b + 1] - sources->first[b]);
        session->source_first[b + 1] = session->source_first[b] + length;
        longest = clf__max_int(longest, length);
    }
    CLF__TRY(clf__session_ensure_positions(session, longest, 0));
    int rows = session->source_first[session->sources];
    struct clf__sequence_views views;
    struct clf__global_blocks blocks;
    CLF__TRY(upload_sources(session, &views, &blocks, sources));
    struct clf__workspace workspace = clf__workspace_rows(&session->workspace, rows);
    struct clf__front_end_input input = {.ids = views.ids};
    if (session->frames.buffer != NULL) {
        input.frames = clf__tensor_rows(session->frames, 0, given);
        input.count = sources->count;
        input.first = sources->first;
        input.scratch = session->front_scratch;
    }
    CLF__TRY(clf__embedder_forward(workspace.x, &encoder->embedder, &input, views.positions));
    struct clf__attention_call call = {
        .heads = clf__config_heads(&session->transformer->config, CLF__ENCODER),
        .ranges = views.ranges,
        .mask = {.hidden_keys = views.hidden, .relative = encoder->embedder.relative.table},
        .scratch = &session->scratch,
        .blocks = &blocks,
    };
    int gives_maps = encoder->layers[0].mixer.kind->gives_maps;
    if (maps != NULL && gives_maps) {
        call.maps = clf__tensor_packed(session->maps[0], call.heads.count * rows, rows);
    }
    int norm_first = session->transformer->config.norm_first;
    if (!norm_first) {
        CLF__TRY(clf__workspace_round(&workspace));
    }
    const struct clf__layer_call layer_call = {.self_call = &call};
    size_t layer_maps = (size_t)call.heads.count * (size_t)rows * (size_t)rows;
    for (int i = 0; i < encoder->layer_count; i++) {
        CLF__TRY(clf__layer_forward(&encoder->layers[i], &workspace, &layer_call));
        if (maps != NULL && gives_maps) {
            CLF__TRY(clf__tensor_read(call.maps, maps + (size_t)i * layer_maps));
        } else if (maps != NULL) {
            memset(maps + (size_t)i * layer_maps, 0, layer_maps * sizeof *maps);
        }
    }
    if (encoder->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_forward_rounded(workspace.x, workspace.rounded, workspace.x, &encoder->norm));
    } else if (norm_first) {
        CLF__TRY(clf__workspace_round(&workspace));
    }
    return clf__device_finish_stage(session->transformer->device);
}

clf_status clf__session_encode(struct clf__session *session, const struct clf__sequences *sources)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    return clf__session_encode_maps(session, sources, NULL);
}

struct clf__tensor clf__session_frames(const struct clf__session *session)
{
    return session->frames;
}

clf_status clf__session_encoded(const struct clf__session *session, float *target)
{
    CLF__LOCK_DEVICE(session->transformer->device);
    return clf__tensor_read(clf__session_encoded_rows(session), target);
}
