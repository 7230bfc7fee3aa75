#include "base/memory.h"
#include "model/config/config.h"
#include "model/formats/format.h"
#include "model/formats/unpack.h"
#include "model/new_folder.h"
#include "model/save.h"
#include "text/shortlist.h"

struct conversion {
    struct clf__parameters *parameters;
    enum clf__precision precision;
};

static clf_status write_weights(void *user, const char *path, const struct clf__beside *beside)
{
    const struct conversion *conversion = user;
    return clf__parameters_save_as_loaded(path, conversion->parameters, conversion->precision, beside);
}

/* Checks that the files to be copied are valid, so that the new folder is usable. */
static clf_status check_text(const char *folder, const struct clf__config *config)
{
    struct clf__tokenizer *tokenizer;
    struct clf__shortlist *shortlist;
    CLF__TRY(clf__format_load_tokenizer(&tokenizer, folder, config));
    clf_status status = clf__format_open_shortlist(&shortlist, folder, tokenizer);
    clf__shortlist_free(shortlist);
    clf__tokenizer_free(tokenizer);
    return status;
}

static clf_status load(struct clf__parameters **out, const char *folder)
{
    struct clf__config config;
    *out = NULL;
    CLF__TRY(clf__format_read_config(&config, folder));
    clf_status status = clf__parameters_load(out, &config, folder);
    if (status == CLF_OK) {
        status = check_text(folder, &config);
    }
    clf__config_free(&config);
    return status;
}

static clf_status convert(const char *output, const char *folder, enum clf__precision precision)
{
    static const struct clf__format_weights names[] = {[CLF__PRECISION_FP32] = {"float32", "fp32"},
                                                       [CLF__PRECISION_FP16] = {"float16", "fp16"},
                                                       [CLF__PRECISION_BF16] = {"bfloat16", "bf16"},
                                                       [CLF__PRECISION_INT8] = {"int8", "int8"}};
    struct conversion conversion = {.precision = precision};
    clf_status status = load(&conversion.parameters, folder);
    if (status == CLF_OK) {
        struct clf__new_folder made = {
            .from = folder, .weights = names[precision], .write = write_weights, .user = &conversion};
        status = clf__new_folder_write(output, &made);
    }
    clf__parameters_free(conversion.parameters);
    return status;
}

clf_status clf__model_convert(const char *output, const char *path, clf_precision precision)
{
    if (precision < CLF_PRECISION_FP32 || precision > CLF_PRECISION_INT8) {
        return clf__fail(CLF_BAD_ARGUMENT, "precision %d is unknown; use fp32, fp16, bf16 or int8",
                         (int)precision);
    }
    struct clf__unpacked unpacked;
    CLF__TRY(clf__new_folder_check(output));
    CLF__TRY(clf__unpack(&unpacked, path));
    return clf__unpacked_close(&unpacked, path,
                               convert(output, unpacked.folder, clf__precision_of(precision)));
}
