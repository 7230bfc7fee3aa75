/* The file that holds the result of a check: the key, which is everything that the result depends on, and a
 * line "passed", or "failed" with the reason. */
#include <inttypes.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/owned.h"
#include "device/device.h"
#include "opening/check.h"
#include "program/program.h"
#include "tuning/device_key.h"

static const size_t largest_file = 1 << 16;
static const char passed[] = "passed\n", failed[] = "failed: ";

/* Both are freed on failure too; *path stays NULL where nothing is kept on disk. */
static clf_status locate(char **key, char **path, const struct clf_device *device)
{
    const char *folder = device->programs->cache.folder;
    CLF__TRY(clf__device_key(key, device->info));
    CLF__TRY(clf__append(key, "options %s\n", device->build_options));
    return folder != NULL
               ? clf__format(path, "%s/check-%016" PRIx64 ".txt", folder, clf__checksum(*key, strlen(*key)))
               : CLF_OK;
}

/* The result in a file, freed by clf__free(), or NULL if there is none for this key. A file that cannot be
 * read is treated like a missing one: the program cache warns about its folder. */
static clf_status read_result(char **out, const char *path, const char *key)
{
    char *text = NULL;
    size_t size = 0, length = strlen(key);
    *out = NULL;
    clf_status status = clf__owned_file_read(&text, &size, path, largest_file);
    if (status == CLF_OK && strlen(text) == size && strncmp(text, key, length) == 0) {
        status = clf__copy_string(out, text + length);
    }
    clf__free(text);
    return status == CLF_OUT_OF_MEMORY ? status : CLF_OK;
}

static clf_status keep(const char *path, const char *key, const char *start, const char *reason)
{
    char *text = NULL;
    CLF__TRY(clf__format(&text, "%s%s%s", key, start, reason));
    clf_status status = clf__owned_file_write(path, text, strlen(text));
    clf__free(text);
    return status;
}

/* Checks now and keeps what will not change by itself. */
static clf_status check(struct clf_device *device, const char *path, const char *key)
{
    int is_lasting = 0;
    clf_status status = clf__check_kernels(device, &is_lasting);
    if (path == NULL || (status != CLF_OK && !is_lasting)) {
        return status;
    }
    char *reason = NULL;
    CLF__TRY(clf__copy_string(&reason, status == CLF_OK ? "" : clf_last_error()));
    if (keep(path, key, status == CLF_OK ? passed : failed, reason) != CLF_OK) {
        clf__log(CLF_LOG_DEBUG, "the check of device %s is not kept: %s", device->label, clf_last_error());
    }
    if (status != CLF_OK) {
        status = clf__fail(status, "%s; CLFORMER_WITHOUT=check takes the device anyway", reason);
    }
    clf__free(reason);
    return status;
}

clf_status clf__check_once(struct clf_device *device)
{
    if (device->info->kind != CLF_DEVICE_GPU || device->caps.form != CLF_FORM_GPU ||
        (device->caps.without & CLF__WITHOUT_CHECK) != 0) {
        return CLF_OK;
    }
    char *key = NULL, *path = NULL, *result = NULL;
    clf_status status = locate(&key, &path, device);
    if (status == CLF_OK && path != NULL) {
        status = read_result(&result, path, key);
    }
    if (status == CLF_OK && result != NULL && strncmp(result, failed, strlen(failed)) == 0) {
        status =
            clf__fail(CLF_DEVICE,
                      "at an earlier start, %s; delete %s to check again, or take the device anyway with "
                      "CLFORMER_WITHOUT=check",
                      result + strlen(failed), path);
    } else if (status == CLF_OK && (result == NULL || strcmp(result, passed) != 0)) {
        status = check(device, path, key);
    }
    clf__free(result);
    clf__free(path);
    clf__free(key);
    return status;
}
