#include "runtime/opencl/quirks.h"

#include "base/ascii.h"
#include "runtime/opencl/listed_device.h"

static int names_pocl(const char *text)
{
    return clf__contains(text, "pocl") || clf__contains(text, "portable computing language");
}

/* Several OpenCL runtimes for the same CPU can be installed, and no reported property shows which runs the
 * CPU variants best. The kernels were written for and measured on PoCL, so its devices come first among
 * CPUs. PoCL 3.1 is identified by the vendor and version of the platform, and by the version of the
 * device. */
int clf__quirk_is_pocl(const struct clf_device_info *info)
{
    return names_pocl(info->platform_name) || names_pocl(info->platform_vendor) ||
           names_pocl(info->platform_version) || names_pocl(info->version);
}

/* PoCL 3.1 identifies the code of a kernel by the group size and a hash of the program's text, its options
 * and the device. If two queues run the same program with different numbers of groups, they have separate
 * code but share one reference count, and PoCL aborts ("ref_count > 0"). No reported property shows this. */
int clf__quirk_mixes_up_kernels(const struct clf_device_info *info)
{
    return clf__quirk_is_pocl(info);
}

/* Two platforms hide their devices depending on user settings that OpenCL does not report. */
const char *clf__quirk_no_devices(const char *platform_name, const char *platform_vendor,
                                  const char *platform_version)
{
    if (names_pocl(platform_name) || names_pocl(platform_vendor) || names_pocl(platform_version)) {
        return "PoCL shows no device if it cannot write its cache; make $POCL_CACHE_DIR (or ~/.cache/pocl) "
               "writable";
    }
    if (clf__contains(platform_name, "rusticl")) {
        return "rusticl shows a device only if $RUSTICL_ENABLE names its driver, such as radeonsi";
    }
    return "";
}

/* Vendors define compute units differently, and OpenCL does not report their width: an NVIDIA unit is a
 * multiprocessor of 64 lanes (compute capability 6.0, 7.x and 8.0) or 128 lanes (others since 5.0), an
 * Intel unit is an execution unit of 8 lanes, and an AMD unit has 64 lanes. */
unsigned clf__quirk_lanes(unsigned vendor, unsigned major, unsigned minor)
{
    switch (vendor) {
    case 0x10de: /* NVIDIA */
        return major == 7 || (minor == 0 && (major == 6 || major == 8)) ? 64 : 128;
    case 0x8086: /* Intel */
        return 8;
    default: /* AMD, and unknown vendors */
        return 64;
    }
}
