/* The formats of model folders: Hugging Face's, and those of other engines. Each gives one configuration, one
 * checkpoint under the canonical names (model/parameters.h) and one tokenizer, so that whoever runs the model
 * need not know which it was. */
#ifndef CLF_FORMATS_FORMAT_H
#define CLF_FORMATS_FORMAT_H

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "text/shortlist.h"
#include "text/tokenizer.h"

/* What the configuration of a new folder says of its weights. */
struct clf__format_weights {
    const char *type;      /* as torch calls it: "float16" */
    const char *precision; /* to load them in; NULL: it says nothing */
};
/* The key of that precision, in config.json or beside the weights. */
#define CLF__PRECISION_KEY "clformer_precision"

struct clf__format {
    const char *name; /* as `clformer inspect` says it */
    int may_be_file;  /* a model may be one file; what is called `folder` below is then its path */
    /* Whether a folder, which exists, is one. NULL: every folder that is no other's. */
    clf_status (*find)(int *is_one, const char *folder);
    /* Ends with clf__config_free() on failure too. */
    clf_status (*read_config)(struct clf__config *out, const char *folder);
    clf_status (*open_weights)(struct clf__checkpoint **out, const char *folder);
    clf_status (*load_tokenizer)(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config);
    /* The path of its lexical shortlist, and how one in text is cut, which stays as it is where the folder
     * does not say; *out is NULL where there is none. The function NULL: there never is. */
    clf_status (*find_shortlist)(char **out, struct clf__shortlist_cut *cut, const char *folder);

    /* A new folder, with a model's other files and weights of ours, is of the same format: */
    const char *weights; /* their place in it */
    /* Writes all other files; the target is there. */
    clf_status (*copy_files)(const char *target, const char *folder,
                             const struct clf__format_weights *weights);
    /* What the format's own file of weights says of the model, and ours is to keep; the caller frees it, on
     * failure too. The function NULL: nothing. */
    clf_status (*describe)(struct clf__beside *out, const char *folder);
};

/* What the names of OpenAI's checkpoints end with. */
#define CLF__OPENAI_ENDING ".pt"

/* The rows of formats.c. */
extern const struct clf__format clf__format_argos, clf__format_ctranslate2, clf__format_marian,
    clf__format_openai, clf__format_hugging_face;

/* The one that a path is; CLF_FILE unless it is a folder, or a file that is a model. */
clf_status clf__format_of(const struct clf__format **out, const char *path);

/* What the format of a folder does. */
clf_status clf__format_read_config(struct clf__config *out, const char *folder);
clf_status clf__format_open_weights(struct clf__checkpoint **out, const char *folder);
clf_status clf__format_load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__config *config);
/* The lexical shortlist of a folder, read with its tokenizer's words; NULL: it has none. */
clf_status clf__format_open_shortlist(struct clf__shortlist **out, const char *folder,
                                      const struct clf__tokenizer *tokenizer);

/* What a file of weights that `clformer convert` wrote says to be loaded in; another file changes nothing. */
clf_status clf__format_said_precision(struct clf__config *config, const struct clf__checkpoint *weights);

#endif
