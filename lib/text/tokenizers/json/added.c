#include "text/tokenizers/json/added.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/classes/class.h"

/* The texts of all ids while the vocabulary is being built; borrowed from the JSON. */
struct rows {
    const char **items; /* (count) NULL: unused id */
    int count;
    const char *path;
};

static clf_status fail_added(const struct rows *rows, const char *key, const char *what, const char *text)
{
    return clf__fail(CLF_FORMAT, "%s: \"%s\": %s (\"%.80s\"); download the file again", rows->path, key, what,
                     text);
}

static clf_status check_token(const struct rows *rows, const json_t *token)
{
    const char *text = json_string_value(json_object_get(token, "content"));
    const json_t *id = json_object_get(token, "id");
    json_int_t number = json_integer_value(id);
    return text != NULL && *text != '\0' && json_is_integer(id) && number >= 0 && number < CLF__MAX_VOCABULARY
               ? CLF_OK
               : fail_added(rows, "added_tokens", "a token has no id or no content",
                            text != NULL ? text : "");
}

/* Allocates a row for every id. If most ids are unused, the file belongs to another model. */
static clf_status make_rows(struct rows *rows, const struct clf__model_tokens *own, const json_t *tokens,
                            int model_rows)
{
    size_t most = own->count + json_array_size(tokens) + (size_t)model_rows;
    rows->count = own->ids;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i);
        CLF__TRY(check_token(rows, token));
        int id = (int)json_integer_value(json_object_get(token, "id"));
        rows->count = id >= rows->count ? id + 1 : rows->count;
    }
    if ((size_t)rows->count > most) {
        return clf__fail(CLF_FORMAT,
                         "%s: ids up to %d for only %zu tokens, but config.json has a vocabulary of %d; "
                         "download or save both files again",
                         rows->path, rows->count - 1, own->count + json_array_size(tokens), model_rows);
    }
    return clf__allocate(&rows->items, (size_t)rows->count, sizeof *rows->items);
}

static clf_status place_added(struct rows *rows, const json_t *token)
{
    const char *text = json_string_value(json_object_get(token, "content"));
    json_int_t id = json_integer_value(json_object_get(token, "id"));
    if (rows->items[id] != NULL && strcmp(rows->items[id], text) != 0) {
        return fail_added(rows, "added_tokens", "a token has the id of another token", text);
    }
    rows->items[id] = text;
    return CLF_OK;
}

static clf_status place_all(struct rows *rows, const struct clf__model_tokens *own, const json_t *tokens,
                            int model_rows)
{
    if (tokens != NULL && !json_is_null(tokens) && !json_is_array(tokens)) {
        return fail_added(rows, "added_tokens", "is not a list", "");
    }
    CLF__TRY(make_rows(rows, own, tokens, model_rows));
    for (size_t i = 0; i < own->count; i++) {
        rows->items[own->items[i].id] = own->items[i].text;
    }
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        CLF__TRY(place_added(rows, json_array_get(tokens, i)));
    }
    return CLF_OK;
}

/* Collects the tokens of the file, with the flags of its added tokens. */
static clf_status list_own(struct clf__token_list *own, const struct rows *rows, const json_t *tokens)
{
    for (int id = 0; id < rows->count; id++) {
        const char *text = rows->items[id];
        CLF__TRY(text != NULL
                     ? clf__token_list_add(own, text, strlen(text), 0)
                     : clf__token_list_format(own, CLF__TOKEN_SPECIAL | CLF__TOKEN_SPARE, "<unused_%d>", id));
    }
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i);
        own->marks[json_integer_value(json_object_get(token, "id"))] =
            (uint16_t)clf__added_token_marks(token);
    }
    return CLF_OK;
}

/* Counts the leading tokens that the folder's added tokens cannot replace. Tokens that the class appends to a
 * SentencePiece model's tokens can be replaced. */
static clf_status count_fixed(int *out, const struct rows *rows, const struct clf__pipeline_options *options)
{
    struct clf__token_list behind = {.count = 0};
    clf_status status = CLF_OK;
    if (options->source == CLF__PIPELINE_SENTENCEPIECE && options->class->behind != NULL) {
        status = options->class->behind(&behind, options->settings);
    }
    *out = rows->count - behind.count;
    clf__token_list_free(&behind);
    return status;
}

/* Builds the vocabulary, with the tokens that the folder adds. */
static clf_status take_rows(struct clf__vocabulary *out, const struct rows *rows, const json_t *tokens,
                            const struct clf__pipeline_options *options)
{
    static const struct clf__added_tokens none = {.count = 0};
    struct clf__token_list listed = {.count = 0}, merged = {.count = 0};
    struct clf__own_tokens own = {.tokens = &listed,
                                  .file = options->model != NULL ? options->model : "tokenizer.json"};
    clf_status status = count_fixed(&own.fixed, rows, options);
    if (status == CLF_OK) {
        status = list_own(&listed, rows, tokens);
    }
    if (status == CLF_OK) {
        status = clf__added_tokens_merge(
            &merged, &own, options->settings != NULL ? options->settings->added : &none, options->rows);
    }
    if (status == CLF_OK && options->class != NULL && options->class->name_spare != NULL) {
        status = options->class->name_spare(&merged);
    }
    if (status == CLF_OK) {
        status = clf__vocabulary_take(out, &merged, rows->path);
    }
    clf__token_list_free(&listed);
    clf__token_list_free(&merged);
    return status;
}

/* Marks a token as special unless it is already an added token. */
static void mark_special(struct clf__vocabulary *vocabulary, const char *text, int more)
{
    int32_t id = text != NULL ? clf__vocabulary_id(vocabulary, text, strlen(text)) : -1;
    if (id >= 0 && (vocabulary->marks[id] & CLF__TOKEN_FOUND) == 0) {
        vocabulary->marks[id] |= (uint16_t)(CLF__TOKEN_FOUND | CLF__TOKEN_SPECIAL | more);
    }
}

static void mark_named(void *user, const char *text, int marks)
{
    mark_special(user, text, marks);
}

/* Marks a rebuilt class's special tokens and languages, which follow the model's tokens. */
static clf_status mark_class(struct clf__vocabulary *vocabulary, const struct clf__pipeline_options *options)
{
    const struct clf__tokenizer_class *class = options->class;
    for (const char *const *special = class->specials; options->is_rebuilt && *special != NULL; special++) {
        int eats_left = class->spaces_before != NULL && strcmp(*special, class->spaces_before) == 0;
        mark_special(vocabulary, *special, eats_left ? CLF__TOKEN_LSTRIP : 0);
    }
    if (class->behind == NULL || class->place == CLF__LANGUAGE_NOWHERE) {
        return CLF_OK;
    }
    struct clf__token_list list = {0};
    clf_status status = class->behind(&list, options->settings);
    const char *text = list.text;
    for (int i = 0; status == CLF_OK && i < list.count; i++) {
        int32_t id = clf__vocabulary_id(vocabulary, text, strlen(text));
        if (id >= 0 && (list.marks[i] & CLF__TOKEN_LANGUAGE) != 0) {
            mark_special(vocabulary, text, 0);
            vocabulary->marks[id] |= CLF__TOKEN_LANGUAGE;
        }
        text += strlen(text) + 1;
    }
    clf__token_list_free(&list);
    return status;
}

static clf_status make(struct clf__vocabulary *out, struct rows *rows, const json_t *root,
                       const struct clf__model_tokens *own, const struct clf__pipeline_options *options)
{
    const json_t *tokens = json_object_get(root, "added_tokens");
    CLF__TRY(place_all(rows, own, tokens, options->rows));
    CLF__TRY(take_rows(out, rows, tokens, options));
    if (options->settings != NULL) {
        clf__added_tokens_named(options->settings->added, mark_named, out);
    }
    return options->class != NULL ? mark_class(out, options) : CLF_OK;
}

clf_status clf__added_vocabulary(struct clf__vocabulary *out, const json_t *root, const char *path,
                                 const struct clf__model_tokens *tokens,
                                 const struct clf__pipeline_options *options)
{
    struct rows rows = {.path = path};
    clf_status status = make(out, &rows, root, tokens, options);
    clf__free(rows.items);
    if (status != CLF_OK) {
        clf__vocabulary_free(out);
    }
    return status;
}
