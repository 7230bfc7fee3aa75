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
