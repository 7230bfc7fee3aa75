#include "layers/encoder_layer.h"

#include "layers/sublayer.h"

void clf__encoder_layer_free(struct clf__encoder_layer *layer)
{
    clf__attention_layer_free(&layer->self_attention);
    clf__norm_free(&layer->self_attention_norm);
    clf__feed_forward_free(&layer->feed_forward);
    clf__norm_free(&layer->feed_forward_norm);
}

clf_status clf__encoder_layer_forward(const struct clf__encoder_layer *layer,
                                      const struct clf__workspace *workspace,
                                      const struct clf__attention_call *self_call)
{
    struct clf__sublayer sublayer;
    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->self_attention_norm, layer->norm_first, workspace));
    CLF__TRY(clf__self_attention_forward(sublayer.y, sublayer.x, workspace->x, &layer->self_attention,
                                         workspace, self_call));
    CLF__TRY(clf__sublayer_end(&sublayer, workspace));

    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->feed_forward_norm, layer->norm_first, workspace));
    CLF__TRY(
        clf__feed_forward_forward(sublayer.y, sublayer.x, workspace->x, &layer->feed_forward, workspace));
    return clf__sublayer_end(&sublayer, workspace);
}
