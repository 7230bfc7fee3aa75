#include "text/tokenizers/json/model_file.h"

#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/segmenters/spm_check.h"

enum { MOST_FILE_BYTES = 1 << 28 };

/* transformers gives filler tokens this score and other non-text tokens 0. */
static const double filler_score = -100;

/* The JSON under construction. */
struct making {
    const struct clf__tokenizer_class *class;
    const char *path;
    json_t *vocab; /* a list of [token, score], or an object of token: id */
    json_t *added;
    int count;   /* number of tokens so far */
    int skipped; /* number of model tokens that are skipped */
};

static clf_status no_memory(const struct making *making)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", making->path);
}

static clf_status damaged(const struct making *making)
{
    return clf__fail(CLF_FORMAT,
                     "%s: not a SentencePiece model, or damaged (token %d is empty, is not UTF-8 or has an "
                     "invalid score); download the file again",
                     making->path, making->count);
}

static clf_status add_token(struct making *making, json_t *content, int id, int marks)
{
    json_t *token = json_pack("{sisOsbsbsbsbsb}", "id", id, "content", content, "special",
                              (marks & CLF__TOKEN_SPECIAL) != 0, "normalized", 0, "lstrip",
                              (marks & CLF__TOKEN_LSTRIP) != 0, "rstrip", (marks & CLF__TOKEN_RSTRIP) != 0,
                              "single_word", 0);
    return json_array_append_new(making->added, token) == 0 ? CLF_OK : no_memory(making);
}

static clf_status add_row(struct making *making, json_t *token, double score)
{
    if (json_is_object(making->vocab)) {
        return json_object_set_new(making->vocab, json_string_value(token), json_integer(making->count)) == 0
                   ? CLF_OK
                   : no_memory(making);
    }
    json_t *number = json_real(score); /* NULL for NaN and infinity */
    if (number == NULL) {
        return damaged(making);
    }
    return json_array_append_new(making->vocab, json_pack("[Oo]", token, number)) == 0 ? CLF_OK
                                                                                       : no_memory(making);
}

/* Adds the next token. A token without a row is only an added token and is not in "vocab". */
static clf_status add(struct making *making, const char *text, size_t size, double score, int marks,
                      int has_row)
{
    json_t *token = size > 0 && memchr(text, '\0', size) == NULL ? json_stringn(text, size) : NULL;
    if (token == NULL) {
        return damaged(making);
    }
    clf_status status = has_row ? add_row(making, token, score) : CLF_OK;
    if (status == CLF_OK && (marks & CLF__TOKEN_FOUND) != 0) {
        status = add_token(making, token, making->count, marks);
    }
    json_decref(token);
    making->count++;
    return status;
}

static clf_status add_all(struct making *making, const struct clf__token_list *tokens, int has_row)
{
    const char *text = tokens->text;
    for (int i = 0; i < tokens->count; i++) {
        double score = (tokens->marks[i] & CLF__TOKEN_FILLER) != 0 ? filler_score : 0;
        size_t size = strlen(text);
        CLF__TRY(add(making, text, size, score, tokens->marks[i], has_row));
        text += size + 1;
    }
    return CLF_OK;
}

static clf_status add_of_model(void *user, const struct clf__spm_piece *token)
{
    struct making *making = user;
    if (making->skipped > 0) {
        making->skipped--;
        return CLF_OK;
    }
    int marks = token->is_control        ? CLF__TOKEN_FOUND | CLF__TOKEN_SPECIAL
                : token->is_user_defined ? CLF__TOKEN_FOUND
                                         : 0;
    return add(making, token->text, token->size, (double)token->score, marks, 1);
}

/* Adds the model's tokens, with the class's tokens before and after them. For BPE, class tokens are only
 * added tokens. */
static clf_status add_tokens(struct making *making, const uint8_t *bytes, size_t size,
                             const struct clf__class_settings *settings)
{
    const struct clf__tokenizer_class *class = making->class;
    struct clf__token_list before = {.count = 0}, behind = {.count = 0};
    clf_status status = class->before != NULL ? class->before(&before) : CLF_OK;
    if (status == CLF_OK) {
        status = add_all(making, &before, 1);
    }
    clf__token_list_free(&before);
    if (status == CLF_OK) {
        status = clf__spm_pieces(bytes, size, add_of_model, making);
    }
    if (status == CLF_OK && class->behind != NULL) {
        status = class->behind(&behind, settings);
    }
    if (status == CLF_OK) {
        status = add_all(making, &behind, json_is_array(making->vocab));
    }
    clf__token_list_free(&behind);
    return status;
}

static clf_status make_normalizer(json_t **out, const struct making *making, const struct clf__charsmap *map)
{
    enum { SIZE_BYTES = 4 }; /* the table begins with the size of the trie */
    char *text = NULL;
    if (map->unit_count == 0) {
        *out = json_null();
        return CLF_OK;
    }
    CLF__TRY(clf__base64_encode(&text, map->units - SIZE_BYTES,
                                SIZE_BYTES + 4 * map->unit_count + map->texts.size));
    *out = json_pack("{ssss}", "type", "Precompiled", "precompiled_charsmap", text);
    clf__free(text);
    return *out != NULL ? CLF_OK : no_memory(making);
}

static clf_status make(json_t **out, struct making *making, const uint8_t *bytes, size_t size,
                       const struct clf__pipeline_options *options)
{
    struct clf__spm_tables tables;
    json_t *normalizer = NULL;
    CLF__TRY(clf__spm_check(&tables, bytes, size, making->path));
    making->vocab = strcmp(making->class->pipeline->model, "Unigram") == 0 ? json_array() : json_object();
    making->added = json_array();
    if (making->vocab == NULL || making->added == NULL) {
        return no_memory(making);
    }
    CLF__TRY(add_tokens(making, bytes, size, options->settings));
    CLF__TRY(make_normalizer(&normalizer, making, &tables.normaliser));
    json_t *model = json_pack("{sssO}", "type", making->class->pipeline->model, "vocab", making->vocab);
    if (json_is_object(making->vocab)) {
        json_object_set_new(model, "merges", json_true());
    }
    *out = json_pack("{sOsoso}", "added_tokens", making->added, "normalizer", normalizer, "model", model);
    return *out != NULL ? CLF_OK : no_memory(making);
}

clf_status clf__model_file_read(json_t **out, const char *path, const struct clf__pipeline_options *options)
{
    struct making making = {.class = options->class, .path = path, .skipped = options->class->skipped};
    char *bytes = NULL;
    size_t size = 0;
    *out = NULL;
    CLF__TRY(clf__file_read(&bytes, &size, path, MOST_FILE_BYTES));
    clf_status status = make(out, &making, (const uint8_t *)bytes, size, options);
    json_decref(making.vocab);
    json_decref(making.added);
    clf__free(bytes);
    return status;
}
