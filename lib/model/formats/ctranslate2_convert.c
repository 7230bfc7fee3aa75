/* Writes folders with converted weights instead of model.bin, keeping the settings of model.bin. */
#include <stdlib.h>

#include "base/memory.h"
#include "model/formats/copy.h"
#include "model/formats/ctranslate2.h"

static const char name_key[] = "ctranslate2_name", version_key[] = "ctranslate2_version",
                  revision_key[] = "ctranslate2_revision";

static int number_of(const json_t *metadata, const char *key)
{
    const char *word = json_string_value(json_object_get(metadata, key));
    long value = word != NULL ? strtol(word, NULL, 10) : 0;
    return value > 0 && value < 1 << 20 ? (int)value : 0;
}

struct clf__specification clf__ctranslate2_specification(const struct clf__weights *weights)
{
    const json_t *metadata = clf__weights_metadata(weights);
    if (metadata == NULL) {
        return clf__weights_specification(weights);
    }
    const char *name = json_string_value(json_object_get(metadata, name_key));
    return (struct clf__specification){.name = name != NULL ? name : "",
                                       .version = number_of(metadata, version_key),
                                       .revision = number_of(metadata, revision_key)};
}

clf_status clf__ctranslate2_describe(struct clf__beside *out, const char *folder)
{
    *out = (struct clf__beside){.metadata = NULL};
    CLF__TRY(clf__ctranslate2_open_model(&out->tensors, folder, CLF__CTRANSLATE2_SETTINGS));
    struct clf__specification specification = clf__ctranslate2_specification(out->tensors);
    char *version, *revision = NULL;
    CLF__TRY(clf__format(&version, "%d", specification.version));
    clf_status status = clf__format(&revision, "%d", specification.revision);
    if (status == CLF_OK) {
        out->metadata =
            json_pack("{ss ss ss}", name_key, specification.name != NULL ? specification.name : "",
                      version_key, version, revision_key, revision);
        status = out->metadata != NULL
                     ? CLF_OK
                     : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write the configuration");
    }
    clf__free(version);
    clf__free(revision);
    return status;
}

clf_status clf__ctranslate2_copy_files(const char *target, const char *folder,
                                       const struct clf__format_weights *weights)
{
    (void)weights; /* the weights file itself describes the type */
    return clf__format_copy_others(target, folder, NULL);
}
