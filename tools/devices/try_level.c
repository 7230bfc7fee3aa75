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

static clf_status try_level(struct clf__level_trial *trial, int index)
{
    struct clf_device_list *list;
    CLF__TRY(clf_device_list_create(&list));
    clf_status status = index >= 0 && index < clf_device_list_count(list)
                            ? clf__level_try(trial, list, index, 1)
                            : clf__fail(CLF_NO_DEVICE, "there is no device %d", index);
    clf_device_list_free(list);
    return status;
}

int devices_try_level(int argc, char **argv)
{
    struct clf__level_trial trial = {.level = CLF_INSTRUCTIONS_AUTO};
    char *end = NULL, *text = NULL;
    long index = argc == 3 ? strtol(argv[1], &end, 10) : -1;
    if (argc != 3 || end == argv[1] || *end != '\0' || index < 0 || index > 1 << 20 ||
        !find_level(&trial.level, argv[2])) {
        return report_wrong_call("--try-level: requires the index of a device and the name of a GPU level");
    }
    clf_status status = try_level(&trial, (int)index);
    if (status == CLF_OK) {
        status = clf__level_trial_format(&text, &trial);
    }
    if (status == CLF_OK) {
        printf("\n%s", text); /* on a line of its own, because some drivers print to standard output */
    }
    clf__free(text);
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}
