/* Runs the decoder layers of a step of few rows in one persistent launch of the GPU variant
 * (cl/layers/decoder_layers_gpu.cl): its groups stay resident for all stages of all layers and synchronise
 * between stages. The results have the same bits as separate launches. */
#ifndef CLF_LAYERS_PERSISTENT_H
#define CLF_LAYERS_PERSISTENT_H

#include "math/layers/layer.h"
#include "math/layers/stages.h"

/* CLF__PERSISTENT_PROOFS: steps that a device computes both ways before its persistent launches are
 * trusted. */
enum { CLF__PERSISTENT_ROWS = 64, CLF__PERSISTENT_PROOFS = 2 };

/* The stages of a decoder's layers, with the buffers of their launch. stages.buffer is NULL if persistent
 * launches are not supported. */
struct clf__persistent {
    struct clf__tensor
        stages;       /* (1 + layers * layer_stages, CLF__STAGE_INTS) i32: rounding, then the layers */
    int layer_stages; /* stages per layer */
    struct clf__tensor vectors;  /* (1, n) copies of biases, gains and shifts */
    struct clf__tensor work;     /* (1, n) the activations of a step */
    struct clf__tensor arrivals; /* (1, CLF__ARRIVALS + R * H) i32 */
    struct clf__tensor failed;   /* (1, 1) 0, or 1 after a group stopped waiting for the others */
    const struct clf__buffer *buffers[CLF__STAGE_BUFFERS]; /* buffers of weights, caches and memory */
    int buffer_count;
    struct clf__place rows[CLF__ROWS_COUNT];
    int arrived;    /* value of the arrival counter after all launches so far */
    int is_checked; /* the kernel compiles and supports the group size */
    int is_running;
    int fails_at;   /* for tests, as in struct clf__stages_sizes; -1: off */
    int most_looks; /* for tests: maximum reads of the arrival counter in a wait; 0: the device's */
};

/* Reserves memory if the device and the layers support persistent launches. The caller owns `failed`. */
clf_status clf__persistent_reserve(struct clf__persistent *persistent, struct clf__arena *arena,
                                   const struct clf__layer *layers, int count, int rows);
/* Lists the stages. The buffers of weights, states and memory must stay valid. */
clf_status clf__persistent_prepare(struct clf__persistent *persistent, const struct clf__layer *layers,
                                   int count, const struct clf__mixer_state *states,
                                   const struct clf__tensor *memory);

/* Returns how many of the first layers can run in one persistent launch now; 0 if another open device of
 * the process runs persistent launches on the same hardware. If it is not 0, the caller must call
 * clf__persistent_end(). */
int clf__persistent_begin(const struct clf__layer *layers, int count, const struct clf__workspace *workspace,
                          const struct clf__layer_call *calls);
clf_status clf__persistent_launch(const struct clf__layer *layers, int count,
                                  const struct clf__workspace *workspace,
                                  const struct clf__layer_call *calls);
/* Must be called after the launches have ended, with the number read from persistent->failed. Returns
 * whether the launches failed; then persistent launches are disabled, and the caller must repeat the step. */
int clf__persistent_end(struct clf__persistent *persistent, int failed);

#endif
