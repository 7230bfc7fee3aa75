/* Normalizers change a text before it is segmented. */
#include "text/tokenizers/json/part.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/tokenizers/json/precompiled.h"
#include "text/tokenizers/json/replace.h"
#include "text/tokenizers/json/unicode.h"
#include "text/tokenizers/segmenters/byte_pairs.h"

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

/* Maps one character: appends the result to `out`. */
typedef clf_status character_function(const void *state, struct clf__word_list *out, UChar32 character);

static clf_status each_character(const void *state, struct clf__word_list *out,
                                 const struct clf__word_list *in, character_function *function)
{
    for (int i = 0; i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        const uint8_t *bytes = (const uint8_t *)in->bytes + word->start;
        for (size_t at = 0; at < word->size;) {
            UChar32 character;
            U8_NEXT_UNSAFE(bytes, at, character);
            CLF__TRY(function(state, out, character));
        }
        CLF__TRY(clf__word_list_end(out, word->is_first));
    }
    return CLF_OK;
}

/* Full lower-casing without context- or language-dependent rules: one character may become two. */
static clf_status lower_case(struct clf__word_list *out, UChar32 character)
{
    enum { I_WITH_DOT = 0x130, DOT_ABOVE = 0x307 };
    CLF__TRY(clf__word_list_put_character(out, u_tolower(character)));
    return character == I_WITH_DOT ? clf__word_list_put_character(out, DOT_ABOVE) : CLF_OK;
}

static clf_status lower(const void *state, struct clf__word_list *out, UChar32 character)
{
    (void)state;
    return lower_case(out, character);
}

static clf_status run_lowercase(const void *state, struct clf__word_list *out,
                                const struct clf__word_list *in)
{
    return each_character(state, out, in, lower);
}

static int is_mark(UChar32 character)
{
    return (clf__category_of(CLF__UNICODE_OF_MARKS, character) & U_GC_M_MASK) != 0;
}

static clf_status without_marks(const void *state, struct clf__word_list *out, UChar32 character)
{
    (void)state;
    return is_mark(character) ? CLF_OK : clf__word_list_put_character(out, character);
}

static clf_status run_strip_accents(const void *state, struct clf__word_list *out,
                                    const struct clf__word_list *in)
{
    return each_character(state, out, in, without_marks);
}

/* SentencePiece's normalization rules for machine translation (nmt). */
static clf_status nmt(const void *state, struct clf__word_list *out, UChar32 c)
{
    (void)state;
    if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
        c == 0x9F) {
        return CLF_OK;
    }
    int is_space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                   (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                   c == 0xFFFD;
    return clf__word_list_put_character(out, is_space ? ' ' : c);
}

static clf_status run_nmt(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    return each_character(state, out, in, nmt);
}

static clf_status run_byte_level(const void *state, struct clf__word_list *out,
                                 const struct clf__word_list *in)
{
    (void)state;
    for (int i = 0; i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        for (size_t k = 0; k < word->size; k++) {
            char text[2];
            int length = clf__byte_pairs_character(text, (unsigned char)in->bytes[word->start + k]);
            CLF__TRY(clf__word_list_put(out, text, (size_t)length));
        }
        CLF__TRY(clf__word_list_end(out, word->is_first));
    }
    return CLF_OK;
}

#define NORMAL_FORM(name, form)                                                                              \
    static clf_status name(void **state, const struct clf__node *node)                                       \
    {                                                                                                        \
        (void)node;                                                                                          \
        return clf__form_open(state, (form));                                                                \
    }
NORMAL_FORM(read_nfc, CLF__FORM_NFC)
NORMAL_FORM(read_nfd, CLF__FORM_NFD)
NORMAL_FORM(read_nfkc, CLF__FORM_NFKC)
NORMAL_FORM(read_nfkd, CLF__FORM_NFKD)

/* ---- Strip, Prepend */

struct strip {
    int left, right;
};

static clf_status read_strip(void **state, const struct clf__node *node)
{
    struct strip strip = {1, 1}, *kept = NULL;
    CLF__TRY(clf__node_bool(node, "strip_left", &strip.left));
    CLF__TRY(clf__node_bool(node, "strip_right", &strip.right));
    CLF__TRY(clf__allocate(&kept, 1, sizeof *kept));
    *kept = strip;
    *state = kept;
    return CLF_OK;
}

static clf_status run_strip(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    const struct strip *strip = state;
    for (int i = 0; i < in->count; i++) {
        const char *text = in->bytes + in->items[i].start;
        size_t start = 0, end = 0, size = in->items[i].size;
        int is_begun = !strip->left;
        for (size_t at = 0; at < size;) {
            size_t from = at;
            UChar32 character;
            U8_NEXT_UNSAFE((const uint8_t *)text, at, character);
            int is_space = u_isUWhiteSpace(character);
            start = is_begun || is_space ? start : from;
            is_begun |= !is_space;
            end = is_space && strip->right ? end : at;
        }
        start = is_begun ? start : size;
        CLF__TRY(clf__word_list_add(out, text + start, end > start ? end - start : 0,
                                    in->items[i].is_first && start == 0));
    }
    return CLF_OK;
}

static clf_status read_prepend(void **state, const struct clf__node *node)
{
    const char *text;
    char *kept = NULL;
    CLF__TRY(clf__node_need_string(node, "prepend", &text));
    CLF__TRY(clf__copy_string(&kept, text));
    *state = kept;
    return CLF_OK;
}

static clf_status run_prepend(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    for (int i = 0; i < in->count; i++) {
        const struct clf__word *word = &in->items[i];
        if (word->size > 0) {
            CLF__TRY(clf__word_list_put(out, state, strlen(state)));
        }
        CLF__TRY(clf__word_list_add(out, in->bytes + word->start, word->size, word->is_first));
    }
    return CLF_OK;
}

/* ---- BertNormalizer */

struct bert {
    void *decomposed; /* state of a normalization form */
    int cleans, spaces_chinese, strips_accents, lowers;
};

static clf_status read_bert(void **state, const struct clf__node *node)
{
    struct bert bert = {NULL, 1, 1, -1, 1}, *kept = NULL;
    CLF__TRY(clf__node_bool(node, "clean_text", &bert.cleans));
    CLF__TRY(clf__node_bool(node, "handle_chinese_chars", &bert.spaces_chinese));
    CLF__TRY(clf__node_bool(node, "lowercase", &bert.lowers));
    CLF__TRY(clf__node_bool(node, "strip_accents", &bert.strips_accents));
    bert.strips_accents = bert.strips_accents < 0 ? bert.lowers : bert.strips_accents;
    CLF__TRY(clf__allocate(&kept, 1, sizeof *kept));
    *kept = bert;
    clf_status status = clf__form_open(&kept->decomposed, CLF__FORM_NFD);
    if (status != CLF_OK) {
        clf__free(kept);
        return status;
    }
    *state = kept;
    return CLF_OK;
}

static void free_bert(void *state)
{
    clf__form_close(((struct bert *)state)->decomposed);
    clf__free(state);
}

static int is_chinese(UChar32 c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
           (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static clf_status clean_bert(const void *state, struct clf__word_list *out, UChar32 c)
{
    const struct bert *bert = state;
    if (bert->cleans) {
        int is_blank = c == '\t' || c == '\n' || c == '\r' || u_isUWhiteSpace(c);
        int is_control = (clf__category_of(CLF__UNICODE_OF_CATEGORIES, c) &
                          (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
        if (c == 0 || c == 0xFFFD || (is_control && c != '\t' && c != '\n' && c != '\r')) {
            return CLF_OK;
        }
        c = is_blank ? ' ' : c;
    }
    int is_alone = bert->spaces_chinese && is_chinese(c);
    CLF__TRY(clf__word_list_put(out, " ", (size_t)is_alone));
    CLF__TRY(clf__word_list_put_character(out, c));
    return clf__word_list_put(out, " ", (size_t)is_alone);
}

static clf_status without_accents(const void *state, struct clf__word_list *out, UChar32 character)
{
    (void)state;
    return clf__category_of(CLF__UNICODE_OF_CATEGORIES, character) == U_MASK(U_NON_SPACING_MARK)
               ? CLF_OK
               : clf__word_list_put_character(out, character);
}

static clf_status run_bert_parts(const struct bert *bert, struct clf__word_list *a, struct clf__word_list *b,
                                 struct clf__word_list *out, const struct clf__word_list *in)
{
    CLF__TRY(each_character(bert, a, in, clean_bert));
    if (bert->strips_accents) {
        CLF__TRY(clf__form_run(bert->decomposed, b, a));
        clf__word_list_clear(a);
        CLF__TRY(each_character(NULL, a, b, without_accents));
    }
    if (bert->lowers) {
        return run_lowercase(NULL, out, a);
    }
    for (int i = 0; i < a->count; i++) {
        CLF__TRY(
            clf__word_list_add(out, a->bytes + a->items[i].start, a->items[i].size, a->items[i].is_first));
    }
    return CLF_OK;
}

static clf_status run_bert(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    struct clf__word_list a = {.size = 0}, b = {.size = 0};
    clf_status status = run_bert_parts(state, &a, &b, out, in);
    clf__word_list_free(&a);
    clf__word_list_free(&b);
    return status;
}

static const struct clf__part_kind kinds[] = {
    {"BertNormalizer", "type clean_text handle_chinese_chars strip_accents lowercase", read_bert, free_bert,
     run_bert},
    {"ByteLevel", "type", NULL, NULL, run_byte_level},
    {"Lowercase", "type", NULL, NULL, run_lowercase},
    {"NFC", "type", read_nfc, clf__form_close, clf__form_run},
    {"NFD", "type", read_nfd, clf__form_close, clf__form_run},
    {"NFKC", "type", read_nfkc, clf__form_close, clf__form_run},
    {"NFKD", "type", read_nfkd, clf__form_close, clf__form_run},
    {"Nmt", "type", NULL, NULL, run_nmt},
    {"Precompiled", "type precompiled_charsmap", clf__precompiled_read, clf__precompiled_free,
     clf__precompiled_run},
    {"Prepend", "type prepend", read_prepend, NULL, run_prepend},
    {"Replace", "type pattern content", clf__replace_read, clf__replace_free, clf__replace_run},
    {"Strip", "type strip_left strip_right", read_strip, NULL, run_strip},
    {"StripAccents", "type", NULL, NULL, run_strip_accents},
};
const struct clf__part_section clf__normalizers = {"normalizer", "normalizers", kinds, ROWS(kinds)};
