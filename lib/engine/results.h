/* The results of lines. */
#ifndef CLF_ENGINE_RESULTS_H
#define CLF_ENGINE_RESULTS_H

#include <clformer/translator.h>

/* Frees the members of a hypothesis. */
void clf__hypothesis_free(struct clf_hypothesis *hypothesis);

/* Frees the hypotheses of a line, which then has none. */
void clf__hypotheses_clear(struct clf_translation *translation);

#endif
