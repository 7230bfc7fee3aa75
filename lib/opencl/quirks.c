#include "opencl/quirks.h"

#include "base/ascii.h"
#include "opencl/listed_device.h"

static int names_pocl(const char *text)
{
    return clf__contains(text, "pocl") || clf__contains(text, "portable computing language");
}

/* Why: several OpenCL runtimes for the same processor can be installed, and nothing that they report says
 * which runs our CPU forms best. They were written for and measured on PoCL, so its devices come first among
 * CPUs. PoCL's name stands in no fixed place: 3.1 has it in the platform's vendor and version and in the
 * device's version. */
int clf__quirk_is_pocl(const struct clf_device_info *info)
{
    return names_pocl(info->platform_name) || names_pocl(info->platform_vendor) ||
           names_pocl(info->platform_version) || names_pocl(info->version);
}

/* Why: PoCL 3.1 counts who runs a kernel's code by the hash of its program and the size of its groups alone.
 * Where a queue runs it over fewer groups than another one that has just begun to, both have code of their
 * own, and the end of the one is counted with the other: with three queues PoCL aborts ("ref_count > 0").
 * Nothing that a device reports tells it; what the hash covers is the program's text, its options and the
 * device. */
int clf__quirk_mixes_up_kernels(const struct clf_device_info *info)
{
    return clf__quirk_is_pocl(info);
}

/* Why: these two hide their devices behind something that the user can change, and OpenCL has no way to say
 * it. */
const char *clf__quirk_no_devices(const char *platform_name, const char *platform_vendor,
                                  const char *platform_version)
{
    if (names_pocl(platform_name) || names_pocl(platform_vendor) || names_pocl(platform_version)) {
        return "PoCL shows no device where it cannot write its cache: make $POCL_CACHE_DIR (or "
               "~/.cache/pocl) "
               "writable";
    }
    if (clf__contains(platform_name, "rusticl")) {
        return "rusticl shows a device only where $RUSTICL_ENABLE names its driver, such as radeonsi";
    }
    return "";
}

/* Why: every maker calls something else a compute unit, and OpenCL has no way to ask how wide it is: NVIDIA a
 * multiprocessor (64 lanes with compute capability 6.0, 7 and 8.0, and 128 since 5 else), Intel an execution
 * unit of 8, AMD a unit of 64. 512 of Intel's are less than 100 of NVIDIA's. */
unsigned clf__quirk_lanes(unsigned vendor, unsigned major, unsigned minor)
{
    switch (vendor) {
    case 0x10de: /* NVIDIA */
        return major == 7 || (minor == 0 && (major == 6 || major == 8)) ? 64 : 128;
    case 0x8086: /* Intel */
        return 8;
    default: /* AMD, and who is not known */
        return 64;
    }
}
