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

#endif
