/* The encoder, or the decoder with its projection onto the vocabulary. */
#ifndef CLF_MODEL_STACK_H
#define CLF_MODEL_STACK_H

#include "layers/layer.h"
#include "model/embedder.h"

struct clf__stack {
    struct clf__embedder embedder;
    struct clf__layer *layers;
    int layer_count;
    struct clf__norm norm;         /* the final one; gamma NULL: none */
    struct clf__linear projection; /* of the decoder: D to V */
};

#endif
