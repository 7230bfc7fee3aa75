#include "text/json/added.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/classes/class.h"

/* While the vocabulary is made: a text for each row of the model, borrowed from the JSON. */
struct rows {
    const char **items; /* (count) NULL: stands for nothing */
    int count, used;
    const char *path;
};

static clf_status fail_added(const struct rows *rows, const char *key, const char *what, const char *piece)
{
    return clf__fail(CLF_FORMAT, "%s: \"%s\": %s (\"%.80s\"); download it again", rows->path, key, what,
                     piece);
}

static clf_status too_many(const struct rows *rows, int pieces)
{
    return clf__fail(CLF_FORMAT,
                     "%s: holds %d pieces, the model's configuration says %d; download or save both again",
                     rows->path, pieces, rows->count);
}

static clf_status place_pieces(struct rows *rows, const struct clf__model_pieces *pieces)
{
    if (pieces->ids > rows->count) {
        return too_many(rows, pieces->ids);
    }
    for (size_t i = 0; i < pieces->count; i++) {
        rows->items[pieces->items[i].id] = pieces->items[i].text;
    }
    rows->used = pieces->ids;
    return CLF_OK;
}

/* A token's id and text. */
static clf_status place_added(struct rows *rows, const json_t *token)
{
    const char *text = json_string_value(json_object_get(token, "content"));
    const json_t *id = json_object_get(token, "id");
    json_int_t number = json_integer_value(id);
    if (text == NULL || *text == '\0' || !json_is_integer(id) || number < 0 ||
        number >= CLF__MAX_VOCABULARY) {
        return fail_added(rows, "added_tokens", "a token has no id or no content", text != NULL ? text : "");
    }
    if (number >= rows->count) {
        return too_many(rows, (int)number + 1);
    }
    if (rows->items[number] != NULL && strcmp(rows->items[number], text) != 0) {
        return fail_added(rows, "added_tokens", "a token has the id of another piece", text);
    }
    rows->items[number] = text;
    rows->used = number >= rows->used ? (int)number + 1 : rows->used;
    return CLF_OK;
}

static clf_status place_all_added(struct rows *rows, const json_t *root)
{
    const json_t *tokens = json_object_get(root, "added_tokens");
    if (tokens != NULL && !json_is_null(tokens) && !json_is_array(tokens)) {
        return fail_added(rows, "added_tokens", "is not a list", "");
    }
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        CLF__TRY(place_added(rows, json_array_get(tokens, i)));
    }
    return CLF_OK;
}

static clf_status take_rows(struct clf__vocabulary *out, const struct rows *rows)
{
    struct clf__pieces pieces = {0};
    clf_status status = CLF_OK;
    for (int id = 0; status == CLF_OK && id < rows->count; id++) {
        const char *text = rows->items[id];
        status = text != NULL ? clf__pieces_add(&pieces, text, strlen(text), 0)
                              : clf__pieces_format(&pieces, CLF__PIECE_SPECIAL, "<unused_%d>", id);
    }
    if (status == CLF_OK) {
        status = clf__vocabulary_take(out, &pieces, rows->path);
    }
    clf__pieces_free(&pieces);
    return status;
}

static int marks_of(const json_t *token)
{
    int is_special = json_is_true(json_object_get(token, "special"));
    const json_t *normalized = json_object_get(token, "normalized");
    int is_normalized = json_is_boolean(normalized) ? json_is_true(normalized) : !is_special;
    return CLF__PIECE_FOUND | (is_special ? CLF__PIECE_SPECIAL : 0) |
           (is_normalized ? CLF__PIECE_NORMALIZED : 0) |
           (json_is_true(json_object_get(token, "single_word")) ? CLF__PIECE_ALONE : 0) |
           (json_is_true(json_object_get(token, "lstrip")) ? CLF__PIECE_EATS_LEFT : 0) |
           (json_is_true(json_object_get(token, "rstrip")) ? CLF__PIECE_EATS_RIGHT : 0);
}

static void mark_file(struct clf__vocabulary *vocabulary, const json_t *root)
{
    const json_t *tokens = json_object_get(root, "added_tokens");
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i);
        vocabulary->marks[json_integer_value(json_object_get(token, "id"))] = (uint8_t)marks_of(token);
    }
}

/* tokenizer_config.json's "added_tokens_decoder" goes before what the file says. */
static clf_status mark_folder(struct clf__vocabulary *vocabulary, const struct rows *rows,
                              const struct clf__pipeline_options *options)
{
    const char *key;
    json_t *token;
    json_object_foreach(json_object_get(options->config, "added_tokens_decoder"), key, token)
    {
        char *end;
        long id = strtol(key, &end, 10);
        const char *piece = json_string_value(json_object_get(token, "content"));
        if (end == key || *end != '\0' || id < 0 || piece == NULL) {
            return clf__fail(
                CLF_FORMAT,
                "%s/tokenizer_config.json: \"added_tokens_decoder\" holds \"%.40s\", which is no "
                "id with a token; download it again",
                options->folder, key);
        }
        if (id < vocabulary->size && strcmp(piece, vocabulary->pieces[id]) == 0) {
            vocabulary->marks[id] = (uint8_t)marks_of(token);
        } else if (id < vocabulary->size && rows->items[id] != NULL) {
            return clf__fail(CLF_FORMAT,
                             "%s/tokenizer_config.json: \"added_tokens_decoder\" says that %ld is \"%.80s\", "
                             "%s that it is \"%.80s\"; download or save both again",
                             options->folder, id, piece,
                             options->model != NULL ? options->model : "tokenizer.json",
                             vocabulary->pieces[id]);
        }
    }
    return CLF_OK;
}

/* One that is named special, unless it is an added token already. */
static void mark_special(struct clf__vocabulary *vocabulary, const char *piece, int more)
{
    int32_t id = piece != NULL ? clf__vocabulary_id(vocabulary, piece, strlen(piece)) : -1;
    if (id >= 0 && (vocabulary->marks[id] & CLF__PIECE_FOUND) == 0) {
        vocabulary->marks[id] |= (uint8_t)(CLF__PIECE_FOUND | CLF__PIECE_SPECIAL | more);
    }
}

/* A token is a string, or an object with its flags. */
static void mark_token(struct clf__vocabulary *vocabulary, const json_t *token)
{
    const char *text = json_string_value(token);
    const json_t *content = json_object_get(token, "content");
    if (text != NULL) {
        mark_special(vocabulary, text, 0);
    } else if (content != NULL) {
        mark_special(vocabulary, json_string_value(content), marks_of(token));
    }
}

static void mark_named(struct clf__vocabulary *vocabulary, const json_t *config)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        mark_token(vocabulary, json_object_get(config, keys[i]));
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *list = json_object_get(config, lists[i]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            mark_token(vocabulary, json_array_get(list, k));
        }
    }
}

/* The languages are those that the class lists behind a model's pieces. */
static clf_status mark_class(struct clf__vocabulary *vocabulary, const struct clf__pipeline_options *options)
{
    const struct clf__tokenizer_class *class = options->class;
    for (const char *const *special = class->specials; options->is_rebuilt && *special != NULL; special++) {
        int eats_left = class->spaces_before != NULL && strcmp(*special, class->spaces_before) == 0;
        mark_special(vocabulary, *special, eats_left ? CLF__PIECE_EATS_LEFT : 0);
    }
    if (class->behind == NULL || class->place == CLF__LANGUAGE_NOWHERE) {
        return CLF_OK;
    }
    struct clf__pieces pieces = {0};
    clf_status status = class->behind(&pieces, options->settings);
    const char *piece = pieces.text;
    for (int i = 0; status == CLF_OK && i < pieces.count; i++) {
        int32_t id = clf__vocabulary_id(vocabulary, piece, strlen(piece));
        if (id >= 0 && (pieces.marks[i] & CLF__PIECE_LANGUAGE) != 0) {
            mark_special(vocabulary, piece, 0);
            vocabulary->marks[id] |= CLF__PIECE_LANGUAGE;
        }
        piece += strlen(piece) + 1;
    }
    clf__pieces_free(&pieces);
    return status;
}

static clf_status make(struct clf__vocabulary *out, struct rows *rows, const json_t *root,
                       const struct clf__model_pieces *pieces, const struct clf__pipeline_options *options)
{
    CLF__TRY(place_pieces(rows, pieces));
    CLF__TRY(place_all_added(rows, root));
    CLF__TRY(take_rows(out, rows));
    mark_file(out, root);
    CLF__TRY(mark_folder(out, rows, options));
    mark_named(out, options->config);
    return options->class != NULL ? mark_class(out, options) : CLF_OK;
}

clf_status clf__added_vocabulary(struct clf__vocabulary *out, const json_t *root, const char *path,
                                 const struct clf__model_pieces *pieces,
                                 const struct clf__pipeline_options *options)
{
    struct rows rows = {.count = options->rows, .path = path};
    CLF__TRY(clf__allocate(&rows.items, (size_t)rows.count, sizeof *rows.items));
    clf_status status = make(out, &rows, root, pieces, options);
    clf__free(rows.items);
    if (status != CLF_OK) {
        clf__vocabulary_free(out);
    }
    return status;
}
