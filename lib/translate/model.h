/* A model over what somebody else loaded, such as a transformer that is being trained. */
#ifndef CLF_TRANSLATE_MODEL_H
#define CLF_TRANSLATE_MODEL_H

#include <clformer/model.h>

#include "model/transformer.h"
#include "text/tokenizer.h"

/* Transformer and tokenizer are borrowed for the model's life; they are those of `folder`, or come from it.
 */
clf_status clf__model_borrow(struct clf_model **out, struct clf__transformer *transformer,
                             struct clf__tokenizer *tokenizer, const char *folder);

#endif
