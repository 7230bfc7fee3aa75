/* A stack of layers: the encoder, or the decoder with the output projection. */
#ifndef CLF_MODEL_STACK_H
#define CLF_MODEL_STACK_H

#include "math/layers/layer.h"
#include "model/embedder.h"

struct clf__stack {
    struct clf__embedder embedder;
    struct clf__layer *layers;
    int layer_count;
    struct clf__norm norm;         /* final norm; gamma NULL: none */
    struct clf__linear projection; /* decoder only: from D to V */
};

#endif
