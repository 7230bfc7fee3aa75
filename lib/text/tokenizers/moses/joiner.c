#include "text/tokenizers/moses/joiner.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/moses/rules.h"

struct word {
    const char *text;
    size_t size;
};

/* The parity of one kind of quotation mark: after an even number of marks, the next one opens a quotation. */
struct quote {
    struct word mark;
    int is_open;
};

struct joining {
    const struct clf__moses_language *language;
    const struct clf__moses_sets *sets;
    struct word *words; /* (count) */
    int count, at;
    struct quote *quotes; /* (quote_count) at most one per word */
    int quote_count;
    struct clf__moses_text text;
    int is_attached; /* no space before the next word */
};

/* --- Classification of words --- */

static int is_word(const struct word *word, const char *text)
{
    return word->size == strlen(text) && memcmp(word->text, text, word->size) == 0;
}

/* Returns whether all bytes of a word are in a set. */
static int is_of(const struct word *word, const char *bytes)
{
    return strspn(word->text, bytes) >= word->size;
}

/* is_of() for a set of ASCII characters and two other characters. */
static int is_of_marks(const struct word *word, const char *ascii, const char *one, const char *two)
{
    for (size_t at = 0; at < word->size;) {
        const char *text = word->text + at;
        size_t left = word->size - at, one_size = strlen(one), two_size = strlen(two);
        size_t size = strchr(ascii, *text) != NULL                           ? 1
                      : left >= one_size && memcmp(text, one, one_size) == 0 ? one_size
                      : left >= two_size && memcmp(text, two, two_size) == 0 ? two_size
                                                                             : 0;
        if (size == 0) {
            return 0;
        }
        at += size;
    }
    return 1;
}

static int is_currency(const struct joining *joining, const struct word *word)
{
    for (size_t at = 0, next; at < word->size; at += next) {
        struct word one = {word->text + at, word->size - at};
        if (!clf__moses_has(joining->sets, CLF__MOSES_CURRENCY, one.text, one.size, &next)) {
            one.size = next;
            if (!is_of_marks(&one, "([{", "¿", "¡")) {
                return 0;
            }
        }
    }
    return 1;
}

static size_t last_character(const struct word *word, size_t end)
{
    size_t at = end;
    while (at > 0 && ((unsigned char)word->text[--at] & 0xC0) == 0x80) {
    }
    return at;
}

/* Returns whether a word is Chinese, Japanese or Korean. */
static int is_asian(const struct joining *joining, const struct word *word, size_t at)
{
    size_t next;
    return clf__moses_has(joining->sets, CLF__MOSES_ASIAN, word->text + at, word->size - at, &next);
}

static int begins_with_letter(const struct joining *joining, const struct word *word, size_t at)
{
    size_t next;
    return at < word->size &&
           clf__moses_has(joining->sets, CLF__MOSES_LETTERS, word->text + at, word->size - at, &next);
}

/* Returns whether a word is a letter followed by an apostrophe. */
static int is_elision(const struct joining *joining, const struct word *word)
{
    size_t end = word->size - 1;
    return word->text[end] == '\'' && end > 0 && begins_with_letter(joining, word, last_character(word, end));
}

static int is_number(const struct word *word)
{
    return is_of(word, "0123456789");
}

/* Returns whether a word is "li" or begins with "mail", ignoring case, as in sacremoses. */
static int is_czech_end(const struct word *word)
{
    static const char *const is[] = {"i", "I", "\u0130", "\u0131"};
    const char *text = word->text, *end = text + word->size;
    int is_mail = word->size > 2 && (text[0] | 32) == 'm' && (text[1] | 32) == 'a';
    text += is_mail ? 2 : 0;
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        size_t size = strlen(is[i]);
        if (is_mail && (size_t)(end - text) > size && memcmp(text, is[i], size) == 0) {
            return (text[size] | 32) == 'l';
        }
        if (!is_mail && word->size == size + 1 && (*text | 32) == 'l' && memcmp(text + 1, is[i], size) == 0) {
            return 1;
        }
    }
    return 0;
}

/* --- Joining --- */

static clf_status put(struct joining *joining, const struct word *word, int with_space)
{
    CLF__TRY(clf__moses_put(&joining->text, " ", with_space && !joining->is_attached));
    joining->is_attached = 0;
    return clf__moses_put(&joining->text, word->text, word->size);
}

static clf_status put_and_attach(struct joining *joining, const struct word *word)
{
    CLF__TRY(put(joining, word, 1));
    joining->is_attached = 1;
    return CLF_OK;
}

static struct quote *quote_of(struct joining *joining, const struct word *word)
{
    const struct word straight = {"\"", 1};
    const struct word mark = is_of_marks(word, "", "„", "“") ? straight : *word;
    for (int i = 0; i < joining->quote_count; i++) {
        struct quote *quote = &joining->quotes[i];
        if (quote->mark.size == mark.size && memcmp(quote->mark.text, mark.text, mark.size) == 0) {
            return quote;
        }
    }
    struct quote *quote = &joining->quotes[joining->quote_count++];
    *quote = (struct quote){.mark = mark};
    return quote;
}

static clf_status put_quote(struct joining *joining, const struct word *word)
{
    struct quote *quote = quote_of(joining, word);
    unsigned does = joining->language->does;
    if ((does & CLF__MOSES_JOINS_DASHES) != 0 && (is_word(word, "„") || is_word(word, "“"))) {
        quote->is_open = is_word(word, "“");
    }
    if (quote->is_open) {
        quote->is_open = 0;
        return put(joining, word, 0);
    }
    const struct word *before = joining->at > 0 ? &joining->words[joining->at - 1] : NULL;
    if ((does & CLF__MOSES_JOINS_CONTRACTIONS) != 0 && is_word(word, "'") && before != NULL &&
        before->text[before->size - 1] == 's') { /* the Jones' house */
        return put(joining, word, 0);
    }
    quote->is_open = 1;
    return put_and_attach(joining, word);
}

/* Returns whether a word attaches to the word before it. The rule for a number after a Czech decimal comma
 * follows sacremoses, which tests the end of the whole text, so the rule applies to every number in such a
 * text. */
static int joins_before(const struct joining *joining, const struct word *word)
{
    unsigned does = joining->language->does;
    if ((does & CLF__MOSES_JOINS_DASHES) != 0 && joining->at > 1 && is_number(word)) {
        const struct word *last = &joining->words[joining->count - 1];
        return is_number(last - 1) && last->size == 1 && is_of(last, ".,");
    }
    return (does & CLF__MOSES_JOINS_CONTRACTIONS) != 0 && joining->at > 0 && *word->text == '\'' &&
           begins_with_letter(joining, word, 1);
}

static int joins_behind(const struct joining *joining, const struct word *word)
{
    return (joining->language->does & CLF__MOSES_JOINS_ELISIONS) != 0 && joining->at + 1 < joining->count &&
           is_elision(joining, word) && begins_with_letter(joining, &joining->words[joining->at + 1], 0);
}

/* Follows Moses, because sacremoses raises an exception here (a list is not an iterator). */
static int joins_dash(const struct joining *joining, const struct word *word)
{
    if ((joining->language->does & CLF__MOSES_JOINS_DASHES) == 0 || joining->at + 2 >= joining->count ||
        !is_elision(joining, word)) {
        return 0;
    }
    const struct word *dash = &joining->words[joining->at + 1];
    return (is_word(dash, "-") || is_word(dash, "–")) && is_czech_end(&joining->words[joining->at + 2]);
}

static clf_status put_word(struct joining *joining)
{
    const struct word *word = &joining->words[joining->at];
    unsigned does = joining->language->does;
    if ((does & CLF__MOSES_SPACES_CHARACTERS) == 0 && is_asian(joining, word, 0)) {
        const struct word *before = joining->at > 0 ? word - 1 : NULL;
        return put(joining, word,
                   before == NULL || !is_asian(joining, before, last_character(before, before->size)));
    }
    if (is_currency(joining, word)) {
        return put_and_attach(joining, word);
    }
    if (is_of(word, ",.?!:;\\%}])")) {
        joining->is_attached = 0;
        return put(joining, word,
                   (does & CLF__MOSES_SPACES_PUNCTUATION) != 0 && joining->at > 0 && word->size == 1 &&
                       is_of(word, "?!:;\\%"));
    }
    if (joins_before(joining, word)) {
        return put(joining, word, 0);
    }
    if (joins_behind(joining, word)) {
        return put_and_attach(joining, word);
    }
    if (joins_dash(joining, word)) {
        CLF__TRY(put(joining, word, 1));
        joining->at++;
        CLF__TRY(put(joining, &joining->words[joining->at], 0));
        joining->is_attached = 1;
        return CLF_OK;
    }
    return is_of_marks(word, "'\"`", "„", "“") ? put_quote(joining, word) : put(joining, word, 1);
}

/* --- Splitting --- */

static void unescape(char *text)
{
    static const char *const rows[][2] = {
        {" @-@ ", "-"}, {"&bar;", "|"},   {"&#124;", "|"}, {"&lt;", "<"},  {"&gt;", ">"},  {"&bra;", "["},
        {"&ket;", "]"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&#91;", "["}, {"&#93;", "]"}, {"&amp;", "&"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clf__text_replace(text, rows[i][0], rows[i][1]);
    }
}

/* Splits at white space and NUL-terminates the words. */
static void split(struct joining *joining, char *text)
{
    while (*text != '\0') {
        size_t space = clf__text_space(text);
        if (space > 0) {
            *text = '\0';
            text += space;
            continue;
        }
        struct word *word = &joining->words[joining->count++];
        word->text = text;
        while (*text != '\0' && clf__text_space(text) == 0) {
            text++;
        }
        word->size = (size_t)(text - word->text);
    }
}

static clf_status join(struct joining *joining, char *text)
{
    size_t most = strlen(text) / 2 + 1;
    CLF__TRY(clf__allocate(&joining->words, most, sizeof *joining->words));
    CLF__TRY(clf__allocate(&joining->quotes, most, sizeof *joining->quotes));
    split(joining, text);
    joining->is_attached = 1;
    for (; joining->at < joining->count; joining->at++) {
        CLF__TRY(put_word(joining));
    }
    return clf__moses_put(&joining->text, "", 1); /* appends the NUL */
}

clf_status clf__moses_join(char **out, char *words, const struct clf__moses_language *language,
                           const struct clf__moses_sets *sets)
{
    struct joining joining = {.language = language, .sets = sets};
    char *padded = NULL;
    *out = NULL;
    CLF__TRY(clf__format(&padded, " %s ", words));
    unescape(padded);
    clf_status status = join(&joining, padded);
    clf__free(padded);
    clf__free(joining.words);
    clf__free(joining.quotes);
    if (status != CLF_OK) {
        clf__free(joining.text.bytes);
        return status;
    }
    *out = joining.text.bytes;
    return CLF_OK;
}
