#include "base/memory.h"
#include "formats/format.h"
#include "model/new_folder.h"
#include "model/save.h"

struct conversion {
    const struct clf__parameters *parameters;
    clf_precision precision;
};

/* A clf__parameter_reader. */
static clf_status read_parameter(void *user, int index, float *target)
{
    const struct conversion *conversion = user;
    const struct clf__parameter_list *list = clf__parameters_list(conversion->parameters);
    return clf__parameters_read(conversion->parameters, list->items[index].name, target);
}

static clf_status write_weights(void *user, const char *path)
{
    const struct conversion *conversion = user;
    return clf__parameters_save_as_loaded(path, clf__parameters_list(conversion->parameters),
                                          conversion->precision, read_parameter, user);
}

static clf_status check_format(const char *folder)
{
    const struct clf__format *format;
    CLF__TRY(clf__format_of(&format, folder));
    return format == &clf__format_hugging_face
               ? CLF_OK
               : clf__fail(
                     CLF_UNSUPPORTED,
                     "%s: is a folder of %s, which is taken as it is; folders of Hugging Face and clformer "
                     "are converted",
                     folder, format->name);
}

clf_status clf__model_convert(const char *output, const char *folder, clf_precision precision)
{
    static const char *const names[][2] = {[CLF_PRECISION_FP32] = {"float32", "fp32"},
                                           [CLF_PRECISION_FP16] = {"float16", "fp16"},
                                           [CLF_PRECISION_BF16] = {"bfloat16", "bf16"},
                                           [CLF_PRECISION_INT8] = {"int8", "int8"}};
    if ((unsigned)precision > CLF_PRECISION_INT8) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "precision %d is unknown; weights are written in fp32, fp16, bf16 or int8",
                         (int)precision);
    }
    struct clf__config config;
    struct clf__parameters *parameters;
    CLF__TRY(check_format(folder));
    CLF__TRY(clf__new_folder_check(output));
    CLF__TRY(clf__format_read_config(&config, folder));
    clf_status status = clf__parameters_load(&parameters, &config, folder);
    clf__config_free(&config);
    CLF__TRY(status);
    struct conversion conversion = {parameters, precision};
    struct clf__new_folder made = {.from = folder,
                                   .type = names[precision][0],
                                   .precision = names[precision][1],
                                   .write = write_weights,
                                   .user = &conversion};
    status = clf__new_folder_write(output, &made);
    clf__parameters_free(parameters);
    return status;
}
