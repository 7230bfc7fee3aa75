#include <clformer/train.h>

#include "model/save.h"

clf_status clf_average(const char *output, const char *const *folders, int count, clf_precision precision)
{
    return clf__model_average(output, folders, count, precision);
}
