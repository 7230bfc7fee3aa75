/* With source.spm and target.spm, follows transformers' MarianTokenizer (5.23): no punctuation normalization,
 * and a leading >>code<< is one token. Unlike in MarianTokenizer, "</s>" and "<pad>" in text are ordinary
 * text. With one model for both sides, the tokenizer finds added tokens first. */
#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/segmenters/sentencepiece_library.h"

enum { MAX_PART = 1 << 15 };

struct state {
    struct clf__sentencepiece *model;
    int cleans_up, joins_plainly;
    int takes_code; /* a text may begin with >>code<< */
};

static void sentencepiece_free(void *state)
{
    struct state *side = state;
    clf__sentencepiece_free(side->model);
    clf__free(side);
}

static clf_status sentencepiece_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    struct state *side = NULL;
    char *path = NULL;
    const char *name = folder->model != NULL ? folder->model : target ? "target.spm" : "source.spm";
    CLF__TRY(clf__path_join(&path, folder->path, name));
    clf_status status = clf__allocate(&side, 1, sizeof *side);
    if (status == CLF_OK) {
        side->cleans_up = folder->cleans_up;
        side->joins_plainly = folder->joins_plainly;
        side->takes_code = folder->model == NULL;
        status = clf__sentencepiece_read(&side->model, path);
    }
    clf__free(path);
    if (status != CLF_OK) {
        clf__free(side);
        return status;
    }
    *state = side;
    return CLF_OK;
}

static clf_status sentencepiece_add_tokens(const void *state, struct clf__token_list *tokens, int skipped)
{
    const struct state *side = state;
    return clf__sentencepiece_add_pieces(side->model, tokens, skipped);
}

/* Returns the length of a leading >>code<<, or 0. */
static size_t code_length(const char *text, size_t size)
{
    if (size < 4 || memcmp(text, ">>", 2) != 0) {
        return 0;
    }
    for (size_t i = 2; i + 2 <= size; i++) {
        if (memcmp(text + i, "<<", 2) == 0) {
            return i + 2;
        }
    }
    return 0;
}

/* Returns where to split a text so that the first part has at most `most` bytes: at a space or, if there is
 * none, between two characters. */
static size_t part_length(const char *text, size_t size, size_t most)
{
    if (size <= most) {
        return size;
    }
    for (size_t i = most; i > most / 2; i--) {
        if (text[i] == ' ') {
            return i;
        }
    }
    return clf__utf8_cut(text, most);
}

/* SentencePiece takes quadratic time on runs of unknown characters, so long texts are split; the space at a
 * split is skipped, because SentencePiece adds one before each part. If a model's normalizer expands every
 * letter, the parts are smaller, down to a limit that is an error. */
static clf_status segment_parts(const struct clf__sentencepiece *model, const char *text, size_t size,
                                clf__token_function *function, void *user)
{
    while (size > 0) {
        size_t most = size < MAX_PART ? size : MAX_PART;
        size_t fit;
        CLF__TRY(clf__sentencepiece_fit(model, &fit, text, most));
        size_t part = part_length(text, size, fit);
        CLF__TRY(clf__sentencepiece_encode(model, text, part, function, user));
        part += part < size && text[part] == ' ';
        text += part;
        size -= part;
    }
    return CLF_OK;
}

static clf_status sentencepiece_segment(const void *state, const char *text, size_t size,
                                        clf__token_function *function, void *user)
{
    const struct state *side = state;
    const struct clf__sentencepiece *model = side->model;
    size_t code = side->takes_code ? code_length(text, size) : 0;
    if (code > 0) {
        CLF__TRY(function(user, text, code));
    }
    text += code;
    size -= code;
    if (!memchr(text, '\0', size)) {
        return segment_parts(model, text, size, function, user);
    }
    char *spaced = NULL;
    CLF__TRY(clf__copy_bytes(&spaced, text, size));
    for (size_t i = 0; i < size; i++) {
        spaced[i] = spaced[i] == '\0' ? ' ' : spaced[i];
    }
    clf_status status = segment_parts(model, spaced, size, function, user);
    clf__free(spaced);
    return status;
}

/* Joins tokens as the Metaspace decoder of Hugging Face tokenizers does: every mark becomes a space, except
 * in the first token, where marks are dropped. */
static clf_status join_plainly(char **text, const char *const *tokens, int count)
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(tokens[i]);
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        strcpy(end, tokens[i]);
        clf__text_replace(end, "\u2581", i == 0 ? "" : " ");
        end += strlen(end);
    }
    return CLF_OK;
}

static clf_status sentencepiece_join(const void *state, char **text, const char *const *tokens, int count)
{
    const struct state *side = state;
    if (side->joins_plainly) {
        CLF__TRY(join_plainly(text, tokens, count));
    } else {
        CLF__TRY(clf__sentencepiece_decode(side->model, text, tokens, count));
        clf__text_replace(*text, "\u2581",
                          " "); /* as in transformers, for tokens that the model does not have */
        clf__text_strip(*text);
    }
    if (side->cleans_up) {
        clf__text_clean_up(*text);
    }
    return CLF_OK;
}

const struct clf__segmenter clf__segmenter_sentencepiece = {
    .name = "sentencepiece",
    .has_model = 1,
    .open = sentencepiece_open,
    .free = sentencepiece_free,
    .add_tokens = sentencepiece_add_tokens,
    .segment = sentencepiece_segment,
    .join = sentencepiece_join,
};
