/* Quantized weights with scales in tensors of the same file. */
#ifndef CLF_WEIGHTS_QUANTIZED_H
#define CLF_WEIGHTS_QUANTIZED_H

#include "model/weights/format.h"

/* Attaches to each int8 or int16 tensor of a file, from index `first` of the list on, the tensor named with
 * the suffix "_scale": with one scale per row or one for all rows. Removes the scales from the list and sorts
 * the file's tensors by name. Returns CLF_FORMAT for scales that do not fit their weight. */
clf_status clf__quantized_attach(struct clf__tensor_list *list, int first, int multiplies);

/* Searches `count` tensors sorted by name; NULL: not found. */
struct clf__stored_tensor *clf__quantized_find(const struct clf__stored_tensor *tensors, int count,
                                               const char *name);

#endif
