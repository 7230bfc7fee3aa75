/* The text that a program is compiled from. */
#ifndef CLF_PROGRAM_SOURCE_H
#define CLF_PROGRAM_SOURCE_H

#include "base/status.h"

struct clf__programs;

/* cl/include/prelude.cl and the file of cl/ with this name, whose lines `#include "folder/other.cl"` are
 * replaced by that file; #line directives make the driver's messages name our file and our line. The caller
 * frees *out. */
clf_status clf__program_source(char **out, const struct clf__programs *programs, const char *name);

#endif
