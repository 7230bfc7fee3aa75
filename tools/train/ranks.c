#include "train/ranks.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

int ranks_join(struct clf_ranks **ranks, struct flags *flags)
{
    clf_status status = clf_ranks_join(ranks);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    if (clf_ranks_rank(*ranks) > 0) {
        flags->log = flags->html = NULL;
        flags->json = flags->verbose = 0;
        flags->quiet = 1;
    }
    return EXIT_DONE;
}

static int is_alike(const struct clf_device_info *a, const struct clf_device_info *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->platform_name, b->platform_name) == 0 &&
           strcmp(a->driver, b->driver) == 0;
}

/* The device that is `place` further than `first` among those like it, going round. */
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

/* With --device the user said which; else ranks on one host take devices of their own while there are any of
 * the default's kind. Returns an exit status. */
static int take_place(struct setup *setup, const struct flags *flags, int place)
{
    struct clf_device_list *list;
    const struct clf_device_info *first = clf_device_describe(setup->device);
    if (flags->device != NULL || place == 0) {
        return EXIT_DONE;
    }
    clf_status status = clf_device_list_create(&list);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    int index = find_device(list, first, place), is_other = index != first->index;
    clf_device_list_free(list);
    if (!is_other) {
        return EXIT_DONE;
    }
    char selector[16];
    struct flags its = *flags;
    snprintf(selector, sizeof selector, "%d", index);
    its.device = selector;
    setup_close(setup);
    return setup_open(setup, &its);
}

int ranks_open_device(struct clf_ranks *ranks, struct setup *setup, const struct flags *flags, int status)
{
    clf_status own =
        status == EXIT_DONE ? CLF_OK : clf__fail(CLF_FILE, "the log or the page cannot be written");
    if (status == EXIT_DONE) {
        status = setup_open(setup, flags);
        own = status == EXIT_DONE ? CLF_OK : CLF_DEVICE;
    }
    if (status == EXIT_DONE) {
        status = take_place(setup, flags, clf_ranks_host_rank(ranks));
        own = status == EXIT_DONE ? CLF_OK : CLF_DEVICE;
    }
    clf_status all = clf_ranks_agree(ranks, own);
    return own == CLF_OK && all != CLF_OK ? ranks_report(ranks, all) : status;
}

int ranks_report(const struct clf_ranks *ranks, clf_status status)
{
    if (clf_ranks_rank(ranks) == 0 || status == CLF_NETWORK) {
        return report_failure(status);
    }
    return status == CLF_BAD_ARGUMENT ? EXIT_WRONG_CALL : EXIT_FAILED;
}
