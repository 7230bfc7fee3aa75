/* Converts the choices of a recipe to values, and finds contradictions. */
#include "model/config/architectures/architecture.h"
#include "train/recipe.h"

static int takes_frames(const struct clf__settings *settings)
{
    return clf__architecture_of((enum clf__architecture_id)settings->preset)->takes_frames;
}

static clf_status check_vocabularies(const struct clf__settings *settings)
{
    if (settings->target_vocabulary && !settings->separate_vocabularies && !takes_frames(settings)) {
        return clf__fail(CLF_BAD_ARGUMENT, "target-vocabulary: requires separate-vocabularies; add it");
    }
    if (settings->separate_vocabularies && !settings->source_vocabulary != !settings->target_vocabulary) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s-vocabulary: is missing; pass the vocabularies of both sides",
                         settings->source_vocabulary ? "target" : "source");
    }
    int has_words = settings->tokens || takes_frames(settings);
    if (!has_words && settings->vocabulary < 8) {
        return clf__fail(CLF_BAD_ARGUMENT, "vocabulary: %lld tokens are too few; use 8 or more",
                         (long long)settings->vocabulary);
    }
    return CLF_OK;
}

static clf_status check(const struct clf__settings *settings, const struct clf_recipe *recipe)
{
    if (settings->train.count == 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "train: is missing; pass the training data");
    }
    if (takes_frames(settings) && settings->train.count + settings->valid.count > 2) {
        return clf__fail(CLF_BAD_ARGUMENT, "train: a speech model reads one table of recordings for train "
                                           "and one for valid; pass one file each");
    }
    if (takes_frames(settings) && (settings->tokens || settings->source_vocabulary)) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "%s: cannot be used with a speech model, which reads recordings and writes characters; remove it",
            settings->tokens ? "tokens" : "source-vocabulary");
    }
    if (settings->schedule == CLF__LINEAR && settings->max_updates <= settings->warm_up) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "max-updates: schedule linear ends at max-updates; set it to more than warm-up (%lld)",
            (long long)settings->warm_up);
    }
    if (settings->average > 0 && settings->valid.count == 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "average: requires valid, because checkpoints are made at validations; add valid");
    }
    if (settings->best == CLF__BEST_BLEU && settings->bleu == CLF__BLEU_NONE) {
        return clf__fail(CLF_BAD_ARGUMENT, "best: cannot be bleu if bleu is none; change one of them");
    }
    if (settings->from) {
        return clf__recipe_check_from(recipe, &settings->config);
    }
    return check_vocabularies(settings);
}

clf_status clf__recipe_settings(struct clf__settings *out, const struct clf_recipe *recipe)
{
    *out = (struct clf__settings){0};
    int count;
    clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        const struct clf__recipe_entry *entry = clf__recipe_entry(i);
        struct clf__texts words = clf__recipe_words(recipe, i);
        void *field = (char *)out + entry->field;
        if (entry->kind == CLF__TEXTS || entry->kind == CLF__PAIRS) {
            *(struct clf__texts *)field = words;
        } else if (words.count > 0) {
            CLF__TRY(clf__recipe_parse(field, i, words.items[0]));
        }
    }
    return check(out, recipe);
}
