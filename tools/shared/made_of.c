#include "shared/made_of.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "shared/results.h"

/* Files of up to WHOLE_BYTES are read completely. For larger files the checksum covers SAMPLES samples of
 * SAMPLE_BYTES at equal distances, including the beginning and the end. */
enum { WHOLE_BYTES = 1 << 22, SAMPLES = 64, SAMPLE_BYTES = 1 << 16 };

static clf_status read_samples(uint64_t *hash, const struct clf__file *file, char *bytes)
{
    *hash = CLF__FNV_BEGIN;
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t offset = (file->size - SAMPLE_BYTES) / (SAMPLES - 1) * i;
        offset = i + 1 == SAMPLES ? file->size - SAMPLE_BYTES : offset;
        CLF__TRY(clf__file_read_at(file, offset, bytes, SAMPLE_BYTES));
        uint64_t sum = clf__checksum(bytes, SAMPLE_BYTES);
        *hash = clf__fnv(*hash, &sum, sizeof sum);
    }
    return CLF_OK;
}

static clf_status hash_file(uint64_t *hash, const struct clf__file *file)
{
    char *bytes;
    if (file->size <= WHOLE_BYTES) {
        return clf__file_checksum(hash, file);
    }
    CLF__TRY(clf__allocate(&bytes, SAMPLE_BYTES, 1));
    clf_status status = read_samples(hash, file, bytes);
    clf__free(bytes);
    return status;
}

static clf_status add_file(json_t *files, const char *name, const char *path)
{
    struct clf__file file = {.path = NULL};
    uint64_t hash = 0;
    char digits[32];
    CLF__TRY(clf__file_open_as_is(&file, path, 0));
    clf_status status = hash_file(&hash, &file);
    uint64_t size = file.size;
    clf__file_close(&file);
    CLF__TRY(status);
    snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    json_t *object = json_pack("{s:o, s:I, s:s}", "name", result_text(name, strlen(name)), "bytes",
                               (json_int_t)size, "checksum", digits);
    return json_array_append_new(files, object) == 0
               ? CLF_OK
               : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the names of a model's files");
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Returns 0 for hidden files, for the output, and for the .part and .part.json files of the output. */
static int is_of_model(const char *name, const char *output)
{
    size_t size = strlen(last_name(output));
    if (name[0] == '.') {
        return 0;
    }
    return strncmp(name, last_name(output), size) != 0 ||
           (name[size] != '\0' && strncmp(name + size, ".part", strlen(".part")) != 0);
}

static clf_status add_folder(json_t *files, const char *folder, const char *output)
{
    struct clf__names names = {.count = 0};
    CLF__TRY(clf__folder_list(&names, folder));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        char *path = NULL;
        status = clf__path_join(&path, folder, names.items[i]);
        if (status == CLF_OK && clf__file_exists(path) && is_of_model(names.items[i], output)) {
            status = add_file(files, names.items[i], path);
        }
        clf__free(path);
    }
    clf__names_free(&names);
    return status;
}

static clf_status add_model(json_t *files, const struct flags *flags)
{
    const char *shortlist = flags->shortlist;
    CLF__TRY(clf__folder_exists(flags->model) ? add_folder(files, flags->model, flags->output)
                                              : add_file(files, last_name(flags->model), flags->model));
    CLF__TRY(flags->glossary != NULL ? add_file(files, "--glossary", flags->glossary) : CLF_OK);
    CLF__TRY(flags->kept_terms != NULL ? add_file(files, "--do-not-translate", flags->kept_terms) : CLF_OK);
    CLF__TRY(flags->memory != NULL ? add_file(files, "--memory", flags->memory) : CLF_OK);
    return shortlist != NULL && clf__file_exists(shortlist) ? add_file(files, "--shortlist", shortlist)
                                                            : CLF_OK;
}

/* A flags_visit function: adds a flag unless it cannot change the output. */
static clf_status add_option(void *user, const char *name, const char *value)
{
    static const char *const others[] = {"model",   "device", "output",       "quiet",
                                         "verbose", "resume", "batch-tokens", "draft"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i]) == 0) {
            return CLF_OK;
        }
    }
    return json_object_set_new(user, name, result_text(value, strlen(value))) == 0
               ? CLF_OK
               : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the flags");
}

clf_status made_of_describe(json_t **out, const char *verb, const struct flags *flags, int takes)
{
    json_t *object =
        json_pack("{s:s, s:s, s:[], s:{}}", "clformer", CLF_VERSION_STRING, "verb", verb, "model", "options");
    *out = NULL;
    if (object == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the record of an output");
    }
    clf_status status = add_model(json_object_get(object, "model"), flags);
    if (status == CLF_OK) {
        status = flags_each(flags, takes, add_option, json_object_get(object, "options"));
    }
    if (status != CLF_OK) {
        json_decref(object);
        return status;
    }
    *out = object;
    return CLF_OK;
}

/* Finds a file by its name; NULL if there is none. */
static const json_t *find_file(const json_t *files, const char *name)
{
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        const char *its = json_string_value(json_object_get(file, "name"));
        if (its != NULL && strcmp(its, name) == 0) {
            return file;
        }
    }
    return NULL;
}

/* Fails for the first file in `files` that is missing or different in `others`. */
static clf_status compare_files(const char *path, const json_t *files, const json_t *others)
{
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        const char *name = json_string_value(json_object_get(file, "name"));
        const json_t *other = name != NULL ? find_file(others, name) : NULL;
        if (!json_equal(file, other)) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "%s: the model differs: %s %s; use the same model, or remove --resume to start "
                             "again",
                             path, name != NULL ? name : "files",
                             other != NULL ? "has changed" : "exists in only one of the models");
        }
    }
    return CLF_OK;
}

static clf_status compare_options(const char *path, const json_t *options, const json_t *others)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)options, name, value)
    {
        const char *here = json_string_value(value),
                   *there = json_string_value(json_object_get(others, name));
        if (here == NULL || there == NULL || strcmp(here, there) != 0) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "%s: --%.40s differs: it was \"%.80s\" and is \"%.80s\" now; use the same flags, or "
                "remove --resume to start again",
                path, name, there != NULL ? there : "not given", here != NULL ? here : "not given");
        }
    }
    return CLF_OK;
}

static clf_status compare_texts(const char *path, const char *what, const json_t *before, const json_t *now)
{
    const char *there = json_string_value(before), *here = json_string_value(now);
    return there != NULL && here != NULL && strcmp(there, here) == 0
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "%s: %s differs: it was %.40s and is %.40s now; use the same, or remove --resume "
                           "to start "
                           "again",
                           path, what, there != NULL ? there : "unknown", here);
}

clf_status made_of_compare(const char *path, const json_t *before, const json_t *now)
{
    const json_t *files = json_object_get(now, "model"), *others = json_object_get(before, "model");
    CLF__TRY(compare_texts(path, "the version of clformer", json_object_get(before, "clformer"),
                           json_object_get(now, "clformer")));
    CLF__TRY(compare_texts(path, "the verb", json_object_get(before, "verb"), json_object_get(now, "verb")));
    CLF__TRY(compare_files(path, files, others));
    CLF__TRY(compare_files(path, others, files));
    return compare_options(path, json_object_get(now, "options"), json_object_get(before, "options"));
}
