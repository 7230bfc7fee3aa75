#include "device/choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/quirks.h"

/* Below this a GPU cannot hold a model of the usual size beside its work, and any CPU serves better. */
static const uint64_t enough_memory = (uint64_t)512 << 20;

/* The default order's classes, best first. */
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
        *reason = !device->is_available ? "its driver says that it is not available"
                  : !info->has_compiler ? "its driver has no compiler for OpenCL C"
                                        : "its driver does not reach OpenCL 1.2";
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
    *reason = "neither a GPU nor a CPU alone: an emulator or an accelerator comes last";
    return CLASS_OTHER;
}

void clf__choice_order(struct clf_device_list *list)
{
    int order = 0;
    for (int turn = 0; turn < CLASS_COUNT; turn++) {
        for (int i = 0; i < list->count; i++) {
            const char *reason;
            struct clf_device_info *info = &list->devices[i].info;
            enum device_class its = class_of(&list->devices[i], &reason);
            info->order_reason = reason;
            if ((int)its == turn) {
                info->candidate_order = order++;
            } else if (its == CLASS_NEVER) {
                info->candidate_order = -1;
            }
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

static int is_index(const char *selector)
{
    return *selector != '\0' && strspn(selector, "0123456789") == strlen(selector);
}

static int fits(const struct clf_device_info *info, const char *selector)
{
    if (clf__equals(selector, "gpu")) {
        return info->kind == CLF_DEVICE_GPU;
    }
    if (clf__equals(selector, "cpu")) {
        return info->kind == CLF_DEVICE_CPU;
    }
    return clf__contains(info->name, selector) || clf__contains(info->vendor, selector) ||
           clf__contains(info->version, selector) || clf__contains(info->platform_name, selector) ||
           clf__contains(info->platform_vendor, selector) || clf__contains(info->platform_version, selector);
}

/* Whether a stands before b: the default order, then those that are never a default. */
static int comes_before(const struct clf_device_info *a, const struct clf_device_info *b)
{
    unsigned first = (unsigned)a->candidate_order, second = (unsigned)b->candidate_order; /* -1 is last */
    return first < second;
}

clf_status clf__choice_nothing(const struct clf_device_list *list)
{
    if (list->platform_count == 0) {
        return clf__fail(CLF_NO_DEVICE, "no OpenCL driver is installed; install your GPU's, or for the CPU "
                                        "Debian's package pocl-opencl-icd");
    }
    return clf__fail(CLF_NO_DEVICE, "no usable OpenCL device is there%s; see `clformer devices`",
                     list->silent);
}

/* "0 \"name\" (platform), 1 ..." for a sentence. */
static clf_status list_devices(char **out, const struct clf_device_list *list)
{
    CLF__TRY(clf__copy_string(out, ""));
    for (int i = 0; i < list->count; i++) {
        const struct clf_device_info *info = &list->devices[i].info;
        char *longer = NULL;
        clf_status status = clf__format(&longer, "%s%s%d \"%s\" (%s)", *out, i > 0 ? ", " : "", i, info->name,
                                        info->platform_name);
        clf__free(*out);
        *out = longer;
        CLF__TRY(status);
    }
    return CLF_OK;
}

clf_status clf__choice_select(int *index, const struct clf_device_list *list, const char *selector)
{
    if (list->count == 0) {
        return clf__choice_nothing(list);
    }
    int found = -1;
    if (is_index(selector)) {
        unsigned long number = strtoul(selector, NULL, 10);
        found = number < (unsigned long)list->count ? (int)number : -1;
    } else {
        for (int i = 0; i < list->count; i++) {
            const struct clf_device_info *info = &list->devices[i].info;
            if (fits(info, selector) && (found < 0 || comes_before(info, &list->devices[found].info))) {
                found = i;
            }
        }
    }
    if (found >= 0) {
        *index = found;
        return CLF_OK;
    }
    char *there = NULL;
    clf_status status = list_devices(&there, list);
    if (status == CLF_OK) {
        status =
            clf__fail(CLF_NO_DEVICE, "no OpenCL device fits \"%s\"; there is %s%s; see `clformer devices`",
                      selector, there, list->silent);
    }
    clf__free(there);
    return status;
}
