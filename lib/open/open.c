#include "open/open_one.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/options.h"
#include "open/external.h"
#include "open/speed.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

/* Returns whether the device caused the failure, so another device may work. */
static int is_devices_fault(clf_status status)
{
    return status == CLF_DEVICE || status == CLF_DEVICE_MEMORY || status == CLF_BUILD ||
           status == CLF_UNSUPPORTED;
}

/* Reads the speed of a listed device, or measures it if it is unknown; 0 if the device fails. */
static clf_status find_speed(double *rate, struct clf_device_list *list, int index,
                             const struct clf_device_options *options)
{
    CLF__TRY(clf__speed_read(rate, &list->devices[index].info));
    if (*rate > 0.0) {
        return CLF_OK;
    }
    struct clf_device *device;
    clf_status status = clf__open_index(&device, list, index, &(struct clf__opening){.options = options});
    if (status == CLF_OK) {
        status = clf__speed_measure(rate, device);
        clf__program_cache_store_all(device);
        clf__open_free(device);
    }
    return is_devices_fault(status) ? CLF_OK : status;
}

/* Puts the faster of two devices first if only a measurement can decide. Skipped without a cache folder,
 * because every start would take seconds longer, and if a kernel variant is requested. */
static clf_status order_by_speed(struct clf_device_list *list, const struct clf_device_options *options)
{
    unsigned without = 0;
    uint64_t kept_bytes = 0;
    CLF__TRY(clf__environment_without(&without));
    CLF__TRY(clf__environment_cache_bytes(&kept_bytes));
    int rival = clf__choice_rival(list), first = clf__choice_candidate(list, 0);
    if (rival < 0 || !options->use_program_cache || kept_bytes == 0 || options->variant != CLF_VARIANT_AUTO ||
        clf__environment_value("CLFORMER_VARIANT") != NULL ||
        (without & (CLF__WITHOUT_SPEED | CLF__WITHOUT_CACHE)) != 0) {
        return CLF_OK;
    }
    const double clearly = 1.1;
    double rates[2];
    CLF__TRY(find_speed(&rates[1], list, first, options));
    CLF__TRY(find_speed(&rates[0], list, rival, options));
    if (rates[1] > 0.0 && rates[0] > clearly * rates[1]) {
        clf__choice_prefer(list, rival, rates);
    }
    return CLF_OK;
}

/* Returns the first device of the default order other than `index`, or -1. */
static int next_candidate(const struct clf_device_list *list, int index)
{
    int order = list->devices[index].info.candidate_order;
    int next = clf__choice_candidate(list, order + 1);
    return next >= 0 ? next : clf__choice_candidate(list, order == 0 ? 1 : 0);
}

static clf_status open_selected(struct clf_device **out, struct clf_device_list *list, const char *selector,
                                const struct clf_device_options *options)
{
    int index = -1;
    CLF__TRY(clf__choice_select(&index, list, selector));
    clf_status status = clf__open_index(out, list, index, &(struct clf__opening){.options = options});
    int next = status == CLF_OK ? -1 : next_candidate(list, index);
    if (next >= 0 && next != index && is_devices_fault(status)) {
        return clf__fail(status, "%s; the next candidate is device %d \"%s\"", clf_last_error(), next,
                         list->devices[next].info.name);
    }
    return status;
}

static clf_status open_default(struct clf_device **out, struct clf_device_list *list,
                               const struct clf_device_options *options)
{
    clf_status status = CLF_NO_DEVICE;
    CLF__TRY(order_by_speed(list, options));
    for (int order = 0;; order++) {
        int index = clf__choice_candidate(list, order);
        if (index < 0) {
            return order == 0 ? clf__choice_nothing(list) : status;
        }
        status = clf__open_index(out, list, index, &(struct clf__opening){.options = options});
        if (status == CLF_OK) {
            const struct clf_device_info *info = &list->devices[index].info;
            clf__log(CLF_LOG_INFO, "device %d \"%s\" is the default: %s", index, info->name,
                     info->order_reason);
            return CLF_OK;
        }
        if (!is_devices_fault(status)) {
            return status;
        }
        clf__log(CLF_LOG_WARNING, "device %d: skipped: %s", index, clf_last_error());
    }
}

/* Transfers ownership of the list to the opened device, or frees the list on failure; returns `status`. */
static clf_status keep_list(struct clf_device *device, struct clf_device_list *list, clf_status status)
{
    if (status == CLF_OK) {
        device->list = list;
    } else {
        clf_device_list_free(list);
    }
    return status;
}

clf_status clf_device_open(struct clf_device **out, const char *selector,
                           const struct clf_device_options *options)
{
    *out = NULL;
    struct clf_device_options own;
    clf_device_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_device_options"));
    if (selector == NULL || *selector == '\0') {
        selector = clf__environment_value("CLFORMER_DEVICE");
    }
    struct clf_device_list *list = NULL;
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = selector ? open_selected(out, list, selector, &own) : open_default(out, list, &own);
    return keep_list(*out, list, status);
}

static clf_status open_external(struct clf_device **out, struct clf_device_list *list,
                                const struct clf__external *external,
                                const struct clf_device_options *options)
{
    cl_device_id id = NULL;
    CLF__TRY(clf__external_device(&id, external, options->profile));
    for (int i = 0; i < list->count; i++) {
        if (list->devices[i].id == id) {
            return clf__open_index(out, list, i,
                                   &(struct clf__opening){.options = options, .external = external});
        }
    }
    return clf__fail(CLF_NO_DEVICE,
                     "context: its device is not among the %d devices that `clformer devices` lists",
                     list->count);
}

clf_status clf_device_open_context(struct clf_device **out, void *context, void *queue,
                                   const struct clf_device_options *options)
{
    *out = NULL;
    if (context == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "context: is NULL; pass a context, or call clf_device_open()");
    }
    struct clf_device_options own;
    clf_device_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_device_options"));
    const struct clf__external external = {context, queue};
    struct clf_device_list *list = NULL;
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = open_external(out, list, &external, &own);
    return keep_list(*out, list, status);
}

const struct clf_device_info *clf_device_describe(const struct clf_device *device)
{
    return device->info;
}

void clf_device_close(struct clf_device *device)
{
    if (device == NULL) {
        return;
    }
    struct clf_device_list *list = device->list;
    clf__programs_ahead_store(device);
    clf__program_cache_store_all(device);
    clf__open_free(device);
    clf_device_list_free(list);
}
