/* From named parameters to layers on a device. */
#ifndef CLF_MODEL_LOADER_H
#define CLF_MODEL_LOADER_H

#include "layers/linear.h"
#include "layers/norm.h"
#include "model/parameters.h"

struct clf__loader {
    struct clf_device *device;
    clf_precision precision; /* of the matrices; vectors are fp32 */
    const struct clf__config *config;
    const struct clf__parameters *parameters;
};

/* One block of rows of a stacked linear layer: the parameters "<name>.weight" and, with has_bias,
 * "<name>.bias". */
struct clf__linear_name {
    char name[80];
    int rows;
    int has_bias;
};

/* "<prefix><suffix>" as the name of a block. */
struct clf__linear_name clf__linear_name(const char *prefix, const char *suffix, int rows, int has_bias);

/* Reads `count` <= 3 blocks and stacks them into one layer; blocks without a bias beside blocks with one get
 * zeros. */
clf_status clf__load_linear(struct clf__linear *out, const struct clf__loader *loader, int inputs,
                            const struct clf__linear_name *blocks, int count);

/* A weight of one parameter, such as an embedding (V, D). */
clf_status clf__load_weight(struct clf__weight **out, const struct clf__loader *loader, const char *name,
                            int rows, int columns);

/* The norm "<prefix><suffix>" of d_model values, of the configuration's kind. */
clf_status clf__load_norm(struct clf__norm *out, const struct clf__loader *loader, const char *prefix,
                          const char *suffix);

/* A parameter as host values; the caller frees them. */
clf_status clf__load_values(float **out, const struct clf__loader *loader, const char *name, size_t count);

#endif
