/* Quantized weights whose scales are tensors in the same file. */
#ifndef CLF_WEIGHTS_QUANTIZED_H
#define CLF_WEIGHTS_QUANTIZED_H

#include "model/weights/format.h"

/* For each int8 or int16 tensor starting at list index `first`, attaches the scales in the tensor with the
 * same name plus "_scale" (one per row, or one for all rows). Removes the scales from the list and sorts the
 * file's tensors by name. Returns CLF_FORMAT for scales that do not match the weights. */
clf_status clf__quantized_attach(struct clf__tensor_list *list, int first, int multiplies);

/* Searches `count` tensors, which are sorted by name; returns NULL if there is none with the name. */
struct clf__stored_tensor *clf__quantized_find(const struct clf__stored_tensor *tensors, int count,
                                               const char *name);

#endif
