#include "runtime/opencl/identity.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "runtime/opencl/quirks.h"

/* Constants of cl_nv_device_attribute_query, which some public headers lack. A slot is device << 3 |
 * function. */
enum { NV_PCI_BUS = 0x4008, NV_PCI_SLOT = 0x4009, NV_PCI_DOMAIN = 0x400A };

enum { ADDRESS_TEXT = 32, UUID_TEXT = 2 * CL_UUID_SIZE_KHR + 5 };
static const unsigned unknown_domain = 0xffffffffu;

struct pci {
    unsigned domain, bus, device, function;
};

int clf__identity_lists(const char *extensions, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(extensions, name); at; at = strstr(at + length, name)) {
        int starts = at == extensions || at[-1] == ' ';
        if (starts && (at[length] == ' ' || at[length] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* Queries a value; returns whether the driver reported exactly this size. */
static int ask(void *out, size_t size, const struct clf__listed_device *device, cl_device_info what)
{
    size_t told = 0;
    return CLF__CL(clGetDeviceInfo(device->id, what, size, out, &told)) == CL_SUCCESS && told == size;
}

static cl_uint ask_number(const struct clf__listed_device *device, cl_device_info what, cl_uint otherwise)
{
    cl_uint number = 0;
    return ask(&number, sizeof number, device, what) ? number : otherwise;
}

static int ask_flag(const struct clf__listed_device *device, cl_device_info what)
{
    cl_bool flag = CL_FALSE;
    return ask(&flag, sizeof flag, device, what) && flag == CL_TRUE;
}

/* Reads the PCI address through the Khronos extension or a vendor extension. AMD's extension has no
 * domain. */
static int ask_pci(struct pci *out, const struct clf__listed_device *device, const char *extensions)
{
    cl_device_pci_bus_info_khr khronos;
    if (clf__identity_lists(extensions, "cl_khr_pci_bus_info") &&
        ask(&khronos, sizeof khronos, device, CL_DEVICE_PCI_BUS_INFO_KHR)) {
        *out = (struct pci){khronos.pci_domain, khronos.pci_bus, khronos.pci_device, khronos.pci_function};
        return 1;
    }
    cl_uint bus, slot;
    if (clf__identity_lists(extensions, "cl_nv_device_attribute_query") &&
        ask(&bus, sizeof bus, device, NV_PCI_BUS) && ask(&slot, sizeof slot, device, NV_PCI_SLOT)) {
        cl_uint domain = ask_number(device, NV_PCI_DOMAIN, unknown_domain);
        *out = (struct pci){domain, bus, slot >> 3, slot & 7};
        return 1;
    }
    cl_device_topology_amd topology;
    if (clf__identity_lists(extensions, "cl_amd_device_attribute_query") &&
        ask(&topology, sizeof topology, device, CL_DEVICE_TOPOLOGY_AMD) &&
        topology.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD) {
        *out = (struct pci){unknown_domain, (unsigned char)topology.pcie.bus,
                            (unsigned char)topology.pcie.device, (unsigned char)topology.pcie.function};
        return 1;
    }
    return 0;
}

static void write_pci(char text[ADDRESS_TEXT], const struct pci *pci)
{
    int used = pci->domain == unknown_domain ? 0 : snprintf(text, ADDRESS_TEXT, "%04x:", pci->domain);
    snprintf(text + used, (size_t)(ADDRESS_TEXT - used), "%02x:%02x.%x", pci->bus & 0xff, pci->device & 0xff,
             pci->function & 0xf);
}

/* Formats a UUID in the usual five groups; "" if all bytes are zero. */
static void write_uuid(char text[UUID_TEXT], const cl_uchar uuid[CL_UUID_SIZE_KHR])
{
    static const cl_uchar none[CL_UUID_SIZE_KHR];
    int used = 0;
    for (int i = 0; i < CL_UUID_SIZE_KHR && memcmp(uuid, none, sizeof none) != 0; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += snprintf(text + used, (size_t)(UUID_TEXT - used), "%s%02x", dash, (unsigned)uuid[i]);
    }
}

/* Compute capability of NVIDIA GPUs; 0.0 for other vendors. */
struct capability {
    cl_uint major, minor;
};

static struct capability ask_capability(const struct clf__listed_device *device, const char *extensions)
{
    if (!clf__identity_lists(extensions, "cl_nv_device_attribute_query")) {
        return (struct capability){0, 0};
    }
    return (struct capability){ask_number(device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, 0),
                               ask_number(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, 0)};
}

/* Returns the number of lanes per compute unit. */
static unsigned ask_lanes(const struct clf__listed_device *device, const char *extensions)
{
    if (clf__identity_lists(extensions, "cl_amd_device_attribute_query")) {
        cl_uint lanes = ask_number(device, CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD, 0) *
                        ask_number(device, CL_DEVICE_SIMD_WIDTH_AMD, 0);
        if (lanes > 0) {
            return lanes;
        }
    }
    struct capability nvidia = ask_capability(device, extensions);
    return clf__quirk_lanes(ask_number(device, CL_DEVICE_VENDOR_ID, 0), nvidia.major, nvidia.minor);
}

/* Returns the smallest sub-group size, which Intel's matrix instructions need; 0 without such instructions.
 */
static int ask_dpas_lanes(const struct clf__listed_device *device, const char *extensions)
{
    size_t sizes[16] = {0}, lanes = 0;
    if (!clf__identity_lists(extensions, "cl_intel_subgroup_matrix_multiply_accumulate") ||
        CLF__CL(clGetDeviceInfo(device->id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, NULL)) !=
            CL_SUCCESS) {
        return 0;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lanes = sizes[i] > 0 && (lanes == 0 || sizes[i] < lanes) ? sizes[i] : lanes;
    }
    return (int)lanes;
}

/* Infers the supported instructions from vendor properties, because OpenCL has no query for them. */
static void ask_instructions(struct clf__listed_device *device, const char *extensions)
{
    struct capability nvidia = ask_capability(device, extensions);
    device->capability = (int)(10 * nvidia.major + nvidia.minor);
    device->has_dp4a = device->capability >= 61;
    device->has_amd_compiler = clf__identity_lists(extensions, "cl_amd_device_attribute_query");
    device->dpas_lanes = ask_dpas_lanes(device, extensions);
}

/* Some drivers list the extension but emulate it, several times slower than plain code. The first version
 * of the extension has no query for this. The kernels use dot_acc_sat() on signed bytes. */
static int ask_fast_dot(const struct clf__listed_device *device, const char *extensions)
{
    cl_device_integer_dot_product_acceleration_properties_khr fast;
    return clf__identity_lists(extensions, "cl_khr_integer_dot_product") &&
           ask(&fast, sizeof fast, device, CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR) &&
           fast.accumulating_saturating_signed_accelerated;
}

/* AMD reports one or two sizes in KiB: the total free memory and the largest free block. */
static uint64_t ask_free_bytes(const struct clf__listed_device *device, const char *extensions)
{
    size_t kib[2] = {0, 0};
    int is_known = clf__identity_lists(extensions, "cl_amd_device_attribute_query") &&
                   CLF__CL(clGetDeviceInfo(device->id, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof kib, kib,
                                           NULL)) == CL_SUCCESS;
    return is_known ? 1024 * (uint64_t)kib[0] : 0;
}

static int ask_exact_division(const struct clf__listed_device *device)
{
    cl_device_fp_config config = 0;
    return device->version >= 12 && ask(&config, sizeof config, device, CL_DEVICE_SINGLE_FP_CONFIG) &&
           (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

clf_status clf__identity_read(struct clf__listed_device *device, const char *extensions)
{
    struct clf_device_info *info = &device->info;
    char address[ADDRESS_TEXT] = "", uuid[UUID_TEXT] = "";
    struct pci pci;
    cl_uchar bytes[CL_UUID_SIZE_KHR];
    if (ask_pci(&pci, device, extensions)) {
        write_pci(address, &pci);
    }
    if (clf__identity_lists(extensions, "cl_khr_device_uuid") &&
        ask(bytes, sizeof bytes, device, CL_DEVICE_UUID_KHR)) {
        write_uuid(uuid, bytes);
    }
    info->clock_mhz = ask_number(device, CL_DEVICE_MAX_CLOCK_FREQUENCY, 0);
    info->shares_memory = ask_flag(device, CL_DEVICE_HOST_UNIFIED_MEMORY) ||
                          (clf__identity_lists(extensions, "cl_nv_device_attribute_query") &&
                           ask_flag(device, CL_DEVICE_INTEGRATED_MEMORY_NV));
    device->float_width = ask_number(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 0);
    device->lanes = ask_lanes(device, extensions);
    ask_instructions(device, extensions);
    device->has_fast_dot = ask_fast_dot(device, extensions);
    device->free_bytes = ask_free_bytes(device, extensions);
    device->has_exact_division = ask_exact_division(device);
    char *copy = NULL;
    CLF__TRY(clf__copy_string(&copy, address));
    info->pci_address = copy;
    CLF__TRY(clf__copy_string(&copy, uuid));
    info->uuid = copy;
    return CLF_OK;
}

/* Parses a text that consists only of a complete PCI address. */
static int parse_pci(struct pci *out, const char *text)
{
    int used = 0;
    if (*text == '\0' || strspn(text, "0123456789abcdefABCDEF:.") != strlen(text)) {
        return 0;
    }
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &out->domain, &out->bus, &out->device, &out->function, &used) ==
        4) {
        return text[used] == '\0';
    }
    out->domain = unknown_domain;
    return sscanf(text, "%2x:%2x.%1x%n", &out->bus, &out->device, &out->function, &used) == 3 &&
           text[used] == '\0';
}

int clf__identity_is_pci(const char *a, const char *b)
{
    struct pci x, y;
    return parse_pci(&x, a) && parse_pci(&y, b) && x.bus == y.bus && x.device == y.device &&
           x.function == y.function &&
           (x.domain == y.domain || x.domain == unknown_domain || y.domain == unknown_domain);
}

int clf__identity_is_uuid(const char *uuid, const char *text)
{
    enum { FEWEST = 8 };
    text += strncasecmp(text, "GPU-", 4) == 0 ? strlen("GPU-") : 0;
    size_t length = strlen(text);
    return length >= FEWEST && length <= strlen(uuid) && strncasecmp(uuid, text, length) == 0;
}
