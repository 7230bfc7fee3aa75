/* T5's relative position bias (Raffel et al. 2020, section 2.1). */
#ifndef CLF_MODEL_RELATIVE_H
#define CLF_MODEL_RELATIVE_H

/* A table (heads, 2 reach + 1) of biases by distance. It is computed from the parameter, biases by bucket
 * (buckets, heads). */
struct clf__relative {
    int heads, buckets, max_distance, bidirectional;
    int reach; /* at most max_distance; the bias is constant at larger distances */
};

/* Computes the table: table[h][d + reach] is the bias of head h at distance d. */
void clf__relative_table(float *table, const float *by_bucket, const struct clf__relative *relative);
/* Computes the gradient of by_bucket from the gradient of the table; overwrites dby_bucket. */
void clf__relative_table_backward(float *dby_bucket, const float *dtable,
                                  const struct clf__relative *relative);

#endif
