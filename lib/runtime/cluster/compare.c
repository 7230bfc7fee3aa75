#include "runtime/cluster/compare.h"

#include <stdio.h>
#include <string.h>

/* One value to compare: a readable text, or a hash of longer data. */
struct fact {
    char what[64], value[CLF__FACT_BYTES];
};

clf_status clf__ranks_compare(const struct clf__communicator *communicator, const char *what,
                              const char *value)
{
    struct fact own = {{0}, {0}}, first;
    snprintf(own.what, sizeof own.what, "%s", what);
    snprintf(own.value, sizeof own.value, "%s", value);
    first = own;
    CLF__TRY(communicator->broadcast(communicator, &first, sizeof first));
    clf_status status = CLF_OK;
    if (memcmp(&own, &first, sizeof own) != 0) {
        status = clf__fail(CLF_BAD_ARGUMENT,
                           "%s is %s on this rank but %s on rank 0; it must be the same on all ranks", what,
                           own.value, first.value);
    }
    return communicator->agree(communicator, status);
}

clf_status clf__ranks_compare_hash(const struct clf__communicator *communicator, const char *what,
                                   uint64_t hash)
{
    char text[32];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    return clf__ranks_compare(communicator, what, text);
}
