/* The validation text, translated by the model that is trained. */
#ifndef CLF_TRAIN_TRANSLATION_H
#define CLF_TRAIN_TRANSLATION_H

#include "train/run.h"

struct clf__translated {
    struct clf_train_sample *lines; /* (count), owned with their texts */
    int count, capacity;
};

/* Translates the validation text's pairs, `most` of them at most. */
clf_status clf__translated_make(struct clf__translated *out, const struct clf__run *run, int most);
/* Lengthens the model's tables of positions for that, before anything is measured or trained. */
clf_status clf__translated_reach(const struct clf__run *run);
/* Takes of the device what validations take for that, and gives it back. */
clf_status clf__translated_dry_run(const struct clf__run *run);
void clf__translated_free(struct clf__translated *translated);

/* BLEU as the recipe wants it. */
clf_status clf__translated_bleu(double *out, const struct clf__translated *translated,
                                const struct clf__settings *settings);

#endif
