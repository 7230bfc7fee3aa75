#include "text/tokenizers/token_finder.h"

#include <stdlib.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/tokenizers/token_list.h"
#include "text/tokenizers/vocabulary.h"

void clf__token_finder_free(struct clf__token_finder *found)
{
    for (int i = 0; i < found->count; i++) {
        clf__free(found->items[i].text);
    }
    clf__free(found->items);
    *found = (struct clf__token_finder){.count = 0};
}

clf_status clf__token_finder_add(struct clf__token_finder *found, const char *text, size_t size, int32_t id,
                                 int marks)
{
    CLF__TRY(clf__grow(&found->items, found->count, &found->capacity, sizeof *found->items));
    struct clf__finder_token *token = &found->items[found->count];
    CLF__TRY(clf__copy_bytes(&token->text, text, size));
    token->size = size;
    token->id = id;
    token->marks = marks;
    found->count++;
    return CLF_OK;
}

static int by_bytes(const void *left, const void *right)
{
    const struct clf__finder_token *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (order != 0) {
        return order;
    }
    return a->size != b->size ? (a->size > b->size) - (a->size < b->size) : (a->id < b->id) - (a->id > b->id);
}

/* Sets `shorter` of each token. The items are sorted, so each follows all of its prefixes. */
static void find_shorter(struct clf__finder_token *items, int count)
{
    for (int i = 0; i < count; i++) {
        int k = i - 1;
        while (k >= 0 &&
               (items[k].size >= items[i].size || memcmp(items[k].text, items[i].text, items[k].size) != 0)) {
            k = items[k].shorter;
        }
        items[i].shorter = k;
    }
}

static void set_pair(struct clf__token_finder *found, int first, int second)
{
    int pair = first << 8 | second;
    found->pairs[pair / 64] |= (uint64_t)1 << (pair % 64);
}

void clf__token_finder_sort(struct clf__token_finder *found)
{
    if (found->count > 0) {
        qsort(found->items, (size_t)found->count, sizeof *found->items, by_bytes);
        find_shorter(found->items, found->count);
    }
    memset(found->first, 0, sizeof found->first);
    memset(found->pairs, 0, sizeof found->pairs);
    for (int i = 0; i < found->count; i++) {
        const struct clf__finder_token *token = &found->items[i];
        const unsigned char *bytes = (const unsigned char *)token->text;
        found->first[bytes[0] + 1]++;
        for (int second = 0; second < 256; second++) { /* a token of one byte precedes any other */
            if (token->size == 1 || second == bytes[1]) {
                set_pair(found, bytes[0], second);
            }
        }
    }
    for (int byte = 0; byte < 256; byte++) {
        found->first[byte + 1] += found->first[byte];
    }
}

clf_status clf__token_finder_collect(struct clf__token_finder *out, const struct clf__vocabulary *vocabulary)
{
    for (int32_t id = 0; id < vocabulary->size; id++) {
        const char *token = vocabulary->tokens[id];
        int marks = vocabulary->marks[id];
        if ((marks & CLF__TOKEN_FOUND) != 0 && (marks & CLF__TOKEN_NORMALIZED) == 0 && *token != '\0') {
            CLF__TRY(clf__token_finder_add(out, token, strlen(token), id, marks));
        }
    }
    clf__token_finder_sort(out);
    return CLF_OK;
}

/* A word character as defined for Unicode regular expressions. */
static int is_word(UChar32 character)
{
    uint32_t mask = U_MASK(u_charType(character));
    return character >= 0 && ((mask & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
                              u_hasBinaryProperty(character, UCHAR_ALPHABETIC) ||
                              u_hasBinaryProperty(character, UCHAR_JOIN_CONTROL));
}

/* Returns the start of the character that ends at `at` in valid UTF-8. */
static size_t previous(const char *text, size_t at)
{
    do {
        at--;
    } while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

static int stands_alone(const char *text, size_t size, size_t start, size_t end)
{
    const uint8_t *bytes = (const uint8_t *)text;
    UChar32 before = -1, behind = -1;
    if (start > 0) {
        size_t at = previous(text, start);
        U8_NEXT(bytes, at, start, before);
    }
    if (end < size) {
        size_t at = end;
        U8_NEXT(bytes, at, size, behind);
    }
    return !is_word(before) && !is_word(behind);
}

/* Extends the match over the white space that the token absorbs. */
static void take_spaces(struct clf__token_match *match, int marks, const char *text, size_t size, size_t from)
{
    const uint8_t *bytes = (const uint8_t *)text;
    UChar32 character;
    while ((marks & CLF__TOKEN_LSTRIP) != 0 && match->start > from) {
        size_t before = previous(text, match->start), at = before;
        U8_NEXT(bytes, at, match->start, character);
        if (character < 0 || !u_isUWhiteSpace(character)) {
            break;
        }
        match->start = before;
    }
    for (size_t at = match->end; (marks & CLF__TOKEN_RSTRIP) != 0 && at < size; match->end = at) {
        U8_NEXT(bytes, at, size, character);
        if (character < 0 || !u_isUWhiteSpace(character)) {
            break;
        }
    }
}

/* Returns the longest added token at the beginning of a text. */
static const struct clf__finder_token *token_at(const struct clf__token_finder *found, const char *text,
                                                size_t size)
{
    unsigned char byte = (unsigned char)text[0];
    int pair = byte << 8 | (size > 1 ? (unsigned char)text[1] : 0);
    if (size > 1 && (found->pairs[pair / 64] >> (pair % 64) & 1) == 0) {
        return NULL;
    }
    int low = found->first[byte], high = found->first[byte + 1];
    while (low < high) { /* ends just after the last token that sorts at or before the text */
        int middle = low + (high - low) / 2;
        const struct clf__finder_token *token = &found->items[middle];
        int order = memcmp(token->text, text, token->size < size ? token->size : size);
        int is_after = order > 0 || (order == 0 && token->size > size);
        low = is_after ? low : middle + 1;
        high = is_after ? middle : high;
    }
    if (low == found->first[byte]) {
        return NULL;
    }
    /* All tokens at the beginning of the text are prefixes of this one. */
    const struct clf__finder_token *last = &found->items[low - 1];
    size_t common = 0;
    while (common < last->size && common < size && last->text[common] == text[common]) {
        common++;
    }
    while (last->size > common && last->shorter >= 0) {
        last = &found->items[last->shorter];
    }
    return last->size <= common ? last : NULL;
}

int clf__token_finder_next(const struct clf__token_finder *found, struct clf__token_match *out,
                           const char *text, size_t size, size_t from)
{
    for (size_t i = from; found->count > 0 && i < size; i++) {
        const struct clf__finder_token *token = token_at(found, text + i, size - i);
        if (token == NULL) {
            continue;
        }
        if ((token->marks & CLF__TOKEN_SINGLE_WORD) != 0 && !stands_alone(text, size, i, i + token->size)) {
            i += token->size - 1;
            continue;
        }
        *out = (struct clf__token_match){i, i + token->size, token->id};
        take_spaces(out, token->marks, text, size, from);
        return 1;
    }
    return 0;
}
