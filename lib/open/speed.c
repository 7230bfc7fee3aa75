#include "open/speed.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "open/gemm_rate.h"
#include "open/kept.h"
#include "runtime/device/device.h"
#include "runtime/tuning/device_key.h"

enum { ROWS = 256, SIZE = 512 };

clf_status clf__speed_read(double *rate, const struct clf_device_info *info)
{
    char *folder = NULL, *key = NULL, *text = NULL, *path = NULL;
    *rate = 0.0;
    clf_status status = clf__environment_cache_folder(&folder);
    if (status == CLF_FILE) {
        return CLF_OK; /* there is no cache folder */
    }
    if (status == CLF_OK) {
        status = clf__device_key(&key, info);
    }
    if (status == CLF_OK) {
        status = clf__kept_read(&text, &path, folder, "speed", key);
    }
    if (status == CLF_OK && text != NULL) {
        double kept = strtod(text, NULL);
        *rate = kept > 0.0 ? kept : 0.0;
    }
    clf__free(text);
    clf__free(path);
    clf__free(key);
    clf__free(folder);
    return status;
}

static clf_status keep(double rate, const struct clf_device_info *info)
{
    char *folder = NULL, *key = NULL, text[32];
    snprintf(text, sizeof text, "%.6g\n", rate);
    clf_status status = clf__environment_cache_folder(&folder);
    if (status == CLF_OK) {
        status = clf__device_key(&key, info);
    }
    if (status == CLF_OK) {
        status = clf__kept_write(folder, "speed", key, text);
    }
    clf__free(key);
    clf__free(folder);
    return status;
}

clf_status clf__speed_measure(double *rate, struct clf_device *device)
{
    struct clf__gemm_case gemm = {
        .precision = CLF__PRECISION_FP32, .rows = ROWS, .size = SIZE, .seconds = 0.1};
    CLF__TRY(clf__gemm_rate(rate, device, &gemm));
    if (keep(*rate, device->info) != CLF_OK) {
        clf__log(CLF_LOG_DEBUG, "device %s: its measured speed was not saved: %s", device->label,
                 clf_last_error());
    }
    return CLF_OK;
}
