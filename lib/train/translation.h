/* Translates the validation text with the model being trained. */
#ifndef CLF_TRAIN_TRANSLATION_H
#define CLF_TRAIN_TRANSLATION_H

#include "train/run.h"

struct clf__translated {
    struct clf_train_sample *lines; /* (count), owned with their texts */
    int count, capacity;
};

/* Translates at most `most` pairs of the validation text. */
clf_status clf__translated_make(struct clf__translated *out, const struct clf__run *run, int most);
/* Extends the model's position tables to the lengths that translation needs, before memory is measured. */
clf_status clf__translated_reach(const struct clf__run *run);
/* Reserves and releases the device memory for translation in validations. */
clf_status clf__translated_dry_run(const struct clf__run *run);
void clf__translated_free(struct clf__translated *translated);

/* Computes BLEU with the settings of the recipe. */
clf_status clf__translated_bleu(double *out, const struct clf__translated *translated,
                                const struct clf__settings *settings);

#endif
