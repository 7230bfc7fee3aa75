/* Folders as transformers saves them, and ours. */
#include <stddef.h>

#include "formats/format.h"

static clf_status load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config)
{
    struct clf__tokenizer_options options = clf__tokenizer_options_of(config);
    return clf__tokenizer_load(out, folder, &options);
}

const struct clf__format clf__format_hugging_face = {
    .name = "Hugging Face",
    .find = NULL,
    .read_config = clf__config_load,
    .open_weights = clf__checkpoint_open,
    .load_tokenizer = load_tokenizer,
};
