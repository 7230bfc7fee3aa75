/* What T5 and its kin have in common. */
#ifndef CLF_CONFIG_FAMILY_T5_H
#define CLF_CONFIG_FAMILY_T5_H

#include "config/family/family.h"

void clf__t5_start(struct clf__config *config, struct clf__config_choices *choices);
/* The width of a head, the arrangement of the feed-forward, and a decoder of other depth. */
clf_status clf__t5_read(struct clf__config *config, struct clf__config_choices *choices,
                        const struct clf__json *json);
/* The same, and whether the logits are scaled. */
clf_status clf__t5_read_scaled(struct clf__config *config, struct clf__config_choices *choices,
                               const struct clf__json *json);
/* The sizes of mT5 and UMT5 where the file says none. */
void clf__mt5_start(struct clf__config *config, struct clf__config_choices *choices);
extern const struct clf__family_key clf__t5_keys[];
/* The second: with a relative bias in each layer. */
extern const struct clf__tensor_names clf__t5_names, clf__umt5_names;
/* The third: with the names of LongT5's encoder attentions. */
extern const struct clf__tensor_names clf__longt5_names;

#endif
