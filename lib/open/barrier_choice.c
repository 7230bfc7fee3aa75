#include "open/barrier_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "open/kept.h"
#include "open/trial_child.h"
#include "runtime/program/program.h"
#include "runtime/tuning/device_key.h"

static const char word[] = "barrier"; /* begins the names of files with results */

int clf__barrier_needs_trial(const struct clf__listed_device *listed, unsigned without)
{
    int has_atomics = listed->has_device_atomics && (without & CLF__WITHOUT_ATOMICS) == 0;
    return listed->info.kind == CLF_DEVICE_GPU && !has_atomics &&
           (without & (CLF__WITHOUT_BARRIER | CLF__WITHOUT_PAIRS)) == 0;
}

static clf_status build_key(char **out, const struct clf__listed_device *listed)
{
    static const struct clf__programs own; /* without additional sources */
    char *source = NULL;
    CLF__TRY(clf__program_source(&source, &own, "probe_barrier"));
    uint64_t hash = clf__fnv(CLF__FNV_BEGIN, source, strlen(source));
    clf__free(source);
    CLF__TRY(clf__device_key(out, &listed->info));
    return clf__append(out, "sources %016" PRIx64 "\n", hash);
}

static int parse(void *trial, const char *output)
{
    return clf__barrier_trial_parse(trial, output);
}

static void record_crash(void *trial, const char *failure)
{
    struct clf__barrier_trial *own = trial;
    own->is_crash = own->is_lasting = 1;
    clf__trial_copy_failure(own->failure, failure);
}

static clf_status run_trial(struct clf__barrier_trial *trial, const struct clf__listed_device *listed,
                            const struct clf__barrier_method *method)
{
    char index[16];
    int has_run = 0;
    snprintf(index, sizeof index, "%d", listed->info.index);
    const struct clf__trial_child child = {.flag = "--try-barrier",
                                           .index = index,
                                           .parse = parse,
                                           .record_crash = record_crash,
                                           .trial = trial};
    CLF__TRY(clf__trial_in_child(&has_run, &child));
    return has_run ? CLF_OK : method->run(trial, method->user);
}

static clf_status store(const struct clf__barrier_trial *trial, const struct clf_device_info *info,
                        const char *folder, const char *key)
{
    char *text = NULL;
    CLF__TRY(clf__barrier_trial_format(&text, trial));
    if (clf__kept_write(folder, word, key, text) != CLF_OK) {
        clf__log(CLF_LOG_DEBUG, "device %d: the trial of waiting work-groups is not saved: %s", info->index,
                 clf_last_error());
    }
    clf__free(text);
    return CLF_OK;
}

/* folder NULL: stores nothing. */
static clf_status find_result(struct clf__barrier_trial *trial, const struct clf__listed_device *listed,
                              const struct clf__barrier_method *method, const char *folder, const char *key)
{
    const struct clf_device_info *info = &listed->info;
    char *text = NULL, *path = NULL;
    clf_status status = folder != NULL ? clf__kept_read(&text, &path, folder, word, key) : CLF_OK;
    int is_known = status == CLF_OK && text != NULL && clf__barrier_trial_parse(trial, text);
    clf__free(text);
    if (status == CLF_OK && !is_known) {
        status = run_trial(trial, listed, method);
    }
    int is_kept = folder != NULL && trial->is_lasting;
    if (status == CLF_OK && !is_known && is_kept) {
        status = store(trial, info, folder, key);
    }
    if (status == CLF_OK) {
        int is_disabled = is_kept && !clf__barrier_trial_is_used(trial);
        clf__log(trial->is_crash ? CLF_LOG_WARNING : CLF_LOG_INFO,
                 "device %d \"%s\": waiting work-groups without device-scope atomics: %s%s%s", info->index,
                 info->name, clf__barrier_trial_describe(trial), is_disabled ? "; to try again, delete " : "",
                 is_disabled ? path : "");
    }
    clf__free(path);
    return status;
}

clf_status clf__barrier_choose(struct clf__barrier_trial *out, const struct clf__listed_device *listed,
                               const struct clf__barrier_method *method)
{
    char *folder = NULL, *key = NULL;
    *out = (struct clf__barrier_trial){.is_tried = 1, .is_lasting = 1};
    clf_status status = method->is_kept ? clf__environment_cache_folder(&folder) : CLF_OK;
    if (status == CLF_OK || status == CLF_FILE) { /* CLF_FILE: there is no cache folder */
        status = build_key(&key, listed);
    }
    if (status == CLF_OK) {
        status = find_result(out, listed, method, folder, key);
    }
    clf__free(key);
    clf__free(folder);
    return status;
}
