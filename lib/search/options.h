/* Values derived from the options of a search. */
#ifndef CLF_SEARCH_OPTIONS_H
#define CLF_SEARCH_OPTIONS_H

#include <stddef.h>

#include "base/status.h"
#include "search/types.h"

/* Returns the number of running hypotheses of a source: beams or samples. */
int clf__search_rows(const struct clf__search_options *options);

/* Returns the number of candidates per row that a source reads. */
int clf__candidates_wanted(const struct clf__search_options *options);

/* Returns the number of ids in the longest forms of all phrases. */
int clf__constraints_tokens(const struct clf__constraints *constraints);

/* Returns CLF_BAD_ARGUMENT with a message if the options are invalid. */
clf_status clf__search_check(const struct clf__search_options *options);

/* Returns the maximum number of banned ids per row, including ids whose scores penalties change. */
size_t clf__bans_limit(const struct clf__search_options *options);

/* Returns the limits of a search in which every source has these options. */
struct clf__search_limits clf__search_limits_for(const struct clf__search_options *options, int slots);

#endif
