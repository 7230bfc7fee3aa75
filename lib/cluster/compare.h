/* What has to be equal on all ranks. */
#ifndef CLF_CLUSTER_COMPARE_H
#define CLF_CLUSTER_COMPARE_H

#include "cluster/communicator.h"

enum { CLF__FACT_BYTES = 256 }; /* of a value that is compared, with its NUL */

/* Compares one thing with what rank 0 has; every rank makes the call. Both are texts, the first of 63 bytes,
 * the second of CLF__FACT_BYTES at most. Where they differ all ranks fail, as the first that has another
 * value, with CLF_BAD_ARGUMENT. */
clf_status clf__ranks_compare(const struct clf__communicator *communicator, const char *what,
                              const char *value);
/* The same for what is too long to be shown. */
clf_status clf__ranks_compare_hash(const struct clf__communicator *communicator, const char *what,
                                   uint64_t hash);

#endif
