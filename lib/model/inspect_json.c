/* JSON functions of clf_inspect(). */
#include "base/memory.h"
#include "model/inspect_internal.h"

clf_status clf__inspect_no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to describe the model");
}

json_t *clf__inspect_text(const char *string)
{
    json_t *value = json_string(string);
    char *copy = NULL;
    if (value != NULL || clf__copy_string(&copy, string) != CLF_OK) {
        return value;
    }
    for (char *c = copy; *c != '\0'; c++) {
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    }
    value = json_string(copy);
    clf__free(copy);
    return value;
}

clf_status clf__inspect_tensor(json_t *tensors, const char *name, const struct clf__stored_tensor *stored)
{
    json_t *shape = json_array();
    for (int i = 0; i < stored->dimensions; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)stored->shape[i])) != 0) {
            json_decref(shape);
            return clf__inspect_no_memory();
        }
    }
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:s, s:o, s:I}", "name", clf__inspect_text(name), "stored_name",
                  clf__inspect_text(stored->name), "file", clf__inspect_text(stored->file), "type",
                  stored->type_name, "shape", shape, "bytes", (json_int_t)stored->size);
    return json_array_append_new(tensors, object) == 0 ? CLF_OK : clf__inspect_no_memory();
}
