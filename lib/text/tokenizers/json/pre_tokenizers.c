/* Pre-tokenizers split a text into words before the model segments it. */
#include "text/tokenizers/json/part.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/tokenizers/json/metaspace.h"
#include "text/tokenizers/json/pattern.h"
#include "text/tokenizers/json/split.h"
#include "text/tokenizers/json/unicode.h"
#include "text/tokenizers/segmenters/byte_level.h"
#include "text/tokenizers/segmenters/byte_pairs.h"

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

/* Tests whether a character matches, for split_characters(). */
typedef int character_test(const void *state, UChar32 character);

static clf_status split_word(const void *state, struct clf__word_list *out, const struct clf__word_list *in,
                             const struct clf__word *word, character_test *test, enum clf__split behaviour)
{
    struct clf__splitter splitter;
    const char *text = in->bytes + word->start;
    size_t done = 0;
    clf__splitter_begin(&splitter, out, text, word->is_first, behaviour);
    for (size_t at = 0, next = 0; at < word->size; at = next) {
        UChar32 character;
        U8_NEXT_UNSAFE((const uint8_t *)text, next, character);
        if (test(state, character)) {
            if (done < at) {
                CLF__TRY(clf__splitter_add(&splitter, done, at, 0));
            }
            CLF__TRY(clf__splitter_add(&splitter, at, next, 1));
            done = next;
        }
    }
    if (done < word->size) {
        CLF__TRY(clf__splitter_add(&splitter, done, word->size, 0));
    }
    return clf__splitter_end(&splitter);
}

static clf_status split_characters(const void *state, struct clf__word_list *out,
                                   const struct clf__word_list *in, character_test *test,
                                   enum clf__split behaviour)
{
    for (int i = 0; i < in->count; i++) {
        CLF__TRY(split_word(state, out, in, &in->items[i], test, behaviour));
    }
    return CLF_OK;
}

static int is_space(const void *state, UChar32 character)
{
    (void)state;
    return u_isUWhiteSpace(character);
}

static clf_status run_whitespace_split(const void *state, struct clf__word_list *out,
                                       const struct clf__word_list *in)
{
    return split_characters(state, out, in, is_space, CLF__SPLIT_REMOVED);
}

static int is_punctuation(const void *state, UChar32 character)
{
    (void)state;
    int is_ascii = (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
                   (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
    return is_ascii || (clf__category_of(CLF__UNICODE_OF_CATEGORIES, character) & U_GC_P_MASK) != 0;
}

static int is_space_or_punctuation(const void *state, UChar32 character)
{
    return is_space(state, character) || is_punctuation(state, character);
}

/* Drops white space and isolates punctuation. White space is first split off into words and then removed. */
static clf_status run_bert(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    for (int i = 0; i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        const char *text = in->bytes + word->start;
        size_t done = 0;
        for (size_t at = 0, next = 0; at < word->size; at = next) {
            UChar32 character;
            U8_NEXT_UNSAFE((const uint8_t *)text, next, character);
            if (is_space_or_punctuation(state, character)) {
                CLF__TRY(clf__word_list_add(out, text + done, at - done, word->is_first && done == 0));
                if (!is_space(state, character)) {
                    CLF__TRY(clf__word_list_add(out, text + at, next - at, word->is_first && at == 0));
                }
                done = next;
            }
        }
        CLF__TRY(clf__word_list_add(out, text + done, word->size - done, word->is_first && done == 0));
    }
    return CLF_OK;
}

/* ---- Split and pre-tokenizers derived from it */

static const char *const behaviours[] = {
    [CLF__SPLIT_REMOVED] = "Removed",
    [CLF__SPLIT_ISOLATED] = "Isolated",
    [CLF__SPLIT_CONTIGUOUS] = "Contiguous",
    [CLF__SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
    [CLF__SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
};

static clf_status read_behaviour(enum clf__split *out, const struct clf__node *node)
{
    const char *name = behaviours[*out];
    CLF__TRY(clf__node_string(node, "behavior", &name));
    for (int i = 0; i < ROWS(behaviours); i++) {
        if (strcmp(behaviours[i], name) == 0) {
            *out = (enum clf__split)i;
            return CLF_OK;
        }
    }
    return clf__node_fail(
        node, CLF_UNSUPPORTED,
        "the behavior \"%.40s\" is not supported; use the files from which the tokenizer was converted",
        name);
}

struct split {
    struct clf__pattern pattern;
    enum clf__split behaviour;
    int is_inverted;
    UChar32 delimiter;
};

static void free_split(void *state)
{
    struct split *split = state;
    clf__pattern_free(&split->pattern);
    clf__free(split);
}

static clf_status keep_split(void **state, const struct split *split)
{
    struct split *kept = NULL;
    CLF__TRY(clf__allocate(&kept, 1, sizeof *kept));
    *kept = *split;
    *state = kept;
    return CLF_OK;
}

static clf_status read_split(void **state, const struct clf__node *node)
{
    struct split split = {.behaviour = CLF__SPLIT_ISOLATED};
    CLF__TRY(clf__node_bool(node, "invert", &split.is_inverted));
    CLF__TRY(read_behaviour(&split.behaviour, node));
    CLF__TRY(clf__pattern_read(&split.pattern, node, "pattern"));
    clf_status status = keep_split(state, &split);
    if (status != CLF_OK) {
        clf__pattern_free(&split.pattern);
    }
    return status;
}

static clf_status split_at(const struct split *split, struct clf__pattern_search *search,
                           struct clf__word_list *out, const char *text, const struct clf__word *word)
{
    struct clf__splitter splitter;
    struct clf__pattern_match match = {0, 0};
    size_t done = 0;
    int found = 1;
    clf__pattern_text(search, text, word->size);
    clf__splitter_begin(&splitter, out, text, word->is_first, split->behaviour);
    for (;;) {
        CLF__TRY(clf__pattern_next(search, &match, &found));
        size_t next = found ? match.start : word->size;
        if (done < next) {
            CLF__TRY(clf__splitter_add(&splitter, done, next, split->is_inverted));
        }
        if (!found) {
            return clf__splitter_end(&splitter);
        }
        CLF__TRY(clf__splitter_add(&splitter, match.start, match.end, !split->is_inverted));
        done = match.end;
    }
}

static clf_status run_split(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    const struct split *split = state;
    struct clf__pattern_search search;
    CLF__TRY(clf__pattern_begin(&search, &split->pattern));
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < in->count; i++) {
        status = split_at(split, &search, out, in->bytes + in->items[i].start, &in->items[i]);
    }
    clf__pattern_end(&search);
    return status;
}

static clf_status read_punctuation(void **state, const struct clf__node *node)
{
    struct split split = {.behaviour = CLF__SPLIT_ISOLATED};
    CLF__TRY(read_behaviour(&split.behaviour, node));
    return keep_split(state, &split);
}

static clf_status run_punctuation(const void *state, struct clf__word_list *out,
                                  const struct clf__word_list *in)
{
    return split_characters(state, out, in, is_punctuation, ((const struct split *)state)->behaviour);
}

static clf_status read_digits(void **state, const struct clf__node *node)
{
    int alone = 0;
    CLF__TRY(clf__node_bool(node, "individual_digits", &alone));
    return keep_split(state,
                      &(struct split){.behaviour = alone ? CLF__SPLIT_ISOLATED : CLF__SPLIT_CONTIGUOUS});
}

static int is_number(const void *state, UChar32 character)
{
    (void)state;
    return (U_MASK(u_charType(character)) & U_GC_N_MASK) != 0;
}

static clf_status run_digits(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    return split_characters(state, out, in, is_number, ((const struct split *)state)->behaviour);
}

static clf_status read_delimiter(void **state, const struct clf__node *node)
{
    struct split split = {.behaviour = CLF__SPLIT_REMOVED, .delimiter = -1};
    CLF__TRY(clf__node_character(node, "delimiter", &split.delimiter));
    return split.delimiter >= 0
               ? keep_split(state, &split)
               : clf__node_fail(node, CLF_FORMAT, "has no \"delimiter\"; download the file again");
}

static int is_delimiter(const void *state, UChar32 character)
{
    return character == ((const struct split *)state)->delimiter;
}

static clf_status run_delimiter(const void *state, struct clf__word_list *out,
                                const struct clf__word_list *in)
{
    return split_characters(state, out, in, is_delimiter, CLF__SPLIT_REMOVED);
}

/* Classifies characters as word characters (Rust's \w), white space or others. A run of word characters or of
 * others is a word. */
static int whitespace_kind(UChar32 character)
{
    uint32_t mask = U_MASK(u_charType(character));
    int is_word = (mask & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
                  u_hasBinaryProperty(character, UCHAR_ALPHABETIC) ||
                  u_hasBinaryProperty(character, UCHAR_JOIN_CONTROL);
    return is_word ? 1 : u_isUWhiteSpace(character) ? 0 : 2;
}

static clf_status run_whitespace(const void *state, struct clf__word_list *out,
                                 const struct clf__word_list *in)
{
    (void)state;
    for (int i = 0; i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        const char *text = in->bytes + word->start;
        size_t start = 0;
        int last = 0;
        for (size_t at = 0, next = 0; at < word->size; at = next) {
            UChar32 character;
            U8_NEXT_UNSAFE((const uint8_t *)text, next, character);
            int kind = whitespace_kind(character);
            if (kind != last) {
                CLF__TRY(clf__word_list_add(out, text + start, last != 0 ? at - start : 0,
                                            word->is_first && start == 0));
                start = at;
                last = kind;
            }
        }
        CLF__TRY(clf__word_list_add(out, text + start, last != 0 ? word->size - start : 0,
                                    word->is_first && start == 0));
    }
    return CLF_OK;
}

/* ---- ByteLevel */

struct byte_level {
    int adds_space, has_pattern;
};

static clf_status read_byte_level(void **state, const struct clf__node *node)
{
    struct byte_level level = {1, 1}, *kept = NULL;
    int trims_offsets;
    CLF__TRY(clf__node_bool(node, "add_prefix_space", &level.adds_space));
    CLF__TRY(clf__node_bool(node, "use_regex", &level.has_pattern));
    CLF__TRY(
        clf__node_bool(node, "trim_offsets", &trims_offsets)); /* ignored, because no offsets are reported */
    CLF__TRY(clf__allocate(&kept, 1, sizeof *kept));
    *kept = level;
    *state = kept;
    return CLF_OK;
}

static clf_status put_bytes(struct clf__word_list *out, const char *text, size_t size, int is_first)
{
    for (size_t i = 0; i < size; i++) {
        char character[2] = {text[i]};
        int length = text[i] > ' ' && text[i] <= '~'
                         ? 1
                         : clf__byte_pairs_character(character, (unsigned char)text[i]);
        CLF__TRY(clf__word_list_put(out, character, (size_t)length));
    }
    return clf__word_list_end(out, is_first);
}

/* `text` has one spare byte before it for the prefix space. */
static clf_status cut_bytes(const struct byte_level *level, struct clf__word_list *out, const char *text,
                            size_t size, int is_first)
{
    for (size_t done = 0, length; done < size; done += length) {
        length = level->has_pattern ? clf__byte_level_word(text + done, size - done) : size;
        CLF__TRY(put_bytes(out, text + done, length, is_first && done == 0));
    }
    return CLF_OK;
}

static clf_status run_byte_level(const void *state, struct clf__word_list *out,
                                 const struct clf__word_list *in)
{
    const struct byte_level *level = state;
    char *spaced = NULL;
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        const char *text = in->bytes + word->start;
        size_t added = level->adds_space && word->size > 0 && text[0] != ' ';
        if (added > 0) {
            status = clf__resize(&spaced, word->size + 1, 1);
            if (status != CLF_OK) {
                break;
            }
            spaced[0] = ' ';
            memcpy(spaced + 1, text, word->size);
            text = spaced;
        }
        status = cut_bytes(level, out, text, word->size + added, word->is_first);
    }
    clf__free(spaced);
    return status;
}

/* ---- Metaspace */

static clf_status run_metaspace(const void *state, struct clf__word_list *out,
                                const struct clf__word_list *in)
{
    const struct clf__metaspace *meta = state;
    for (int i = 0; i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        const char *text = in->bytes + word->start, *end = text + word->size;
        int is_marked = word->size >= meta->mark_size && memcmp(text, meta->mark, meta->mark_size) == 0;
        is_marked |= word->size > 0 && text[0] == ' ';
        int is_added = word->size > 0 && !is_marked &&
                       (meta->prepends == CLF__METASPACE_ALWAYS ||
                        (meta->prepends == CLF__METASPACE_FIRST && word->is_first));
        int is_first = word->is_first;
        CLF__TRY(clf__word_list_put(out, meta->mark, is_added ? meta->mark_size : 0));
        for (const char *at = text; at < end;) {
            const char *next = at + 1;
            int is_space = *at == ' ';
            int is_mark = is_space || ((size_t)(end - at) >= meta->mark_size &&
                                       memcmp(at, meta->mark, meta->mark_size) == 0);
            if (is_mark && meta->splits && at > text) {
                CLF__TRY(clf__word_list_end(out, is_first));
                is_first = 0;
            }
            if (is_mark) {
                CLF__TRY(clf__word_list_put(out, meta->mark, meta->mark_size));
                at += is_space ? 1 : meta->mark_size;
                continue;
            }
            while (next < end && *next != ' ' && *next != meta->mark[0]) {
                next++;
            }
            CLF__TRY(clf__word_list_put(out, at, (size_t)(next - at)));
            at = next;
        }
        CLF__TRY(clf__word_list_end(out, is_first));
    }
    return CLF_OK;
}

static const struct clf__part_kind kinds[] = {
    {"BertPreTokenizer", "type", NULL, NULL, run_bert},
    {"ByteLevel", "type add_prefix_space trim_offsets use_regex", read_byte_level, NULL, run_byte_level},
    {"CharDelimiterSplit", "type delimiter", read_delimiter, NULL, run_delimiter},
    {"Digits", "type individual_digits", read_digits, NULL, run_digits},
    {"Metaspace", CLF__METASPACE_KEYS, clf__metaspace_read, NULL, run_metaspace},
    {"Punctuation", "type behavior", read_punctuation, NULL, run_punctuation},
    {"Split", "type pattern behavior invert", read_split, free_split, run_split},
    {"Whitespace", "type", NULL, NULL, run_whitespace},
    {"WhitespaceSplit", "type", NULL, NULL, run_whitespace_split},
};
const struct clf__part_section clf__pre_tokenizers = {"pre_tokenizer", "pretokenizers", kinds, ROWS(kinds)};
