/* T5's relative position bias (Raffel et al. 2020, 2.1). */
#ifndef CLF_MODEL_RELATIVE_H
#define CLF_MODEL_RELATIVE_H

/* The bucket of a key at `distance` = key position - query position. Half of the buckets hold exact
 * distances, the rest grow logarithmically up to max_distance; bidirectional ones are halved again by sign.
 */
int clf__relative_bucket(int distance, int buckets, int max_distance, int bidirectional);

/* table (heads, 2 R + 1), R = max_distance: the bias of head h at distance d is [h][d + R]; beyond R it stays
 * the same. by_bucket is the stored parameter (buckets, heads). */
void clf__relative_table(float *table, const float *by_bucket, int heads, int buckets, int max_distance,
                         int bidirectional);
/* The gradient of by_bucket, overwritten, from that of the table. */
void clf__relative_table_backward(float *dby_bucket, const float *dtable, int heads, int buckets,
                                  int max_distance, int bidirectional);

#endif
