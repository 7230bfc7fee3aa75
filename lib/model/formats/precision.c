#include "base/json.h"
#include "model/config/build.h"
#include "model/formats/format.h"

clf_status clf__format_read_precision(struct clf__config *config, const struct clf__weights *weights)
{
    const json_t *metadata = clf__weights_metadata(weights);
    const struct clf__json json = {(json_t *)metadata, (char *)clf__weights_path(weights)};
    return metadata != NULL ? clf__config_read_precision(config, &json) : CLF_OK;
}
