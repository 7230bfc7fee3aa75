#include "text/tokenizers/marian_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "text/tokenizers/segmenters/sentencepiece_library.h"
#include "text/tokenizers/tokenizer_internal.h"

enum { MOST_BYTES = 1 << 28 };

/* The state of reading a vocabulary. */
struct words {
    const char *path;
    int is_model; /* the vocabulary is a SentencePiece model */
    struct clf__token_list tokens;
    struct clf__word_ids ids;
    void *segmenter_state; /* state of the SentencePiece model, if it is one */
};

static int is_model(const char *path)
{
    return clf__ends_with(path, ".spm");
}

/* --- SentencePiece --- */

static clf_status open_model(void **state, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    CLF__TRY(
        clf__copy_bytes(&folder, slash != NULL ? path : ".", slash != NULL ? (size_t)(slash - path) : 1));
    struct clf__segmenter_folder of = {.path = folder[0] != '\0' ? folder : "/",
                                       .model = slash != NULL ? slash + 1 : path};
    clf_status status = clf__segmenter_sentencepiece.open(state, &of, 0);
    clf__free(folder);
    return status;
}

static clf_status read_model(struct words *words)
{
    CLF__TRY(open_model(&words->segmenter_state, words->path));
    CLF__TRY(clf__segmenter_sentencepiece.add_tokens(words->segmenter_state, &words->tokens, 0));
    return CLF_OK;
}

/* --- Words with ids --- */

struct word {
    const char *text;
    long id;
};

static int by_id(const void *left, const void *right)
{
    const struct word *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static clf_status list_words(struct word *list, json_t *object, const char *path)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    json_object_foreach(object, key, value)
    {
        const char *word = json_string_value(value);
        char *end = NULL;
        long id = word != NULL ? strtol(word, &end, 10) : -1;
        if (id < 0 || end == word || *end != '\0' || id >= CLF__MAX_VOCABULARY) {
            return clf__fail(CLF_FORMAT,
                             "%s: the id of \"%.80s\" is not a non-negative integer; download the file again",
                             path, key);
        }
        list[count++] = (struct word){key, id};
    }
    return CLF_OK;
}

static clf_status add_mapped(struct words *words, json_t *object)
{
    size_t count = json_object_size(object);
    struct word *list;
    CLF__TRY(clf__allocate(&list, count, sizeof *list));
    clf_status status = list_words(list, object, words->path);
    if (status == CLF_OK) {
        qsort(list, count, sizeof *list, by_id);
    }
    for (size_t i = 0; i < count && status == CLF_OK; i++) {
        if (list[i].id != (long)i) {
            status = clf__fail(
                CLF_FORMAT,
                "%s: the ids are not 0 to %zu, each once (found %ld instead of %zu); download the file again",
                words->path, count - 1, list[i].id, i);
        } else {
            status = clf__token_list_add(&words->tokens, list[i].text, strlen(list[i].text), 0);
        }
    }
    clf__free(list);
    return status;
}

/* As in Marian, a carriage return before the end of a line is not part of the word. */
static clf_status add_lines(struct words *words, const char *text)
{
    while (*text != '\0') {
        size_t line = strcspn(text, "\n"), length = line;
        length -= line > 0 && text[line - 1] == '\r';
        if (length == 0) {
            return clf__fail(CLF_FORMAT, "%s: line %d is empty; every line needs a word", words->path,
                             words->tokens.count + 1);
        }
        CLF__TRY(clf__token_list_add(&words->tokens, text, length, 0));
        text += line + (text[line] == '\n');
    }
    return CLF_OK;
}

static clf_status read_list(struct words *words)
{
    char *text;
    size_t size;
    CLF__TRY(clf__file_read(&text, &size, words->path, MOST_BYTES));
    clf_status status = CLF_OK;
    if (strlen(text) < size) {
        status =
            clf__fail(CLF_FORMAT, "%s: not a list of words (NUL byte); download the file again", words->path);
    } else if (clf__ends_with(words->path, ".yml") || clf__ends_with(words->path, ".yaml") ||
               clf__ends_with(words->path, ".json")) {
        json_t *object = NULL;
        status = clf__yaml_parse(&object, text, size, words->path, 4 * (size_t)CLF__MAX_VOCABULARY);
        if (status == CLF_OK) {
            status = add_mapped(words, object);
        }
        json_decref(object);
    } else {
        status = add_lines(words, text);
    }
    clf__free(text);
    return status;
}

/* --- Both --- */

static void close_words(struct words *words)
{
    if (words->segmenter_state != NULL) {
        clf__segmenter_sentencepiece.free(words->segmenter_state);
    }
    clf__token_list_free(&words->tokens);
}

/* Names of the special words; the second name is used in older files. */
static const char *const ends[] = {"</s>", "eos", NULL}, *const unknowns[] = {"<unk>", "UNK", NULL};

static int32_t find_special(const struct clf__vocabulary *vocabulary, const char *const *names)
{
    int32_t id = -1;
    for (; id < 0 && *names != NULL; names++) {
        id = clf__vocabulary_id(vocabulary, *names, strlen(*names));
    }
    return id;
}

/* Moves the words to *out. */
static clf_status read_words(struct clf__vocabulary *out, struct words *words)
{
    CLF__TRY(words->is_model ? read_model(words) : read_list(words));
    CLF__TRY(clf__vocabulary_take(out, &words->tokens, words->path));
    words->ids = (struct clf__word_ids){
        .count = out->size, .end = find_special(out, ends), .unknown = find_special(out, unknowns)};
    if (words->ids.end < 0) {
        return clf__fail(CLF_FORMAT, "%s: the end token \"</s>\" is missing; download the file again",
                         words->path);
    }
    return CLF_OK;
}

clf_status clf__marian_word_ids(struct clf__word_ids *out, const char *path)
{
    struct words words = {.path = path, .is_model = is_model(path)};
    struct clf__vocabulary vocabulary = {.path = NULL};
    clf_status status = read_words(&vocabulary, &words);
    *out = words.ids;
    clf__vocabulary_free(&vocabulary);
    close_words(&words);
    return status;
}

static clf_status load_side(struct clf__tokenizer_side *side, struct clf__vocabulary *vocabulary,
                            const char *path, int size)
{
    struct words words = {.path = path, .is_model = is_model(path)};
    clf_status status = read_words(vocabulary, &words);
    if (status == CLF_OK && vocabulary->size != size) {
        status = clf__fail(CLF_FORMAT, "%s: %d words, but the model has %d; download both files again", path,
                           vocabulary->size, size);
    }
    if (status == CLF_OK) {
        *side = (struct clf__tokenizer_side){
            .segmenter = words.is_model ? &clf__segmenter_sentencepiece : &clf__segmenter_words,
            .state = words.segmenter_state,
            .vocabulary = vocabulary,
            .unknown_id = words.ids.unknown,
        };
        words.segmenter_state = NULL; /* now owned by the tokenizer's side */
    }
    close_words(&words);
    return status;
}

static clf_status load(struct clf__tokenizer *tokenizer, const char *source_words, const char *target_words)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    CLF__TRY(load_side(&tokenizer->source, &tokenizer->vocabulary, source_words, options->source_vocabulary));
    if (strcmp(source_words, target_words) == 0 && options->source_vocabulary == options->target_vocabulary) {
        tokenizer->target = tokenizer->source;
    } else {
        CLF__TRY(load_side(&tokenizer->target, &tokenizer->target_vocabulary, target_words,
                           options->target_vocabulary));
    }
    return clf__tokenizer_frame(&tokenizer->framing, tokenizer, NULL, NULL);
}

clf_status clf__tokenizer_load_marian(struct clf__tokenizer **out, const char *source_words,
                                      const char *target_words, const struct clf__tokenizer_options *options)
{
    *out = NULL;
    struct clf__tokenizer *tokenizer = NULL;
    CLF__TRY(clf__allocate(&tokenizer, 1, sizeof *tokenizer));
    tokenizer->options = *options;
    clf_status status = load(tokenizer, source_words, target_words);
    if (status != CLF_OK) {
        clf__tokenizer_free(tokenizer);
        return status;
    }
    *out = tokenizer;
    return CLF_OK;
}
