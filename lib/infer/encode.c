#include <assert.h>
#include <string.h>

#include "config/sides.h"
#include "device/queue.h"
#include "infer/internal.h"

static clf_status upload_sources(struct clf__session *session, struct clf__sequence_views *views,
                                 const struct clf__sequences *sources)
{
    struct clf__upload *upload = &session->source;
    upload->count = 0;
    clf__upload_take_sequences(views, upload, &session->transformer->config, sources, CLF__ENCODER);
    session->encoded_hidden = views->host_hidden;
    if (sources->frames != NULL) {
        int rows = sources->first[sources->count];
        CLF__TRY(clf__tensor_write(clf__tensor_rows(session->frames, 0, rows), sources->frames));
    }
    return clf__upload_send(upload);
}

clf_status clf__session_encode_maps(struct clf__session *session, const struct clf__sequences *sources,
                                    float *maps)
{
    const struct clf__encoder *encoder = &session->transformer->encoder;
    int rows = sources->first[sources->count];
    assert(sources->count <= session->limits.sources && rows <= session->limits.source_tokens);
    session->sources = sources->count;
    memcpy(session->source_first, sources->first, ((size_t)sources->count + 1) * sizeof *sources->first);
    struct clf__sequence_views views;
    CLF__TRY(upload_sources(session, &views, sources));
    struct clf__workspace workspace = clf__workspace_rows(&session->workspace, rows);
    struct clf__tensor frames = sources->frames != NULL ? clf__tensor_rows(session->frames, 0, rows)
                                                        : (struct clf__tensor){.buffer = NULL};
    CLF__TRY(clf__embedder_forward(workspace.x, &encoder->embedder, views.ids, frames, views.positions));
    struct clf__attention_call call = {
        .heads = clf__config_heads(&session->transformer->config, CLF__ENCODER),
        .spans = views.spans,
        .mask = {.hidden_keys = views.hidden, .relative = encoder->embedder.relative},
        .scratch = &session->scratch,
    };
    if (maps != NULL) {
        call.maps = clf__session_map(session, 0, call.heads.count * rows, rows);
    }
    int norm_first = session->transformer->config.norm_first;
    if (!norm_first) {
        CLF__TRY(clf__workspace_round(&workspace));
    }
    size_t layer_maps = (size_t)call.heads.count * (size_t)rows * (size_t)rows;
    for (int i = 0; i < encoder->layer_count; i++) {
        CLF__TRY(clf__encoder_layer_forward(&encoder->layers[i], &workspace, &call));
        if (maps != NULL) {
            CLF__TRY(clf__tensor_read(call.maps, maps + (size_t)i * layer_maps));
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
    return clf__session_encode_maps(session, sources, NULL);
}
