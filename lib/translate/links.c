/* The alignment of a sentence and its translation, as parts of both texts. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/token_list.h"
#include "translate/internal.h"

/* A part of a text. */
struct piece {
    size_t start, size;
};

/* Reads the tokens of a sentence as written, after the text that the model expects before it. *before
 * receives the size of that text. */
static clf_status read_tokens(struct clf__token_list *tokens, char **whole, size_t *before,
                              const struct clf__settings *settings, const struct clf_line *source)
{
    const char *word = settings->framing.word, *prefix = settings->source_prefix;
    struct clf_line line;
    char *made;
    CLF__TRY(clf__source_text(&line, &made, settings, source));
    clf_status status = clf__tokenizer_source_tokens(settings->model->tokenizer, &settings->framing, tokens,
                                                     line.text, line.size, settings->options.subwords);
    if (status == CLF_OK) {
        *before = (word != NULL ? strlen(word) + 1 : 0) + (prefix != NULL ? strlen(prefix) : 0);
        status = clf__format(whole, "%s%s%.*s", word != NULL ? word : "", word != NULL ? " " : "",
                             (int)line.size, line.text);
    }
    clf__free(made);
    return status;
}

/* Returns the letters of a token, without the marks of its tokenizer for the beginning or the end of a word.
 */
static struct clf_line letters_of(const char *token)
{
    static const char *const before[] = {"\xe2\x96\x81" /* SentencePiece */, "\xc4\xa0" /* byte-level BPE */};
    static const char *const after[] = {"@@", "</w>"};
    struct clf_line letters = {token, strlen(token)};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t size = strlen(before[i]);
        while (letters.size >= size && memcmp(letters.text, before[i], size) == 0) {
            letters.text += size;
            letters.size -= size;
        }
    }
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        size_t size = strlen(after[i]);
        if (letters.size > size && memcmp(letters.text + letters.size - size, after[i], size) == 0) {
            letters.size -= size;
        }
    }
    return letters;
}

/* Returns the position of letters in a text within a few bytes of `at`; SIZE_MAX: they are not there. */
static size_t find_near(const char *text, size_t size, size_t at, struct clf_line letters)
{
    enum { NEAR = 16 };
    for (size_t i = at; i < at + NEAR && letters.size > 0 && i + letters.size <= size; i++) {
        if (memcmp(text + i, letters.text, letters.size) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Finds the token after another one. A normaliser may have changed the letters of the text: then the token
 * gets as many letters of the word, or else the text of the token before it, and the next token that is in
 * the text as it is corrects the position. */
static struct piece find_token(const char *text, size_t size, struct piece last, const char *token)
{
    struct clf_line letters = letters_of(token);
    size_t at = last.start + last.size, found = find_near(text, size, at, letters);
    if (letters.size == 0) {
        return (struct piece){at, 0};
    }
    if (found != SIZE_MAX) {
        return (struct piece){found, letters.size};
    }
    while (letters.text != token && at < size && isspace((unsigned char)text[at])) {
        at++;
    }
    size_t end = at, count = clf__utf8_count(letters.text, letters.size);
    for (; count > 0 && end < size && !isspace((unsigned char)text[end]); count--) {
        for (end++; end < size && ((unsigned char)text[end] & 0xc0) == 0x80; end++) {
        }
    }
    return end > at ? (struct piece){at, end - at} : last;
}

/* Finds the tokens of a sentence in its text; a token before the sentence has size 0. */
static clf_status find_source(struct piece **out, int *count, const struct clf__settings *settings,
                              const struct clf_line *source)
{
    struct clf__token_list tokens = {.count = 0};
    struct piece *pieces = NULL;
    char *whole = NULL;
    struct piece last = {.size = 0};
    size_t before = 0;
    clf_status status = read_tokens(&tokens, &whole, &before, settings, source);
    if (status == CLF_OK) {
        status = clf__allocate(&pieces, (size_t)tokens.count, sizeof *pieces);
    }
    for (int i = 0; status == CLF_OK && i < tokens.count; i++) {
        last = find_token(whole, before + source->size, last, clf__token_list_at(&tokens, i));
        pieces[i] =
            last.start >= before ? (struct piece){last.start - before, last.size} : (struct piece){.size = 0};
    }
    *out = pieces;
    *count = tokens.count;
    clf__token_list_free(&tokens);
    clf__free(whole);
    return status;
}

/* Sets ends[i] to the size of the text of the first i + 1 tokens. */
static clf_status find_ends(size_t *ends, const struct clf__settings *settings,
                            const struct clf_hypothesis *hypothesis)
{
    size_t end = 0;
    for (int i = 0; i < hypothesis->count; i++) {
        char *text;
        CLF__TRY(clf__tokenizer_decode(settings->model->tokenizer, &text, hypothesis->ids, i + 1,
                                       settings->options.subwords));
        size_t same = 0; /* later tokens may change the end of a text */
        while (text[same] != '\0' && text[same] == hypothesis->text[same]) {
            same++;
        }
        same = clf__utf8_cut(hypothesis->text, same);
        end = same > end ? same : end;
        ends[i] = end;
        clf__free(text);
    }
    return CLF_OK;
}

clf_status clf__links_of_text(struct clf_alignment_link **out, int *count,
                              const struct clf__settings *settings, const struct clf_line *source,
                              const struct clf_hypothesis *hypothesis)
{
    struct piece *pieces = NULL;
    size_t *ends = NULL, start = 0;
    int most = 0;
    *out = NULL;
    *count = 0;
    clf_status status = find_source(&pieces, &most, settings, source);
    if (status == CLF_OK) {
        status = clf__allocate(&ends, (size_t)hypothesis->count, sizeof *ends);
    }
    if (status == CLF_OK) {
        status = find_ends(ends, settings, hypothesis);
    }
    if (status == CLF_OK) {
        status = clf__allocate(out, (size_t)hypothesis->count, sizeof **out);
    }
    for (int i = 0; status == CLF_OK && i < hypothesis->count; i++) {
        int token = hypothesis->alignment[i];
        while (start < ends[i] && hypothesis->text[start] == ' ') {
            start++;
        }
        if (token >= 0 && token < most && pieces[token].size > 0 && start < ends[i]) {
            (*out)[(*count)++] =
                (struct clf_alignment_link){pieces[token].start, pieces[token].size, start, ends[i] - start};
        }
        start = ends[i];
    }
    clf__free(pieces);
    clf__free(ends);
    return status;
}
