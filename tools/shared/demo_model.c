#include "shared/demo_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/command.h"

/* Relative to the folder of the executable: build/clformer, then PREFIX/bin/clformer. */
static const char *const places[] = {"../tools/models/fr-en-small", "../share/clformer/fr-en-small"};

char *command_path(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) {
        return NULL;
    }
    path[length] = '\0';
    return strdup(path);
}

static char *join(const char *folder, const char *place)
{
    char *path = malloc(strlen(folder) + strlen(place) + 2);
    if (path != NULL) {
        sprintf(path, "%s/%s", folder, place);
    }
    return path;
}

static int has_model(const char *folder)
{
    char *config = folder != NULL ? join(folder, "config.json") : NULL;
    struct stat status;
    int found = config != NULL && stat(config, &status) == 0;
    free(config);
    return found;
}

char *demo_model_find(void)
{
    char *command = command_path(), *slash = command != NULL ? strrchr(command, '/') : NULL;
    char *found = NULL;
    if (slash != NULL) {
        *slash = '\0';
    }
    for (size_t i = 0; slash != NULL && found == NULL && i < sizeof places / sizeof *places; i++) {
        found = join(command, places[i]);
        if (!has_model(found)) {
            free(found);
            found = NULL;
        }
    }
    free(command);
    return found;
}

int report_no_demo_model(void)
{
    fprintf(stderr, "clformer: the demo model is not installed; name a model with -m MODEL\n");
    return EXIT_FAILED;
}
