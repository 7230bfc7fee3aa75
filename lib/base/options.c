#include "base/options.h"

#include <string.h>

#include "base/minmax.h"

enum {
    MAX_SIZE = 4096
}; /* no version of any options struct is larger, so a larger size means uninitialised memory */

clf_status clf__options_take(void *options, size_t size, const void *given, const char *type)
{
    if (given == NULL) {
        return CLF_OK;
    }
    size_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    /* The struct contains a size_t, so its size is a multiple of sizeof(size_t). */
    if (given_size <= sizeof given_size || given_size > MAX_SIZE || given_size % sizeof given_size != 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "struct %s: no version of it has size %zu; initialise it with %s_init()", type,
                         given_size, type);
    }
    const unsigned char *bytes = given;
    for (size_t i = size; i < given_size; i++) {
        if (bytes[i] != 0) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "struct %s: its %zu bytes come from the headers of a newer version, and it uses fields that "
                "clformer " CLF_VERSION_STRING
                " (%zu bytes) does not have; set them to 0 or link the newer version",
                type, given_size, size);
        }
    }
    memcpy(options, given, clf__min_size(size, given_size));
    memcpy(options, &size, sizeof size);
    return CLF_OK;
}

void clf__options_init(void *options, size_t size, const void *defaults)
{
    size_t known;
    memcpy(&known, defaults, sizeof known);
    memset(options, 0, size);
    memcpy(options, defaults, clf__min_size(size, known));
    memcpy(options, &size, sizeof size);
}
