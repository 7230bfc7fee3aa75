/* What stands behind the door of gemm.h: for this room alone. The door has checked the arguments: every view
 * lies in its buffer, offsets fit an int, and no size is zero except a batch's k. */
#ifndef CLF_DEVICE_GEMM_PROVIDER_H
#define CLF_DEVICE_GEMM_PROVIDER_H

#include "device/gemm.h"
#include "device/launch.h"

/* The native kernels' panel (cl/gemm.cl). */
enum { CLF__PANEL = 32 };

struct clf__weight {
    struct clf_device *device;
    struct clf__buffer *buffer;
    clf_precision precision;
    int inputs, outputs;
    int panel; /* CLF__PANEL, or 1: row-major fp32, for CLBlast */
};

/* weight_pack.c: how the elements of a panel lie (see clf__weight_layout). */
struct clf__packing {
    int group;    /* inputs that lie together */
    size_t bytes; /* of an element */
    /* Writes `count` inputs of one output, those beyond zero, as groups that lie CLF__PANEL groups apart. */
    void (*pack_row)(void *groups, const float *row, int count);
};
const struct clf__packing *clf__packing_of(clf_precision precision);

/* "-DACTIVATION=<kind>", for cl/epilogue.cl; NULL for an unknown kind. */
const char *clf__activation_define(enum clf__activation kind);

struct clf__cost clf__batched_cost(const struct clf__batched_shape *shape);

clf_status clf__native_gemm_weight(struct clf__matrix y, struct clf__matrix x, int rows,
                                   const struct clf__weight *weight, const struct clf__epilogue *epilogue);
clf_status clf__native_gemm_batched(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                    struct clf__batched_matrix b, const struct clf__batched_shape *shape);

clf_status clf__clblast_gemm_weight(struct clf__matrix y, struct clf__matrix x, int rows,
                                    const struct clf__weight *weight, const struct clf__epilogue *epilogue);
/* k > 0 here. */
clf_status clf__clblast_gemm_batched(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                     struct clf__batched_matrix b, const struct clf__batched_shape *shape);

#endif
