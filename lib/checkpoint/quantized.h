/* Quantized weights, whose scales are tensors of the same file. */
#ifndef CLF_CHECKPOINT_QUANTIZED_H
#define CLF_CHECKPOINT_QUANTIZED_H

#include "checkpoint/format.h"

/* Gives each tensor of int8 or int16 in a file, behind the first ones of the list, the scales that stand
 * under its name and "_scale": one a row, or one for all. These leave the list; the tensors of the file come
 * in the order of their names. Scales that do not fit their weight are CLF_FORMAT. */
clf_status clf__quantized_attach(struct clf__tensor_list *list, int first, int multiplies);

/* Among `count` tensors in the order of their names; NULL: there is none. */
struct clf__stored_tensor *clf__quantized_find(const struct clf__stored_tensor *tensors, int count,
                                               const char *name);

#endif
