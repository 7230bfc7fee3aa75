/* Decoders join the words of the list, which are tokens, into text. */
#include "text/tokenizers/json/part.h"

#include <stdio.h>
#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/json/metaspace.h"
#include "text/tokenizers/json/replace.h"
#include "text/tokenizers/segmenters/byte_level.h"

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

/* Joins the bytes of all tokens into one text. */
static clf_status run_byte_level(const void *state, struct clf__word_list *out,
                                 const struct clf__word_list *in)
{
    (void)state;
    char *bytes = NULL;
    size_t size = 0;
    CLF__TRY(clf__allocate(&bytes, 4 * in->size + 1, 1)); /* bytes of the tokens, then the repaired text */
    for (int i = 0; i < in->count; i++) {
        size += clf__byte_level_bytes(bytes + size, in->bytes + in->items[i].start, in->items[i].size);
    }
    size_t made = clf__byte_level_repair(bytes + in->size, bytes, size);
    clf_status status = clf__word_list_add(out, bytes + in->size, made, 1);
    clf__free(bytes);
    return status;
}

static clf_status run_metaspace(const void *state, struct clf__word_list *out,
                                const struct clf__word_list *in)
{
    const struct clf__metaspace *meta = state;
    for (int i = 0; i < in->count; i++) {
        const char *text = in->bytes + in->items[i].start, *end = text + in->items[i].size;
        while (text < end) {
            int is_mark =
                (size_t)(end - text) >= meta->mark_size && memcmp(text, meta->mark, meta->mark_size) == 0;
            int is_dropped = is_mark && i == 0 && meta->prepends != CLF__METASPACE_NEVER;
            CLF__TRY(clf__word_list_put(out, is_mark ? " " : text, !is_dropped));
            text += is_mark ? meta->mark_size : 1;
        }
        CLF__TRY(clf__word_list_end(out, in->items[i].is_first));
    }
    return CLF_OK;
}

static clf_status run_fuse(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    (void)state;
    return clf__word_list_add(out, in->bytes, in->size, 1);
}

/* ---- ByteFallback */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* Returns the byte value of a token <0xNN>, or -1. */
static int byte_of(const char *text, size_t size)
{
    int high = -1, low = -1;
    if (size == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>') {
        high = text[3] == '+' ? 0 : digit_of(text[3]); /* Rust's number parser accepts a sign */
        low = digit_of(text[4]);
    }
    return high >= 0 && low >= 0 ? 16 * high + low : -1;
}

/* Adds a run of bytes: unchanged if valid UTF-8, otherwise U+FFFD for each byte. NUL becomes a space. */
static clf_status end_bytes(struct clf__word_list *out, char *bytes, size_t *size)
{
    size_t count = *size;
    *size = 0;
    if (count == 0) {
        return CLF_OK;
    }
    if (clf__utf8_valid_prefix(bytes, count) == count) {
        for (size_t i = 0; i < count; i++) {
            bytes[i] = bytes[i] == '\0' ? ' ' : bytes[i];
        }
        return clf__word_list_add(out, bytes, count, 0);
    }
    for (size_t i = 0; i < count; i++) {
        CLF__TRY(clf__word_list_add(out, "\xef\xbf\xbd", 3, 0));
    }
    return CLF_OK;
}

static clf_status fall_back(struct clf__word_list *out, const struct clf__word_list *in, char *bytes)
{
    size_t size = 0;
    for (int i = 0; i < in->count; i++) {
        const char *text = in->bytes + in->items[i].start;
        int byte = byte_of(text, in->items[i].size);
        if (byte >= 0) {
            bytes[size++] = (char)byte;
            continue;
        }
        CLF__TRY(end_bytes(out, bytes, &size));
        CLF__TRY(clf__word_list_add(out, text, in->items[i].size, in->items[i].is_first));
    }
    return end_bytes(out, bytes, &size);
}

static clf_status run_byte_fallback(const void *state, struct clf__word_list *out,
                                    const struct clf__word_list *in)
{
    (void)state;
    char *bytes = NULL;
    CLF__TRY(clf__resize(&bytes, (size_t)in->count + 1, 1));
    clf_status status = fall_back(out, in, bytes);
    clf__free(bytes);
    return status;
}

/* ---- BPEDecoder, WordPiece */

static clf_status keep_string(void **state, const char *text)
{
    char *kept = NULL;
    CLF__TRY(clf__copy_string(&kept, text));
    *state = kept;
    return CLF_OK;
}

static clf_status read_bpe(void **state, const struct clf__node *node)
{
    const char *suffix = "</w>";
    CLF__TRY(clf__node_string(node, "suffix", &suffix));
    return keep_string(state, suffix);
}

static clf_status run_bpe(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    const char *suffix = state;
    size_t length = strlen(suffix);
    for (int i = 0; i < in->count; i++) {
        const char *text = in->bytes + in->items[i].start;
        for (size_t at = 0, size = in->items[i].size; at < size;) {
            int is_suffix = length > 0 && size - at >= length && memcmp(text + at, suffix, length) == 0;
            CLF__TRY(clf__word_list_put(out, is_suffix ? " " : text + at, !is_suffix || i + 1 < in->count));
            at += is_suffix ? length : 1;
        }
        CLF__TRY(clf__word_list_end(out, in->items[i].is_first));
    }
    return CLF_OK;
}

struct word_piece {
    char *prefix;
    int cleans_up;
};

static void free_word_piece(void *state)
{
    clf__free(((struct word_piece *)state)->prefix);
    clf__free(state);
}

static clf_status read_word_piece(void **state, const struct clf__node *node)
{
    const char *prefix = "##";
    int cleans_up = 1;
    struct word_piece *token = NULL;
    CLF__TRY(clf__node_string(node, "prefix", &prefix));
    CLF__TRY(clf__node_bool(node, "cleanup", &cleans_up));
    CLF__TRY(clf__allocate(&token, 1, sizeof *token));
    token->cleans_up = cleans_up;
    clf_status status = clf__copy_string(&token->prefix, prefix);
    if (status != CLF_OK) {
        clf__free(token);
        return status;
    }
    *state = token;
    return CLF_OK;
}

/* Applies the cleanup rules of transformers, and one additional rule, to each token separately. */
static clf_status put_clean(struct clf__word_list *out, const char *text, size_t size)
{
    char *copy = NULL;
    CLF__TRY(clf__copy_bytes(&copy, text, size));
    clf__text_clean_up_token(copy);
    clf_status status = clf__word_list_put(out, copy, strlen(copy));
    clf__free(copy);
    return status;
}

static clf_status run_word_piece(const void *state, struct clf__word_list *out,
                                 const struct clf__word_list *in)
{
    const struct word_piece *token = state;
    size_t length = strlen(token->prefix);
    struct clf__word_list joined = {.size = 0};
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < in->count; i++) {
        const char *text = in->bytes + in->items[i].start;
        size_t size = in->items[i].size;
        int goes_on = i > 0 && size >= length && memcmp(text, token->prefix, length) == 0;
        clf__word_list_clear(&joined);
        status = clf__word_list_put(&joined, " ", i > 0 && !goes_on);
        if (status == CLF_OK) {
            status =
                clf__word_list_put(&joined, text + (goes_on ? length : 0), size - (goes_on ? length : 0));
        }
        if (status == CLF_OK) {
            status = token->cleans_up ? put_clean(out, joined.bytes, joined.size)
                                      : clf__word_list_put(out, joined.bytes, joined.size);
        }
        status = status == CLF_OK ? clf__word_list_end(out, in->items[i].is_first) : status;
    }
    clf__word_list_free(&joined);
    return status;
}

/* ---- Strip */

struct strip {
    char content[U8_MAX_LENGTH]; /* (size) */
    size_t size;
    int start, stop;
};

static clf_status read_strip(void **state, const struct clf__node *node)
{
    enum { MOST = 1 << 20 };
    struct strip strip = {.start = 0}, *kept = NULL;
    UChar32 content = ' ';
    CLF__TRY(clf__node_character(node, "content", &content));
    CLF__TRY(clf__node_int(node, "start", 0, MOST, &strip.start));
    CLF__TRY(clf__node_int(node, "stop", 0, MOST, &strip.stop));
    U8_APPEND_UNSAFE((uint8_t *)strip.content, strip.size, content);
    CLF__TRY(clf__allocate(&kept, 1, sizeof *kept));
    *kept = strip;
    *state = kept;
    return CLF_OK;
}

static clf_status run_strip(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    const struct strip *strip = state;
    for (int i = 0; i < in->count; i++) {
        const char *start = in->bytes + in->items[i].start, *end = start + in->items[i].size;
        for (int k = 0; k < strip->start && (size_t)(end - start) >= strip->size &&
                        memcmp(start, strip->content, strip->size) == 0;
             k++) {
            start += strip->size;
        }
        for (int k = 0; k < strip->stop && (size_t)(end - start) >= strip->size &&
                        memcmp(end - strip->size, strip->content, strip->size) == 0;
             k++) {
            end -= strip->size;
        }
        CLF__TRY(clf__word_list_add(out, start, (size_t)(end - start), in->items[i].is_first));
    }
    return CLF_OK;
}

static const struct clf__part_kind kinds[] = {
    {"BPEDecoder", "type suffix", read_bpe, NULL, run_bpe},
    {"ByteFallback", "type", NULL, NULL, run_byte_fallback},
    {"ByteLevel", "type add_prefix_space trim_offsets use_regex", NULL, NULL, run_byte_level},
    {"Fuse", "type", NULL, NULL, run_fuse},
    {"Metaspace", CLF__METASPACE_KEYS, clf__metaspace_read, NULL, run_metaspace},
    {"Replace", "type pattern content", clf__replace_read, clf__replace_free, clf__replace_run},
    {"Strip", "type content start stop", read_strip, NULL, run_strip},
    {"WordPiece", "type prefix cleanup", read_word_piece, free_word_piece, run_word_piece},
};
const struct clf__part_section clf__decoders = {"decoder", "decoders", kinds, ROWS(kinds)};
