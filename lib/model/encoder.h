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

#endif
