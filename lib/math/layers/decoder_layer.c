/* What the ways to run the decoder layers of a step have in common. */
#include "math/layers/layer.h"

void clf__decoder_layer_linears(const struct clf__linear *out[CLF__DECODER_LINEARS],
                                const struct clf__layer *layer)
{
    out[0] = &layer->mixer.attention.input;
    out[1] = &layer->mixer.attention.output;
    out[2] = &layer->cross_attention.input;
    out[3] = &layer->cross_attention.output;
    out[4] = &layer->feed_forward.up;
    out[5] = &layer->feed_forward.down;
}

enum clf__precision clf__decoder_layer_precision(const struct clf__layer *layer)
{
    return clf__weight_layout(layer->mixer.attention.input.weight).precision;
}
