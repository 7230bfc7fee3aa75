/* Rejects folders with adapters or with models of other frameworks. */
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "model/config/build.h"

/* Rejects adapters even in folders with weights, because the weights do not include the adapter. */
static clf_status refuse_adapter(const char *folder, const char *file)
{
    struct clf__json json;
    const char *type = NULL, *base = NULL;
    CLF__TRY(clf__json_find_in(&json, folder, "adapter_config.json"));
    if (json.root != NULL) {
        type = json_string_value(json_object_get(json.root, "peft_type"));
        base = json_string_value(json_object_get(json.root, "base_model_name_or_path"));
    }
    clf_status status = clf__fail(
        CLF_UNSUPPORTED,
        "%s/%s: an adapter (%.40s%s%.80s%s), which is not supported; merge it with merge_and_unload() of "
        "PEFT, save the model and use its folder (or remove the adapter's files)",
        folder, file, type != NULL ? type : "LoRA or PEFT", base != NULL ? " of \"" : "",
        base != NULL ? base : "", base != NULL ? "\"" : "");
    clf__json_free(&json);
    return status;
}

static clf_status refuse_archive(const char *folder, const char *file)
{
    return clf__fail(CLF_UNSUPPORTED,
                     "%s/%s: an NVIDIA NeMo archive (Canary, Parakeet), which is not supported; use a "
                     "Whisper model for speech",
                     folder, file);
}

clf_status clf__config_refuse_others(const char *folder)
{
    static const char *const adapters[] = {"adapter_config.json", "adapter_model.safetensors",
                                           "adapter_model.bin"};
    int is_there;
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++) {
        CLF__TRY(clf__file_find(&is_there, folder, adapters[i]));
        if (is_there) {
            return refuse_adapter(folder, adapters[i]);
        }
    }
    CLF__TRY(clf__file_find(&is_there, folder, "config.json"));
    struct clf__names names = {.count = 0};
    clf_status status = is_there ? CLF_OK : clf__folder_list(&names, folder);
    for (int i = 0; status == CLF_OK && i < names.count; i++) {
        status = clf__ends_with(names.items[i], ".nemo") ? refuse_archive(folder, names.items[i]) : CLF_OK;
    }
    clf__names_free(&names);
    return status;
}
