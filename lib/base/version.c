#include <clformer/version.h>

const char *clf_version(void)
{
    return CLF_VERSION_STRING;
}

int clf_version_number(void)
{
    return CLF_VERSION_NUMBER;
}
