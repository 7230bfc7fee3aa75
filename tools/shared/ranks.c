#include "shared/ranks.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "runtime/cluster/compare.h"
#include "runtime/cluster/ranks.h"

/* Joins the other ranks, so that one of them reports the failure. */
static int tell_failure(clf_status status)
{
    struct clf_ranks *ranks;
    struct clf__failure own = clf__failure_keep(status);
    if (clf_ranks_join(&ranks) != CLF_OK) {
        return report_failure(clf__failure_again(&own));
    }
    clf_status all = clf_ranks_agree(ranks, clf__failure_again(&own));
    int result = ranks_report(ranks, all);
    clf_ranks_leave(ranks, all);
    return result;
}

void ranks_tell_failures(void)
{
    failures_told_by(clf__ranks_started() > 1 ? tell_failure : NULL);
}

int ranks_join(struct clf_ranks **ranks, struct flags *flags)
{
    failures_told_by(NULL);
    clf_status status = clf_ranks_join(ranks);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    if (clf_ranks_rank(*ranks) > 0) {
        flags->verbose = 0;
        flags->quiet = 1;
    }
    return EXIT_DONE;
}

static int is_alike(const struct clf_device_info *a, const struct clf_device_info *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->platform_name, b->platform_name) == 0 &&
           strcmp(a->driver, b->driver) == 0;
}

/* Returns the device at `place` among devices of the same kind as `first`, in list order and modulo the
 * number of these devices. */
static int find_device(const struct clf_device_list *list, const struct clf_device_info *first, int place)
{
    int count = clf_device_list_count(list), alike = 0, index = first->index;
    for (int i = 0; i < count; i++) {
        alike += is_alike(clf_device_list_at(list, i), first);
    }
    for (int left = alike > 0 ? place % alike : 0; left > 0;) {
        index = (index + 1) % count;
        left -= is_alike(clf_device_list_at(list, index), first);
    }
    return index;
}

/* Without --device, the ranks on one host use different devices of the same kind as the default device.
 * `selector` remains empty for the default device itself and with --device. */
static clf_status choose_device(char *selector, size_t size, const struct flags *flags, int place)
{
    struct clf_device_list *list;
    struct clf_device *device;
    if (flags->device != NULL || place == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = clf_device_open(&device, NULL, &flags->device_options);
    if (status == CLF_OK) {
        const struct clf_device_info *first = clf_device_describe(device);
        int index = find_device(list, first, place);
        if (index != first->index) {
            snprintf(selector, size, "%d", index);
        }
        clf_device_close(device);
    }
    clf_device_list_free(list);
    return status;
}

static int open_own(struct setup *setup, const struct flags *flags, int place)
{
    char selector[16] = "";
    struct flags its = *flags;
    log_to_stderr(flags);
    clf_status status = choose_device(selector, sizeof selector, flags, place);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    its.device = *selector != '\0' ? selector : flags->device;
    int result = flags->model != NULL ? setup_open_several(setup, &its) : setup_open(setup, &its);
    log_to_stderr(flags); /* replaces the pointer to `its`, set by setup_open() */
    return result;
}

int ranks_open_device(struct clf_ranks *ranks, struct setup *setup, const struct flags *flags, int status)
{
    clf_status own = status == EXIT_DONE ? CLF_OK : clf__fail(CLF_FILE, "a file cannot be opened");
    if (status == EXIT_DONE) {
        status = open_own(setup, flags, clf_ranks_host_rank(ranks));
        own = status == EXIT_DONE ? CLF_OK : CLF_DEVICE;
    }
    clf_status all = clf_ranks_agree(ranks, own);
    return own == CLF_OK && all != CLF_OK ? ranks_report(ranks, all) : status;
}

static clf_status add_file(uint64_t *hash, const char *path)
{
    struct clf__file file = {.path = NULL};
    uint64_t sum = 0;
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = clf__file_checksum(&sum, &file);
    clf__file_close(&file);
    *hash = clf__fnv(*hash, &sum, sizeof sum);
    return status;
}

/* Hashes a file, or the names and contents of all files of a folder. */
static clf_status hash_model(uint64_t *hash, const char *path)
{
    struct clf__names names = {.count = 0};
    clf_status status = CLF_OK;
    *hash = CLF__FNV_BEGIN;
    if (!clf__folder_exists(path)) {
        return add_file(hash, path);
    }
    CLF__TRY(clf__folder_list(&names, path));
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        char *joined = NULL;
        status = clf__path_join(&joined, path, names.items[i]);
        if (status == CLF_OK && !clf__folder_exists(joined)) {
            *hash = clf__fnv(*hash, names.items[i], strlen(names.items[i]) + 1);
            status = add_file(hash, joined);
        }
        clf__free(joined);
    }
    clf__names_free(&names);
    return status;
}

static clf_status compare_flag(void *user, const char *name, const char *value)
{
    static const char *const own[] = {"model", "device", "output", "quiet",
                                      "verbose"}; /* flags that may differ between ranks */
    char what[64];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(name, own[i]) == 0) {
            return CLF_OK;
        }
    }
    snprintf(what, sizeof what, "--%s", name);
    return clf__ranks_compare(user, what, value);
}

clf_status ranks_check(struct clf_ranks *ranks, const struct flags *flags, int takes)
{
    const struct clf__communicator *communicator = clf__ranks_communicator(ranks);
    uint64_t hash = 0;
    if (communicator->size == 1) {
        return CLF_OK;
    }
    CLF__TRY(clf__ranks_compare(communicator, "the version of clformer", CLF_VERSION_STRING));
    CLF__TRY(flags_each(flags, takes, compare_flag, (void *)communicator));
    CLF__TRY(communicator->agree(communicator, hash_model(&hash, flags->model)));
    return clf__ranks_compare_hash(communicator, "the checksum of the model's files", hash);
}

int ranks_report(const struct clf_ranks *ranks, clf_status status)
{
    if (clf_ranks_rank(ranks) == 0 || status == CLF_NETWORK) {
        return report_failure(status);
    }
    return status == CLF_BAD_ARGUMENT ? EXIT_WRONG_CALL : EXIT_FAILED;
}

int ranks_refuse(const char *sentence)
{
    struct clf_ranks *ranks;
    if (clf__ranks_started() == 1) {
        return -1;
    }
    failures_told_by(NULL);
    clf_status status = clf_ranks_join(&ranks);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    int result = clf_ranks_rank(ranks) == 0 ? report_wrong_call("%s", sentence) : EXIT_WRONG_CALL;
    clf_ranks_leave(ranks, CLF_OK);
    return result;
}
