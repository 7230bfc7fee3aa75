/* The stages of decoder layers in one persistent launch (cl/layers/decoder_layers_gpu.cl). C and OpenCL
 * include this file. Members are int and float, which have the same layout in both. */
#ifndef CLF_LAYERS_STAGES_H
#define CLF_LAYERS_STAGES_H

#include "math/gemm/layout.h"
#include "math/ops/arguments.h"

/* Work-items per group, and the number of buffer arguments for weights and caches. */
#define CLF__STAGE_GROUP   256
#define CLF__STAGE_BUFFERS 16
/* Number of integers before the counters of parts (one per row and head); keeps the barrier counter in a
 * separate cache line. */
#define CLF__ARRIVALS 32

enum clf__stage_kind {
    CLF__STAGE_ROUND,          /* to = from as operands */
    CLF__STAGE_NORM,           /* to = norm(from) as operands; writes_x: also x = norm(from) */
    CLF__STAGE_PRODUCT,        /* to = activation(from Wᵀ + bias); adds_x: + x */
    CLF__STAGE_SELF_ATTENTION, /* to = attention; from: queries, keys and values */
    CLF__STAGE_CROSS_ATTENTION /* to = attention over the encoder's output; from: queries */
};

/* Matrices passed between stages. Those before CLF__ROWS_FLOATS are fp32, the others operands of GEMMs:
 * 16-bit numbers, or in int8 rows of cl/gemm/quantize.cl, whose strides count 16 bits. */
enum clf__stage_rows {
    CLF__ROWS_X,         /* (R, D) the residual stream */
    CLF__ROWS_SUMS,      /* (R, D) inputs of the norm after a sub-layer */
    CLF__ROWS_PROJECTED, /* (R, H (2 K + V)) */
    CLF__ROWS_ATTENDED,  /* (R, H V) results of attention before quantization, only in int8 */
    CLF__ROWS_ACTIVATED, /* (R, F) results of the first feed-forward GEMM, only in int8 */
    CLF__ROWS_FLOATS,
    CLF__ROWS_OPERAND = CLF__ROWS_FLOATS, /* (R, D) */
    CLF__ROWS_CONTEXT,                    /* (R, H V) */
    CLF__ROWS_HIDDEN,                     /* (R, F) */
    CLF__ROWS_COUNT
};

struct clf__stage {
    int kind, from, to; /* enum clf__stage_kind, enum clf__stage_rows */
    int writes_x, adds_x;
    int buffer, first;               /* weight, keys or memory: index of the buffer, first 16-byte word */
    int values_buffer, values_first; /* the values of self-attention */
    int inputs, outputs, activation;
    int gamma, beta; /* offsets in the vectors; -1: none; the bias of a GEMM is its beta */
    int ahead;       /* distance to the GEMM whose weights are prefetched after this stage; 0: none */
};
#define CLF__STAGE_INTS 15

struct clf__stages_sizes {
    struct clf__attention_step_sizes self;
    struct clf__attention_sizes cross;
    /* Offsets of x and of the operand count elements of their buffers; all others count 16-byte words. */
    struct clf__place rows[CLF__ROWS_COUNT];
    int rounds, first, count; /* rounds: run stage 0 before stage `first`; count: number of stages
                               * including stage 0 */
    int arrived;              /* value of the arrival counter before the launch */
    int most_looks;           /* maximum number of counter reads per wait */
    int fails_at;             /* for tests: the stage after which a group stops waiting; -1: none */
    float epsilon;
};

#endif
