/* Describes how an output was made, as JSON: the version of clformer, the files of the model, and the flags.
 */
#ifndef CLF_TOOLS_MADE_OF_H
#define CLF_TOOLS_MADE_OF_H

#include <jansson.h>

#include "shared/command.h"

/* Creates an object with the keys "clformer" (the version), "verb", "model" and "options". Each file of the
 * model is described by its name, size and checksum (of a large file, the checksum of parts of it). Flags
 * that do not change the output are left out, as are flags->output and its incomplete files if they are in
 * the model folder. The caller frees *out with json_decref().
 *
 * flags: filled by flags_parse(). takes: the flag groups of the verb.
 *
 * Fails if a file of the model cannot be read. */
clf_status made_of_describe(json_t **out, const char *verb, const struct flags *flags, int takes);

/* Compares two such objects. Returns CLF_BAD_ARGUMENT with a message that begins with `path`, the output, and
 * names the first difference. `before` describes the existing output, `now` the current run. */
clf_status made_of_compare(const char *path, const json_t *before, const json_t *now);

#endif
