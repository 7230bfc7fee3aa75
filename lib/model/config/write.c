#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/build.h"
#include "model/config/config.h"
#include "model/config/keys.h"
#include "model/config/write.h"

/* The content of both files; `failed`: out of memory. */
struct draft {
    const struct clf__model_description *description;
    enum clf__architecture_id architecture;
    json_t *config, *generation;
    int failed;
};

static void set(struct draft *draft, json_t *object, const char *key, json_t *value)
{
    draft->failed |= json_object_set_new(object, key, value) != 0;
}

static json_t *id_or_null(int id)
{
    return id >= 0 ? json_integer(id) : json_null();
}

/* Sets the sizes, which are always written so that readers need not know the preset. */
static void set_sizes(struct draft *draft)
{
    struct clf__config preset;
    clf__config_preset(&preset, draft->architecture);
    for (const struct clf__config_key *key = clf__config_keys; key->name != NULL; key++) {
        const char *name =
            clf__architecture_key_name(clf__architecture_of(draft->architecture), key->name, NULL);
        if (key->stage == CLF__KEY_SIZE && name != NULL) {
            set(draft, draft->config, name, clf__config_key_value(&preset, key));
        }
    }
}

static void set_ids(struct draft *draft)
{
    const struct clf__model_description *description = draft->description;
    int has_source = description->source_vocabulary > 0;
    const struct clf__architecture *architecture = clf__architecture_of(draft->architecture);
    int first = architecture->has_no_start_token ? description->pad_id : description->start_id;
    int is_only_one = !has_source && architecture->hugging_face;
    if (has_source) {
        set(draft, draft->config, "vocab_size", json_integer(description->source_vocabulary));
    }
    set(draft, draft->config, is_only_one ? "vocab_size" : "decoder_vocab_size",
        json_integer(description->target_vocabulary));
    json_t *const both[] = {draft->config, draft->generation};
    for (int i = 0; i < 2; i++) {
        set(draft, both[i], "pad_token_id", id_or_null(description->pad_id));
        set(draft, both[i], "bos_token_id", id_or_null(description->start_id));
        set(draft, both[i], "eos_token_id", id_or_null(description->end_id));
        set(draft, both[i], "decoder_start_token_id", id_or_null(first));
    }
}

static void set_ours(struct draft *draft)
{
    set(draft, draft->config, "model_type", json_string("clformer"));
    set(draft, draft->config, "preset", json_string(draft->description->preset));
    if (draft->description->separate_vocabularies || draft->description->source_vocabulary == 0) {
        set(draft, draft->config, "share_encoder_decoder_embeddings", json_false());
    }
}

static const struct clf__config_key *find_choice(const char *name, size_t length)
{
    const struct clf__config_key *key = clf__config_key_find(name, length);
    return key != NULL && (key->uses & CLF__KEY_CHOSEN) ? key : NULL;
}

int clf__model_has_key(const char *key, size_t length)
{
    return find_choice(key, length) != NULL;
}

/* Sets KEY=VALUE under the architecture's name for the key. */
static void set_choice(struct draft *draft, json_t *object, const char *name, const char *word)
{
    char *renamed = NULL;
    clf_status status = clf__format(&renamed, "%s%s", name, word + strcspn(word, "="));
    draft->failed |= status != CLF_OK || clf__json_set_pair(object, renamed);
    clf__free(renamed);
}

static clf_status take_choice(struct draft *draft, const char *word)
{
    size_t length = strcspn(word, "=");
    const struct clf__config_key *key = find_choice(word, length);
    if (key == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "\"%.*s\" is not a key of config.json that can be set; remove it",
                         length < 64 ? (int)length : 64, word);
    }
    const struct clf__architecture *architecture = clf__architecture_of(draft->architecture);
    const char *name = clf__architecture_key_name(architecture, key->name, NULL);
    int is_fixed = !(key->uses & CLF__KEY_EVERY) && !clf__architecture_has_key(architecture, key->name);
    if (architecture->hugging_face && (is_fixed || name == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "\"%s\" cannot be set, because the preset %s fixes it; remove the key", key->name,
                         clf__architecture_word(draft->architecture));
    }
    json_t *object = key->uses & CLF__KEY_GENERATION ? draft->generation : draft->config;
    set_choice(draft, object, name, word);
    return CLF_OK;
}

static clf_status take_choices(struct draft *draft)
{
    const struct clf__model_description *description = draft->description;
    for (const char *const *size = description->sizes; size && *size; size++) {
        CLF__TRY(take_choice(draft, *size));
    }
    for (int i = 0; i < description->choice_count; i++) {
        CLF__TRY(take_choice(draft, description->choices[i]));
    }
    return CLF_OK;
}

/* Sets the maximum output length, because transformers' default is only 20 tokens. */
static void set_longest(struct draft *draft, const struct clf__config *config)
{
    if (!json_object_get(draft->generation, "max_length") &&
        !json_object_get(draft->generation, "max_new_tokens")) {
        int searches_all = clf__architecture_of(config->architecture)->searches_all_positions;
        int longest = searches_all ? config->decoder_max_positions : config->generation.max_length;
        /* transformers also counts the start token, which occupies a position */
        longest += longest < config->decoder_max_positions;
        set(draft, draft->generation, "max_length", json_integer(longest));
    }
}

static clf_status write_file(const struct draft *draft, const char *folder, const char *name,
                             const json_t *object)
{
    if (draft->failed) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write the configuration");
    }
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__json_write(path, object, JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    clf__free(path);
    return status;
}

/* Checks the parsed configuration: values can be validated only together. */
static clf_status check(const struct clf__config *config, const struct clf__model_description *description)
{
    if (description->separate_vocabularies && !config->separate_vocabularies) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "source and target cannot share embeddings, because their vocabularies are "
                         "separate; use one vocabulary or separate embeddings");
    }
    if (!description->separate_vocabularies && config->separate_vocabularies) {
        return clf__fail(CLF_BAD_ARGUMENT, "the preset marian requires shared embeddings for one vocabulary; "
                                           "share them, or use two vocabularies");
    }
    if ((config->feature_size > 0) != (description->source_vocabulary == 0)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "the source must be either frames (\"feature_size\") or text; remove one of them");
    }
    return CLF_OK;
}

/* Sets the tokenizer's length limit to the model's if the tokenizer has none. */
static clf_status limit_tokenizer(const char *folder, int longest)
{
    struct clf__json json;
    clf_status status = clf__json_find_in(&json, folder, "tokenizer_config.json");
    if (json.root && !clf__json_has(&json, "model_max_length")) {
        int failed = json_object_set_new(json.root, "model_max_length", json_integer(longest));
        status = clf__json_write(json.path, failed ? NULL : json.root, JSON_REAL_PRECISION(15));
    }
    clf__json_free(&json);
    return status;
}

static clf_status fill(struct draft *draft)
{
    set_sizes(draft);
    set_ids(draft);
    const struct clf__architecture *architecture = clf__architecture_of(draft->architecture);
    if (architecture->describe) {
        draft->failed |= architecture->describe(draft->config, draft->generation, draft->description);
    } else {
        set_ours(draft);
    }
    return take_choices(draft);
}

static clf_status write_both(struct draft *draft, const char *folder)
{
    const struct clf__model_description *description = draft->description;
    CLF__TRY(fill(draft));
    CLF__TRY(write_file(draft, folder, "config.json", draft->config));
    CLF__TRY(write_file(draft, folder, "generation_config.json", draft->generation));
    struct clf__config config;
    CLF__TRY(clf__config_load(&config, folder));
    clf_status status = check(&config, description);
    if (status == CLF_OK) {
        set_longest(draft, &config);
        status = write_file(draft, folder, "generation_config.json", draft->generation);
    }
    if (status == CLF_OK) {
        status = limit_tokenizer(folder, config.encoder_max_positions);
    }
    clf__config_free(&config);
    return status;
}

/* Parses and checks the draft as if it were read from files. */
static clf_status check_draft(struct draft *draft, const char *name)
{
    const struct clf__model_description *description = draft->description;
    CLF__TRY(fill(draft));
    if (draft->failed) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write the configuration");
    }
    struct clf__config config = {0};
    const struct clf__json config_json = {draft->config, (char *)name};
    const struct clf__json generation_json = {draft->generation, (char *)name};
    clf_status status = clf__config_parse(&config, &config_json, &generation_json);
    if (status == CLF_OK && !clf__architecture_of(draft->architecture)->hugging_face) {
        config.separate_vocabularies = description->separate_vocabularies && !config.share_source_target;
    }
    if (status == CLF_OK) {
        status = check(&config, description);
    }
    clf__config_free(&config);
    return status;
}

static clf_status draft_open(struct draft *draft, const struct clf__model_description *description)
{
    *draft = (struct draft){.description = description};
    if (!clf__architecture_find(&draft->architecture, description->preset)) {
        return clf__fail(CLF_BAD_ARGUMENT, "unknown preset \"%.64s\"; use the name of a supported preset",
                         description->preset);
    }
    draft->config = json_object();
    draft->generation = json_object();
    draft->failed = !draft->config || !draft->generation;
    return CLF_OK;
}

static void draft_close(struct draft *draft)
{
    json_decref(draft->generation);
    json_decref(draft->config);
}

clf_status clf__model_describe(const char *folder, const struct clf__model_description *description)
{
    struct draft draft;
    CLF__TRY(draft_open(&draft, description));
    clf_status status = write_both(&draft, folder);
    draft_close(&draft);
    return status;
}

clf_status clf__model_check(const struct clf__model_description *description, const char *name)
{
    struct draft draft;
    CLF__TRY(draft_open(&draft, description));
    clf_status status = check_draft(&draft, name);
    draft_close(&draft);
    return status;
}
