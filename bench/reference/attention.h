/* Attention in double precision, directly from the formula. */
#ifndef CLF_BENCH_REFERENCE_ATTENTION_H
#define CLF_BENCH_REFERENCE_ATTENTION_H

#include <stdint.h>

/* An attention problem; matrices are packed, or NULL if unused. */
struct reference_attention {
    int heads, key_width, value_width;
    double scale;
    int sequences, max_queries, max_keys;
    const int32_t *ranges; /* (sequences, 4) of { first query, queries, first key, keys } */
    int causal;
    const int32_t *hidden; /* (key rows) */
    const float *additive; /* (sequences * max_queries, max_keys) */
    const float *relative; /* (heads, 2 * reach + 1) */
    int reach;
    float dropout; /* the dropout rate; 0 for none */
    uint64_t dropout_seed;
    uint32_t dropout_step, dropout_site;
};

/* Computes y (query rows, heads * value_width); rows outside every range are unchanged. maps: (sequences *
 * heads * max_queries, max_keys) padded with zeros, or NULL. */
void reference_attention_forward(double *y, double *maps, const float *q, const float *k, const float *v,
                                 const struct reference_attention *problem);

/* Computes the gradients of sum(dy * y), packed as q, k, v and relative (which may be NULL). They are
 * overwritten, except rows of dq, dk and dv outside every range. */
void reference_attention_backward(double *dq, double *dk, double *dv, double *drelative, const float *dy,
                                  const float *q, const float *k, const float *v,
                                  const struct reference_attention *problem);

/* Returns the value added to the scaled score of key j for query i of sequence b and head h: -INFINITY if j
 * is masked. */
double reference_attention_mask(const struct reference_attention *problem, int b, int h, int i, int j);

#endif
