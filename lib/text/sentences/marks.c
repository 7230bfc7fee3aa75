#include "text/sentences/marks.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

int32_t clf__char_at(const struct clf__passage *passage, size_t at, size_t *next)
{
    int32_t character = -1;
    size_t end = at;
    if (at < passage->size) {
        U8_NEXT(passage->text, end, passage->size, character);
        character = character < 0 ? 0xfffd : character;
    }
    if (next != NULL) {
        *next = end;
    }
    return character;
}

int32_t clf__char_before(const struct clf__passage *passage, size_t at, size_t *start)
{
    size_t begin = at > 0 ? at - 1 : 0;
    while (begin > 0 && at - begin < 4 && U8_IS_TRAIL((uint8_t)passage->text[begin])) {
        begin--;
    }
    size_t next;
    int32_t character = at > 0 ? clf__char_at(passage, begin, &next) : -1;
    if (at > 0 && next != at) {
        begin = at - 1;
        character = 0xfffd;
    }
    if (start != NULL) {
        *start = begin;
    }
    return character;
}

static int is_space(int32_t character)
{
    int kind = u_getIntPropertyValue(character, UCHAR_SENTENCE_BREAK);
    return kind == U_SB_SP || kind == U_SB_SEP || kind == U_SB_CR || kind == U_SB_LF;
}

static int is_heart(int32_t character)
{
    return character == 0x2764 || character == 0x2665 || (character >= 0x1f493 && character <= 0x1f49f);
}

static int is_word(int32_t character)
{
    return character >= 0 && u_isalnum(character);
}

/* Characters before an opening quotation mark or bracket. */
static int is_before_opening(int32_t character)
{
    int8_t type = u_charType(character);
    return character < 0 || is_space(character) || type == U_START_PUNCTUATION ||
           type == U_INITIAL_PUNCTUATION || type == U_DASH_PUNCTUATION || character == '"' ||
           character == '\'';
}

/* Returns whether a quotation mark opens: English opening marks close in German, and vice versa. */
static int quote_opens(const struct clf__passage *passage, size_t at, int32_t quote, size_t next)
{
    int32_t before = clf__char_before(passage, at, NULL), behind = clf__char_at(passage, next, &next);
    if (behind < 0 || (is_space(behind) && quote != 0xab)) {
        return 0;
    }
    int has_dots = behind == 0x2026 || (behind == '.' && clf__char_at(passage, next, NULL) == '.');
    if (is_space(behind) || has_dots) { /* French puts a space inside */
        return is_before_opening(before);
    }
    int begins_word = is_word(behind) || behind == 0xbf || behind == 0xa1 || is_before_opening(behind);
    int is_initial = u_charType(quote) == U_INITIAL_PUNCTUATION;
    int is_behind_wide = quote != '\'' && before > 0x2fff && u_charType(before) == U_OTHER_PUNCTUATION;
    return begins_word && (is_initial || is_before_opening(before) || is_behind_wide);
}

static enum clf__mark punctuation(const struct clf__passage *passage, size_t at, int32_t character,
                                  size_t next)
{
    if (character == 0xbf || character == 0xa1) {
        return CLF__MARK_INVERTED;
    }
    switch (u_charType(character)) {
    case U_START_PUNCTUATION:
        return CLF__MARK_OPENING;
    case U_END_PUNCTUATION:
        return CLF__MARK_CLOSING;
    case U_DASH_PUNCTUATION:
        return CLF__MARK_DASH;
    default:
        break;
    }
    if (u_hasBinaryProperty(character, UCHAR_QUOTATION_MARK)) {
        return quote_opens(passage, at, character, next) ? CLF__MARK_OPENING : CLF__MARK_CLOSING;
    }
    int continues = u_getIntPropertyValue(character, UCHAR_SENTENCE_BREAK) == U_SB_SCONTINUE ||
                    character == ';' || character == 0xff1b;
    return continues ? CLF__MARK_COMMA : CLF__MARK_SYMBOL;
}

int clf__begins_with(const struct clf__passage *passage, size_t at, const char *word)
{
    size_t size = strlen(word);
    return passage->size - at >= size && memcmp(passage->text + at, word, size) == 0;
}

/* Returns the offset after up to 16 repetitions of a character. */
static size_t skip_run(const struct clf__passage *passage, size_t at, int32_t character)
{
    enum { MOST = 16 };
    size_t next;
    for (int i = 0; i < MOST && character >= 0 && clf__char_at(passage, at, &next) == character; i++) {
        at = next;
    }
    return at;
}

/* Returns the offset after an emoticon: ":-)" after white space or a mark, ")))", "(笑)"; 0: none. */
static size_t skip_emoticon(const struct clf__passage *passage, size_t at)
{
    static const char wide[] = "\xef\xbc\x88笑\xef\xbc\x89", narrow[] = "(笑)";
    size_t end;
    int32_t eyes = clf__char_at(passage, at, &end), before = clf__char_before(passage, at, NULL);
    if (eyes == '(' || eyes == 0xff08) {
        return clf__begins_with(passage, at, wide)     ? at + strlen(wide)
               : clf__begins_with(passage, at, narrow) ? at + strlen(narrow)
                                                       : 0;
    }
    int is_smile = eyes == ')' && clf__begins_with(passage, at, ")))");
    int is_apart = is_space(before) || before == '.' || before == '!' || before == '?';
    if (!is_smile && ((eyes != ':' && eyes != ';') || !is_apart)) {
        return 0;
    }
    end = is_smile ? at : skip_run(passage, end, '-');
    int32_t mouth = clf__char_at(passage, end, NULL);
    int is_mouth = mouth > 0 && mouth < 0x80 && strchr("()DPpOo/|*", mouth) != NULL;
    end = skip_run(passage, end, mouth);
    int32_t behind = clf__char_at(passage, end, NULL);
    return is_mouth && (behind < 0 || is_space(behind)) ? end : 0;
}

/* Returns whether a character is an emoji of a face or heart, or a note (♪), which ends a sentence as a mark
 * does. */
static int is_face(int32_t character)
{
    return (character >= 0x1f600 && character <= 0x1f64f) || (character >= 0x1f910 && character <= 0x1f92f) ||
           (character >= 0x1f970 && character <= 0x1f97a) || character == 0x266a || is_heart(character);
}

enum clf__mark clf__mark_at(const struct clf__passage *passage, size_t at, size_t *next)
{
    size_t end;
    int32_t character = clf__char_at(passage, at, &end);
    size_t emoticon = skip_emoticon(passage, at);
    end = emoticon > 0 ? emoticon : end;
    if (next != NULL) {
        *next = end;
    }
    if (character < 0) {
        return CLF__MARK_END;
    }
    if (emoticon > 0 || is_face(character)) {
        return CLF__MARK_FINAL;
    }
    if (character == 0x2026 || character == 0x2025 || character == 0x22ef) {
        return CLF__MARK_ELLIPSIS;
    }
    switch (u_getIntPropertyValue(character, UCHAR_SENTENCE_BREAK)) {
    case U_SB_SEP:
    case U_SB_CR:
    case U_SB_LF:
        return CLF__MARK_LINE_BREAK;
    case U_SB_SP:
        return CLF__MARK_SPACE;
    case U_SB_ATERM:
        return CLF__MARK_STOP;
    case U_SB_STERM:
        return CLF__MARK_FINAL;
    case U_SB_LOWER:
        return CLF__MARK_LOWER;
    case U_SB_UPPER:
        return CLF__MARK_UPPER;
    case U_SB_OLETTER:
        return CLF__MARK_LETTER;
    case U_SB_NUMERIC:
        return CLF__MARK_DIGIT;
    default:
        return u_isalpha(character) ? CLF__MARK_LETTER : punctuation(passage, at, character, end);
    }
}

int clf__mark_is_word(enum clf__mark mark)
{
    return mark == CLF__MARK_LOWER || mark == CLF__MARK_UPPER || mark == CLF__MARK_LETTER ||
           mark == CLF__MARK_DIGIT;
}

/* Returns whether two quotation marks are of the same kind. */
static int is_partner(int32_t opening, int32_t closing)
{
    static const int32_t curly[] = {0x201c, 0x201d, 0x201e, 0}, angled[] = {0xab, 0xbb, 0};
    const int32_t *const kinds[] = {curly, angled};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int opens = 0, closes = 0;
        for (const int32_t *mark = kinds[i]; *mark != 0; mark++) {
            opens |= *mark == opening;
            closes |= *mark == closing;
        }
        if (opens) {
            return closes;
        }
    }
    return closing == (opening == '"' ? '"' : u_getBidiPairedBracket(opening));
}

size_t clf__mark_partner(const struct clf__passage *passage, size_t opening)
{
    enum { DEEPEST = 8 };
    size_t at, next;
    int32_t first = clf__char_at(passage, opening, &at);
    int depth =
        first != '\'' && first != 0x2018 && first != 0x2019; /* single quotation marks may be apostrophes */
    for (; depth > 0 && depth <= DEEPEST && at < passage->size && at - opening < CLF__QUOTE_BYTES;
         at = next) {
        enum clf__mark mark = clf__mark_at(passage, at, &next);
        int32_t character = clf__char_at(passage, at, NULL);
        if (mark == CLF__MARK_LINE_BREAK) {
            return 0;
        }
        depth += mark == CLF__MARK_OPENING && character == first;
        depth -= mark == CLF__MARK_CLOSING && is_partner(first, character);
        if (depth == 0) {
            return next;
        }
    }
    return 0;
}

size_t clf__skip_spaces(const struct clf__passage *passage, size_t at)
{
    size_t next;
    while (clf__mark_at(passage, at, &next) == CLF__MARK_SPACE) {
        at = next;
    }
    return at;
}

/* Returns whether a character is an emoji, joiner or modifier, which belongs to the sentence before. */
static int is_emoji(int32_t character)
{
    return (character >= 0x2600 && u_hasBinaryProperty(character, UCHAR_EXTENDED_PICTOGRAPHIC)) ||
           character == 0xfe0f || character == 0x200d || u_hasBinaryProperty(character, UCHAR_EMOJI_MODIFIER);
}

/* Returns the offset after an emoji or a footnote number (superscript or in brackets); 0: none. */
static size_t skip_attached(const struct clf__passage *passage, size_t at)
{
    size_t next, end = at;
    int32_t character = clf__char_at(passage, at, &next);
    if (is_emoji(character)) {
        return next;
    }
    if (character == 'w') { /* Japanese laughter: 寝坊した!w */
        end = skip_run(passage, at, 'w');
        return clf__mark_at(passage, end, NULL) == CLF__MARK_LETTER ? end : 0;
    }
    if (character == '[') {
        for (end = next; clf__mark_at(passage, end, &next) == CLF__MARK_DIGIT; end = next) {
        }
        return clf__char_at(passage, end, &next) == ']' && end > at + 1 ? next : 0;
    }
    while (character >= 0 && u_charType(character) == U_OTHER_NUMBER) {
        end = next;
        character = clf__char_at(passage, end, &next);
    }
    return end > at ? end : 0;
}

static void add_mark(struct clf__ending *ending, enum clf__mark mark, int32_t character, size_t at)
{
    ending->has_ellipsis |= mark == CLF__MARK_ELLIPSIS || (mark == CLF__MARK_STOP && ending->stops > 0);
    ending->stops += mark == CLF__MARK_STOP;
    ending->is_final |= mark == CLF__MARK_FINAL || (mark == CLF__MARK_STOP && character == 0xff0e);
    ending->is_heart |= is_heart(character) && at == ending->start;
    ending->is_wide |= character > 0x2fff && mark != CLF__MARK_ELLIPSIS && !is_face(character);
    ending->last = at;
}

/* Returns whether text after white space continues an ending: another ! or ?, a full stop of a spaced
 * ellipsis, or a closing quotation mark. */
static int goes_on(struct clf__ending *ending, const struct clf__passage *passage, size_t at)
{
    size_t next;
    enum clf__mark mark = clf__mark_at(passage, at, &next), behind = clf__mark_at(passage, next, NULL);
    int32_t character = clf__char_at(passage, at, NULL);
    if (mark == CLF__MARK_STOP && ending->stops > 0 && !ending->is_final && behind != CLF__MARK_STOP &&
        !clf__mark_is_word(behind)) {
        ending->is_spaced = 1;
        return 1;
    }
    return (mark == CLF__MARK_FINAL && character < 0x80) || is_emoji(character) ||
           (mark == CLF__MARK_CLOSING && u_charType(character) != U_END_PUNCTUATION && character != '\'');
}

struct clf__ending clf__ending_read(const struct clf__passage *passage, size_t at)
{
    struct clf__ending ending = {.start = at, .last = at, .end = at};
    for (size_t next, space; at < passage->size; at = next) {
        int32_t character = clf__char_at(passage, at, NULL);
        enum clf__mark mark = clf__mark_at(passage, at, &next);
        if (mark == CLF__MARK_STOP || mark == CLF__MARK_FINAL || mark == CLF__MARK_ELLIPSIS) {
            add_mark(&ending, mark, character, at);
        } else if (mark == CLF__MARK_CLOSING) {
            int is_apostrophe = character == '\'' || character == 0x2019;
            if (is_apostrophe && clf__mark_is_word(clf__mark_at(passage, next, NULL))) {
                break;
            }
            ending.has_bracket |= u_charType(character) == U_END_PUNCTUATION && character < 0x80;
            ending.has_quote |= u_charType(character) != U_END_PUNCTUATION || character > 0x7f;
        } else if ((space = skip_attached(passage, at)) > 0) {
            next = space;
        } else {
            next = clf__skip_spaces(passage, at);
            if (next == at || !goes_on(&ending, passage, next)) {
                break;
            }
            continue;
        }
        ending.end = next;
    }
    ending.next = clf__skip_spaces(passage, ending.end);
    return ending;
}
