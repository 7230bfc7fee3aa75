/* Reads options structs of callers compiled against other versions of the headers. */
#ifndef CLF_BASE_OPTIONS_H
#define CLF_BASE_OPTIONS_H

#include <stddef.h>

#include "base/status.h"

/* Copies a caller's options over the defaults, as clformer.h promises: fields that an older caller does
 * not have keep their defaults; fields that only a newer caller has must be zero. Every options struct
 * starts with `size_t size`, its sizeof in the caller.
 *
 * New fields are appended, and zero means the previous behaviour. Structs must not end with padding, which
 * callers leave undefined and the next field would use: `reserved` fills it and is never used.
 *
 * options: `size` bytes, filled with the defaults. given: the options of the caller; NULL keeps the
 * defaults. type: the name of the struct for the error message; its initialiser is type_init(). */
clf_status clf__options_take(void *options, size_t size, const void *given, const char *type);

/* Sets a caller's options of `size` bytes to the defaults, which begin with their size. */
void clf__options_init(void *options, size_t size, const void *defaults);

#endif
