/* Ids gathered on the host, and as tensors. */
#ifndef CLF_TESTS_GATHERED_H
#define CLF_TESTS_GATHERED_H

#include "ops/embedding.h"
#include "support/support.h"

struct clf__gathered support_gather(struct clf_device *device, const int32_t *ids, int count);

#endif
