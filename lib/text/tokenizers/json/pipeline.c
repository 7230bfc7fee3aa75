#include "text/tokenizers/json/pipeline.h"

#include <stdatomic.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/json/added.h"
#include "text/tokenizers/json/model_file.h"
#include "text/tokenizers/json/part.h"
#include "text/tokenizers/json/rebuilt.h"
#include "text/tokenizers/json/tiktoken.h"
#include "text/tokenizers/token_finder.h"
#include "text/tokenizers/token_list.h"

static const struct clf__json_limits limits = {1 << 28, 1 << 26};

/* Scratch memory for segmenting one text. */
struct work {
    struct clf__word_list words, spare, normalized;
    struct clf__model_work model;
};

/* An added token and the normalised text that it decodes to. */
struct renamed {
    char *from, *to;
};

struct pipeline {
    struct clf__chain normalizer, pre_tokenizer, decoder;
    const struct clf__model_kind *kind;
    void *model;
    struct clf__token_finder raw, normalized; /* added tokens to find before and after normalization */
    struct renamed *renamed;                  /* (renamed_count) */
    int renamed_count;
    int cleans_up;
    _Atomic(struct work *) kept; /* scratch memory of the last text; NULL while a thread uses it */
};

static void work_free(struct work *work)
{
    if (work != NULL) {
        clf__word_list_free(&work->words);
        clf__word_list_free(&work->spare);
        clf__word_list_free(&work->normalized);
        clf__model_work_free(&work->model);
        clf__free(work);
    }
}

static void pipeline_free(void *state)
{
    struct pipeline *pipeline = state;
    clf__chain_free(&pipeline->normalizer);
    clf__chain_free(&pipeline->pre_tokenizer);
    clf__chain_free(&pipeline->decoder);
    if (pipeline->model != NULL) {
        pipeline->kind->free(pipeline->model);
    }
    clf__token_finder_free(&pipeline->raw);
    clf__token_finder_free(&pipeline->normalized);
    for (int i = 0; i < pipeline->renamed_count; i++) {
        clf__free(pipeline->renamed[i].from);
        clf__free(pipeline->renamed[i].to);
    }
    clf__free(pipeline->renamed);
    work_free(atomic_load(&pipeline->kept));
    clf__free(pipeline);
}

/* ---- Text to ids */

/* The state of segmenting a text. */
struct cutting {
    const struct pipeline *pipeline;
    struct work *work;
    clf__id_function *function;
    void *user;
};

/* Segments normalised text that contains no added tokens. */
static clf_status cut_plain(const struct cutting *cutting)
{
    const struct pipeline *pipeline = cutting->pipeline;
    struct work *work = cutting->work;
    CLF__TRY(clf__chain_run(&pipeline->pre_tokenizer, &work->words, &work->spare));
    for (int i = 0; i < work->words.count; i++) {
        const struct clf__word *word = &work->words.items[i];
        CLF__TRY(pipeline->kind->cut(pipeline->model, &work->model, work->words.bytes + word->start,
                                     word->size, cutting->function, cutting->user));
    }
    return CLF_OK;
}

static clf_status cut_part(const struct cutting *cutting, const char *text, size_t size, int is_first)
{
    if (size == 0) {
        return CLF_OK;
    }
    clf__word_list_clear(&cutting->work->words);
    CLF__TRY(clf__word_list_add(&cutting->work->words, text, size, is_first));
    return cut_plain(cutting);
}

/* Finds added tokens in the normalised text and segments the rest. */
static clf_status cut_normalized(const struct cutting *cutting)
{
    struct work *work = cutting->work;
    if (cutting->pipeline->normalized.count == 0 || work->words.count == 0) {
        return cut_plain(cutting);
    }
    struct clf__word_list swapped = work->normalized;
    work->normalized = work->words;
    work->words = swapped;
    const char *text = work->normalized.bytes;
    size_t size = work->normalized.size, done = 0;
    int is_first = work->normalized.items[0].is_first;
    struct clf__token_match match;
    while (clf__token_finder_next(&cutting->pipeline->normalized, &match, text, size, done)) {
        CLF__TRY(cut_part(cutting, text + done, match.start - done, is_first && done == 0));
        CLF__TRY(cutting->function(cutting->user, match.id, text + match.start, match.end - match.start));
        done = match.end;
    }
    return cut_part(cutting, text + done, size - done, is_first && done == 0);
}

static clf_status cut_raw(const struct cutting *cutting, const char *text, size_t size, int is_first)
{
    struct work *work = cutting->work;
    if (size == 0) {
        return CLF_OK;
    }
    clf__word_list_clear(&work->words);
    CLF__TRY(clf__word_list_add(&work->words, text, size, is_first));
    CLF__TRY(clf__chain_run(&cutting->pipeline->normalizer, &work->words, &work->spare));
    return cut_normalized(cutting);
}

static clf_status cut_text(const struct cutting *cutting, const char *text, size_t size)
{
    size_t done = 0;
    struct clf__token_match match;
    while (clf__token_finder_next(&cutting->pipeline->raw, &match, text, size, done)) {
        CLF__TRY(cut_raw(cutting, text + done, match.start - done, done == 0));
        CLF__TRY(cutting->function(cutting->user, match.id, text + match.start, match.end - match.start));
        done = match.end;
    }
    return cut_raw(cutting, text + done, size - done, done == 0);
}

static clf_status take_work(struct work **out, const struct pipeline *pipeline)
{
    *out = atomic_exchange((_Atomic(struct work *) *)&pipeline->kept, NULL);
    return *out != NULL ? CLF_OK : clf__allocate(out, 1, sizeof **out);
}

static void give_work(struct work *work, const struct pipeline *pipeline)
{
    work_free(atomic_exchange((_Atomic(struct work *) *)&pipeline->kept, work));
}

static clf_status pipeline_number(const void *state, const char *text, size_t size,
                                  clf__id_function *function, void *user)
{
    const struct pipeline *pipeline = state;
    struct work *work;
    CLF__TRY(take_work(&work, pipeline));
    const struct cutting cutting = {pipeline, work, function, user};
    clf_status status = cut_text(&cutting, text, size);
    give_work(work, pipeline);
    return status;
}

/* ---- Ids to text */

static const char *shown(const struct pipeline *pipeline, const char *token)
{
    for (int i = 0; i < pipeline->renamed_count; i++) {
        if (strcmp(pipeline->renamed[i].from, token) == 0) {
            return pipeline->renamed[i].to;
        }
    }
    return token;
}

static clf_status put_tokens(const struct pipeline *pipeline, struct clf__word_list *words,
                             const char *const *tokens, int count)
{
    clf__word_list_clear(words);
    words->keeps_empty = 1;
    for (int i = 0; i < count; i++) {
        const char *token = shown(pipeline, tokens[i]);
        CLF__TRY(clf__word_list_add(words, token, strlen(token), i == 0));
    }
    return CLF_OK;
}

/* Without a decoder, tokens are joined with spaces. */
static clf_status join_words(const struct pipeline *pipeline, char **text, const struct clf__word_list *words)
{
    int has_spaces = pipeline->decoder.count == 0;
    CLF__TRY(clf__allocate(text, words->size + (size_t)words->count + 1, 1));
    char *end = *text;
    for (int i = 0; i < words->count; i++) {
        if (has_spaces && i > 0) {
            *end++ = ' ';
        }
        if (words->items[i].size > 0) {
            memcpy(end, words->bytes + words->items[i].start, words->items[i].size);
            end += words->items[i].size;
        }
    }
    if (pipeline->cleans_up) {
        clf__text_clean_up(*text);
    }
    return CLF_OK;
}

static clf_status pipeline_join(const void *state, char **text, const char *const *tokens, int count)
{
    const struct pipeline *pipeline = state;
    struct clf__word_list words = {.size = 0}, spare = {.size = 0};
    clf_status status = put_tokens(pipeline, &words, tokens, count);
    if (status == CLF_OK) {
        status = clf__chain_run(&pipeline->decoder, &words, &spare);
    }
    if (status == CLF_OK) {
        status = join_words(pipeline, text, &words);
    }
    clf__word_list_free(&words);
    clf__word_list_free(&spare);
    return status;
}

#define SEGMENTER(from, of, word)                                                                            \
    {                                                                                                        \
        (from), (of),                                                                                        \
        {                                                                                                    \
            .name = (word), .has_model = 1, .free = pipeline_free, .number = pipeline_number,                \
            .join = pipeline_join                                                                            \
        }                                                                                                    \
    }
static const struct {
    enum clf__pipeline_source source;
    const struct clf__model_kind *kind; /* required kind of model; NULL: any */
    struct clf__segmenter segmenter;
} segmenters[] = {
    SEGMENTER(CLF__PIPELINE_JSON, &clf__model_unigram, "tokenizer.json, Unigram"),
    SEGMENTER(CLF__PIPELINE_JSON, &clf__model_bpe, "tokenizer.json, BPE"),
    SEGMENTER(CLF__PIPELINE_JSON, &clf__model_word_piece, "tokenizer.json, WordPiece"),
    SEGMENTER(CLF__PIPELINE_JSON, &clf__model_word_level, "tokenizer.json, WordLevel"),
    SEGMENTER(CLF__PIPELINE_SENTENCEPIECE, NULL, "SentencePiece"),
    SEGMENTER(CLF__PIPELINE_TIKTOKEN, NULL, "tiktoken"),
    SEGMENTER(CLF__PIPELINE_VOCABULARY, NULL, "byte-level"),
};

/* ---- Reading */

/* Checks the sections. "truncation" and "padding" are ignored, as transformers applies them only on
   request. */
static clf_status check_root(const struct clf__node *root)
{
    const json_t *version = json_object_get(root->value, "version");
    const char *text = json_string_value(version);
    if (version != NULL && (text == NULL || strcmp(text, "1.0") != 0)) {
        return clf__fail(CLF_UNSUPPORTED, "%s: \"version\" is not \"1.0\"; save the tokenizer again",
                         root->path);
    }
    return clf__node_check_keys(root,
                                "version truncation padding added_tokens normalizer pre_tokenizer model "
                                "post_processor decoder");
}

/* Makes an added token decode to its normalised text. A token that differs from its normalised text is not
 * treated as special in decoded text. */
static clf_status rename_token(struct pipeline *pipeline, struct clf__vocabulary *vocabulary, int32_t id,
                               const struct clf__word_list *words)
{
    struct renamed *renamed = &pipeline->renamed[pipeline->renamed_count];
    CLF__TRY(clf__copy_string(&renamed->from, vocabulary->tokens[id]));
    pipeline->renamed_count++;
    vocabulary->marks[id] &= (uint16_t)~CLF__TOKEN_SPECIAL;
    return clf__copy_bytes(&renamed->to, words->size > 0 ? words->bytes : "", words->size);
}

static clf_status add_normalized(struct pipeline *pipeline, struct clf__vocabulary *vocabulary, int32_t id,
                                 struct clf__word_list *words, struct clf__word_list *spare)
{
    const char *token = vocabulary->tokens[id];
    clf__word_list_clear(words);
    CLF__TRY(clf__word_list_add(words, token, strlen(token), 1));
    CLF__TRY(clf__chain_run(&pipeline->normalizer, words, spare));
    if (words->size > 0) {
        CLF__TRY(clf__token_finder_add(&pipeline->normalized, words->bytes, words->size, id,
                                       vocabulary->marks[id]));
    }
    return words->size != strlen(token) || memcmp(words->bytes, token, words->size) != 0
               ? rename_token(pipeline, vocabulary, id, words)
               : CLF_OK;
}

static clf_status read_found(struct pipeline *pipeline, struct clf__vocabulary *vocabulary)
{
    const int wanted = CLF__TOKEN_FOUND | CLF__TOKEN_NORMALIZED;
    struct clf__word_list words = {.size = 0}, spare = {.size = 0};
    int count = 0;
    CLF__TRY(clf__token_finder_collect(&pipeline->raw, vocabulary));
    for (int32_t id = 0; id < vocabulary->size; id++) {
        count += (vocabulary->marks[id] & wanted) == wanted;
    }
    clf_status status = clf__allocate(&pipeline->renamed, (size_t)count, sizeof *pipeline->renamed);
    for (int32_t id = 0; status == CLF_OK && id < vocabulary->size; id++) {
        if ((vocabulary->marks[id] & wanted) == wanted) {
            status = add_normalized(pipeline, vocabulary, id, &words, &spare);
        }
    }
    clf__token_finder_sort(&pipeline->normalized);
    clf__word_list_free(&words);
    clf__word_list_free(&spare);
    return status;
}

static clf_status read_model(struct pipeline *pipeline, struct clf__pipeline_result *out, const json_t *root,
                             const char *path, const struct clf__pipeline_options *options)
{
    struct clf__node node = {.value = json_object_get(root, "model"), .path = path, .section = "model"};
    struct clf__model_tokens tokens;
    if (!json_is_object(node.value)) {
        return clf__node_fail(&node, CLF_FORMAT, "is not an object; download the file again");
    }
    CLF__TRY(clf__model_find(&pipeline->kind, &node));
    node.part = pipeline->kind->name;
    CLF__TRY(clf__node_check_keys(&node, pipeline->kind->keys));
    const json_t *merges = json_object_get(node.value, "merges");
    if (options->source == CLF__PIPELINE_JSON && (json_is_true(merges) || json_is_string(merges))) {
        return clf__node_fail(&node, CLF_FORMAT, "has no list \"merges\"; download the file again");
    }
    CLF__TRY(clf__model_read_tokens(&tokens, &node, pipeline->kind));
    clf_status status = clf__added_vocabulary(&out->vocabulary, root, path, &tokens, options);
    if (status == CLF_OK) {
        status = pipeline->kind->read(&pipeline->model, &node, &tokens, &out->unknown);
    }
    clf__free(tokens.items);
    return status;
}

static clf_status read_sections(struct pipeline *pipeline, struct clf__pipeline_result *out, json_t *root,
                                const char *path, const struct clf__pipeline_options *options)
{
    struct clf__node node = {.value = root, .path = path, .section = "the file"};
    CLF__TRY(check_root(&node));
    if (options->is_rebuilt) {
        struct clf__rebuilt_settings settings = {options->class, options->unknown_token,
                                                 options->adds_prefix_space};
        CLF__TRY(clf__rebuilt_apply(root, path, &settings));
    }
    CLF__TRY(
        clf__chain_read(&pipeline->normalizer, &clf__normalizers, json_object_get(root, "normalizer"), path));
    CLF__TRY(clf__chain_read(&pipeline->pre_tokenizer, &clf__pre_tokenizers,
                             json_object_get(root, "pre_tokenizer"), path));
    CLF__TRY(clf__chain_read(&pipeline->decoder, &clf__decoders, json_object_get(root, "decoder"), path));
    CLF__TRY(clf__template_read(&out->template, json_object_get(root, "post_processor"), path));
    CLF__TRY(read_model(pipeline, out, root, path, options));
    pipeline->cleans_up = options->cleans_up && pipeline->kind->cleans_up;
    return read_found(pipeline, &out->vocabulary);
}

static clf_status check_template(const struct clf__pipeline_result *result, const char *path)
{
    const struct clf__template *template = &result->template;
    for (int i = 0; i < CLF__TEMPLATE_IDS; i++) {
        if (template->before[i] >= result->vocabulary.size ||
            template->behind[i] >= result->vocabulary.size) {
            return clf__fail(
                CLF_FORMAT,
                "%s: \"post_processor\": contains an id that has no token; download the file again", path);
        }
    }
    return CLF_OK;
}

static clf_status load(struct clf__json *json, const char *path, const struct clf__pipeline_options *options)
{
    switch (options->source) {
    case CLF__PIPELINE_SENTENCEPIECE:
        return clf__model_file_read(&json->root, path, options);
    case CLF__PIPELINE_TIKTOKEN:
        return clf__tiktoken_read(&json->root, path, options->rows);
    case CLF__PIPELINE_VOCABULARY:
        return clf__tiktoken_of_vocabulary(&json->root, options->vocabulary);
    case CLF__PIPELINE_JSON:
    default:
        return clf__json_load(json, path, limits);
    }
}

static clf_status read_file(struct clf__pipeline_result *out, const char *path,
                            const struct clf__pipeline_options *options)
{
    struct clf__json json = {.path = NULL};
    struct pipeline *pipeline = NULL;
    CLF__TRY(load(&json, path, options));
    clf_status status = clf__allocate(&pipeline, 1, sizeof *pipeline);
    if (status == CLF_OK) {
        atomic_init(&pipeline->kept, NULL);
        status = read_sections(pipeline, out, json.root, path, options);
        status = status == CLF_OK ? check_template(out, path) : status;
    }
    clf__json_free(&json);
    if (status != CLF_OK) {
        if (pipeline != NULL) {
            pipeline_free(pipeline);
        }
        clf__vocabulary_free(&out->vocabulary);
        return status;
    }
    out->state = pipeline;
    for (size_t i = 0; i < sizeof segmenters / sizeof *segmenters; i++) {
        if (segmenters[i].source == options->source &&
            (segmenters[i].kind == NULL || segmenters[i].kind == pipeline->kind)) {
            out->segmenter = &segmenters[i].segmenter;
        }
    }
    return CLF_OK;
}

clf_status clf__pipeline_read(struct clf__pipeline_result *out, const struct clf__pipeline_options *options)
{
    char *path = NULL;
    *out = (struct clf__pipeline_result){.unknown = -1};
    CLF__TRY(
        clf__path_join(&path, options->folder, options->model != NULL ? options->model : "tokenizer.json"));
    clf_status status = read_file(out, path, options);
    clf__free(path);
    return status;
}
