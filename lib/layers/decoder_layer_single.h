/* A decoding step of one layer in a single launch (cl/decoder_layer.cl): what stands behind
 * clf__decoder_layer_forward() for few rows. */
#ifndef CLF_LAYERS_DECODER_LAYER_SINGLE_H
#define CLF_LAYERS_DECODER_LAYER_SINGLE_H

#include "layers/decoder_layer.h"

/* Whether this call can go in one launch and gains by it. */
int clf__decoder_layer_is_single(const struct clf__decoder_layer *layer, int rows,
                                 const struct clf__decoder_call *call);

clf_status clf__decoder_layer_single(const struct clf__decoder_layer *layer,
                                     const struct clf__workspace *workspace,
                                     const struct clf__decoder_call *call);

#endif
