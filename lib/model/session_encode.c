#include <assert.h>
#include <string.h>

#include "model/session_internal.h"
#include "model/stack.h"

/* Uploads ids, positions, spans and hidden keys of the sources. */
struct source_views {
    struct clf__tensor ids, positions, hidden;
    struct clf__spans spans;
};

static clf_status upload_sources(struct clf__session *session, struct source_views *views,
                                 const struct clf__sequences *sources)
{
    const struct clf__config *config = &session->transformer->config;
    struct clf__upload *upload = &session->source;
    int rows = sources->first[sources->count];
    int32_t *ids, *positions, *spans, *hidden;
    upload->count = 0;
    views->ids = clf__upload_take(upload, rows, &ids);
    views->positions = clf__upload_take(upload, rows, &positions);
    views->spans = clf__upload_take_spans(upload, sources->count, &spans);
    views->hidden = clf__upload_take(upload, rows, &hidden);
    if (sources->ids != NULL) {
        memcpy(ids, sources->ids, (size_t)rows * sizeof *ids);
    } else {
        memset(ids, 0, (size_t)rows * sizeof *ids);
    }
    int longest = 0;
    for (int b = 0; b < sources->count; b++) {
        int first = sources->first[b], length = sources->first[b + 1] - first;
        const int32_t *sequence = sources->ids != NULL ? sources->ids + first : NULL;
        clf__session_positions(config, positions + first, sequence, length);
        memcpy(spans + 4 * b, (int32_t[4]){first, length, first, length}, 4 * sizeof *spans);
        longest = length > longest ? length : longest;
    }
    memset(hidden, 0, (size_t)rows * sizeof *hidden);
    if (!clf__session_hidden(config, hidden, sources->ids, rows)) {
        views->hidden.buffer = NULL;
    }
    session->encoded_hidden = hidden;
    views->spans.max_queries = views->spans.max_keys = longest;
    clf__spans_count(&views->spans, spans, 0);
    if (sources->frames != NULL) {
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
    struct source_views views;
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
    size_t layer_maps = (size_t)call.heads.count * (size_t)rows * (size_t)rows;
    for (int i = 0; i < encoder->layer_count; i++) {
        CLF__TRY(clf__encoder_layer_forward(&encoder->layers[i], &workspace, &call));
        if (maps != NULL) {
            CLF__TRY(clf__tensor_read(call.maps, maps + (size_t)i * layer_maps));
        }
    }
    if (encoder->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_forward(workspace.x, workspace.x, &encoder->norm));
    }
    return clf__device_finish_stage(session->transformer->device);
}

clf_status clf__session_encode(struct clf__session *session, const struct clf__sequences *sources)
{
    return clf__session_encode_maps(session, sources, NULL);
}
