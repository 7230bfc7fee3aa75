/* Translates the validation text with the model in training. */
#ifndef CLF_TRAIN_TRANSLATION_H
#define CLF_TRAIN_TRANSLATION_H

#include "train/run.h"

struct clf__translated {
    struct clf_train_sample *lines; /* (count), owned with their texts */
    int count, capacity;
};

/* Translates the pairs of the validation text, at most `most`. */
clf_status clf__translated_make(struct clf__translated *out, const struct clf__run *run, int most);
/* Extends the model's tables of positions for this, before memory is measured and training starts. */
clf_status clf__translated_reach(const struct clf__run *run);
/* Reserves and releases the device memory for translation in validations. */
clf_status clf__translated_dry_run(const struct clf__run *run);
void clf__translated_free(struct clf__translated *translated);

/* BLEU with the settings of the recipe. */
clf_status clf__translated_bleu(double *out, const struct clf__translated *translated,
                                const struct clf__settings *settings);

#endif
