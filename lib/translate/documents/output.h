/* A growable byte buffer. */
#ifndef CLF_DOCUMENTS_OUTPUT_H
#define CLF_DOCUMENTS_OUTPUT_H

#include <stddef.h>

#include "base/status.h"

/* Zero-initialise. After a failure, further bytes are ignored, and the status is the first failure. */
struct clf__output {
    char *bytes; /* (size) followed by a NUL unless NULL; the owner calls clf__free() */
    size_t size, capacity;
    clf_status status;
};

void clf__output_add(struct clf__output *output, const char *bytes, size_t size);
void clf__output_add_string(struct clf__output *output, const char *string);
/* Adds text with &, < and > as character references. */
void clf__output_add_escaped(struct clf__output *output, const char *text, size_t size);

#endif
