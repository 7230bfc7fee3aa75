/* Loads a tokenizer with one model for both sides: tokens of the class and the model, and added tokens. Each
 * side may have separate ids. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/segmenters/spm_check.h"
#include "text/tokenizers/tokenizer_internal.h"

clf_status clf__tokenizer_needed(clf_status status)
{
    if (status == CLF_FILE) {
        clf__fail(CLF_FILE, "%s; download the file again, or save the model with its tokenizer",
                  clf_last_error());
    }
    return status;
}

clf_status clf__tokenizer_find_unknown(struct clf__tokenizer_side *side, const char *token)
{
    if (!side->vocabulary) {
        return CLF_OK;
    }
    side->unknown_id = clf__vocabulary_id(side->vocabulary, token, strlen(token));
    if (side->unknown_id < 0 && side->segmenter->has_model && *token != '\0') {
        return clf__fail(CLF_FORMAT, "%s: the unknown token \"%s\" is missing; download the file again",
                         side->vocabulary->path, token);
    }
    return CLF_OK;
}

void clf__tokenizer_find_in_text(struct clf__tokenizer *tokenizer)
{
    struct clf__vocabulary *vocabulary = &tokenizer->vocabulary;
    for (int32_t id = 0; id < vocabulary->size; id++) {
        vocabulary->marks[id] &= (uint16_t)~CLF__TOKEN_NORMALIZED;
    }
}

/* State while the vocabulary is being built. */
struct whole_model {
    struct clf__tokenizer *tokenizer;
    const struct clf__segmenter_folder *folder;
    const struct clf__class_settings *settings;
    const struct clf__segmenter *segmenter;
    void *state;
    struct clf__token_list tokens, merged;
};

static clf_status add_vocabulary(struct whole_model *whole, const char *name)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, whole->folder->path, name));
    clf_status status = clf__vocabulary_read(&whole->tokens, path);
    clf__free(path);
    return clf__tokenizer_needed(status);
}

static void mark_special(void *user, const char *text, int marks)
{
    struct clf__vocabulary *vocabulary = user;
    int32_t id = clf__vocabulary_id(vocabulary, text, strlen(text));
    if (id >= 0 && (vocabulary->marks[id] & CLF__TOKEN_FOUND) == 0) {
        vocabulary->marks[id] |= (uint16_t)(CLF__TOKEN_FOUND | CLF__TOKEN_SPECIAL | marks);
    }
}

/* Marks the special tokens of the class and the folder. */
static void mark_specials(struct whole_model *whole, struct clf__vocabulary *vocabulary)
{
    const struct clf__tokenizer_class *class = whole->tokenizer->class;
    clf__added_tokens_named(whole->settings->added, mark_special, vocabulary);
    for (const char *const *special = class->specials; *special != NULL; special++) {
        int eats_left = class->spaces_before != NULL && strcmp(*special, class->spaces_before) == 0;
        mark_special(vocabulary, *special, 0);
        int32_t id = clf__vocabulary_id(vocabulary, *special, strlen(*special));
        if (id >= 0) {
            vocabulary->marks[id] |= (uint16_t)(CLF__TOKEN_SPECIAL | (eats_left ? CLF__TOKEN_LSTRIP : 0));
        }
    }
}

/* Builds the vocabulary of a file, with a token for each row of the model. */
static clf_status make_vocabulary(struct whole_model *whole, struct clf__vocabulary *out, const char *file,
                                  int rows)
{
    const struct clf__tokenizer_class *class = whole->tokenizer->class;
    struct clf__token_list *tokens = &whole->tokens;
    clf__token_list_free(tokens);
    clf__token_list_free(&whole->merged);
    if (class->before != NULL) {
        CLF__TRY(class->before(tokens));
    }
    CLF__TRY(class->has_vocabulary ? add_vocabulary(whole, file)
                                   : whole->segmenter->add_tokens(whole->state, tokens, class->skipped));
    struct clf__own_tokens own = {tokens, tokens->count, file};
    if (class->behind != NULL) {
        CLF__TRY(class->behind(tokens, whole->settings));
    }
    CLF__TRY(clf__added_tokens_merge(&whole->merged, &own, whole->settings->added, rows));
    if (class->name_spare != NULL) {
        CLF__TRY(class->name_spare(&whole->merged));
    }
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, whole->folder->path, file));
    clf_status status = clf__vocabulary_take(out, &whole->merged, path);
    clf__free(path);
    if (status == CLF_OK) {
        mark_specials(whole, out);
    }
    return status;
}

static clf_status open_segmenter(struct whole_model *whole, struct clf__tokenizer_side *side, int target)
{
    if (whole->segmenter->open != NULL) {
        CLF__TRY(clf__tokenizer_needed(whole->segmenter->open(&side->state, whole->folder, target)));
    }
    side->segmenter = whole->segmenter;
    whole->state = side->state;
    return CLF_OK;
}

/* Checks that each special token has the same id on both sides, because special tokens are found in both
 * texts. */
static clf_status check_specials(const struct clf__tokenizer *tokenizer)
{
    const struct clf__vocabulary *source = &tokenizer->vocabulary, *target = &tokenizer->target_vocabulary;
    for (const char *const *special = tokenizer->class->specials; *special != NULL; special++) {
        size_t length = strlen(*special);
        int32_t id = clf__vocabulary_id(source, *special, length);
        int32_t other = clf__vocabulary_id(target, *special, length);
        if (id != other) {
            return clf__fail(CLF_FORMAT, "%s: \"%s\" has the id %d, and in %s %d; download both files again",
                             source->path, *special, (int)id, target->path, (int)other);
        }
    }
    return CLF_OK;
}

static clf_status load_sides(struct whole_model *whole, const char *unknown_token)
{
    struct clf__tokenizer *tokenizer = whole->tokenizer;
    const struct clf__tokenizer_options *options = &tokenizer->options;
    for (int target = 0; target < 2; target++) {
        struct clf__tokenizer_side *side = target ? &tokenizer->target : &tokenizer->source;
        struct clf__vocabulary *vocabulary = target ? &tokenizer->target_vocabulary : &tokenizer->vocabulary;
        CLF__TRY(open_segmenter(whole, side, target));
        CLF__TRY(make_vocabulary(whole, vocabulary, tokenizer->class->sides[target],
                                 target ? options->target_vocabulary : options->source_vocabulary));
        side->vocabulary = vocabulary;
        CLF__TRY(clf__tokenizer_find_unknown(side, unknown_token));
    }
    return check_specials(tokenizer);
}

static clf_status load_whole(struct whole_model *whole, const char *unknown_token)
{
    struct clf__tokenizer *tokenizer = whole->tokenizer;
    const struct clf__tokenizer_class *class = tokenizer->class;
    struct clf__tokenizer_side *target = &tokenizer->target;
    const char *file = class->has_vocabulary  ? "vocab.json"
                       : class->model != NULL ? class->model
                                              : "tokenizer_config.json";
    CLF__TRY(open_segmenter(whole, target, 0));
    CLF__TRY(make_vocabulary(whole, &tokenizer->vocabulary, file, whole->settings->rows));
    target->vocabulary = &tokenizer->vocabulary;
    CLF__TRY(clf__tokenizer_find_unknown(target, unknown_token));
    if (tokenizer->options.source_vocabulary > 0) {
        tokenizer->source = *target;
    }
    return CLF_OK;
}

clf_status clf__tokenizer_load_model(struct clf__tokenizer *tokenizer,
                                     const struct clf__segmenter_folder *folder,
                                     const struct clf__class_settings *settings, const char *unknown_token)
{
    const struct clf__segmenter *segmenter = tokenizer->class->segmenter;
    struct whole_model whole = {
        .tokenizer = tokenizer,
        .folder = folder,
        .settings = settings,
        .segmenter = segmenter != NULL ? segmenter : &clf__segmenter_sentencepiece,
    };
    clf_status status = tokenizer->class->sides[0] != NULL ? load_sides(&whole, unknown_token)
                                                           : load_whole(&whole, unknown_token);
    clf__token_list_free(&whole.tokens);
    clf__token_list_free(&whole.merged);
    CLF__TRY(status);
    clf__tokenizer_find_in_text(tokenizer);
    return clf__token_finder_collect(&tokenizer->found, &tokenizer->vocabulary);
}

/* Keeps the first token of a SentencePiece model, up to a few bytes. */
struct first_token {
    char text[8];
    int count;
};

static clf_status keep_first(void *user, const struct clf__spm_piece *piece)
{
    struct first_token *first = user;
    if (first->count++ == 0 && piece->size < sizeof first->text) {
        memcpy(first->text, piece->text, piece->size);
    }
    return CLF_OK;
}

static clf_status read_first(struct first_token *first, const char *folder, const char *model)
{
    enum { MOST_BYTES = 1 << 28 };
    struct clf__spm_tables tables;
    char *path = NULL, *bytes = NULL;
    size_t size;
    CLF__TRY(clf__path_join(&path, folder, model));
    clf_status status = clf__file_read(&bytes, &size, path, MOST_BYTES);
    if (status == CLF_OK) {
        status = clf__spm_check(&tables, (const uint8_t *)bytes, size, path);
    }
    if (status == CLF_OK) {
        status = clf__spm_pieces((const uint8_t *)bytes, size, keep_first, first);
    }
    clf__free(bytes);
    clf__free(path);
    return status;
}

clf_status clf__tokenizer_class_of_model(struct clf__tokenizer *tokenizer, const char *folder)
{
    const struct clf__tokenizer_class *class = tokenizer->class;
    struct first_token first = {.count = 0};
    int has_model;
    if (class == NULL || class->numbered == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__file_find(&has_model, folder, class->model));
    if (has_model) {
        CLF__TRY(read_first(&first, folder, class->model));
        tokenizer->class = strcmp(first.text, class->specials[0]) == 0 ? class->numbered : class;
    }
    return CLF_OK;
}
