/* What an output is made of: the program, the model's files and the flags, as JSON, and what differs between
 * two of them. */
#ifndef CLF_TOOLS_MADE_OF_H
#define CLF_TOOLS_MADE_OF_H

#include <jansson.h>

#include "shared/command.h"

/* An object with the keys "clformer" (the version), "verb", "model" and "options". A file of the model is
 * known by its name, its size and a checksum of the whole of it, or of parts where it is large. The caller
 * frees *out with json_decref().
 *
 * flags: after flags_parse(). takes: the verb's. Flags that say where and how fast lines are worked on are
 * not among the options. Files of the model's folder that output names, and what is kept beside it, are not
 * among the model's.
 *
 * Fails where a file of the model cannot be read. */
clf_status made_of_describe(json_t **out, const char *verb, const struct flags *flags, int takes);

/* CLF_OK where both say the same. Otherwise CLF_BAD_ARGUMENT, with a sentence that begins with `path` and
 * names the first difference.
 *
 * path: the output. before: what it is made of. now: what this run makes it of. */
clf_status made_of_compare(const char *path, const json_t *before, const json_t *now);

#endif
