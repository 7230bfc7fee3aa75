/* T5's relative position bias (Raffel et al. 2020, section 2.1). */
#ifndef CLF_MODEL_RELATIVE_H
#define CLF_MODEL_RELATIVE_H

/* A table (heads, 2 reach + 1) of biases by distance, computed from the parameter (buckets, heads). */
struct clf__relative {
    int heads, buckets, max_distance, bidirectional;
    int reach; /* at most max_distance, beyond which the bias is constant */
};

/* Computes the table: the bias of head h at distance d is table[h][d + reach]. */
void clf__relative_table(float *table, const float *by_bucket, const struct clf__relative *relative);
/* Computes the gradient of by_bucket, overwriting it, from the gradient of the table. */
void clf__relative_table_backward(float *dby_bucket, const float *dtable,
                                  const struct clf__relative *relative);

#endif
