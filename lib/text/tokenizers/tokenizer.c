#include "text/tokenizers/tokenizer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/token_list.h"
#include "text/tokenizers/tokenizer_internal.h"

enum { MAX_SHOWN_WORD = 80 };

void clf__ids_free(struct clf__ids *ids)
{
    clf__free(ids->data);
    *ids = (struct clf__ids){0};
}

clf_status clf__ids_append(struct clf__ids *ids, int32_t id)
{
    if (ids->count > INT_MAX / 2) {
        return clf__fail(CLF_TEXT, "a line has more than %d tokens", ids->count);
    }
    CLF__TRY(clf__grow(&ids->data, ids->count, &ids->capacity, sizeof *ids->data));
    ids->data[ids->count++] = id;
    return CLF_OK;
}

static int compare_ids(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

void clf__ids_sort(struct clf__ids *ids)
{
    int kept = 0;
    qsort(ids->data, (size_t)ids->count, sizeof *ids->data, compare_ids);
    for (int i = 0; i < ids->count; i++) {
        if (kept == 0 || ids->data[i] != ids->data[kept - 1]) {
            ids->data[kept++] = ids->data[i];
        }
    }
    ids->count = kept;
}

int clf__tokenizer_max_length(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->max_length;
}

void clf__tokenizer_sizes(const struct clf__tokenizer *tokenizer, int *source, int *target)
{
    *source = tokenizer->options.source_vocabulary;
    *target = tokenizer->options.target_vocabulary;
}

clf_status clf__tokenizer_spare(const struct clf__tokenizer *tokenizer, struct clf__ids *ids)
{
    const struct clf__vocabulary *vocabulary = tokenizer->target.vocabulary;
    int rows = tokenizer->options.target_vocabulary;
    if (rows - vocabulary->size > CLF__MOST_SPARE) {
        return clf__fail(CLF_UNSUPPORTED,
                         "the model has %d vocabulary rows and its tokenizer %d tokens; at most %d rows may "
                         "have no token; use the tokenizer that the model was trained with",
                         rows, vocabulary->size, CLF__MOST_SPARE);
    }
    for (int32_t id = 0; id < rows; id++) {
        if (id >= vocabulary->size || (vocabulary->marks[id] & CLF__TOKEN_SPARE) != 0) {
            CLF__TRY(clf__ids_append(ids, id));
        }
    }
    return CLF_OK;
}

int clf__tokenizer_shares_words(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->source.vocabulary == tokenizer->target.vocabulary;
}

const struct clf__segmenter *clf__tokenizer_segmenter(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->target.segmenter;
}

/* Destination of the tokens of a text. */
struct sink {
    const struct clf__tokenizer_side *side;
    struct clf__ids *ids;
    struct clf__token_list *tokens; /* also collects token texts, unknown ones as written; may be NULL */
    int rows;                       /* vocabulary rows of the model on this side */
};

static struct sink sink_of(const struct clf__tokenizer *tokenizer, int is_target, struct clf__ids *ids,
                           struct clf__token_list *tokens)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    return (struct sink){is_target ? &tokenizer->target : &tokenizer->source, ids, tokens,
                         is_target ? options->target_vocabulary : options->source_vocabulary};
}

clf_status clf__tokenizer_check_row(const struct clf__vocabulary *vocabulary, int32_t id, int rows)
{
    return id < rows ? CLF_OK
                     : clf__fail(CLF_TEXT,
                                 "%s: the token \"%.80s\" has the id %d, but the model has only %d rows; "
                                 "remove the token",
                                 vocabulary->path, vocabulary->tokens[id], (int)id, rows);
}

static clf_status add_id(void *user, int32_t id, const char *text, size_t size)
{
    const struct sink *sink = user;
    if (id >= sink->rows) {
        return clf__tokenizer_check_row(sink->side->vocabulary, id, sink->rows);
    }
    if (sink->tokens != NULL) {
        const char *known = id != sink->side->unknown_id ? sink->side->vocabulary->tokens[id] : NULL;
        CLF__TRY(known != NULL ? clf__token_list_add(sink->tokens, known, strlen(known), 0)
                               : clf__token_list_add(sink->tokens, text, strnlen(text, size), 0));
    }
    return clf__ids_append(sink->ids, id);
}

static clf_status add_token(void *user, const char *token, size_t length)
{
    const struct sink *sink = user;
    int32_t id = clf__vocabulary_id(sink->side->vocabulary, token, length);
    if (id < 0) {
        id = sink->side->unknown_id;
    }
    if (id < 0) {
        size_t shown = length <= MAX_SHOWN_WORD ? length : clf__utf8_cut(token, MAX_SHOWN_WORD);
        return clf__fail(CLF_TEXT, "\"%.*s\" is not in %s, which has no unknown token", (int)shown, token,
                         sink->side->vocabulary->path);
    }
    return add_id(user, id, token, length);
}

static clf_status add_part(struct sink *sink, const char *text, size_t size)
{
    const struct clf__tokenizer_side *side = sink->side;
    if (size == 0) {
        return CLF_OK;
    }
    return side->segmenter->number != NULL
               ? side->segmenter->number(side->state, text, size, add_id, sink)
               : side->segmenter->segment(side->state, text, size, add_token, sink);
}

/* Finds special tokens and languages in the text first and segments the text between them. */
static clf_status add_text(const struct clf__tokenizer *tokenizer, struct sink *sink, const char *text,
                           size_t size)
{
    size_t done = 0;
    struct clf__token_match match;
    while (clf__token_finder_next(&tokenizer->found, &match, text, size, done)) {
        CLF__TRY(add_part(sink, text + done, match.start - done));
        CLF__TRY(add_id(sink, match.id, text + match.start, match.end - match.start));
        done = match.end;
    }
    return add_part(sink, text + done, size - done);
}

static clf_status add_checked(const struct clf__tokenizer *tokenizer, struct sink *sink, const char *text,
                              size_t size, int is_tokenized)
{
    const struct clf__tokenizer_side *side = sink->side;
    CLF__TRY(clf__utf8_check(text, size));
    if (!side->vocabulary) {
        return clf__fail(CLF_UNSUPPORTED, "this model reads frames, not text; pass recordings or .npy files");
    }
    return is_tokenized ? clf__segmenter_words.segment(NULL, text, size, add_token, sink)
                        : add_text(tokenizer, sink, text, size);
}

static clf_status add_ids(struct clf__ids *ids, const int32_t *added)
{
    for (int i = 0; i < CLF__MOST_FRAMING && added[i] >= 0; i++) {
        CLF__TRY(clf__ids_append(ids, added[i]));
    }
    return CLF_OK;
}

/* Returns whether the ids already end with `added`: CTranslate2 users write the end token themselves. */
static int ends_with(const struct clf__ids *ids, const int32_t *added)
{
    int count = 0;
    while (count < CLF__MOST_FRAMING && added[count] >= 0) {
        count++;
    }
    return count > 0 && ids->count >= count &&
           memcmp(ids->data + ids->count - count, added, (size_t)count * sizeof *added) == 0;
}

static clf_status add_source(const struct clf__tokenizer *tokenizer, const struct clf__framing *framing,
                             struct sink *sink, const char *text, size_t size, int is_tokenized)
{
    CLF__TRY(add_ids(sink->ids, framing->before));
    CLF__TRY(add_checked(tokenizer, sink, text, size, is_tokenized));
    return is_tokenized && ends_with(sink->ids, framing->behind) ? CLF_OK
                                                                 : add_ids(sink->ids, framing->behind);
}

/* Encodes a source after the framing's word. */
static clf_status add_worded_source(const struct clf__tokenizer *tokenizer,
                                    const struct clf__framing *framing, struct sink *sink, const char *text,
                                    size_t size, int is_tokenized)
{
    if (framing->word == NULL) {
        return add_source(tokenizer, framing, sink, text, size, is_tokenized);
    }
    char *whole = NULL;
    size_t before = strlen(framing->word) + 1;
    CLF__TRY(clf__allocate(&whole, before + size, 1));
    memcpy(stpcpy(whole, framing->word), " ", 1);
    memcpy(whole + before, text, size);
    clf_status status = add_source(tokenizer, framing, sink, whole, before + size, is_tokenized);
    clf__free(whole);
    return status;
}

clf_status clf__tokenizer_encode_source(const struct clf__tokenizer *tokenizer,
                                        const struct clf__framing *framing, struct clf__ids *ids,
                                        const char *text, size_t size, int is_tokenized)
{
    struct sink sink = sink_of(tokenizer, 0, ids, NULL);
    ids->count = 0;
    clf_status status = add_worded_source(tokenizer, framing, &sink, text, size, is_tokenized);
    if (status != CLF_OK) {
        ids->count = 0;
    }
    return status;
}

clf_status clf__tokenizer_source_tokens(const struct clf__tokenizer *tokenizer,
                                        const struct clf__framing *framing, struct clf__token_list *tokens,
                                        const char *text, size_t size, int is_tokenized)
{
    struct clf__ids ids = {.count = 0};
    struct sink sink = sink_of(tokenizer, 0, &ids, tokens);
    clf_status status = add_worded_source(tokenizer, framing, &sink, text, size, is_tokenized);
    clf__ids_free(&ids);
    return status;
}

clf_status clf__tokenizer_encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                 const char *text, size_t size, int target, int is_tokenized)
{
    if (!target) {
        return clf__tokenizer_encode_source(tokenizer, &tokenizer->framing, ids, text, size, is_tokenized);
    }
    struct sink sink = sink_of(tokenizer, 1, ids, NULL);
    ids->count = 0;
    clf_status status = add_checked(tokenizer, &sink, text, size, is_tokenized);
    if (status == CLF_OK && tokenizer->options.end_id >= 0) {
        status = clf__ids_append(ids, tokenizer->options.end_id);
    }
    if (status != CLF_OK) {
        ids->count = 0;
    }
    return status;
}

/* Returns whether decoded text omits an id. As in transformers, models treat the unknown token as special. */
static int is_omitted(const struct clf__tokenizer *tokenizer, int32_t id, int is_tokenized)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    const struct clf__vocabulary *vocabulary = tokenizer->target.vocabulary;
    return (!is_tokenized && (vocabulary->marks[id] & CLF__TOKEN_SPECIAL) != 0) || id == options->pad_id ||
           id == options->start_id || id == options->end_id ||
           (!is_tokenized && tokenizer->target.segmenter->has_model && !tokenizer->target.shows_unknown &&
            id == tokenizer->target.unknown_id);
}

int clf__tokenizer_is_text(const struct clf__tokenizer *tokenizer, int32_t id, int is_tokenized)
{
    return clf__tokenizer_target_token(tokenizer, id) != NULL && !is_omitted(tokenizer, id, is_tokenized);
}

int32_t clf__tokenizer_unknown(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->target.unknown_id;
}

/* Fills list (count) with the tokens of the text and returns the count. */
static clf_status choose_tokens(const struct clf__tokenizer *tokenizer, const char **list, int *chosen,
                                const int32_t *ids, int count, const char *const *given, int is_tokenized)
{
    *chosen = 0;
    for (int i = 0; i < count; i++) {
        const char *token = clf__tokenizer_target_token(tokenizer, ids[i]);
        if (!token) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s: no token with the id %d",
                             tokenizer->target.vocabulary->path, (int)ids[i]);
        }
        if (given != NULL && given[i] != NULL) {
            list[(*chosen)++] = given[i];
        } else if (!is_omitted(tokenizer, ids[i], is_tokenized)) {
            list[(*chosen)++] = token;
        }
    }
    return CLF_OK;
}

clf_status clf__tokenizer_decode(const struct clf__tokenizer *tokenizer, char **text, const int32_t *ids,
                                 int count, int is_tokenized)
{
    return clf__tokenizer_decode_given(tokenizer, text, ids, count, NULL, is_tokenized);
}

clf_status clf__tokenizer_decode_given(const struct clf__tokenizer *tokenizer, char **text,
                                       const int32_t *ids, int count, const char *const *given,
                                       int is_tokenized)
{
    *text = NULL;
    const char **list = NULL;
    int chosen;
    CLF__TRY(clf__allocate(&list, (size_t)count, sizeof *list));
    clf_status status = choose_tokens(tokenizer, list, &chosen, ids, count, given, is_tokenized);
    if (status == CLF_OK) {
        const struct clf__tokenizer_side *target = &tokenizer->target;
        status = is_tokenized ? clf__segmenter_words.join(NULL, text, list, chosen)
                              : target->segmenter->join(target->state, text, list, chosen);
    }
    clf__free(list);
    return status;
}

static const char *token_of(const struct clf__vocabulary *vocabulary, int32_t id)
{
    return vocabulary && id >= 0 && id < vocabulary->size ? vocabulary->tokens[id] : NULL;
}

const char *clf__tokenizer_source_token(const struct clf__tokenizer *tokenizer, int32_t id)
{
    return token_of(tokenizer->source.vocabulary, id);
}

const char *clf__tokenizer_target_token(const struct clf__tokenizer *tokenizer, int32_t id)
{
    return token_of(tokenizer->target.vocabulary, id);
}

int32_t clf__tokenizer_target_id(const struct clf__tokenizer *tokenizer, const char *token)
{
    return clf__vocabulary_id(tokenizer->target.vocabulary, token, strlen(token));
}

int32_t clf__tokenizer_token_id(const struct clf__tokenizer *tokenizer, int is_target, const char *token,
                                size_t length)
{
    const struct clf__tokenizer_side *side = is_target ? &tokenizer->target : &tokenizer->source;
    int32_t id = side->vocabulary != NULL ? clf__vocabulary_id(side->vocabulary, token, length) : -1;
    return id >= 0 ? id : side->unknown_id;
}
