#include "base/ascii.h"

#include <string.h>
#include <strings.h>

int clf__contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    while (*text != '\0' && strncasecmp(text, part, length) != 0) {
        text++;
    }
    return *text != '\0' || length == 0;
}

int clf__ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}
