/* Formats of model folders, from Hugging Face and other engines. Each format provides a configuration,
 * weights under canonical names (model/parameters.h) and a tokenizer, so that other code does not depend on
 * the format. */
#ifndef CLF_FORMATS_FORMAT_H
#define CLF_FORMATS_FORMAT_H

#include "model/config/types.h"
#include "model/weights/weights.h"
#include "text/shortlist.h"
#include "text/tokenizers/tokenizer.h"

/* Type and precision of the weights, for the configuration of a new folder. */
struct clf__format_weights {
    const char *type;      /* name of the type in torch: "float16" */
    const char *precision; /* precision for loading; NULL: not set */
};
/* The key of `precision` in config.json or in the metadata of the weights */
#define CLF__PRECISION_KEY "clformer_precision"

struct clf__format {
    const char *name; /* name shown by `clformer inspect` */
    int may_be_file;  /* 1: a model may be a single file, whose path is then passed as `folder` */
    /* Detects whether an existing folder has this format. NULL: all folders that no other format claims. */
    clf_status (*find)(int *is_one, const char *folder);
    /* The caller frees *out with clf__config_free(), even on failure. */
    clf_status (*read_config)(struct clf__config *out, const char *folder);
    clf_status (*open_weights)(struct clf__weights **out, const char *folder);
    clf_status (*load_tokenizer)(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config);
    /* Finds the path of the lexical shortlist (*out is NULL if there is none) and the options to prune a text
     * shortlist (*cut is unchanged if not set). NULL: the format has no shortlists. */
    clf_status (*find_shortlist)(char **out, struct clf__shortlist_cut *cut, const char *folder);

    /* Conversion to a new folder in the same format */
    const char *weights; /* name of the weights file in the new folder */
    /* Copies all files except the weights to the target folder, which exists. */
    clf_status (*copy_files)(const char *target, const char *folder,
                             const struct clf__format_weights *weights);
    /* Returns the settings from the weights file to keep in the converted file; the caller frees *out, even
     * on failure. NULL: none. */
    clf_status (*describe)(struct clf__beside *out, const char *folder);
};

/* The suffix of OpenAI models */
#define CLF__OPENAI_ENDING ".pt"

/* The formats in the table of formats.c. */
extern const struct clf__format clf__format_argos, clf__format_ctranslate2, clf__format_marian,
    clf__format_openai, clf__format_hugging_face;

/* Finds the format of a path. Returns CLF_FILE if the path is neither a folder nor a model file. */
clf_status clf__format_of(const struct clf__format **out, const char *path);

/* Dispatch to the folder's format. */
clf_status clf__format_read_config(struct clf__config *out, const char *folder);
clf_status clf__format_open_weights(struct clf__weights **out, const char *folder);
clf_status clf__format_load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__config *config);
/* Opens a folder's lexical shortlist with the tokenizer's vocabularies; *out is NULL if there is none. */
clf_status clf__format_open_shortlist(struct clf__shortlist **out, const char *folder,
                                      const struct clf__tokenizer *tokenizer);
/* Returns 0 if clf__format_open_shortlist() finds no shortlist; 1 if it finds one or fails. */
int clf__format_may_have_shortlist(const char *folder);

/* Reads the precision that `clformer convert` recorded in the weights. If none was recorded, `config` is
 * unchanged. */
clf_status clf__format_read_precision(struct clf__config *config, const struct clf__weights *weights);

#endif
