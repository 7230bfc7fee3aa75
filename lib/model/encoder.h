/* The encoder: embedder, layers, final norm. */
#ifndef CLF_MODEL_ENCODER_H
#define CLF_MODEL_ENCODER_H

#include "layers/encoder_layer.h"
#include "model/embedder.h"

struct clf__encoder {
    struct clf__embedder embedder;
    struct clf__encoder_layer *layers;
    int layer_count;
    struct clf__norm norm; /* gamma NULL: none */
};

clf_status clf__encoder_load(struct clf__encoder *out, const struct clf__loader *loader);
/* Zeros of the same sizes, for gradients and moments; `positions` where their table is trained. */
clf_status clf__encoder_create_zero(struct clf__encoder *out, const struct clf__encoder *like, int positions);
void clf__encoder_free(struct clf__encoder *encoder);

#endif
