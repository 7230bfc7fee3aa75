#include "layers/decoder_layer.h"

#include "layers/decoder_layer_single.h"
#include "layers/sublayer.h"

void clf__decoder_layer_free(struct clf__decoder_layer *layer)
{
    clf__attention_layer_free(&layer->self_attention);
    clf__norm_free(&layer->self_attention_norm);
    clf__attention_layer_free(&layer->cross_attention);
    clf__norm_free(&layer->cross_attention_norm);
    clf__feed_forward_free(&layer->feed_forward);
    clf__norm_free(&layer->feed_forward_norm);
}

clf_status clf__decoder_layer_forward(const struct clf__decoder_layer *layer,
                                      const struct clf__workspace *workspace,
                                      const struct clf__decoder_call *call)
{
    if (clf__decoder_layer_is_single(layer, workspace->x.rows, call)) {
        return clf__decoder_layer_single(layer, workspace, call);
    }
    struct clf__sublayer sublayer;
    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->self_attention_norm, layer->norm_first, workspace));
    if (call->history != NULL) {
        CLF__TRY(clf__self_attention_step(sublayer.y, sublayer.x, workspace->x, &layer->self_attention,
                                          workspace, call->history));
    } else {
        CLF__TRY(clf__self_attention_forward(sublayer.y, sublayer.x, workspace->x, &layer->self_attention,
                                             workspace, call->self_call));
    }
    CLF__TRY(clf__sublayer_end(&sublayer, workspace));

    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->cross_attention_norm, layer->norm_first, workspace));
    CLF__TRY(clf__cross_attention_forward(sublayer.y, sublayer.x, workspace->x, &layer->cross_attention,
                                          call->memory, workspace, call->cross_call));
    CLF__TRY(clf__sublayer_end(&sublayer, workspace));

    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->feed_forward_norm, layer->norm_first, workspace));
    CLF__TRY(
        clf__feed_forward_forward(sublayer.y, sublayer.x, workspace->x, &layer->feed_forward, workspace));
    return clf__sublayer_end(&sublayer, workspace);
}
