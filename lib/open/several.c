/* Opens the devices of a list. */
#include <clformer/device.h>

#include <stdio.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "runtime/opencl/listed_device.h"

/* Opens all devices that work; returns the last failure if none works. */
static clf_status open_each(struct clf_device **devices, int *count, const int *indices, int selected,
                            const struct clf_device_options *options)
{
    clf_status status = CLF_OK;
    for (int i = 0; i < selected; i++) {
        char index[16];
        snprintf(index, sizeof index, "%d", indices[i]);
        clf_status opened = clf_device_open(&devices[*count], index, options);
        if (opened == CLF_OK) {
            ++*count;
            continue;
        }
        if (opened == CLF_OUT_OF_MEMORY || opened == CLF_BAD_ARGUMENT || opened == CLF_FORMAT) {
            return opened; /* other devices would fail as well */
        }
        status = opened;
        if (selected > 1) {
            clf__log(CLF_LOG_WARNING, "device %d: skipped: %s", indices[i], clf_last_error());
        }
    }
    return *count > 0 ? CLF_OK : status;
}

static clf_status open_list(struct clf_device **devices, int *count, const struct clf_device_list *list,
                            const char *selectors, const struct clf_device_options *options)
{
    int *indices, selected = 0;
    CLF__TRY(clf__allocate(&indices, (size_t)list->count, sizeof *indices));
    clf_status status = clf__choice_select_several(indices, &selected, list, selectors);
    if (status == CLF_OK) {
        status = open_each(devices, count, indices, selected, options);
    }
    clf__free(indices);
    return status;
}

static clf_status open_any(struct clf_device ***out, int *count, const char *selectors,
                           const struct clf_device_options *options)
{
    if (selectors == NULL) {
        CLF__TRY(clf__allocate(out, 1, sizeof **out));
        CLF__TRY(clf_device_open(&(*out)[0], NULL, options));
        *count = 1;
        return CLF_OK;
    }
    struct clf_device_list *list = NULL;
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = clf__allocate(out, (size_t)list->count, sizeof **out);
    if (status == CLF_OK) {
        status = open_list(*out, count, list, selectors, options);
    }
    clf_device_list_free(list);
    return status;
}

clf_status clf_devices_open(struct clf_device ***out, int *count, const char *selectors,
                            const struct clf_device_options *options)
{
    *out = NULL;
    *count = 0;
    if (selectors == NULL || *selectors == '\0') {
        selectors = clf__environment_value("CLFORMER_DEVICE");
    }
    clf_status status = open_any(out, count, selectors, options);
    if (status != CLF_OK) {
        struct clf__failure failure = clf__failure_keep(status);
        clf_devices_close(*out, *count);
        *out = NULL;
        *count = 0;
        return clf__failure_again(&failure);
    }
    return CLF_OK;
}

void clf_devices_close(struct clf_device **devices, int count)
{
    for (int i = 0; devices != NULL && i < count; i++) {
        clf_device_close(devices[i]);
    }
    clf__free(devices);
}
