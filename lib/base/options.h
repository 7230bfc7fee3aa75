/* Options structs of callers that were compiled with the headers of this version, an older or a newer one. */
#ifndef CLF_BASE_OPTIONS_H
#define CLF_BASE_OPTIONS_H

#include <stddef.h>

#include "base/status.h"

/* Copies a caller's options over the defaults, as clformer.h promises: fields that an older caller does not
 * have keep their defaults; fields that only a newer caller has must be zero. Every options struct begins
 * with `size_t size`, its sizeof where the caller was compiled.
 *
 * Who adds a field appends it, and lets zero mean what the library did before. No struct ends with padding,
 * which callers leave undefined and the next field would take: `reserved` fills it, and is never used.
 *
 * options: `size` bytes, filled with the defaults. given: the caller's; NULL leaves the defaults.
 * type, initialiser: the struct's name and what callers start it from, for the sentence of a failure. */
clf_status clf__options_take(void *options, size_t size, const void *given, const char *type,
                             const char *initialiser);

#endif
