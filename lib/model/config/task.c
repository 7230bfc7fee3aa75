#include "model/config/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "model/config/build.h"
#include "model/config/config.h"

static const char tasks_key[] = "task_specific_params";

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static clf_status list_names(struct clf__names *out, const struct clf__json *json)
{
    json_t *tasks = json_object_get(json->root, tasks_key);
    const char *name;
    json_t *task;
    *out = (struct clf__names){.count = 0};
    json_object_foreach(tasks, name, task)
    {
        CLF__TRY(clf__names_add(out, name));
    }
    if (out->count > 0) {
        qsort(out->items, (size_t)out->count, sizeof *out->items, by_name);
    }
    return CLF_OK;
}

clf_status clf__config_task_names(struct clf__names *out, const char *folder)
{
    struct clf__json json;
    *out = (struct clf__names){.count = 0};
    CLF__TRY(clf__json_find_in(&json, folder, "config.json"));
    clf_status status = list_names(out, &json);
    clf__json_free(&json);
    if (status != CLF_OK) {
        clf__names_free(out);
    }
    return status;
}

static clf_status refuse(const struct clf__names *names, const char *folder, const char *task)
{
    char *list = NULL;
    struct clf__suggestion nearest = clf__suggest_begin(task, (int)strlen(task));
    clf_status status = clf__copy_string(&list, "");
    for (int i = 0; i < names->count && status == CLF_OK; i++) {
        clf__suggest_try(&nearest, names->items[i]);
        status = clf__append(&list, "%s%s", i > 0 ? ", " : "", names->items[i]);
    }
    if (status == CLF_OK && names->count == 0) {
        status =
            clf__fail(CLF_BAD_ARGUMENT,
                      "%s: no tasks in config.json (\"%s\"), so there is no task \"%.80s\"; remove the task",
                      folder, tasks_key, task);
    } else if (status == CLF_OK) {
        status =
            clf__fail(CLF_BAD_ARGUMENT, "%s: no task \"%.80s\"%s%s%s; use one of %s", folder, task,
                      nearest.best != NULL ? " (did you mean \"" : "",
                      nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "\"?)" : "", list);
    }
    clf__free(list);
    return status;
}

/* Finds the object of a task; the caller does not own it. */
static clf_status find_task(json_t **out, const struct clf__json *json, const char *folder, const char *task)
{
    *out = json_object_get(json_object_get(json->root, tasks_key), task);
    if (json_is_object(*out)) {
        return CLF_OK;
    }
    if (*out != NULL) {
        return clf__fail(CLF_FORMAT, "%s: task \"%.80s\" of \"%s\" is not an object; correct it", json->path,
                         task, tasks_key);
    }
    struct clf__names names;
    clf_status status = list_names(&names, json);
    if (status == CLF_OK) {
        status = refuse(&names, folder, task);
    }
    clf__names_free(&names);
    return status;
}

static clf_status read_prefix(char **out, const struct clf__json *json, json_t *task)
{
    const struct clf__json own = {task, json->path};
    const char *prefix = "";
    CLF__TRY(clf__json_string(&own, "prefix", &prefix));
    return clf__copy_string(out, prefix);
}

/* Parses the configuration of a task, whose keys replace the folder's decoding keys, as in transformers'
 * pipelines. */
static clf_status parse(struct clf__config *config, const struct clf__json *json,
                        const struct clf__json *generation, json_t *task)
{
    struct clf__json merged = {.path = json->path};
    merged.root = json_deep_copy(generation->root != NULL ? generation->root : json->root);
    if (merged.root == NULL || json_object_update(merged.root, task) != 0) {
        json_decref(merged.root);
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read a task");
    }
    clf_status status = clf__config_parse(config, json, &merged);
    json_decref(merged.root);
    return status;
}

static clf_status load(struct clf__config *config, char **prefix, const char *folder, const char *task)
{
    struct clf__json json, generation = {.root = NULL};
    json_t *chosen = NULL;
    CLF__TRY(clf__json_find_in(&json, folder, "config.json"));
    clf_status status = find_task(&chosen, &json, folder, task);
    if (status == CLF_OK) {
        status = clf__json_find_in(&generation, folder, "generation_config.json");
    }
    if (status == CLF_OK) {
        status = read_prefix(prefix, &json, chosen);
    }
    if (status == CLF_OK) {
        status = parse(config, &json, &generation, chosen);
    }
    clf__json_free(&generation);
    clf__json_free(&json);
    return status;
}

clf_status clf__config_load_task(struct clf__config *out, char **prefix, const char *folder, const char *task)
{
    *out = (struct clf__config){0};
    *prefix = NULL;
    clf_status status = load(out, prefix, folder, task);
    if (status != CLF_OK) {
        clf__config_free(out);
        clf__free(*prefix);
        *prefix = NULL;
    }
    return status;
}
