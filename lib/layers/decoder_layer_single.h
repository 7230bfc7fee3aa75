/* A decoding step of several layers in a single launch (cl/layers/decoder_layer.cl): what stands behind
 * clf__decoder_layers_forward() for few rows. */
#ifndef CLF_LAYERS_DECODER_LAYER_SINGLE_H
#define CLF_LAYERS_DECODER_LAYER_SINGLE_H

#include "layers/layer.h"

/* How many of these layers, from the first one on, go in one launch: 0 where a launch an op is taken. */
int clf__decoder_layers_together(const struct clf__layer *layers, int count, int rows,
                                 const struct clf__layer_call *calls);

/* So many layers, each with its call. */
clf_status clf__decoder_layers_single(const struct clf__layer *layers, int count,
                                      const struct clf__workspace *workspace,
                                      const struct clf__layer_call *calls);

#endif
