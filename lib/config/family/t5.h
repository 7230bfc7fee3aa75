/* Shared by T5 and the architectures derived from it. */
#ifndef CLF_CONFIG_FAMILY_T5_H
#define CLF_CONFIG_FAMILY_T5_H

#include "config/family/family.h"

void clf__t5_start(struct clf__config *config, struct clf__config_choices *choices);
/* Reads the head width, the arrangement of the feed-forward, and a different decoder depth. */
clf_status clf__t5_read(struct clf__config *config, struct clf__config_choices *choices,
                        const struct clf__json *json);
/* The same, and whether the logits are scaled. */
clf_status clf__t5_read_scaled(struct clf__config *config, struct clf__config_choices *choices,
                               const struct clf__json *json);
/* Default sizes of mT5 and UMT5. */
void clf__mt5_start(struct clf__config *config, struct clf__config_choices *choices);
extern const struct clf__family_key clf__t5_keys[];
/* clf__umt5_names has a relative bias in each layer. */
extern const struct clf__tensor_names clf__t5_names, clf__umt5_names;

#endif
