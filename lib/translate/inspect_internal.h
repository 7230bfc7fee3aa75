/* What the files of the inspection share. */
#ifndef CLF_TRANSLATE_INSPECT_INTERNAL_H
#define CLF_TRANSLATE_INSPECT_INTERNAL_H

#include <jansson.h>

#include "model/config.h"

/* A configuration as a JSON object, by the keys of config.json where it has them; NULL without memory. */
json_t *clf__inspect_configuration(const struct clf__config *config);

/* What generation starts from, as clf_translate_options_init() gives it; NULL without memory. */
json_t *clf__inspect_generation(const struct clf__search_options *options);

/* A formatted sentence behind the others of a JSON array. */
clf_status clf__inspect_say(json_t *sentences, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is unusual in a configuration, as sentences; `file` is the config.json it was read from. */
clf_status clf__inspect_unusual(json_t *sentences, const struct clf__config *config, const json_t *file);

#endif
