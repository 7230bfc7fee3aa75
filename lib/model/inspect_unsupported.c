/* Describes an unsupported model from its files. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/inspect_internal.h"
#include "model/weights/weights.h"

/* Reads the keys of config.json; *out is empty if the file is missing or invalid. */
static clf_status read_config(json_t **out, const char *folder)
{
    struct clf__json file;
    clf_status status = clf__json_load_in(&file, folder, "config.json");
    if (status == CLF_OUT_OF_MEMORY) {
        return status;
    }
    *out = status == CLF_OK ? json_incref(file.root) : json_object();
    clf__json_free(&file);
    return CLF_OK;
}

static long long count_values(const struct clf__stored_tensor *tensor)
{
    long long count = 1;
    for (int i = 0; i < tensor->dimensions; i++) {
        count *= tensor->shape[i];
    }
    return count;
}

/* Lists every tensor, and counts values and bytes. */
static clf_status read_tensors(json_t *model, const char *folder)
{
    struct clf__weights *weights;
    clf_status status = clf__weights_open(&weights, folder);
    if (status == CLF_OUT_OF_MEMORY) {
        return status;
    }
    if (status != CLF_OK) { /* for example for files of another format */
        return clf__inspect_say(json_object_get(model, "unusual"), "the tensors cannot be listed: %s",
                                clf_last_error());
    }
    long long values = 0, bytes = 0;
    for (int i = 0; i < clf__weights_count(weights) && status == CLF_OK; i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(weights, i);
        values += count_values(tensor);
        bytes += (long long)tensor->size;
        status = clf__inspect_tensor(json_object_get(model, "tensors"), tensor->name, tensor);
    }
    clf__weights_close(weights);
    if (status == CLF_OK && (json_object_set_new(model, "parameters", json_integer(values)) != 0 ||
                             json_object_set_new(model, "bytes", json_integer(bytes)) != 0)) {
        status = clf__inspect_no_memory();
    }
    return status;
}

clf_status clf__inspect_unsupported(json_t **out, const char *path, const char *folder, const char *reason)
{
    json_t *config = NULL;
    CLF__TRY(read_config(&config, folder));
    *out =
        json_pack("{s:o, s:n, s:O?, s:O?, s:o, s:[], s:i, s:i, s:[], s:o}", "folder", clf__inspect_text(path),
                  "architecture", "model_type", json_object_get(config, "model_type"), "architectures",
                  json_object_get(config, "architectures"), "configuration", config, "tensors", "parameters",
                  0, "bytes", 0, "unusual", "cannot_run", clf__inspect_text(reason));
    if (*out == NULL) {
        return clf__inspect_no_memory();
    }
    return read_tensors(*out, folder);
}
