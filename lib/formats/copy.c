#include "formats/copy.h"

#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/memory.h"

static int is_left_behind(const char *name)
{
    static const char *const ends[] = {
        ".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".tmp", ".h5", ".msgpack",
        ".ot"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (clf__ends_with(name, ends[i])) {
            return 1;
        }
    }
    return strcmp(name, "state.json") == 0;
}

/* Whether a model's other files have such a name: where one cannot be read the new folder would not be that
 * model. */
static int is_of_model(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending != NULL && (strcmp(ending, ".json") == 0 || strcmp(ending, ".spm") == 0);
}

/* Leaves out folders, and broken links unless a model reads a file of that name. */
static clf_status copy_file(const char *target, const char *source, const char *name)
{
    char *from = NULL, *to = NULL;
    CLF__TRY(clf__path_join(&from, source, name));
    clf_status status = clf__path_join(&to, target, name);
    if (status == CLF_OK && clf__file_is_missing(to) && !clf__folder_exists(from) &&
        (clf__file_exists(from) || is_of_model(name))) {
        status = clf__file_copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    return status;
}

clf_status clf__format_copy_others(const char *target, const char *folder, int (*leaves)(const char *name))
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, folder));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        const char *name = names.items[i];
        if (!is_left_behind(name) && (leaves == NULL || !leaves(name))) {
            status = copy_file(target, folder, name);
        }
    }
    clf__names_free(&names);
    return status;
}
