#include "base/ascii.h"

#include <ctype.h>
#include <string.h>

int clf__contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0' || length == 0; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) {
            i++;
        }
        if (i == length) {
            return 1;
        }
    }
    return 0;
}

int clf__equals(const char *text, const char *word)
{
    return strlen(text) == strlen(word) && clf__contains(text, word);
}
