#include "runtime/opencl/listed_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/log.h"
#include "base/memory.h"
#include "runtime/opencl/identity.h"
#include "runtime/opencl/quirks.h"

/* A GPU with less memory cannot hold a typical model and its activations, so CPUs are preferred. */
static const uint64_t enough_memory = (uint64_t)512 << 20;

/* The classes of the default order, best first. */
enum device_class {
    CLASS_GPU,
    CLASS_POCL,
    CLASS_CPU,
    CLASS_SMALL_GPU,
    CLASS_OTHER,
    CLASS_COUNT,
    CLASS_NEVER
};

static enum device_class class_of(const struct clf__listed_device *device, const char **reason)
{
    const struct clf_device_info *info = &device->info;
    if (!device->is_available || !info->has_compiler || device->version < 12) {
        *reason = !device->is_available ? "its driver reports it as unavailable"
                  : !info->has_compiler ? "its driver has no compiler for OpenCL C"
                                        : "its driver does not support OpenCL 1.2";
        return CLASS_NEVER;
    }
    if (info->kind == CLF_DEVICE_GPU) {
        int is_large = info->memory_bytes >= enough_memory;
        *reason = is_large ? "GPUs come first" : "a GPU with less than 512 MiB comes after the CPUs";
        return is_large ? CLASS_GPU : CLASS_SMALL_GPU;
    }
    if (info->kind == CLF_DEVICE_CPU) {
        int is_pocl = clf__quirk_is_pocl(info);
        *reason = is_pocl ? "among CPUs PoCL comes first" : "a CPU";
        return is_pocl ? CLASS_POCL : CLASS_CPU;
    }
    *reason = "neither a GPU nor a pure CPU: emulators and accelerators come last";
    return CLASS_OTHER;
}

/* Criteria for comparing two GPUs, most important first. */
enum difference { BY_OWN_MEMORY, BY_ARITHMETIC, BY_MEMORY, BY_NOTHING };

/* Returns whether clock rates can be compared: every GPU reports one. */
static int tell_clocks(const struct clf_device_list *list)
{
    for (int i = 0; i < list->count; i++) {
        if (list->devices[i].info.kind == CLF_DEVICE_GPU && list->devices[i].info.clock_mhz == 0) {
            return 0;
        }
    }
    return 1;
}

/* Returns peak operations per second (two per multiply-add), or lanes if clocks are not compared. */
static double arithmetic_of(const struct clf__listed_device *device, int has_clocks)
{
    double lanes = (double)device->info.compute_units * device->lanes;
    return has_clocks ? 2e6 * lanes * device->info.clock_mhz : lanes;
}

/* Returns a negative number if `a` is preferred to `b`, a positive number if `b` is, 0 if they are
 * equal. */
static int compare_gpus(const struct clf__listed_device *a, const struct clf__listed_device *b,
                        int has_clocks, enum difference *difference)
{
    double first = arithmetic_of(a, has_clocks), second = arithmetic_of(b, has_clocks);
    if (a->info.shares_memory != b->info.shares_memory) {
        *difference = BY_OWN_MEMORY;
        return a->info.shares_memory ? 1 : -1;
    }
    if (first < second || first > second) {
        *difference = BY_ARITHMETIC;
        return first > second ? -1 : 1;
    }
    if (a->info.memory_bytes != b->info.memory_bytes) {
        *difference = BY_MEMORY;
        return a->info.memory_bytes > b->info.memory_bytes ? -1 : 1;
    }
    *difference = BY_NOTHING;
    return 0;
}

/* Returns whether `a` precedes `b` in the default order. */
static int is_before(const struct clf__listed_device *a, const struct clf__listed_device *b, int has_clocks)
{
    enum difference difference;
    if (a->order_class != b->order_class) {
        return a->order_class < b->order_class;
    }
    int are_gpus = a->order_class == CLASS_GPU || a->order_class == CLASS_SMALL_GPU;
    int order = are_gpus ? compare_gpus(a, b, has_clocks, &difference) : 0;
    return order != 0 ? order < 0 : a < b;
}

/* Explains the position of a GPU relative to its neighbour in the order. */
static void explain(struct clf__listed_device *device, const struct clf__listed_device *other, int has_clocks)
{
    enum difference difference;
    const size_t size = sizeof device->reason;
    int is_first = device->info.candidate_order == 0, index = other->info.index;
    double own = arithmetic_of(device, has_clocks), others = arithmetic_of(other, has_clocks);
    const char *twin = clf__identity_is_pci(device->info.pci_address, other->info.pci_address)
                           ? "the same card with another driver, "
                           : "";
    char place[96];
    snprintf(place, sizeof place, is_first ? "GPUs come first, before device %d, %s" : "after device %d, %s",
             index, twin);
    compare_gpus(device, other, has_clocks, &difference);
    if (difference == BY_OWN_MEMORY) {
        snprintf(device->reason, size, "%swhich %s", place,
                 is_first ? "shares the processor's memory" : "has its own memory");
    } else if (difference == BY_ARITHMETIC && has_clocks) {
        snprintf(device->reason, size,
                 "%swhich has a peak of %.3g TFLOP/s, this one %.3g (by compute units and clock)", place,
                 others / 1e12, own / 1e12);
    } else if (difference == BY_ARITHMETIC) {
        snprintf(device->reason, size, "%swhich has %.0f lanes, this one %.0f", place, others, own);
    } else if (difference == BY_MEMORY) {
        snprintf(device->reason, size, "%swhich has %s memory", place, is_first ? "less" : "more");
    } else {
        snprintf(device->reason, size, "%swhich is equal: decided by the order in the list", place);
    }
}

void clf__choice_order(struct clf_device_list *list)
{
    struct clf__listed_device *devices = list->devices;
    int has_clocks = tell_clocks(list);
    for (int i = 0; i < list->count; i++) {
        devices[i].order_class = (int)class_of(&devices[i], &devices[i].info.order_reason);
    }
    for (int i = 0; i < list->count; i++) {
        int is_candidate = devices[i].order_class != CLASS_NEVER;
        devices[i].info.candidate_order = is_candidate ? 0 : -1;
        for (int j = 0; j < list->count && is_candidate; j++) {
            devices[i].info.candidate_order += j != i && is_before(&devices[j], &devices[i], has_clocks);
        }
    }
    for (int i = 0; i < list->count; i++) {
        struct clf__listed_device *device = &devices[i];
        int order = device->info.candidate_order;
        int other = clf__choice_candidate(list, order > 0 ? order - 1 : 1);
        if (device->order_class == CLASS_GPU && other >= 0 && devices[other].order_class == CLASS_GPU) {
            explain(device, &list->devices[other], has_clocks);
            device->info.order_reason = device->reason;
        }
    }
}

int clf__choice_candidate(const struct clf_device_list *list, int order)
{
    for (int i = 0; i < list->count; i++) {
        if (order >= 0 && list->devices[i].info.candidate_order == order) {
            return i;
        }
    }
    return -1;
}

int clf__choice_rival(const struct clf_device_list *list)
{
    int first = clf__choice_candidate(list, 0), processor = -1;
    for (int order = 1, i; first >= 0 && (i = clf__choice_candidate(list, order)) >= 0; order++) {
        const struct clf_device_info *info = &list->devices[i].info;
        if (clf__identity_is_pci(list->devices[first].info.pci_address, info->pci_address)) {
            return i;
        }
        processor = processor < 0 && info->kind == CLF_DEVICE_CPU ? i : processor;
    }
    int shares = first >= 0 && list->devices[first].info.kind == CLF_DEVICE_GPU &&
                 list->devices[first].info.shares_memory;
    return shares ? processor : -1;
}

void clf__choice_prefer(struct clf_device_list *list, int index, const double rates[2])
{
    int first = clf__choice_candidate(list, 0);
    struct clf__listed_device *device = &list->devices[index], *other = &list->devices[first];
    for (int i = 0; i < list->count; i++) {
        struct clf_device_info *info = &list->devices[i].info;
        info->candidate_order +=
            info->candidate_order >= 0 && info->candidate_order < device->info.candidate_order;
    }
    device->info.candidate_order = 0;
    snprintf(device->reason, sizeof device->reason,
             "reached %.3g GFLOP/s in matrix multiplication, and device %d reached %.3g", 1e-9 * rates[0],
             first, 1e-9 * rates[1]);
    snprintf(other->reason, sizeof other->reason,
             "after device %d, which reached %.3g GFLOP/s in matrix multiplication; this one reached %.3g",
             index, 1e-9 * rates[0], 1e-9 * rates[1]);
    device->info.order_reason = device->reason;
    other->info.order_reason = other->reason;
}

static int is_index(const char *selector)
{
    return *selector != '\0' && strspn(selector, "0123456789") == strlen(selector);
}

static int fits(const struct clf_device_info *info, const char *selector)
{
    if (strcasecmp(selector, "gpu") == 0) {
        return info->kind == CLF_DEVICE_GPU;
    }
    if (strcasecmp(selector, "cpu") == 0) {
        return info->kind == CLF_DEVICE_CPU;
    }
    return clf__identity_is_pci(info->pci_address, selector) || clf__identity_is_uuid(info->uuid, selector) ||
           clf__contains(info->name, selector) || clf__contains(info->vendor, selector) ||
           clf__contains(info->version, selector) || clf__contains(info->platform_name, selector) ||
           clf__contains(info->platform_vendor, selector) || clf__contains(info->platform_version, selector);
}

clf_status clf__choice_nothing(const struct clf_device_list *list)
{
    if (list->count == 0) {
        return clf__fail(CLF_NO_DEVICE,
                         "no OpenCL %s%s; install the OpenCL driver of your GPU (tools/devices/README.md "
                         "lists the packages) or, for the CPU, the Debian package pocl-opencl-icd",
                         list->platform_count == 0 ? "driver is installed" : "device was found",
                         list->silent);
    }
    return clf__fail(CLF_NO_DEVICE, "no usable OpenCL device%s; run `clformer devices`", list->silent);
}

/* Appends a device, after a comma if the text is not empty: 0 "name" (platform, PCI address). */
static clf_status append_device(char **text, const struct clf_device_info *info)
{
    const char *address = *info->pci_address != '\0' ? info->pci_address : info->uuid;
    const char *bus = *info->pci_address != '\0' ? ", PCI " : *info->uuid != '\0' ? ", UUID " : "";
    return clf__append(text, "%s%d \"%s\" (%s%s%s)", **text != '\0' ? ", " : "", info->index, info->name,
                       info->platform_name, bus, address);
}

/* Lists the devices that match a selector (NULL: all) and, if `like` is not NULL, have its name. */
static clf_status list_devices(char **out, int *count, const struct clf_device_list *list,
                               const char *selector, const struct clf_device_info *like)
{
    *count = 0;
    CLF__TRY(clf__copy_string(out, ""));
    for (int i = 0; i < list->count; i++) {
        const struct clf_device_info *info = &list->devices[i].info;
        if ((selector == NULL || fits(info, selector)) &&
            (like == NULL || strcmp(info->name, like->name) == 0)) {
            CLF__TRY(append_device(out, info));
            *count += 1;
        }
    }
    return CLF_OK;
}

/* If several devices have the selected name, the first one is used; a notice names it and explains how to
 * select another. "gpu" and "cpu" select any device of the kind. */
static clf_status warn_of_namesakes(const struct clf_device_list *list, const char *selector, int taken)
{
    if (strcasecmp(selector, "gpu") == 0 || strcasecmp(selector, "cpu") == 0) {
        return CLF_OK;
    }
    int count = 0;
    char *there = NULL;
    clf_status status = list_devices(&there, &count, list, selector, &list->devices[taken].info);
    if (status == CLF_OK && count > 1) {
        clf__log(CLF_LOG_NOTICE,
                 "\"%s\" matches several devices: %s; device %d is used. Select a device by its index, or by "
                 "its PCI address or UUID if the driver reports one",
                 selector, there, taken);
    }
    clf__free(there);
    return status;
}

static clf_status fail_to_fit(const struct clf_device_list *list, const char *selector)
{
    int count = 0, is_list = strpbrk(selector, ",*") != NULL || strcasecmp(selector, "all") == 0;
    char *there = NULL;
    clf_status status = list_devices(&there, &count, list, NULL, NULL);
    if (status == CLF_OK) {
        status = clf__fail(CLF_NO_DEVICE, "%s \"%s\"; available: %s%s; run `clformer devices`",
                           is_list ? "expected a single OpenCL device instead of the list"
                                   : "no OpenCL device matches",
                           selector, there, list->silent);
    }
    clf__free(there);
    return status;
}

clf_status clf__choice_select(int *index, const struct clf_device_list *list, const char *selector)
{
    if (list->count == 0) {
        return clf__choice_nothing(list);
    }
    int found = -1;
    unsigned best = 0;
    if (is_index(selector)) {
        unsigned long number = strtoul(selector, NULL, 10);
        found = number < (unsigned long)list->count ? (int)number : -1;
    } else {
        for (int i = 0; i < list->count; i++) {
            const struct clf_device_info *info = &list->devices[i].info;
            unsigned order = (unsigned)info->candidate_order;
            if (fits(info, selector) &&
                (found < 0 || order < best)) { /* devices that are never the default (-1) come last */
                found = i;
                best = order;
            }
        }
    }
    if (found >= 0) {
        *index = found;
        return is_index(selector) ? CLF_OK : warn_of_namesakes(list, selector, found);
    }
    return fail_to_fit(list, selector);
}

static void add_once(int *indices, int *count, int index)
{
    int at = 0;
    while (at < *count && indices[at] != index) {
        at++;
    }
    indices[at] = index;
    *count += at == *count;
}

/* Returns whether the same card is already selected through another driver. */
static int has_twin(const int *indices, int count, const struct clf_device_list *list, int index)
{
    const char *address = list->devices[index].info.pci_address;
    for (int i = 0; i < count; i++) {
        if (indices[i] != index &&
            clf__identity_is_pci(list->devices[indices[i]].info.pci_address, address)) {
            return 1;
        }
    }
    return 0;
}

/* Selects every usable device that matches; "" matches all. */
static clf_status select_all(int *indices, int *count, const struct clf_device_list *list,
                             const char *selector)
{
    int found = 0;
    for (int order = 0, index; (index = clf__choice_candidate(list, order)) >= 0; order++) {
        if (*selector == '\0' || fits(&list->devices[index].info, selector)) {
            found = 1;
            if (has_twin(indices, *count, list, index)) {
                clf__log(CLF_LOG_INFO,
                         "device %d: skipped, because the same card is used through another driver", index);
            } else {
                add_once(indices, count, index);
            }
        }
    }
    return found ? CLF_OK : *selector == '\0' ? clf__choice_nothing(list) : fail_to_fit(list, selector);
}

/* Selects the devices of one list item; ignores surrounding white space. */
static clf_status select_part(int *indices, int *count, const struct clf_device_list *list, char *part)
{
    size_t length = strlen(part);
    if (length == 0) {
        return clf__fail(CLF_NO_DEVICE,
                         "the list of devices has an empty item; name a device on both sides of each comma");
    }
    if (strcasecmp(part, "all") == 0) {
        return select_all(indices, count, list, "");
    }
    if (part[length - 1] == '*') {
        part[length - 1] = '\0';
        return select_all(indices, count, list, part);
    }
    int index;
    CLF__TRY(clf__choice_select(&index, list, part));
    add_once(indices, count, index);
    return CLF_OK;
}

clf_status clf__choice_select_several(int *indices, int *count, const struct clf_device_list *list,
                                      const char *selectors)
{
    char *parts = NULL;
    *count = 0;
    if (list->count == 0) {
        return clf__choice_nothing(list);
    }
    clf_status status = clf__copy_string(&parts, selectors);
    for (char *part = parts; part != NULL && status == CLF_OK;) {
        char *comma = strchr(part, ',');
        char *end = comma != NULL ? comma : part + strlen(part);
        part += strspn(part, " ");
        while (end > part && end[-1] == ' ') {
            end--;
        }
        *end = '\0';
        status = select_part(indices, count, list, part);
        part = comma != NULL ? comma + 1 : NULL;
    }
    clf__free(parts);
    return status;
}
