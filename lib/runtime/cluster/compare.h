/* Comparison of values that must be equal on all ranks. */
#ifndef CLF_CLUSTER_COMPARE_H
#define CLF_CLUSTER_COMPARE_H

#include "runtime/cluster/communicator.h"

enum { CLF__FACT_BYTES = 256 }; /* maximum size of a compared value, including its NUL */

/* Compares a value with that of rank 0. Collective. `what` names the value in at most 63 bytes; `value`
 * has at most CLF__FACT_BYTES bytes. If values differ, all ranks fail with CLF_BAD_ARGUMENT and the
 * message of the first rank that differs. */
clf_status clf__ranks_compare(const struct clf__communicator *communicator, const char *what,
                              const char *value);
/* Like clf__ranks_compare(), for data that is too long to print. */
clf_status clf__ranks_compare_hash(const struct clf__communicator *communicator, const char *what,
                                   uint64_t hash);

#endif
