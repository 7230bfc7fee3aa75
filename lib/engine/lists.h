/* The lists of ids in the options of a translator. */
#ifndef CLF_ENGINE_LISTS_H
#define CLF_ENGINE_LISTS_H

#include "engine/settings.h"

/* Sets the suppressed ids, the banned sequences and the end ids of settings->search: copies of the caller's,
 * with the model's `own`. */
clf_status clf__lists_join(struct clf__settings *settings, const struct clf__search_options *own);
void clf__lists_free(struct clf__settings *settings);

#endif
