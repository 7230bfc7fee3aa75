/* T5's bias of self-attention by distance (Raffel et al. 2020, 2.1): one a stack, or in UMT5 one a layer. */
#ifndef CLF_LAYERS_RELATIVE_BIAS_H
#define CLF_LAYERS_RELATIVE_BIAS_H

#include "tensor/tensor.h"

struct clf__relative_bias {
    struct clf__tensor table;     /* (H, 2 R + 1), owned: as far as asked for; buffer NULL: none */
    struct clf__tensor by_bucket; /* (buckets, H), owned: the parameter that the table is made of */
    float *values;                /* room for both on the host, owned; NULL: there are none */
};

#endif
