#include "open/level_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "open/kept.h"
#include "open/trial_child.h"
#include "runtime/tuning/device_key.h"

int clf__level_is_possible(const struct clf__level *level, const struct clf__listed_device *listed)
{
    switch (level->name) {
    case CLF_INSTRUCTIONS_NV80:
        return listed->capability >= 80;
    case CLF_INSTRUCTIONS_NV75:
        return listed->capability >= 75;
    case CLF_INSTRUCTIONS_DPAS8:
        return listed->dpas_lanes == 8;
    case CLF_INSTRUCTIONS_DPAS16:
        return listed->dpas_lanes == 16;
    case CLF_INSTRUCTIONS_EMULATED:
        return 1;
    default:
        return listed->has_amd_compiler;
    }
}

/* Returns the levels to try, as a sum of flags. */
static int list_candidates(const struct clf__listed_device *listed)
{
    int candidates = 0;
    for (int name = CLF_INSTRUCTIONS_PORTABLE; clf__level_words[name] != NULL; name++) {
        const struct clf__level *level = clf__level_find((clf_instructions)name, CLF__MATRIX_ANY);
        if (level != NULL && level->matrix.define != NULL && name != CLF_INSTRUCTIONS_EMULATED &&
            clf__level_is_possible(level, listed)) {
            candidates |= level->instructions;
        }
    }
    return candidates;
}

clf_status clf__level_trial_key(char **out, const struct clf__listed_device *listed, clf_instructions level,
                                unsigned without, const struct clf__programs *programs)
{
    static const char *const names[] = {"probe_matrix", "gemm_matrix", "gemm"};
    uint64_t hash = CLF__FNV_BEGIN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *source = NULL;
        CLF__TRY(clf__program_source(&source, programs, names[i]));
        hash = clf__fnv(hash, source, strlen(source));
        clf__free(source);
    }
    CLF__TRY(clf__device_key(out, &listed->info));
    return clf__append(out, "level %s\nwithout %u\nsources %016" PRIx64 "\n", clf__level_words[level],
                       without, hash);
}

static int parse(void *trial, const char *output)
{
    return clf__level_trial_parse(trial, output);
}

static void record_crash(void *trial, const char *failure)
{
    struct clf__level_trial *own = trial;
    own->is_crash = 1;
    clf__level_trial_fail(own, 1, failure);
}

static clf_status run_trial(struct clf__level_trial *trial, const struct clf__listed_device *listed,
                            const struct clf__trial_method *method)
{
    char index[16];
    int has_run = 0;
    snprintf(index, sizeof index, "%d", listed->info.index);
    const struct clf__trial_child child = {.flag = "--try-level",
                                           .index = index,
                                           .operand = clf__level_words[trial->level],
                                           .parse = parse,
                                           .record_crash = record_crash,
                                           .trial = trial};
    CLF__TRY(clf__trial_in_child(&has_run, &child));
    if (!has_run && listed->has_amd_compiler) {
        clf__level_trial_fail(trial, 0,
                              "their trial needs a child process; run `clformer devices` once, or set "
                              "CLFORMER_PROBE to the path of clformer");
        return CLF_OK;
    }
    return has_run ? CLF_OK : method->run(trial, method->user);
}

/* Logs the result of a trial. path: the file with a result that disables the level, or NULL. */
static void log_result(const struct clf__level_trial *trial, const struct clf_device_info *info,
                       int is_warning, const char *path)
{
    char text[CLF__LEVEL_TRIAL_TEXT];
    clf__level_trial_describe(text, trial);
    clf__log(is_warning ? CLF_LOG_WARNING : CLF_LOG_INFO, "device %d \"%s\": matrix instructions %s: %s%s%s",
             info->index, info->name, clf__level_words[trial->level], text,
             path != NULL ? "; to try again, delete " : "", path != NULL ? path : "");
}

/* Reads the stored result, or runs the trial and stores its result. folder NULL: stores nothing. */
static clf_status find_result(struct clf__level_trial *trial, const struct clf__listed_device *listed,
                              const struct clf__trial_method *method, const char *folder, const char *key)
{
    char *text = NULL, *path = NULL;
    clf_status status = folder != NULL ? clf__kept_read(&text, &path, folder, "level", key) : CLF_OK;
    int is_known = status == CLF_OK && text != NULL && clf__level_trial_parse(trial, text);
    clf__free(text);
    text = NULL;
    if (status == CLF_OK && !is_known) {
        status = run_trial(trial, listed, method);
    }
    if (status == CLF_OK && !is_known && folder != NULL && trial->is_lasting) {
        status = clf__level_trial_format(&text, trial);
        if (status == CLF_OK && clf__kept_write(folder, "level", key, text) != CLF_OK) {
            clf__log(CLF_LOG_DEBUG, "device %d: the trial of matrix instructions is not saved: %s",
                     listed->info.index, clf_last_error());
        }
    }
    if (status == CLF_OK) {
        int is_disabled = folder != NULL && trial->is_lasting && !clf__level_trial_is_used(trial);
        log_result(trial, &listed->info, trial->is_crash && !is_known, is_disabled ? path : NULL);
    }
    clf__free(text);
    clf__free(path);
    return status;
}

static clf_status choose(struct clf__level_trials *out, const struct clf__listed_device *listed,
                         const struct clf__trial_method *method, const char *folder)
{
    static const struct clf__programs own; /* without additional sources */
    for (int left = list_candidates(listed); left != 0;) {
        const struct clf__level *level = clf__level_find(CLF_INSTRUCTIONS_AUTO, left);
        struct clf__level_trial *trial = &out->trials[out->count];
        char *key = NULL;
        *trial = (struct clf__level_trial){.level = level->name, .is_lasting = 1};
        CLF__TRY(clf__level_trial_key(&key, listed, level->name, method->without, &own));
        clf_status status = find_result(trial, listed, method, folder, key);
        clf__free(key);
        CLF__TRY(status);
        out->count++;
        left = clf__level_trial_is_used(trial) ? 0 : left & ~level->instructions;
    }
    return CLF_OK;
}

clf_status clf__levels_choose(struct clf__level_trials *out, const struct clf__listed_device *listed,
                              const struct clf__trial_method *method)
{
    char *folder = NULL;
    out->count = 0;
    if (list_candidates(listed) == 0) {
        return CLF_OK;
    }
    clf_status status = method->is_kept ? clf__environment_cache_folder(&folder) : CLF_OK;
    if (status == CLF_OK || status == CLF_FILE) { /* CLF_FILE: there is no cache folder */
        status = choose(out, listed, method, folder);
    }
    clf__free(folder);
    return status;
}
