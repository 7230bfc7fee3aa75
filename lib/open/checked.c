/* Stores the result of a check, "passed" or "failed" with the reason. The key contains everything that the
 * result depends on. */
#include <string.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "open/check.h"
#include "open/kept.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"
#include "runtime/tuning/device_key.h"

static const char passed[] = "passed\n", failed[] = "failed: ";

/* Runs the check and stores a permanent result; folder NULL: stores nothing. */
static clf_status check(struct clf_device *device, const char *folder, const char *key, int *is_lasting)
{
    clf_status status = clf__check_kernels(device, is_lasting);
    if (folder == NULL || (status != CLF_OK && !*is_lasting)) {
        return status;
    }
    char *text = NULL;
    const char *reason = status == CLF_OK ? "" : clf_last_error();
    CLF__TRY(clf__format(&text, "%s%s", status == CLF_OK ? passed : failed, reason));
    if (clf__kept_write(folder, "check", key, text) != CLF_OK) {
        clf__log(CLF_LOG_DEBUG, "device %s: the result of the check was not saved: %s", device->label,
                 clf_last_error());
    }
    if (status != CLF_OK) {
        status = clf__fail(status, "%s; CLFORMER_WITHOUT=check skips the check", text + strlen(failed));
    }
    clf__free(text);
    return status;
}

static clf_status check_once(struct clf_device *device, const char *folder, const char *key, int *is_lasting)
{
    char *path = NULL, *result = NULL;
    clf_status status = folder != NULL ? clf__kept_read(&result, &path, folder, "check", key) : CLF_OK;
    if (status == CLF_OK && result != NULL && strncmp(result, failed, strlen(failed)) == 0) {
        *is_lasting = 1;
        status = clf__fail(CLF_DEVICE,
                           "at an earlier start: %s; delete %s to check the device again, or skip the check "
                           "with CLFORMER_WITHOUT=check",
                           result + strlen(failed), path);
    } else if (status == CLF_OK && (result == NULL || strcmp(result, passed) != 0)) {
        status = check(device, folder, key, is_lasting);
    }
    clf__free(result);
    clf__free(path);
    return status;
}

clf_status clf__check_once(struct clf_device *device, int *is_lasting)
{
    *is_lasting = 0;
    if (device->info->kind != CLF_DEVICE_GPU || device->caps.variant != CLF_VARIANT_GPU ||
        (device->caps.without & CLF__WITHOUT_CHECK) != 0) {
        return CLF_OK;
    }
    char *key = NULL;
    clf_status status = clf__device_key(&key, device->info);
    if (status == CLF_OK) {
        status = clf__append(&key, "options %s\n", device->build_options);
    }
    if (status == CLF_OK) {
        status = check_once(device, device->programs->cache.folder, key, is_lasting);
    }
    clf__free(key);
    return status;
}
