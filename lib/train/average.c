#include <clformer/train.h>

#include "model/save.h"

clf_status clf_average(const char *output, const char *const *folders, int count, clf_precision precision)
{
    for (int i = 0; i < count; i++) {
        if (folders == NULL || folders[i] == NULL) {
            return clf__fail(CLF_BAD_ARGUMENT, "folder %d of the %d to average is NULL; pass a path", i + 1,
                             count);
        }
    }
    return clf__model_average(output, folders, count, clf__precision_of(precision));
}

clf_status clf_convert(const char *output, const char *folder, clf_precision precision)
{
    if (output == NULL || folder == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, output == NULL ? "output folder: is NULL; pass a path"
                                                          : "folder to convert: is NULL; pass a path");
    }
    return clf__model_convert(output, folder, precision);
}
