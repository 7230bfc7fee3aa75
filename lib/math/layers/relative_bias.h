/* T5's relative position bias of self-attention (Raffel et al. 2020, 2.1): one per stack, or one per layer
 * in UMT5. */
#ifndef CLF_LAYERS_RELATIVE_BIAS_H
#define CLF_LAYERS_RELATIVE_BIAS_H

#include "math/tensor/tensor.h"

struct clf__relative_bias {
    struct clf__tensor table;     /* (H, 2 R + 1), owned; R: the requested maximum distance; buffer NULL:
                                   * none */
    struct clf__tensor by_bucket; /* (buckets, H), owned; the parameter from which the table is computed */
    float *values;                /* host memory for both, owned; NULL: no bias */
};

#endif
