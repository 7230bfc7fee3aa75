/* Formats of model folders: Hugging Face's and those of other engines. Each gives one configuration, one
 * checkpoint under the canonical names (model/parameters.h) and one tokenizer, so that other code is
 * independent of the format. */
#ifndef CLF_FORMATS_FORMAT_H
#define CLF_FORMATS_FORMAT_H

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "text/shortlist.h"
#include "text/tokenizer.h"

/* Properties of the weights for the configuration of a new folder. */
struct clf__format_weights {
    const char *type;      /* torch's name: "float16" */
    const char *precision; /* precision for loading; NULL: not set */
};
/* The key of that precision, in config.json or beside the weights. */
#define CLF__PRECISION_KEY "clformer_precision"

struct clf__format {
    const char *name; /* name shown by `clformer inspect` */
    int may_be_file;  /* a model may be a single file; `folder` below is then its path */
    /* Tests whether an existing folder has this format. NULL: every folder that no other format claims. */
    clf_status (*find)(int *is_one, const char *folder);
    /* The caller ends with clf__config_free() even on failure. */
    clf_status (*read_config)(struct clf__config *out, const char *folder);
    clf_status (*open_weights)(struct clf__checkpoint **out, const char *folder);
    clf_status (*load_tokenizer)(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config);
    /* Finds the path of the lexical shortlist, and the pruning options of a text shortlist, unchanged if the
     * folder has none; *out is NULL without a shortlist. Function NULL: never a shortlist. */
    clf_status (*find_shortlist)(char **out, struct clf__shortlist_cut *cut, const char *folder);

    /* For a new folder of the same format, with the other files of a model and converted weights: */
    const char *weights; /* their place in it */
    /* Copies all other files into the existing target. */
    clf_status (*copy_files)(const char *target, const char *folder,
                             const struct clf__format_weights *weights);
    /* Describes settings in the format's weights file that the converted file keeps; the caller frees *out,
     * even on failure. Function NULL: none. */
    clf_status (*describe)(struct clf__beside *out, const char *folder);
};

/* Suffix of OpenAI checkpoints. */
#define CLF__OPENAI_ENDING ".pt"

/* The rows of formats.c. */
extern const struct clf__format clf__format_argos, clf__format_ctranslate2, clf__format_marian,
    clf__format_openai, clf__format_hugging_face;

/* Finds the format of a path; CLF_FILE unless it is a folder, or a file that is a model. */
clf_status clf__format_of(const struct clf__format **out, const char *path);

/* Functions that dispatch to the format of a folder. */
clf_status clf__format_read_config(struct clf__config *out, const char *folder);
clf_status clf__format_open_weights(struct clf__checkpoint **out, const char *folder);
clf_status clf__format_load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__config *config);
/* Opens the lexical shortlist of a folder with its tokenizer's vocabulary; NULL: none. */
clf_status clf__format_open_shortlist(struct clf__shortlist **out, const char *folder,
                                      const struct clf__tokenizer *tokenizer);

/* Reads the precision recorded in weights that `clformer convert` wrote; other files leave the configuration
   unchanged. */
clf_status clf__format_said_precision(struct clf__config *config, const struct clf__checkpoint *weights);

#endif
