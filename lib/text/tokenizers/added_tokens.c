#include "text/tokenizers/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "text/tokenizers/vocabulary.h"

static const char decoder_key[] = "added_tokens_decoder";

void clf__added_tokens_free(struct clf__added_tokens *added)
{
    clf__free(added->items);
    json_decref(added->legacy);
    json_decref(added->map);
    *added = (struct clf__added_tokens){.count = 0};
}

int clf__added_token_marks(const json_t *token)
{
    int is_special = json_is_true(json_object_get(token, "special"));
    const json_t *normalized = json_object_get(token, "normalized");
    int is_normalized = json_is_boolean(normalized) ? json_is_true(normalized) : !is_special;
    return CLF__TOKEN_FOUND | (is_special ? CLF__TOKEN_SPECIAL : 0) |
           (is_normalized ? CLF__TOKEN_NORMALIZED : 0) |
           (json_is_true(json_object_get(token, "single_word")) ? CLF__TOKEN_SINGLE_WORD : 0) |
           (json_is_true(json_object_get(token, "lstrip")) ? CLF__TOKEN_LSTRIP : 0) |
           (json_is_true(json_object_get(token, "rstrip")) ? CLF__TOKEN_RSTRIP : 0);
}

/* --- Special tokens and their roles --- */

/* Reads a token, which is a string or an object with flags. */
static void name_token(const json_t *token, void (*function)(void *user, const char *text, int marks),
                       void *user)
{
    const char *content = json_string_value(json_object_get(token, "content"));
    if (json_is_string(token)) {
        function(user, json_string_value(token), 0);
    } else if (content != NULL) {
        function(user, content, clf__added_token_marks(token));
    }
}

static void name_all(const json_t *file, void (*function)(void *user, const char *text, int marks),
                     void *user)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        name_token(json_object_get(file, keys[i]), function, user);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *list = json_object_get(file, lists[i]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            name_token(json_array_get(list, k), function, user);
        }
    }
}

void clf__added_tokens_named(const struct clf__added_tokens *added,
                             void (*function)(void *user, const char *text, int marks), void *user)
{
    name_all(added->map, function, user);
    name_all(added->config, function, user);
}

/* --- Reading --- */

static clf_status bad_token(const struct clf__added_tokens *added, const char *what)
{
    return added->is_legacy
               ? clf__fail(
                     CLF_FORMAT,
                     "%s/added_tokens.json: the token \"%.40s\" has no valid id; download the file again",
                     added->folder, what)
               : clf__fail(CLF_FORMAT,
                           "%s/tokenizer_config.json: \"%s\" contains \"%.40s\", which is not an id with a "
                           "token; download the file again",
                           added->folder, decoder_key, what);
}

static clf_status add(struct clf__added_tokens *added, const char *text, long long id, int marks,
                      const char *what)
{
    if (text == NULL || id < 0 || id >= CLF__MAX_VOCABULARY) {
        return bad_token(added, what);
    }
    CLF__TRY(clf__grow(&added->items, added->count, &added->capacity, sizeof *added->items));
    added->items[added->count++] = (struct clf__added_token){text, (int32_t)id, marks};
    return CLF_OK;
}

static clf_status read_decoder(struct clf__added_tokens *added, json_t *decoder)
{
    const char *key;
    json_t *token;
    json_object_foreach(decoder, key, token)
    {
        char *end;
        long id = strtol(key, &end, 10);
        int is_id = end != key && *end == '\0';
        CLF__TRY(add(added, json_string_value(json_object_get(token, "content")), is_id ? id : -1,
                     clf__added_token_marks(token), key));
    }
    return CLF_OK;
}

/* The state of searching for a text among the special tokens. */
struct search {
    const char *text;
    int is_found;
};

static void compare(void *user, const char *text, int marks)
{
    struct search *search = user;
    (void)marks;
    search->is_found |= strcmp(text, search->text) == 0;
}

static clf_status read_legacy(struct clf__added_tokens *added)
{
    const char *text;
    json_t *id;
    json_object_foreach(added->legacy, text, id)
    {
        struct search search = {text, 0};
        clf__added_tokens_named(added, compare, &search);
        int marks = search.is_found ? CLF__TOKEN_SPECIAL : CLF__TOKEN_NORMALIZED;
        CLF__TRY(add(added, text, json_is_integer(id) ? json_integer_value(id) : -1, CLF__TOKEN_FOUND | marks,
                     text));
    }
    return CLF_OK;
}

static int by_id(const void *left, const void *right)
{
    const struct clf__added_token *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static clf_status sort(struct clf__added_tokens *added)
{
    if (added->count > 0) {
        qsort(added->items, (size_t)added->count, sizeof *added->items, by_id);
    }
    for (int i = 1; i < added->count; i++) {
        if (added->items[i].id == added->items[i - 1].id) {
            return bad_token(added, added->items[i].text);
        }
    }
    return CLF_OK;
}

static clf_status find_file(json_t **out, const char *folder, const char *name)
{
    struct clf__json json;
    CLF__TRY(clf__json_find_in(&json, folder, name));
    *out = json_incref(json.root);
    clf__json_free(&json);
    return CLF_OK;
}

static clf_status read(struct clf__added_tokens *added)
{
    json_t *decoder = json_object_get(added->config, decoder_key);
    added->is_legacy = !json_is_object(decoder);
    if (!added->is_legacy) {
        CLF__TRY(read_decoder(added, decoder));
        return sort(added);
    }
    CLF__TRY(find_file(&added->map, added->folder, "special_tokens_map.json"));
    CLF__TRY(find_file(&added->legacy, added->folder, "added_tokens.json"));
    CLF__TRY(read_legacy(added));
    return sort(added);
}

clf_status clf__added_tokens_read(struct clf__added_tokens *out, const char *folder, const json_t *config)
{
    *out = (struct clf__added_tokens){.folder = folder, .config = config};
    clf_status status = read(out);
    if (status != CLF_OK) {
        clf__added_tokens_free(out);
    }
    return status;
}

/* --- Merging --- */

static clf_status conflict(const struct clf__added_tokens *added, const struct clf__added_token *token,
                           const char *text, const char *file)
{
    return clf__fail(CLF_FORMAT,
                     "%s/%s: %s%s%sassigns id %d to \"%.80s\", but %s assigns that id to \"%.80s\"; download "
                     "or save both files again",
                     added->folder, added->is_legacy ? "added_tokens.json" : "tokenizer_config.json",
                     added->is_legacy ? "" : "\"", added->is_legacy ? "" : decoder_key,
                     added->is_legacy ? "" : "\" ", (int)token->id, token->text, file, text);
}

static int has_text(const struct clf__added_tokens *added, const char *text)
{
    int i = 0;
    while (i < added->count && strcmp(added->items[i].text, text) != 0) {
        i++;
    }
    return i < added->count;
}

static clf_status add_spare(struct clf__token_list *out)
{
    return clf__token_list_format(out, CLF__TOKEN_SPECIAL | CLF__TOKEN_SPARE, "<unused_%d>", out->count);
}

static clf_status add_added(struct clf__token_list *out, const struct clf__added_token *token, int own_marks)
{
    return clf__token_list_add(out, token->text, strlen(token->text),
                               token->marks | (own_marks & CLF__TOKEN_LANGUAGE));
}

/* Adds one of the tokenizer's own tokens; `token` is the added token with the same id, or NULL. */
static clf_status merge_own(struct clf__token_list *out, const struct clf__own_tokens *own, const char *text,
                            const struct clf__added_tokens *added, const struct clf__added_token *token)
{
    int marks = own->tokens->marks[out->count];
    int may_go = (marks & CLF__TOKEN_SPARE) != 0 || out->count >= own->fixed;
    if (token == NULL) {
        int has_moved = may_go && has_text(added, text); /* an added token assigns another id to the text */
        return has_moved ? add_spare(out) : clf__token_list_add(out, text, strlen(text), marks);
    }
    if (strcmp(token->text, text) != 0) {
        return may_go ? add_added(out, token, 0) : conflict(added, token, text, own->file);
    }
    int keeps = added->is_legacy && (marks & CLF__TOKEN_FOUND) != 0;
    return keeps ? clf__token_list_add(out, text, strlen(text), marks) : add_added(out, token, marks);
}

clf_status clf__added_tokens_merge(struct clf__token_list *out, const struct clf__own_tokens *own,
                                   const struct clf__added_tokens *added, int rows)
{
    const char *text = own->tokens->text;
    int last = added->count > 0 ? added->items[added->count - 1].id : -1;
    int count = own->tokens->count > rows ? own->tokens->count : rows;
    if (last >= count + added->count) { /* limits the allocation, which depends on the highest id */
        return clf__fail(CLF_FORMAT,
                         "%s: the added token \"%.80s\" has the id %d, far above the %d other tokens and "
                         "rows; download or save both files again",
                         added->folder, added->items[added->count - 1].text, last, count);
    }
    count = last >= count ? last + 1 : count;
    if (count - own->tokens->count - added->count > CLF__MOST_SPARE) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the model has %d vocabulary rows and the tokenizer %d tokens; at most %d rows "
                         "may have no token; use the tokenizer that the model was trained with",
                         own->file, count, own->tokens->count + added->count, CLF__MOST_SPARE);
    }
    for (int id = 0, next = 0; id < count; id++) {
        int is_added = next < added->count && added->items[next].id == id;
        const struct clf__added_token *token = is_added ? &added->items[next++] : NULL;
        if (id < own->tokens->count) {
            CLF__TRY(merge_own(out, own, text, added, token));
            text += strlen(text) + 1;
        } else {
            CLF__TRY(token != NULL ? add_added(out, token, 0) : add_spare(out));
        }
    }
    return CLF_OK;
}
