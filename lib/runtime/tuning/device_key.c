#include "runtime/tuning/device_key.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/memory.h"

/* Removes ", <start>..." up to the next comma or parenthesis, anywhere in a name. */
static void remove_parts(char *name, const char *start)
{
    size_t length = strlen(start);
    for (char *at = name; length > 0 && (at = strstr(at, ", ")) != NULL;) {
        if (strncmp(at + 2, start, length) != 0) {
            at += 2;
            continue;
        }
        const char *end = at + 2 + strcspn(at + 2, ",)");
        memmove(at, end, strlen(end) + 1);
    }
}

clf_status clf__device_key(char **out, const struct clf_device_info *info)
{
    struct utsname system;
    char *name = NULL;
    CLF__TRY(clf__copy_string(&name, info->name));
    /* radeonsi: "AMD Radeon RX 6800 (navi21, LLVM 15.0.7, DRM 3.49, 6.1.0-13-amd64)" */
    remove_parts(name, "DRM ");
    if (uname(&system) == 0) {
        remove_parts(name, system.release);
    }
    clf_status status =
        clf__format(out, "clformer %s\nplatform %s, %s\ndevice %s, %s\ndriver %s\n", CLF_VERSION_STRING,
                    info->platform_name, info->platform_version, name, info->version, info->driver);
    clf__free(name);
    return status;
}
