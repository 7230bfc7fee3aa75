/* The decoder: embedder, layers, final norm, projection onto the vocabulary. */
#ifndef CLF_MODEL_DECODER_H
#define CLF_MODEL_DECODER_H

#include "layers/decoder_layer.h"
#include "model/embedder.h"

struct clf__decoder {
    struct clf__embedder embedder;
    struct clf__decoder_layer *layers;
    int layer_count;
    struct clf__norm norm;         /* gamma NULL: none */
    struct clf__linear projection; /* D to V */
};

/* `source_tokens` is the encoder's embedding, taken where the configuration shares it. */
clf_status clf__decoder_load(struct clf__decoder *out, const struct clf__loader *loader,
                             struct clf__weight *source_tokens);
/* Zeros of the same sizes, for gradients and moments; `source_tokens` is their encoder's embedding. positions
 * and bias: whether the table of positions and the projection's bias are trained. */
clf_status clf__decoder_create_zero(struct clf__decoder *out, const struct clf__decoder *like,
                                    struct clf__weight *source_tokens, int positions, int bias);
void clf__decoder_free(struct clf__decoder *decoder);

#endif
