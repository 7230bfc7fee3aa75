#include "model/weights/marian_folder.h"

#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "model/weights/marian.h"

enum { MOST_CONFIGURATION = 1 << 20, MOST_VALUES = 1 << 14 };

/* The state of a search for the files of a folder. */
struct search {
    const char *path;
    struct clf__names names;
};

static int begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static int ends_with_any(const char *name, const char *const *ends)
{
    for (; *ends != NULL; ends++) {
        if (clf__ends_with(name, *ends)) {
            return 1;
        }
    }
    return 0;
}

/* --- Files named by a configuration ---  */

int clf__marian_is_configuration(const char *name)
{
    static const char *const ends[] = {".yml", ".yaml", NULL};
    return ends_with_any(name, ends) && (begins_with(name, "config") || strstr(name, "decoder.") != NULL);
}

/* Reads the first configuration that names models. */
static clf_status read_configuration(struct clf__marian_folder *out, const struct search *search)
{
    for (int i = 0; i < search->names.count && out->decoding == NULL; i++) {
        char *path, *text = NULL;
        size_t size;
        if (!clf__marian_is_configuration(search->names.items[i])) {
            continue;
        }
        CLF__TRY(clf__path_join(&path, search->path, search->names.items[i]));
        clf_status status = clf__file_read(&text, &size, path, MOST_CONFIGURATION);
        if (status == CLF_OK) {
            status = clf__yaml_parse(&out->decoding, text, size, path, MOST_VALUES);
        }
        clf__free(text);
        clf__free(path);
        CLF__TRY(status);
        if (json_object_get(out->decoding, "models") == NULL) {
            json_decref(out->decoding);
            out->decoding = NULL;
        }
    }
    return CLF_OK;
}

/* Returns element `index` of a key's value, which may be a single value or a list; NULL if there are fewer
 * elements. */
static const char *value_at(const json_t *object, const char *key, size_t index)
{
    const json_t *value = json_object_get(object, key);
    return json_is_array(value) ? json_string_value(json_array_get(value, index))
           : index == 0         ? json_string_value(value)
                                : NULL;
}

/* Joins a path to the configuration's folder. If the path is absolute, it was valid on another machine, so
 * only its file name is used. */
static clf_status join_configured(char **out, const char *folder, const char *configured)
{
    const char *slash = configured[0] == '/' ? strrchr(configured, '/') : NULL;
    return clf__path_join(out, folder, slash != NULL ? slash + 1 : configured);
}

static clf_status take_configured(struct clf__marian_folder *out, const struct search *search)
{
    const char *model = value_at(out->decoding, "models", 0);
    const char *source = value_at(out->decoding, "vocabs", 0);
    const char *target = value_at(out->decoding, "vocabs", 1);
    const char *shortlist = value_at(out->decoding, "shortlist", 0);
    if (model == NULL || source == NULL || target == NULL) {
        return clf__fail(CLF_FORMAT,
                         "%s: the configuration must name a model in \"models\" and two vocabularies in "
                         "\"vocabs\"; correct it",
                         search->path);
    }
    if (value_at(out->decoding, "models", 1) != NULL || value_at(out->decoding, "vocabs", 2) != NULL) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the configuration names several models or sources, but only one model and one "
                         "source are supported; use a single model",
                         search->path);
    }
    CLF__TRY(join_configured(&out->model, search->path, model));
    CLF__TRY(join_configured(&out->source_words, search->path, source));
    CLF__TRY(join_configured(&out->target_words, search->path, target));
    return shortlist != NULL && shortlist[0] != '\0'
               ? join_configured(&out->shortlist, search->path, shortlist)
               : CLF_OK;
}

/* --- Files found by name --- */

/* Finds the file with a prefix and a suffix; *out is NULL if there is none. Several such files are an error.
 */
static clf_status find_one(const char **out, const struct search *search, const char *start,
                           const char *const *ends)
{
    *out = NULL;
    for (int i = 0; i < search->names.count; i++) {
        const char *name = search->names.items[i];
        if (!begins_with(name, start) || !ends_with_any(name, ends)) {
            continue;
        }
        if (*out != NULL) {
            return clf__fail(CLF_FORMAT,
                             "%s: the folder contains both %.100s and %.100s; name one in config.yml "
                             "(models, vocabs), or remove the other",
                             search->path, *out, name);
        }
        *out = name;
    }
    return CLF_OK;
}

static const char *const archives[] = {".npz", NULL}, *const containers[] = {".bin", NULL};
static const char *const texts[] = {".s2t", NULL}, *const packed_texts[] = {".s2t.gz", NULL};
static const char *const vocabularies[] = {".spm", ".yml", ".yaml", ".json", ".txt", NULL};

/* Finds the model. The first bytes of model.bin are checked, because other engines use the same file name. */
static clf_status find_model(struct clf__marian_folder *out, const struct search *search)
{
    const char *name;
    int is_converted;
    CLF__TRY(clf__file_exists_in(&is_converted, search->path, CLF__MARIAN_CONVERTED));
    if (is_converted) {
        return clf__path_join(&out->model, search->path, CLF__MARIAN_CONVERTED);
    }
    CLF__TRY(find_one(&name, search, "model", containers));
    if (name != NULL) {
        int is_ours;
        CLF__TRY(clf__path_join(&out->model, search->path, name));
        CLF__TRY(clf__marian_is_container(&is_ours, out->model));
        if (is_ours) {
            return CLF_OK;
        }
        clf__free(out->model);
        out->model = NULL;
        return CLF_OK;
    }
    CLF__TRY(find_one(&name, search, "model", archives));
    return name != NULL ? clf__path_join(&out->model, search->path, name) : CLF_OK;
}

static clf_status find_words(char **out, const struct search *search, const char *start)
{
    const char *name;
    CLF__TRY(find_one(&name, search, start, vocabularies));
    return name != NULL ? clf__path_join(out, search->path, name) : CLF_OK;
}

static clf_status find_named(struct clf__marian_folder *out, const struct search *search)
{
    CLF__TRY(find_model(out, search));
    if (out->model == NULL) {
        return CLF_OK;
    }
    CLF__TRY(find_words(&out->source_words, search, "vocab"));
    if (out->source_words != NULL) {
        CLF__TRY(clf__copy_string(&out->target_words, out->source_words));
    } else {
        CLF__TRY(find_words(&out->source_words, search, "srcvocab"));
        CLF__TRY(find_words(&out->target_words, search, "trgvocab"));
    }
    if (out->source_words == NULL || out->target_words == NULL) {
        return clf__fail(CLF_FILE,
                         "%s: no vocabulary in the folder (vocab*.spm, or srcvocab*.spm and trgvocab*.spm); "
                         "download the vocabulary (and unpack it if its name ends in .gz)",
                         search->path);
    }
    static const char *const *const kinds[] = {containers, texts, packed_texts};
    const char *shortlist = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && shortlist == NULL; i++) {
        CLF__TRY(find_one(&shortlist, search, "lex", kinds[i]));
    }
    return shortlist != NULL ? clf__path_join(&out->shortlist, search->path, shortlist) : CLF_OK;
}

static clf_status find(struct clf__marian_folder *out, const struct search *search)
{
    CLF__TRY(read_configuration(out, search));
    return out->decoding != NULL ? take_configured(out, search) : find_named(out, search);
}

clf_status clf__marian_folder_find(struct clf__marian_folder *out, int *found, const char *folder)
{
    struct search search = {.path = folder};
    *out = (struct clf__marian_folder){0};
    *found = 0;
    int is_other;
    CLF__TRY(clf__file_exists_in(&is_other, folder, "config.json"));
    if (is_other) {
        return CLF_OK;
    }
    clf_status status = clf__folder_list(&search.names, folder);
    if (status == CLF_OK) {
        status = find(out, &search);
    }
    clf__names_free(&search.names);
    if (status != CLF_OK) {
        clf__marian_folder_free(out);
        return status;
    }
    *found = out->model != NULL;
    return CLF_OK;
}

void clf__marian_folder_free(struct clf__marian_folder *folder)
{
    clf__free(folder->model);
    clf__free(folder->source_words);
    clf__free(folder->target_words);
    clf__free(folder->shortlist);
    json_decref(folder->decoding);
    *folder = (struct clf__marian_folder){0};
}
