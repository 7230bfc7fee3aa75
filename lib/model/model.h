/* A loaded model. */
#ifndef CLF_MODEL_MODEL_H
#define CLF_MODEL_MODEL_H

#include <clformer/model.h>

struct clf_model {
    struct clf__transformer *transformer;
    struct clf__tokenizer *tokenizer;
    int is_borrowed; /* transformer and tokenizer belong to another owner */
    int is_lost;     /* the device failed while other devices still work */
    char *folder;    /* path as passed by the caller; the file of a package */
    int is_package;  /* read from a package, whose temporary folder was removed */
    struct clf_model_info info;
};

/* Wraps a loaded transformer and tokenizer, such as those in training, as a model. Both are borrowed for the
 * model's life and belong to `folder`. */
clf_status clf__model_borrow(struct clf_model **out, struct clf__transformer *transformer,
                             struct clf__tokenizer *tokenizer, const char *folder);

/* Returns CLF_TEXT for NaN or infinity in the model's output; the message names the likely cause and a
 * remedy. */
clf_status clf__model_fail_not_finite(const struct clf_model *model);

#endif
