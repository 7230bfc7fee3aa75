#include "model/formats/marian_convert.h"

#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/formats/copy.h"

/* The names of the copied files. */
struct copies {
    char *source_words, *target_words, *shortlist;
};

/* Copies a file into a folder under an unused name, which *name receives. */
static clf_status copy_into(char **name, const char *target, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *to = NULL;
    CLF__TRY(clf__copy_string(name, slash != NULL ? slash + 1 : path));
    CLF__TRY(clf__path_join(&to, target, *name));
    while (!clf__file_is_missing(to)) {
        char *longer;
        clf__free(to);
        to = NULL;
        CLF__TRY(clf__format(&longer, "other.%s", *name));
        clf__free(*name);
        *name = longer;
        CLF__TRY(clf__path_join(&to, target, *name));
    }
    clf_status status = clf__file_copy(to, path);
    clf__free(to);
    return status;
}

static clf_status copy_named(struct copies *out, const char *target, const struct clf__marian_folder *files)
{
    CLF__TRY(copy_into(&out->source_words, target, files->source_words));
    if (strcmp(files->source_words, files->target_words) == 0) {
        CLF__TRY(clf__copy_string(&out->target_words, out->source_words));
    } else {
        CLF__TRY(copy_into(&out->target_words, target, files->target_words));
    }
    return files->shortlist != NULL ? copy_into(&out->shortlist, target, files->shortlist) : CLF_OK;
}

/* Builds the "shortlist" entry: the name of the copy and the original pruning options. */
static json_t *shortlist_of(const json_t *decoding, const char *name)
{
    json_t *list = json_deep_copy(json_object_get(decoding, "shortlist"));
    if (!json_is_array(list)) {
        json_decref(list);
        return json_pack("[s]", name);
    }
    if (json_array_set_new(list, 0, json_string(name)) != 0) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* Writes the configuration as JSON, which is valid YAML. */
static clf_status write_configuration(const char *target, const json_t *decoding, const struct copies *copies)
{
    json_t *root = json_deep_copy(decoding);
    char *path;
    clf_status status = clf__path_join(&path, target, "config.yml");
    if (status == CLF_OK) {
        int failed =
            json_object_set_new(root, "models", json_pack("[s]", CLF__MARIAN_CONVERTED)) != 0 ||
            json_object_set_new(root, "vocabs",
                                json_pack("[ss]", copies->source_words, copies->target_words)) != 0 ||
            (copies->shortlist != NULL &&
             json_object_set_new(root, "shortlist", shortlist_of(decoding, copies->shortlist)) != 0);
        status = clf__json_write(path, failed ? NULL : root, 0);
        clf__free(path);
    }
    json_decref(root);
    return status;
}

/* Returns 1 for files that are not copied: models, compressed files and configurations. */
static int is_not_copied(const char *name)
{
    return clf__ends_with(name, ".npz") || clf__ends_with(name, ".gz") || clf__marian_is_configuration(name);
}

/* Without a configuration, files are found by name, so copies keep their names. */
clf_status clf__marian_copy_files(const char *target, const char *folder,
                                  const struct clf__marian_folder *files)
{
    struct copies copies = {.source_words = NULL};
    clf_status status = copy_named(&copies, target, files);
    if (status == CLF_OK && files->decoding != NULL) {
        status = write_configuration(target, files->decoding, &copies);
    }
    if (status == CLF_OK) {
        status = clf__format_copy_others(target, folder, is_not_copied);
    }
    clf__free(copies.source_words);
    clf__free(copies.target_words);
    clf__free(copies.shortlist);
    return status;
}
