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

void clf__output_add_escaped(struct clf__output *output, const char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        const char *reference = text[i] == '&'   ? "&amp;"
                                : text[i] == '<' ? "&lt;"
                                : text[i] == '>' ? "&gt;"
                                                 : NULL;
        if (reference != NULL) {
            clf__output_add(output, text + at, i - at);
            clf__output_add_string(output, reference);
            at = i + 1;
        }
    }
    clf__output_add(output, text + at, size - at);
}
