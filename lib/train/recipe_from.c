/* Choices that the model in the folder of `from` determines. */
#include <string.h>

#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "train/recipe.h"

clf_status clf__recipe_check_from(const struct clf_recipe *recipe, const struct clf__texts *config)
{
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        if (clf__recipe_entry(i)->change == CLF__CHANGE_OF_MODEL &&
            clf__recipe_is_chosen(recipe, keys[i].name)) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "%s: cannot be combined with from, which determines it; remove it",
                             keys[i].name);
        }
    }
    for (int i = 0; i < config->count; i++) {
        const char *word = config->items[i];
        size_t length = strcspn(word, "=");
        if (length < 7 || strncmp(word + length - 7, "dropout", 7) != 0) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "config: \"%.64s\" cannot be combined with from, which permits only dropout keys; remove it",
                word);
        }
    }
    return CLF_OK;
}

/* Chooses the preset of the model in `where`; returns CLF_BAD_ARGUMENT if another preset was chosen. */
static clf_status take(struct clf_recipe *recipe, const char *preset, const char *where)
{
    int index = clf__recipe_find("preset");
    const char *chosen = clf__recipe_words(recipe, index).items[0];
    if (clf__recipe_is_chosen(recipe, "preset") && strcmp(chosen, preset) != 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "preset: is %s, but the architecture of %s is %s; remove preset",
                         chosen, where, preset);
    }
    return clf__recipe_take(recipe, index, &preset, 1);
}

/* Speech models are trained to write a transcript after the start token. Whisper models start with a
 * prompt, whose first token differs from the start token, and write subwords after it. */
static clf_status check_start(const struct clf__config *config, const char *folder)
{
    return config->decoder_start_id == config->start_id
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "from: the decoder of %s starts with a prompt (\"decoder_start_token_id\" is %d, "
                           "\"bos_token_id\" is %d), which training of speech models does not support; use a "
                           "model trained by `clformer train`",
                           folder, config->decoder_start_id, config->start_id);
}

clf_status clf__recipe_take_preset(struct clf_recipe *recipe)
{
    struct clf__texts folder = clf__recipe_words(recipe, clf__recipe_find("from"));
    if (folder.count == 0) {
        return CLF_OK;
    }
    struct clf__config config;
    clf_status status = clf__config_load(&config, folder.items[0]);
    if (status != CLF_OK) {
        return clf__fail_in(status, "from");
    }
    const char *preset = clf__architecture_word(config.architecture);
    int is_trained = clf__architecture_is_preset(config.architecture);
    int takes_frames = clf__architecture_of(config.architecture)->takes_frames;
    clf_status start = takes_frames ? check_start(&config, folder.items[0]) : CLF_OK;
    clf__config_free(&config);
    if (!is_trained) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "from: %s has architecture %s, which cannot be trained; use a model of a preset's architecture",
            folder.items[0], preset);
    }
    return start != CLF_OK ? start : take(recipe, preset, folder.items[0]);
}

clf_status clf__recipe_take_preset_begun(struct clf_recipe *recipe, const char *path)
{
    struct clf_recipe *begun;
    if (!clf__recipe_is_chosen(recipe, "from")) {
        return CLF_OK;
    }
    CLF__TRY(clf_recipe_create(&begun));
    clf_status status = clf_recipe_load(begun, path);
    if (status == CLF_OK) {
        status = take(recipe, clf__recipe_words(begun, clf__recipe_find("preset")).items[0], path);
    }
    clf_recipe_free(begun);
    return status;
}
