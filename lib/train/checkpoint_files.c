#include "train/checkpoint_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/save.h"

static clf_status mark_file(int64_t *size, uint64_t *sum, const char *folder, const char *name)
{
    char *path = NULL;
    struct clf__file file;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__file_open(&file, path);
    if (status == CLF_OK) {
        *size = (int64_t)file.size;
        status = clf__file_checksum(sum, &file);
        clf__file_close(&file);
    }
    clf__free(path);
    return status;
}

clf_status clf__checkpoint_files_mark(json_t **files, const char *folder)
{
    struct clf__names names;
    *files = NULL;
    CLF__TRY(clf__folder_list(&names, folder));
    json_t *marks = json_object();
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        if (strcmp(names.items[i], "state.json") == 0) {
            continue;
        }
        int64_t size;
        uint64_t sum;
        status = mark_file(&size, &sum, folder, names.items[i]);
        if (status == CLF_OK) {
            char text[17];
            snprintf(text, sizeof text, "%016" PRIx64, sum);
            json_t *mark = json_pack("{sI ss}", "bytes", (json_int_t)size, "checksum", text);
            if (json_object_set_new(marks, names.items[i], mark) != 0) {
                status = clf__fail(CLF_OUT_OF_MEMORY, "%s: not enough host memory to describe it", folder);
            }
        }
    }
    clf__names_free(&names);
    if (status != CLF_OK) {
        json_decref(marks);
        return status;
    }
    *files = marks;
    return CLF_OK;
}

clf_status clf__checkpoint_files_judge(clf_status status, const char *path)
{
    return status == CLF_FILE && clf__file_is_missing(path) ? CLF_FORMAT : status;
}

static clf_status check_file(const json_t *mark, const char *folder, const char *name)
{
    int64_t size;
    uint64_t sum;
    clf_status status = mark_file(&size, &sum, folder, name);
    if (status != CLF_OK) {
        char *path = NULL;
        CLF__TRY(clf__path_join(&path, folder, name));
        status = clf__checkpoint_files_judge(status, path);
        clf__free(path);
        return status;
    }
    const char *text = json_string_value(json_object_get(mark, "checksum"));
    if (size != json_integer_value(json_object_get(mark, "bytes")) || !text ||
        sum != strtoull(text, NULL, 16)) {
        return clf__fail(CLF_FORMAT, "%s/%s: has changed since it was written", folder, name);
    }
    return CLF_OK;
}

clf_status clf__checkpoint_files_check(const json_t *files, const char *folder)
{
    const char *name;
    json_t *mark;
    json_object_foreach((json_t *)files, name, mark)
    {
        CLF__TRY(check_file(mark, folder, name));
    }
    return CLF_OK;
}

/* The files of a model folder other than its weights; config.json last, because it makes the folder a
 * model. */
static const char *const copied[] = {
    "generation_config.json",
    "source.spm",
    "target.spm",
    "vocab.json",
    "target_vocab.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "config.json",
};

/* Returns whether a name is FILE.PROCESS-COUNT.tmp, as clf__temporary_path() makes it. */
static int is_temporary_of(const char *name, const char *file)
{
    size_t length = strlen(file);
    if (strncmp(name, file, length) != 0 || name[length] != '.') {
        return 0;
    }
    const char *next = name + length + 1;
    size_t process = strspn(next, "0123456789");
    if (process == 0 || next[process] != '-') {
        return 0;
    }
    next += process + 1;
    size_t count = strspn(next, "0123456789");
    return count > 0 && strcmp(next + count, ".tmp") == 0;
}

static int is_own_temporary(const char *name)
{
    int is_own = is_temporary_of(name, "model.safetensors") || is_temporary_of(name, "recipe.json");
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        is_own |= is_temporary_of(name, copied[i]);
    }
    return is_own;
}

clf_status clf__checkpoint_files_sweep(const char *folder)
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, folder));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        char *path = NULL;
        if (is_own_temporary(names.items[i])) {
            status = clf__path_join(&path, folder, names.items[i]);
        }
        if (path && unlink(path) != 0 && errno != ENOENT) {
            status = clf__file_fail(path, "removed");
        }
        clf__free(path);
    }
    clf__names_free(&names);
    return status;
}

static clf_status copy_file(const char *target, const char *source, const char *name,
                            clf__copy_function *copy)
{
    char *from = NULL, *to = NULL;
    CLF__TRY(clf__path_join(&from, source, name));
    clf_status status = clf__path_join(&to, target, name);
    if (status == CLF_OK && !clf__file_is_missing(from)) {
        status = copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    return status;
}

clf_status clf__checkpoint_files_copy(const char *target, const char *source, clf__copy_function *copy)
{
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        CLF__TRY(copy_file(target, source, copied[i], copy));
    }
    return CLF_OK;
}
