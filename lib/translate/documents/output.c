#include "translate/documents/output.h"

#include <string.h>

#include "base/memory.h"

void clf__output_add(struct clf__output *output, const char *bytes, size_t size)
{
    if (output->status == CLF_OK) {
        output->status =
            clf__grow_to(&output->bytes, output->size + size + 1, &output->capacity, sizeof *output->bytes);
    }
    if (output->status == CLF_OK) {
        memcpy(output->bytes + output->size, bytes, size);
        output->size += size;
        output->bytes[output->size] = '\0';
    }
}

void clf__output_add_string(struct clf__output *output, const char *string)
{
    clf__output_add(output, string, strlen(string));
}
