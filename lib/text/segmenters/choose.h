/* Which segmenter a model folder has. */
#ifndef CLF_TEXT_SEGMENTERS_CHOOSE_H
#define CLF_TEXT_SEGMENTERS_CHOOSE_H

#include "base/json.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

/* What tokenizer_config.json says to segmenters; the folder borrows it. */
clf_status clf__segmenter_read_config(struct clf__segmenter_folder *folder, const struct clf__json *config);

/* With source.spm or target.spm, SentencePiece: either calls for the other, so that one that is missing is
 * named. Without, characters where there is a word delimiter, else words; but a target's vocabulary that
 * holds SentencePiece's pieces says that its models are missing, unless the configuration tells how text is
 * cut. */
clf_status clf__segmenter_choose(const struct clf__segmenter **out,
                                 const struct clf__segmenter_folder *folder,
                                 const struct clf__vocabulary *target);

#endif
