/* Tokenizers of GPT-2 and BART: splits words with GPT-2's pattern (Radford et al. 2019, encoder.py) and
 * applies byte-pair encoding to each. */
#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/segmenters/byte_level.h"
#include "text/tokenizers/segmenters/byte_pairs.h"

struct state {
    struct clf__byte_pairs pairs;
    int adds_prefix_space;
};

static void byte_level_free(void *state)
{
    struct state *side = state;
    clf__byte_pairs_free(&side->pairs);
    clf__free(side);
}

static clf_status byte_level_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    (void)target;
    struct state *side = NULL;
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder->path, folder->model));
    clf_status status = clf__allocate(&side, 1, sizeof *side);
    if (status == CLF_OK) {
        side->adds_prefix_space = folder->adds_prefix_space;
        status = clf__byte_pairs_read(&side->pairs, path);
    }
    clf__free(path);
    if (status != CLF_OK) {
        clf__free(side);
        return status;
    }
    *state = side;
    return CLF_OK;
}

enum kind { OTHER, LETTER, NUMBER, SPACE, END };

/* Classifies the character at `at`; *next is set to its end. */
static enum kind kind_at(const char *text, size_t size, size_t at, size_t *next)
{
    const uint8_t *bytes = (const uint8_t *)text;
    UChar32 character;
    if (at >= size) {
        return END;
    }
    *next = at;
    U8_NEXT(bytes, *next, size, character);
    uint32_t mask = U_MASK(u_charType(character));
    return (mask & U_GC_L_MASK) != 0    ? LETTER
           : (mask & U_GC_N_MASK) != 0  ? NUMBER
           : u_isUWhiteSpace(character) ? SPACE
                                        : OTHER;
}

/* Returns the size of a contraction at the start of a text: 's 't 're 've 'm 'll 'd; 0: none. */
static size_t contraction(const char *text, size_t size)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (size_t i = 0; text[0] == '\'' && i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (length < size && memcmp(text + 1, endings[i], length) == 0) {
            return 1 + length;
        }
    }
    return 0;
}

/* Returns the size of white space; the last space belongs to the next word. */
static size_t spaces(const char *text, size_t size)
{
    size_t end = 0, last = 0, next = 0;
    while (kind_at(text, size, end, &next) == SPACE) {
        last = end;
        end = next;
    }
    return end < size && last > 0 ? last : end;
}

size_t clf__byte_level_word(const char *text, size_t size)
{
    size_t length = contraction(text, size);
    if (length > 0) {
        return length;
    }
    size_t start = text[0] == ' ', end = 0;
    enum kind kind = kind_at(text, size, start, &end);
    if (kind == SPACE || kind == END) {
        return spaces(text, size);
    }
    size_t next = end;
    while (kind_at(text, size, end, &next) == kind) {
        end = next;
    }
    return end;
}

static clf_status cut_words(const struct state *side, struct clf__merge_work *work, const char *text,
                            size_t size, clf__token_function *function, void *user)
{
    for (size_t length; size > 0; text += length, size -= length) {
        length = clf__byte_level_word(text, size);
        CLF__TRY(clf__byte_pairs_cut(&side->pairs, work, text, length, function, user));
    }
    return CLF_OK;
}

static clf_status byte_level_segment(const void *state, const char *text, size_t size,
                                     clf__token_function *function, void *user)
{
    const struct state *side = state;
    struct clf__merge_work work = {.capacity = 0};
    char *spaced = NULL;
    if (side->adds_prefix_space && size > 0 && text[0] != ' ') {
        CLF__TRY(clf__allocate(&spaced, size + 1, 1));
        spaced[0] = ' ';
        memcpy(spaced + 1, text, size);
        text = spaced;
        size++;
    }
    clf_status status = cut_words(side, &work, text, size, function, user);
    clf__merge_work_free(&work);
    clf__free(spaced);
    return status;
}

size_t clf__byte_level_repair(char *out, const char *bytes, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *end = out;
    for (size_t at = 0; at < size;) {
        size_t next = at;
        UChar32 character;
        U8_NEXT((const uint8_t *)bytes, next, size, character);
        const char *from = character < 0 ? replacement : character == 0 ? " " : bytes + at;
        size_t length = character < 0 ? sizeof replacement - 1 : next - at;
        memcpy(end, from, length);
        end += length;
        at = next;
    }
    return (size_t)(end - out);
}

size_t clf__byte_level_bytes(char *out, const char *token, size_t size)
{
    size_t count = 0;
    for (const char *at = token; at < token + size;) {
        int byte = clf__byte_pairs_byte(&at);
        if (byte < 0) { /* a token with other characters, such as an added token, is copied literally */
            memcpy(out, token, size);
            return size;
        }
        out[count++] = (char)byte;
    }
    return count;
}

static clf_status byte_level_join(const void *state, char **text, const char *const *tokens, int count)
{
    (void)state;
    size_t most = 0, size = 0;
    for (int i = 0; i < count; i++) {
        most += strlen(tokens[i]);
    }
    char *bytes = NULL;
    CLF__TRY(clf__allocate(&bytes, most, 1));
    for (int i = 0; i < count; i++) {
        size += clf__byte_level_bytes(bytes + size, tokens[i], strlen(tokens[i]));
    }
    clf_status status = clf__allocate(text, 3 * size + 1, 1);
    if (status == CLF_OK) {
        clf__byte_level_repair(*text, bytes, size);
    }
    clf__free(bytes);
    return status;
}

const struct clf__segmenter clf__segmenter_byte_level = {
    .name = "byte-level",
    .has_model = 1,
    .open = byte_level_open,
    .free = byte_level_free,
    .segment = byte_level_segment,
    .join = byte_level_join,
};
