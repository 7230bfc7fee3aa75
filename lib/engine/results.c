#include "engine/results.h"

#include "base/memory.h"

void clf__hypothesis_free(struct clf_hypothesis *hypothesis)
{
    clf__free(hypothesis->text);
    clf__free(hypothesis->ids);
    clf__free(hypothesis->alignment);
}

void clf__hypotheses_clear(struct clf_translation *translation)
{
    for (int i = 0; i < translation->count; i++) {
        clf__hypothesis_free(&translation->hypotheses[i]);
    }
    clf__free(translation->hypotheses);
    for (int i = 0; i < translation->missing_count; i++) {
        clf__free(translation->missing_terms[i]);
    }
    clf__free(translation->missing_terms);
    translation->hypotheses = NULL;
    translation->missing_terms = NULL;
    translation->count = translation->missing_count = 0;
}

void clf_translations_free(struct clf_translation *translations, int count)
{
    if (translations == NULL) {
        return;
    }
    for (int i = 0; i < count; i++) {
        clf__hypotheses_clear(&translations[i]);
        clf__free(translations[i].problem);
    }
    clf__free(translations);
}
