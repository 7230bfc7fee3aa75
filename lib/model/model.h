/* A loaded model. */
#ifndef CLF_MODEL_MODEL_H
#define CLF_MODEL_MODEL_H

#include <clformer/model.h>

struct clf_model {
    struct clf__transformer *transformer;
    struct clf__tokenizer *tokenizer;
    int is_borrowed;   /* transformer and tokenizer are not owned */
    int is_lost;       /* the device has failed; other devices still work */
    char *folder;      /* the path that the caller passed, which may be a package */
    int is_package;    /* the model is from a package, and its temporary folder has been removed */
    int has_shortlist; /* the folder has a shortlist, which every translator opens */
    struct clf_model_info info;
};

/* Makes a model from a loaded transformer and tokenizer, for example during training. Both were read from
 * `folder` and must outlive the model. */
clf_status clf__model_borrow(struct clf_model **out, struct clf__transformer *transformer,
                             struct clf__tokenizer *tokenizer, const char *folder);

/* Returns CLF_TEXT because the model's output contains NaN or infinity; the message gives the likely cause
 * and a remedy. */
clf_status clf__model_fail_not_finite(const struct clf_model *model);

#endif
