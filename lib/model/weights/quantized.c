#include "model/weights/quantized.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char ending[] = "_scale";

static int by_name(const void *left, const void *right)
{
    const struct clf__stored_tensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

struct clf__stored_tensor *clf__quantized_find(const struct clf__stored_tensor *tensors, int count,
                                               const char *name)
{
    struct clf__stored_tensor wanted = {.name = name};
    return count > 0 ? bsearch(&wanted, tensors, (size_t)count, sizeof wanted, by_name) : NULL;
}

static int is_quantized(const struct clf__stored_tensor *tensor)
{
    return (tensor->type == CLF__STORED_I8 || tensor->type == CLF__STORED_I16) && tensor->dimensions > 1;
}

static clf_status attach(struct clf__stored_tensor *weight, const struct clf__stored_tensor *scales,
                         int multiplies)
{
    size_t values = scales->size / sizeof(float);
    int fits = values == 1 || values == (uint64_t)weight->shape[0];
    if (scales->type != CLF__STORED_F32 || !fits || values == 0) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"%.200s\" has %zu scales of type %s; expected one fp32 scale per row",
                         weight->file, weight->name, values, scales->type_name);
    }
    weight->scales =
        (struct clf__stored_scales){.count = (int)values, .offset = scales->offset, .multiplies = multiplies};
    return CLF_OK;
}

/* Rejects duplicate names, because the scales of a tensor would be ambiguous. */
static clf_status check_names(const struct clf__stored_tensor *tensors, int count)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0) {
            return clf__fail(CLF_FORMAT, "%s: tensor \"%.200s\" occurs twice; download the file again",
                             tensors[i].file, tensors[i].name);
        }
    }
    return CLF_OK;
}

/* Attaches all scales; sets drops[i] to 1 for each tensor that holds attached scales. */
static clf_status attach_all(char *drops, struct clf__stored_tensor *tensors, int count, int multiplies)
{
    for (int i = 0; i < count; i++) {
        char *name = NULL;
        if (!is_quantized(&tensors[i])) {
            continue;
        }
        CLF__TRY(clf__format(&name, "%s%s", tensors[i].name, ending));
        const struct clf__stored_tensor *scales = clf__quantized_find(tensors, count, name);
        clf__free(name);
        if (scales != NULL) {
            CLF__TRY(attach(&tensors[i], scales, multiplies));
            drops[scales - tensors] = 1;
        }
    }
    return CLF_OK;
}

clf_status clf__quantized_attach(struct clf__tensor_list *list, int first, int multiplies)
{
    int count = list->count - first, kept = 0;
    if (count == 0) {
        return CLF_OK;
    }
    struct clf__stored_tensor *tensors = list->items + first;
    qsort(tensors, (size_t)count, sizeof *tensors, by_name);
    CLF__TRY(check_names(tensors, count));
    char *drops;
    CLF__TRY(clf__allocate(&drops, (size_t)count, 1));
    clf_status status = attach_all(drops, tensors, count, multiplies);
    for (int i = 0; i < count; i++) {
        if (!drops[i]) {
            tensors[kept++] = tensors[i];
        }
    }
    clf__free(drops);
    list->count = first + kept;
    return status;
}
