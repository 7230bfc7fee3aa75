/* What T5 and its kin have in common. */
#ifndef CLF_CONFIG_FAMILY_T5_H
#define CLF_CONFIG_FAMILY_T5_H

#include "config/family/family.h"

void clf__t5_start(struct clf__config *config, struct clf__config_choices *choices);
/* The width of a head, the arrangement of the feed-forward, and a decoder of other depth. */
clf_status clf__t5_read(struct clf__config *config, struct clf__config_choices *choices,
                        const struct clf__json *json);
extern const struct clf__family_key clf__t5_keys[];
extern const struct clf__tensor_names clf__t5_names;

#endif
