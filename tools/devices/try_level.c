#include "devices/try_level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "open/open_one.h"
#include "runtime/tuning/levels.h"
#include "shared/command.h"

/* Sets *level to the GPU level of this name; returns whether there is one. */
static int find_level(clf_instructions *level, const char *word)
{
    for (int i = CLF_INSTRUCTIONS_PORTABLE; clf__level_words[i] != NULL; i++) {
        const struct clf__level *found = clf__level_find((clf_instructions)i, CLF__MATRIX_ANY);
        if (strcmp(clf__level_words[i], word) == 0 && found != NULL && found->matrix.define != NULL) {
            *level = (clf_instructions)i;
            return 1;
        }
    }
    return 0;
}

/* Reads the index of a device; -1 if it is not a number. */
static int read_index(const char *text)
{
    char *end = NULL;
    long index = strtol(text, &end, 10);
    return end == text || *end != '\0' || index < 0 || index > 1 << 20 ? -1 : (int)index;
}

static clf_status open_list(struct clf_device_list **list, int index)
{
    CLF__TRY(clf_device_list_create(list));
    if (index >= clf_device_list_count(*list)) {
        clf_device_list_free(*list);
        return clf__fail(CLF_NO_DEVICE, "there is no device %d", index);
    }
    return CLF_OK;
}

/* Prints a result on a line of its own, because some drivers print to standard output. The text is freed. */
static int print_result(clf_status status, char *text)
{
    if (status == CLF_OK) {
        printf("\n%s", text);
    }
    clf__free(text);
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}

int devices_try_level(int argc, char **argv)
{
    struct clf__level_trial trial = {.level = CLF_INSTRUCTIONS_AUTO};
    struct clf_device_list *list;
    char *text = NULL;
    int index = argc == 3 ? read_index(argv[1]) : -1;
    if (index < 0 || !find_level(&trial.level, argv[2])) {
        return report_wrong_call("--try-level: requires the index of a device and the name of a GPU level");
    }
    clf_status status = open_list(&list, index);
    if (status == CLF_OK) {
        status = clf__level_try(&trial, list, index, 1);
        clf_device_list_free(list);
    }
    if (status == CLF_OK) {
        status = clf__level_trial_format(&text, &trial);
    }
    return print_result(status, text);
}

int devices_try_barrier(int argc, char **argv)
{
    struct clf__barrier_trial trial;
    struct clf_device_list *list;
    char *text = NULL;
    int index = argc == 2 ? read_index(argv[1]) : -1;
    if (index < 0) {
        return report_wrong_call("--try-barrier: requires the index of a device");
    }
    clf_status status = open_list(&list, index);
    if (status == CLF_OK) {
        status = clf__barrier_try(&trial, list, index, 1);
        clf_device_list_free(list);
    }
    if (status == CLF_OK) {
        status = clf__barrier_trial_format(&text, &trial);
    }
    return print_result(status, text);
}
