/* Apart from utf8.c, by which sentences of failures are cut. */
#include "base/utf8.h"

clf_status clf__utf8_check(const char *text, size_t size)
{
    size_t valid = clf__utf8_valid_prefix(text, size);
    return valid == size
               ? CLF_OK
               : clf__fail(CLF_TEXT,
                           "the byte at offset %zu is not UTF-8; convert the text, for example with "
                           "iconv -f WINDOWS-1252 -t UTF-8",
                           valid);
}
