#include "shared/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "shared/command.h"

json_t *result_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *result_text(const char *text, size_t size)
{
    json_t *string = json_stringn(text, size);
    char *copy = string == NULL ? malloc(size + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, size);
        for (size_t i = 0; i < size; i++) {
            copy[i] = (unsigned char)copy[i] < 0x80 ? copy[i] : '?';
        }
        string = json_stringn(copy, size);
        free(copy);
    }
    return string;
}

json_t *result_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) { /* takes ownership of the value, even on failure */
        json_decref(array);
        return NULL;
    }
    return array;
}

json_t *result_ids(const int32_t *ids, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        array = result_append(array, json_integer(ids[i]));
    }
    return array;
}

json_t *result_tokens(const struct clf_model *model, const int32_t *ids, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const char *token = clf_model_token(model, ids[i]);
        array = result_append(array, result_text(token, strlen(token)));
    }
    return array;
}

json_t *result_remarks(json_t *object, int cut_from, const char *problem)
{
    int failed = object == NULL;
    failed |= !failed && cut_from > 0 && json_object_set_new(object, "cut_from", json_integer(cut_from)) != 0;
    if (problem != NULL && !failed) {
        failed = json_object_set_new(object, "error", result_text(problem, strlen(problem))) != 0;
    }
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

clf_status result_write(FILE *file, json_t *object)
{
    if (object == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for a result as JSON");
    }
    json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putc('\n', file);
    json_decref(object);
    return CLF_OK;
}

int result_print(json_t *object)
{
    clf_status status = result_write(stdout, object);
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}
