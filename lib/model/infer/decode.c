/* Runs the decoder over the rows of a step or of given targets, and reads attention maps. */
#include <string.h>

#include "model/infer/internal.h"

static clf_status read_all_maps(const struct clf__decoder_maps *maps, const struct clf__layer_call *call,
                                const struct clf__layer *layer, int index)
{
    float *self = maps->self + (size_t)index * maps->self_stride;
    if (layer->mixer.kind->gives_maps) {
        CLF__TRY(clf__tensor_read(call->self_call->maps, self));
    } else {
        memset(self, 0, maps->self_stride * sizeof *self);
    }
    return clf__tensor_read(call->cross_call->maps, maps->cross + (size_t)index * maps->cross_stride);
}

/* Reads the maps of a layer's heads. Each map has one row per query. */
static clf_status read_heads(const struct clf__decoder_maps *maps, const struct clf__layer_call *call,
                             int index)
{
    struct clf__tensor all = call->cross_call->maps;
    int rows = all.rows / call->cross_call->heads.count;
    for (int i = 0; i < maps->head_count; i++) {
        if (maps->heads[i].layer == index) {
            CLF__TRY(clf__tensor_read(clf__tensor_rows(all, maps->heads[i].head * rows, rows),
                                      maps->cross + (size_t)i * maps->cross_stride));
        }
    }
    return CLF_OK;
}

static int wants_layer(const struct clf__decoder_maps *maps, int index)
{
    int is_wanted = maps->heads == NULL;
    for (int i = 0; i < maps->head_count; i++) {
        is_wanted |= maps->heads[i].layer == index;
    }
    return is_wanted;
}

/* Runs the layers separately and reads the maps of each layer before the next layer overwrites them. */
static clf_status run_with_maps(struct clf__session *session, struct clf__workspace *workspace,
                                const struct clf__decoder_maps *maps)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    for (int i = 0; i < decoder->layer_count; i++) {
        struct clf__layer_call *call = &session->layer_calls[i];
        struct clf__attention_call without = *call->cross_call;
        const struct clf__layer_call with = *call;
        without.maps = CLF__NO_TENSOR;
        call->cross_call = wants_layer(maps, i) ? with.cross_call : &without;
        CLF__TRY(clf__decoder_layers_forward(&decoder->layers[i], 1, workspace, call));
        CLF__TRY(maps->heads != NULL ? read_heads(maps, &with, i)
                                     : read_all_maps(maps, &with, &decoder->layers[i], i));
    }
    return CLF_OK;
}

static int reads_rounded(const struct clf__session *session)
{
    return clf__device_caps(session->transformer->device)->variant == CLF_VARIANT_GPU &&
           session->workspace.rounded.buffer != NULL;
}

struct clf__tensor clf__session_decoded(const struct clf__session *session)
{
    const struct clf__transformer *transformer = session->transformer;
    int is_rounded = transformer->decoder.norm.gamma.buffer != NULL || !transformer->config.norm_first;
    return is_rounded && reads_rounded(session) ? session->workspace.rounded : session->workspace.x;
}

clf_status clf__session_run_decoder(struct clf__session *session, int rows,
                                    const struct clf__layer_call *call, const struct clf__decoder_maps *maps)
{
    const struct clf__stack *decoder = &session->transformer->decoder;
    struct clf__workspace workspace = clf__workspace_rows(&session->workspace, rows);
    struct clf__layer_call *calls = session->layer_calls;
    struct clf__attention_call plain = *call->cross_call; /* only one layer returns attention weights */
    plain.weights = CLF__NO_TENSOR;
    for (int i = 0; i < decoder->layer_count; i++) {
        calls[i] = *call;
        calls[i].memory = session->memory[i];
        calls[i].state = &session->layer_states[i];
        calls[i].cross_call = i == session->limits.attention_layer - 1 ? call->cross_call : &plain;
        if (call->step != NULL) {
            calls[i].addresses = clf__tensor_rows(session->layer_addresses, i, 1);
            calls[i].persistent = &session->persistent;
            calls[i].pairs = &session->pairs;
            calls[i].layer = i;
        }
        calls[i].start = i == 0 ? call->start : NULL;
    }
    CLF__TRY(maps != NULL
                 ? run_with_maps(session, &workspace, maps)
                 : clf__decoder_layers_forward(decoder->layers, decoder->layer_count, &workspace, calls));
    /* The projection's CPU kernels convert rows to 16 bits themselves. */
    struct clf__tensor rounded = reads_rounded(session) ? workspace.rounded : CLF__NO_TENSOR;
    return decoder->norm.gamma.buffer != NULL
               ? clf__norm_forward_rounded(workspace.x, rounded, workspace.x, &decoder->norm)
               : CLF_OK;
}
