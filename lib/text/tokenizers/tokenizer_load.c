#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/tokenizers/tokenizer_internal.h"

static const struct clf__added_tokens no_tokens = {.count = 0};

/* Loads vocab.json with the folder's added tokens and a token for each model row. */
static clf_status load_vocabulary(struct clf__vocabulary *out, const char *folder, const char *name, int rows,
                                  const struct clf__added_tokens *added)
{
    char *path = NULL;
    struct clf__token_list own = {.count = 0}, merged = {.count = 0};
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__vocabulary_read(&own, path);
    if (status == CLF_OK) {
        struct clf__own_tokens tokens = {&own, own.count, name};
        status = clf__added_tokens_merge(&merged, &tokens, added, rows);
    }
    if (status == CLF_OK) {
        status = clf__vocabulary_take(out, &merged, path);
    }
    clf__token_list_free(&own);
    clf__token_list_free(&merged);
    clf__free(path);
    return clf__tokenizer_needed(status);
}

/* Reads tokenizer_config.json: *unknown_token and the folder's settings are borrowed from it. */
static clf_status read_config(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                              const char **unknown_token, const struct clf__json *config)
{
    /* transformers writes 10^30 for no limit */
    double max_length = 0;
    CLF__TRY(clf__json_double(config, "model_max_length", 1, 1e300, &max_length));
    tokenizer->max_length = max_length < INT_MAX ? (int)max_length : 0;
    CLF__TRY(clf__segmenter_read_config(folder, config));
    /* The token is a string, or an object in files of transformers 4. */
    const json_t *token = json_object_get(json_object_get(config->root, "unk_token"), "content");
    if (json_is_string(token)) {
        *unknown_token = json_string_value(token);
        return CLF_OK;
    }
    return clf__json_string(config, "unk_token", unknown_token);
}

/* Loads the vocabularies of both sides; added tokens belong to the source if there are two. */
static clf_status load_vocabularies(struct clf__tokenizer *tokenizer, const char *folder,
                                    const struct clf__added_tokens *added)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    int has_source = options->source_vocabulary > 0;
    tokenizer->target.vocabulary = &tokenizer->vocabulary;
    if (options->separate) {
        CLF__TRY(load_vocabulary(&tokenizer->target_vocabulary, folder, "target_vocab.json",
                                 options->target_vocabulary, &no_tokens));
        tokenizer->target.vocabulary = &tokenizer->target_vocabulary;
    }
    if (has_source || !options->separate) {
        CLF__TRY(load_vocabulary(&tokenizer->vocabulary, folder, "vocab.json",
                                 has_source ? options->source_vocabulary : options->target_vocabulary,
                                 added));
        tokenizer->source.vocabulary = has_source ? &tokenizer->vocabulary : NULL;
    }
    if (!options->separate) {
        clf__tokenizer_find_in_text(tokenizer);
        return clf__token_finder_collect(&tokenizer->found, &tokenizer->vocabulary);
    }
    return CLF_OK;
}

static clf_status open_segmenter(struct clf__tokenizer_side *side, const struct clf__segmenter *segmenter,
                                 const struct clf__segmenter_folder *folder, int target)
{
    if (side->vocabulary) {
        if (segmenter->open) {
            CLF__TRY(clf__tokenizer_needed(segmenter->open(&side->state, folder, target)));
        }
        side->segmenter = segmenter;
    }
    return CLF_OK;
}

static clf_status load_sides(struct clf__tokenizer *tokenizer, const struct clf__segmenter_folder *folder,
                             const char *unknown_token)
{
    struct clf__tokenizer_side *source = &tokenizer->source, *target = &tokenizer->target;
    const struct clf__segmenter *segmenter;
    CLF__TRY(clf__segmenter_choose(&segmenter, folder, target->vocabulary));
    CLF__TRY(open_segmenter(source, segmenter, folder, 0));
    CLF__TRY(open_segmenter(target, segmenter, folder, 1));
    CLF__TRY(clf__tokenizer_find_unknown(source, unknown_token));
    return clf__tokenizer_find_unknown(target, unknown_token);
}

/* How the class of a folder is chosen. */
enum naming {
    NO_CLASS,    /* the folder names no class: default of the architecture */
    NAMED_CLASS, /* the class that the folder names */
    OTHER_CLASS, /* an unknown class, such as transformers' generic class, replaced with the default */
};

/* Older folders have "tokenizer_class" in config.json; the default depends on the architecture. */
static clf_status choose_class(struct clf__tokenizer *tokenizer, const char *folder, const char *name,
                               enum naming *naming)
{
    struct clf__json config = {.root = NULL};
    clf_status status = CLF_OK;
    *naming = NAMED_CLASS;
    tokenizer->class = clf__tokenizer_class_find(name);
    if (tokenizer->class != NULL) {
        return CLF_OK;
    }
    const char *older = NULL;
    CLF__TRY(clf__json_find_in(&config, folder, "config.json"));
    if (config.root != NULL) {
        status = clf__json_string(&config, "tokenizer_class", &older);
    }
    tokenizer->class = clf__tokenizer_class_find(older);
    int is_other = name != NULL || (older != NULL && tokenizer->class == NULL);
    *naming = is_other ? OTHER_CLASS : older != NULL ? NAMED_CLASS : NO_CLASS;
    clf__json_free(&config);
    if (tokenizer->class == NULL) {
        tokenizer->class = clf__tokenizer_class_find(tokenizer->options.class_name);
    }
    return status == CLF_OK && *naming == NO_CLASS ? clf__tokenizer_class_of_model(tokenizer, folder)
                                                   : status;
}

/* Fails for a folder without a class or a model, unless it has only words (vocab.json). */
static clf_status refuse_missing_model(const struct clf__tokenizer *tokenizer,
                                       const struct clf__segmenter_folder *folder, int is_named)
{
    int has_vocabulary;
    if (folder->model == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__file_find(&has_vocabulary, folder->path, "vocab.json"));
    return has_vocabulary && !is_named
               ? CLF_OK
               : clf__fail(CLF_FILE,
                           "%s/%s: the file is missing, but %s requires it; download the file, or save the "
                           "model with its tokenizer (tokenizer.json is enough)",
                           folder->path, folder->model, tokenizer->class->name);
}

static clf_status load_sides_apart(struct clf__tokenizer *tokenizer,
                                   const struct clf__segmenter_folder *folder,
                                   const struct clf__class_settings *settings, const char *unknown_token)
{
    CLF__TRY(load_vocabularies(tokenizer, folder->path, settings->added));
    return load_sides(tokenizer, folder, unknown_token);
}

static clf_status keep_language(char **out, const char *said, const char *fallback)
{
    const char *language = said != NULL ? said : fallback;
    return language != NULL ? clf__copy_string(out, language) : CLF_OK;
}

/* Applies the settings of the class to the folder. */
static clf_status apply_class(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                              const struct clf__class_settings *settings)
{
    const struct clf__tokenizer_class *class = tokenizer->class;
    if (class == NULL) {
        return CLF_OK;
    }
    folder->model = class->model;
    folder->joins_plainly = class->joins_plainly;
    folder->adds_prefix_space = class->adds_prefix_space;
    folder->cleans_up = folder->cleans_up && !class->never_cleans_up;
    folder->source_language = settings->languages[0];
    folder->target_language = settings->languages[1];
    tokenizer->place =
        settings->legacy_behaviour && class->may_be_behind ? CLF__LANGUAGE_BEHIND : class->place;
    if (class != clf__tokenizer_class_find(tokenizer->options.class_name) &&
        tokenizer->options.class_name != NULL) {
        tokenizer->options.source_end_id = CLF__FRAMED_BY_CLASS; /* instead of the architecture's default */
    }
    CLF__TRY(keep_language(&tokenizer->source_language, settings->source_language, class->source_language));
    return keep_language(&tokenizer->target_language, settings->target_language, NULL);
}

/* Loads the class's model, or tokenizer.json, or words. */
static clf_status load_files(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                             const struct clf__class_settings *settings, const char *unknown_token,
                             enum naming naming)
{
    int has_model = 0, has_json, is_class = naming != OTHER_CLASS;
    CLF__TRY(clf__tokenizer_has_json(&has_json, tokenizer, folder->path));
    if (has_json) {
        folder->model = NULL;
        return clf__tokenizer_needed(
            clf__tokenizer_load_json(tokenizer, folder, settings, unknown_token, is_class));
    }
    if (folder->model != NULL) {
        CLF__TRY(clf__file_find(&has_model, folder->path, folder->model));
    } else { /* a class may need no file */
        has_model = tokenizer->class != NULL && tokenizer->class->segmenter != NULL;
    }
    if (!has_model) {
        CLF__TRY(refuse_missing_model(tokenizer, folder, naming == NAMED_CLASS));
        folder->model = NULL;
        return load_sides_apart(tokenizer, folder, settings, unknown_token);
    }
    return is_class && tokenizer->class->segmenter == NULL && tokenizer->class->pipeline != NULL
               ? clf__tokenizer_needed(
                     clf__tokenizer_load_json(tokenizer, folder, settings, unknown_token, is_class))
               : clf__tokenizer_load_model(tokenizer, folder, settings, unknown_token);
}

/* Applies the folder's settings to its class, then loads the files. */
static clf_status load_with_tokens(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                                   const struct clf__json *config, const struct clf__added_tokens *added)
{
    const char *unknown_token = NULL, *name = NULL;
    struct clf__class_settings settings;
    enum naming naming;
    CLF__TRY(clf__class_read_settings(&settings, config, tokenizer->options.target_vocabulary));
    settings.added = added;
    if (config->root != NULL) {
        CLF__TRY(read_config(tokenizer, folder, &unknown_token, config));
        CLF__TRY(clf__json_string(config, "tokenizer_class", &name));
    }
    CLF__TRY(choose_class(tokenizer, folder->path, name, &naming));
    CLF__TRY(apply_class(tokenizer, folder, &settings));
    if (unknown_token == NULL) {
        int has_own = tokenizer->class != NULL && tokenizer->class->unknown != NULL;
        unknown_token = has_own ? tokenizer->class->unknown : "<unk>";
    }
    if (config->root != NULL) {
        CLF__TRY(clf__json_bool(config, "add_prefix_space", &folder->adds_prefix_space));
    }
    return load_files(tokenizer, folder, &settings, unknown_token, naming);
}

static clf_status load_parts(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                             const struct clf__json *config)
{
    struct clf__added_tokens added;
    CLF__TRY(clf__added_tokens_read(&added, folder->path, config->root));
    clf_status status = load_with_tokens(tokenizer, folder, config, &added);
    clf__added_tokens_free(&added);
    return status;
}

static clf_status load(struct clf__tokenizer *tokenizer, const char *path)
{
    struct clf__segmenter_folder folder = {.path = path};
    struct clf__json config;
    clf_status status = clf__json_find_in(&config, path, "tokenizer_config.json");
    if (status == CLF_OK) {
        status = load_parts(tokenizer, &folder, &config);
    }
    clf__json_free(&config);
    if (status == CLF_OK && tokenizer->source.vocabulary != NULL) {
        status =
            clf__languages_collect(&tokenizer->languages, tokenizer->source.vocabulary, tokenizer->class);
    }
    if (status == CLF_OK) {
        status = clf__tokenizer_frame(&tokenizer->framing, tokenizer, NULL, NULL);
        status = status == CLF_BAD_ARGUMENT
                     ? clf__fail_in(CLF_FORMAT, "%s/tokenizer_config.json: \"src_lang\"", path)
                     : status;
    }
    return status;
}

clf_status clf__tokenizer_load(struct clf__tokenizer **out, const char *folder,
                               const struct clf__tokenizer_options *options)
{
    *out = NULL;
    struct clf__tokenizer *tokenizer = NULL;
    CLF__TRY(clf__allocate(&tokenizer, 1, sizeof *tokenizer));
    tokenizer->options = *options;
    tokenizer->source.unknown_id = tokenizer->target.unknown_id = -1;
    clf_status status = load(tokenizer, folder);
    if (status != CLF_OK) {
        clf__tokenizer_free(tokenizer);
        return status;
    }
    *out = tokenizer;
    return CLF_OK;
}

static void close_segmenter(struct clf__tokenizer_side *side)
{
    if (side->segmenter) {
        side->segmenter->free(side->state);
    }
}

void clf__tokenizer_free(struct clf__tokenizer *tokenizer)
{
    if (tokenizer) {
        if (tokenizer->target.state != tokenizer->source.state) {
            close_segmenter(&tokenizer->target);
        }
        close_segmenter(&tokenizer->source);
        clf__token_finder_free(&tokenizer->found);
        clf__languages_free(&tokenizer->languages);
        clf__free(tokenizer->source_language);
        clf__free(tokenizer->target_language);
        clf__vocabulary_free(&tokenizer->vocabulary);
        clf__vocabulary_free(&tokenizer->target_vocabulary);
        clf__free(tokenizer);
    }
}
