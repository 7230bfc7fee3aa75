#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/tokenizer_internal.h"

/* Adds to the sentence what to do about a file that the model needs. */
static clf_status needed(clf_status status)
{
    if (status == CLF_FILE) {
        clf__fail(CLF_FILE, "%s; download it again, or save the model with its tokenizer", clf_last_error());
    }
    return status;
}

static clf_status load_vocabulary(struct clf__vocabulary *out, const char *folder, const char *name, int size)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__vocabulary_load(out, path, size);
    clf__free(path);
    return needed(status);
}

/* What tokenizer_config.json says: *unknown_token and what the folder gets are borrowed from it. */
static clf_status read_config(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                              const char **unknown_token, const struct clf__json *config)
{
    /* transformers writes 10^30 where there is no limit. */
    double max_length = 0;
    CLF__TRY(clf__json_double(config, "model_max_length", 1, 1e300, &max_length));
    tokenizer->max_length = max_length < INT_MAX ? (int)max_length : 0;
    CLF__TRY(clf__segmenter_read_config(folder, config));
    /* A token is a string, or an object in files of transformers 4. */
    const json_t *token = json_object_get(json_object_get(config->root, "unk_token"), "content");
    if (json_is_string(token)) {
        *unknown_token = json_string_value(token);
        return CLF_OK;
    }
    return clf__json_string(config, "unk_token", unknown_token);
}

static clf_status find_unknown(struct clf__tokenizer_side *side, const char *token)
{
    if (!side->vocabulary) {
        return CLF_OK;
    }
    side->unknown_id = clf__vocabulary_id(side->vocabulary, token, strlen(token));
    if (side->unknown_id < 0 && side->segmenter->has_model) {
        return clf__fail(CLF_FORMAT, "%s: has no \"%s\", which stands for unknown pieces",
                         side->vocabulary->path, token);
    }
    return CLF_OK;
}

static clf_status load_vocabularies(struct clf__tokenizer *tokenizer, const char *folder)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    tokenizer->target.vocabulary = &tokenizer->vocabulary;
    if (options->separate) {
        CLF__TRY(load_vocabulary(&tokenizer->target_vocabulary, folder, "target_vocab.json",
                                 options->target_vocabulary));
        tokenizer->target.vocabulary = &tokenizer->target_vocabulary;
    }
    if (options->source_vocabulary > 0) {
        tokenizer->source.vocabulary = &tokenizer->vocabulary;
        CLF__TRY(load_vocabulary(&tokenizer->vocabulary, folder, "vocab.json", options->source_vocabulary));
    } else if (!options->separate) {
        CLF__TRY(load_vocabulary(&tokenizer->vocabulary, folder, "vocab.json", options->target_vocabulary));
    }
    if (tokenizer->target.vocabulary->size != options->target_vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: has %d pieces, the model's configuration says %d for the target; download or "
                         "save both again",
                         tokenizer->target.vocabulary->path, tokenizer->target.vocabulary->size,
                         options->target_vocabulary);
    }
    return CLF_OK;
}

static clf_status open_segmenter(struct clf__tokenizer_side *side, const struct clf__segmenter *segmenter,
                                 const struct clf__segmenter_folder *folder, int target)
{
    if (side->vocabulary) {
        if (segmenter->open) {
            CLF__TRY(needed(segmenter->open(&side->state, folder, target)));
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
    CLF__TRY(find_unknown(source, unknown_token));
    return find_unknown(target, unknown_token);
}

/* "tokenizer_class" is in config.json in older folders; else it is the family's own. A class that is none of
 * ours is taken for it, too, and is not what is named: transformers' general one reads any folder. */
static clf_status choose_class(struct clf__tokenizer *tokenizer, const char *folder, const char *name,
                               int *is_named)
{
    tokenizer->class = clf__tokenizer_class_find(name);
    *is_named = 1;
    if (tokenizer->class != NULL) {
        return CLF_OK;
    }
    int is_other = name != NULL;
    struct clf__json config;
    CLF__TRY(clf__json_find_in(&config, folder, "config.json"));
    clf_status status = CLF_OK;
    name = NULL;
    if (config.root != NULL) {
        status = clf__json_string(&config, "tokenizer_class", &name);
    }
    tokenizer->class = clf__tokenizer_class_find(name);
    *is_named = !is_other && (name == NULL || tokenizer->class != NULL);
    clf__json_free(&config);
    if (tokenizer->class == NULL) {
        tokenizer->class = clf__tokenizer_class_find(tokenizer->options.class_name);
    }
    return status;
}

/* One model for both sides, while its vocabulary is made. */
struct whole_model {
    struct clf__tokenizer *tokenizer;
    const struct clf__segmenter_folder *folder;
    const struct clf__class_settings *settings;
    json_t *config; /* tokenizer_config.json, or NULL */
    struct clf__pieces pieces;
};

/* The pieces of vocab.json, whatever their number. */
static clf_status add_vocabulary(struct whole_model *whole)
{
    struct clf__vocabulary vocabulary;
    CLF__TRY(load_vocabulary(&vocabulary, whole->folder->path, "vocab.json", 0));
    clf_status status = CLF_OK;
    for (int id = 0; status == CLF_OK && id < vocabulary.size; id++) {
        status = clf__pieces_add(&whole->pieces, vocabulary.pieces[id], strlen(vocabulary.pieces[id]), 0);
    }
    clf__vocabulary_free(&vocabulary);
    return status;
}

static int marks_of(const json_t *token)
{
    return CLF__PIECE_FOUND | (json_is_true(json_object_get(token, "special")) ? CLF__PIECE_SPECIAL : 0) |
           (json_is_true(json_object_get(token, "lstrip")) ? CLF__PIECE_EATS_LEFT : 0) |
           (json_is_true(json_object_get(token, "rstrip")) ? CLF__PIECE_EATS_RIGHT : 0);
}

/* Rows of the model behind its pieces: tokens that were added to it, and others that stand for nothing. */
static clf_status add_other_rows(struct whole_model *whole)
{
    struct clf__pieces *pieces = &whole->pieces;
    int rows = whole->settings->rows;
    if (pieces->count > rows) {
        return clf__fail(CLF_FORMAT,
                         "%s/%s: makes %d pieces, the model's configuration says %d; download or save both "
                         "again",
                         whole->folder->path, whole->folder->model, pieces->count, rows);
    }
    while (pieces->count < rows) {
        char id[16];
        snprintf(id, sizeof id, "%d", pieces->count);
        const json_t *token = json_object_get(json_object_get(whole->config, "added_tokens_decoder"), id);
        const char *piece = json_string_value(json_object_get(token, "content"));
        CLF__TRY(piece != NULL ? clf__pieces_add(pieces, piece, strlen(piece), marks_of(token))
                               : clf__pieces_format(pieces, CLF__PIECE_SPECIAL, "<unused_%s>", id));
    }
    return CLF_OK;
}

/* What "added_tokens_decoder" says of pieces, by their ids; of ids without a row it says nothing that
 * matters. */
static clf_status mark_added(struct whole_model *whole, struct clf__vocabulary *vocabulary)
{
    const char *key;
    json_t *token;
    json_object_foreach(json_object_get(whole->config, "added_tokens_decoder"), key, token)
    {
        char *end;
        long id = strtol(key, &end, 10);
        const char *piece = json_string_value(json_object_get(token, "content"));
        if (end == key || *end != '\0' || id < 0 || piece == NULL) {
            return clf__fail(
                CLF_FORMAT,
                "%s/tokenizer_config.json: \"added_tokens_decoder\" holds \"%.40s\", which is no id with a "
                "token; download it again",
                whole->folder->path, key);
        }
        if (id < vocabulary->size && strcmp(piece, vocabulary->pieces[id]) != 0) {
            return clf__fail(CLF_FORMAT,
                             "%s/tokenizer_config.json: \"added_tokens_decoder\" says that %ld is \"%.80s\", "
                             "%s that it is "
                             "\"%.80s\"; download or save both again",
                             whole->folder->path, id, piece, whole->folder->model, vocabulary->pieces[id]);
        }
        if (id < vocabulary->size) {
            vocabulary->marks[id] |= (uint8_t)marks_of(token);
        }
    }
    return CLF_OK;
}

/* Marks what the class and the folder call special. */
static clf_status mark_specials(struct whole_model *whole, struct clf__vocabulary *vocabulary)
{
    const struct clf__tokenizer_class *class = whole->tokenizer->class;
    const char *const *special = class->specials;
    for (; *special != NULL; special++) {
        int32_t id = clf__vocabulary_id(vocabulary, *special, strlen(*special));
        if (id >= 0) {
            int eats_left = class->spaces_before != NULL && strcmp(*special, class->spaces_before) == 0;
            vocabulary->marks[id] |=
                (uint8_t)(CLF__PIECE_SPECIAL | CLF__PIECE_FOUND | (eats_left ? CLF__PIECE_EATS_LEFT : 0));
        }
    }
    return mark_added(whole, vocabulary);
}

static clf_status make_vocabulary(struct whole_model *whole)
{
    struct clf__tokenizer *tokenizer = whole->tokenizer;
    const struct clf__tokenizer_class *class = tokenizer->class;
    if (class->before != NULL) {
        CLF__TRY(class->before(&whole->pieces));
    }
    CLF__TRY(class->has_vocabulary ? add_vocabulary(whole)
                                   : tokenizer->source.segmenter->add_pieces(tokenizer->source.state,
                                                                             &whole->pieces, class->skipped));
    if (class->behind != NULL) {
        CLF__TRY(class->behind(&whole->pieces, whole->settings));
    }
    CLF__TRY(add_other_rows(whole));
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, whole->folder->path, class->has_vocabulary ? "vocab.json" : class->model));
    clf_status status = clf__vocabulary_take(&tokenizer->vocabulary, &whole->pieces, path);
    clf__free(path);
    return status == CLF_OK ? mark_specials(whole, &tokenizer->vocabulary) : status;
}

static clf_status load_whole_model(struct whole_model *whole, const char *unknown_token)
{
    struct clf__tokenizer *tokenizer = whole->tokenizer;
    struct clf__tokenizer_side *source = &tokenizer->source, *target = &tokenizer->target;
    const struct clf__segmenter *segmenter = tokenizer->class->segmenter;
    segmenter = segmenter != NULL ? segmenter : &clf__segmenter_sentencepiece;
    CLF__TRY(needed(segmenter->open(&source->state, whole->folder, 0)));
    source->segmenter = segmenter;
    CLF__TRY(make_vocabulary(whole));
    source->vocabulary = &tokenizer->vocabulary;
    CLF__TRY(find_unknown(source, unknown_token));
    *target = *source;
    return clf__found_pieces_collect(&tokenizer->found, &tokenizer->vocabulary);
}

/* A folder without the class's model may still have words (vocab.json); with neither, it is the model that is
 * named.
 */
static clf_status refuse_missing_model(const struct clf__tokenizer *tokenizer,
                                       const struct clf__segmenter_folder *folder)
{
    int has_vocabulary;
    if (folder->model == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__file_find(&has_vocabulary, folder->path, "vocab.json"));
    return has_vocabulary
               ? CLF_OK
               : clf__fail(CLF_FILE,
                           "%s/%s: is missing, which %s reads; download it again, or save the model "
                           "with its tokenizer (a tokenizer.json would do)",
                           folder->path, folder->model, tokenizer->class->name);
}

static clf_status load_sides_apart(struct clf__tokenizer *tokenizer,
                                   const struct clf__segmenter_folder *folder, const char *unknown_token)
{
    CLF__TRY(load_vocabularies(tokenizer, folder->path));
    return load_sides(tokenizer, folder, unknown_token);
}

static clf_status keep_language(char **out, const char *said, const char *fallback)
{
    const char *language = said != NULL ? said : fallback;
    return language != NULL ? clf__copy_string(out, language) : CLF_OK;
}

/* What a class says to its folder. */
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
    tokenizer->place =
        settings->legacy_behaviour && class->may_be_behind ? CLF__LANGUAGE_BEHIND : class->place;
    CLF__TRY(keep_language(&tokenizer->source_language, settings->source_language, class->source_language));
    return keep_language(&tokenizer->target_language, settings->target_language, NULL);
}

/* The files: the class's model, or tokenizer.json, or words. */
static clf_status load_files(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                             const struct clf__class_settings *settings, const json_t *config,
                             const char *unknown_token, int is_named)
{
    int has_model = 0, has_json;
    CLF__TRY(clf__tokenizer_has_json(&has_json, tokenizer, folder->path));
    if (has_json) {
        folder->model = NULL;
        return needed(clf__tokenizer_load_json(tokenizer, folder, settings, config, unknown_token, is_named));
    }
    if (folder->model != NULL) {
        CLF__TRY(clf__file_find(&has_model, folder->path, folder->model));
    }
    if (!has_model) {
        CLF__TRY(refuse_missing_model(tokenizer, folder));
        folder->model = NULL;
        return load_sides_apart(tokenizer, folder, unknown_token);
    }
    if (is_named && tokenizer->class->segmenter == NULL && tokenizer->class->pipeline != NULL) {
        return needed(clf__tokenizer_load_json(tokenizer, folder, settings, config, unknown_token, is_named));
    }
    struct whole_model whole = {
        .tokenizer = tokenizer, .folder = folder, .settings = settings, .config = (json_t *)config};
    clf_status status = load_whole_model(&whole, unknown_token);
    clf__pieces_free(&whole.pieces);
    return status;
}

/* What the folder says to its class; then the files. */
static clf_status load_parts(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                             const struct clf__json *config)
{
    const char *unknown_token = NULL, *name = NULL;
    struct clf__class_settings settings;
    int rows = tokenizer->options.target_vocabulary, is_named;
    CLF__TRY(clf__class_read_settings(&settings, config, rows));
    if (config->root != NULL) {
        CLF__TRY(read_config(tokenizer, folder, &unknown_token, config));
        CLF__TRY(clf__json_string(config, "tokenizer_class", &name));
    }
    CLF__TRY(choose_class(tokenizer, folder->path, name, &is_named));
    CLF__TRY(apply_class(tokenizer, folder, &settings));
    if (unknown_token == NULL) {
        int has_own = tokenizer->class != NULL && tokenizer->class->unknown != NULL;
        unknown_token = has_own ? tokenizer->class->unknown : "<unk>";
    }
    if (config->root != NULL) {
        CLF__TRY(clf__json_bool(config, "add_prefix_space", &folder->adds_prefix_space));
    }
    return load_files(tokenizer, folder, &settings, config->root, unknown_token, is_named);
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
        clf__found_pieces_free(&tokenizer->found);
        clf__languages_free(&tokenizer->languages);
        clf__free(tokenizer->source_language);
        clf__free(tokenizer->target_language);
        clf__vocabulary_free(&tokenizer->vocabulary);
        clf__vocabulary_free(&tokenizer->target_vocabulary);
        clf__free(tokenizer);
    }
}
