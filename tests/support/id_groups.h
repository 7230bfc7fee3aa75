/* Ids grouped for the gradient of an embedding. */
#ifndef CLF_TESTS_ID_GROUPS_H
#define CLF_TESTS_ID_GROUPS_H

#include "math/ops/embedding.h"
#include "support/support.h"

/* Groups the ids on the host, and copies the groups to a device. */
struct clf__id_groups support_group_ids(struct clf_device *device, const int32_t *ids, int count);

#endif
