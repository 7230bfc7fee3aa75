#include "model/new_folder.h"

#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

/* Weights and config.json, which are written anew, the state of a training, and what a killed program left.
 */
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
    return strcmp(name, "state.json") == 0 || strcmp(name, "config.json") == 0;
}

/* Whether a model's other files have such a name: where one cannot be read the mean would not be that model.
 */
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
    if (status == CLF_OK && !clf__folder_exists(from) && (clf__file_exists(from) || is_of_model(name))) {
        status = clf__file_copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    return status;
}

static clf_status copy_others(const char *target, const char *source)
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, source));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        if (!is_left_behind(names.items[i])) {
            status = copy_file(target, source, names.items[i]);
        }
    }
    clf__names_free(&names);
    return status;
}

/* Whether an object that says a type of its weights says this one now. */
static int say_type(json_t *object, const char *key, const char *type)
{
    return !json_is_string(json_object_get(object, key)) ||
           json_object_set_new(object, key, json_string(type)) == 0;
}

/* What config.json says of the weights' type becomes true: transformers would round them to it. */
static clf_status copy_config(const char *target, const struct clf__new_folder *folder)
{
    char *path = NULL;
    struct clf__json json;
    CLF__TRY(clf__path_join(&path, target, "config.json"));
    clf_status status = clf__json_load_in(&json, folder->from, "config.json");
    if (status == CLF_OK) {
        int is_said =
            say_type(json.root, "dtype", folder->type) && say_type(json.root, "torch_dtype", folder->type);
        is_said = is_said &&
                  (folder->precision == NULL ||
                   json_object_set_new(json.root, "clformer_precision", json_string(folder->precision)) == 0);
        status = clf__json_write(path, is_said ? json.root : NULL, JSON_REAL_PRECISION(15));
    }
    clf__json_free(&json);
    clf__free(path);
    return status;
}

static clf_status write_folder(const char *target, const struct clf__new_folder *folder)
{
    CLF__TRY(clf__folder_create(target));
    CLF__TRY(copy_config(target, folder));
    CLF__TRY(copy_others(target, folder->from));
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, target, "model.safetensors"));
    clf_status status = folder->write(folder->user, path);
    clf__free(path);
    return status;
}

/* Under another name first, so that the folder appears whole. */
static clf_status write_beside(const char *output, const struct clf__new_folder *folder)
{
    char *temporary = NULL;
    CLF__TRY(clf__temporary_path(&temporary, output));
    clf_status status = write_folder(temporary, folder);
    if (status == CLF_OK) {
        status = clf__folder_rename(temporary, output);
    }
    if (status != CLF_OK) {
        status = clf__folder_discard(temporary, status);
    }
    clf__free(temporary);
    return status;
}

clf_status clf__new_folder_write(const char *output, const struct clf__new_folder *folder)
{
    size_t length = strlen(output);
    while (length > 1 && output[length - 1] == '/') {
        length--;
    }
    char *plain = NULL; /* a name beside "folder/" would be inside it */
    CLF__TRY(clf__copy_bytes(&plain, output, length));
    clf_status status = write_beside(plain, folder);
    clf__free(plain);
    return status;
}

clf_status clf__new_folder_check(const char *output)
{
    return clf__folder_exists(output) || clf__file_exists(output)
               ? clf__fail(CLF_FILE, "%s: exists already; name a folder that does not", output)
               : CLF_OK;
}
