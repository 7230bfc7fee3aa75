#include "text/sentences/ends.h"

#include <string.h>

#include "text/sentences/abbreviations.h"
#include "text/sentences/items.h"
#include "text/sentences/japanese.h"
#include "text/sentences/words.h"

/* Properties of the text after a possible sentence end. */
struct following {
    enum clf__mark mark; /* first mark other than dashes, opening marks and white space */
    struct clf__sentence_word word;
    int is_joined; /* no white space before it */
    int has_dash, has_opening, has_inverted;
    int has_bracket; /* starts with an opening mark */
    int is_small;    /* starts with a small letter, except as in "iPhone" and "b) text" */
};

/* Returns whether an opening bracket, ASCII or full width, is at an offset. */
static int is_bracket_at(const struct clf__passage *passage, size_t at)
{
    int32_t character = clf__char_at(passage, at, NULL);
    return character == '(' || character == '[' || character == 0xff08 || character == 0xff3b;
}

static struct following read_following(const struct clf__passage *passage, const struct clf__ending *ending)
{
    struct following following = {.is_joined = ending->next == ending->end};
    enum { MOST = 64 }; /* ellipses up to this distance in bytes are skipped */
    size_t at = ending->next, next;
    following.has_bracket = is_bracket_at(passage, at);
    for (;; at = next) {
        following.mark = clf__mark_at(passage, at, &next);
        following.has_opening |= following.mark == CLF__MARK_OPENING;
        following.has_inverted |= following.mark == CLF__MARK_INVERTED;
        following.has_dash |= following.mark == CLF__MARK_DASH;
        if (following.mark != CLF__MARK_OPENING && following.mark != CLF__MARK_INVERTED &&
            following.mark != CLF__MARK_DASH && following.mark != CLF__MARK_SPACE &&
            (following.mark != CLF__MARK_ELLIPSIS || at - ending->next > MOST)) {
            break;
        }
    }
    following.word = clf__word_at(passage, at);
    int has_bracket = clf__char_at(passage, following.word.end, &next) == ')';
    int is_marker = following.word.letters == 1 && has_bracket &&
                    clf__mark_at(passage, clf__skip_spaces(passage, next), NULL) == CLF__MARK_UPPER;
    following.is_small = following.mark == CLF__MARK_LOWER && following.word.capitals == 0 && !is_marker &&
                         passage->has_capitals;
    return following;
}

/* Counts the words from `start` to `end`, up to `most`. */
static int count_words(const struct clf__passage *passage, size_t start, size_t end, int most)
{
    int count = 0, is_inside = 0;
    for (size_t at = start, next; at < end && count < most; at = next) {
        int is_space = clf__mark_at(passage, at, &next) == CLF__MARK_SPACE;
        count += !is_space && !is_inside;
        is_inside = !is_space;
    }
    return count;
}

/* Returns whether there are words, within a distance that bounds the work on long lines. */
static int has_words(const struct clf__passage *passage, size_t start, size_t end)
{
    enum { DISTANCE = 256 };
    for (size_t at = end - start > DISTANCE ? end - DISTANCE : start, next; at < end; at = next) {
        if (clf__mark_is_word(clf__mark_at(passage, at, &next))) {
            return 1;
        }
    }
    return 0;
}

/* Returns the word before `word`, which is empty if there is none. */
static struct clf__sentence_word previous_word(const struct clf__passage *passage, size_t start,
                                               const struct clf__sentence_word *word)
{
    size_t at = word->start, begin;
    while (at > start && clf__char_before(passage, at, &begin) >= 0 &&
           (clf__mark_at(passage, begin, NULL) == CLF__MARK_SPACE ||
            clf__mark_at(passage, begin, NULL) == CLF__MARK_STOP)) {
        at = begin;
    }
    return clf__word_before(passage, start, at);
}

/* Returns whether the next word certainly begins a sentence and does not belong to an abbreviation or
 * number. */
static int starts(const struct clf__passage *passage, const struct following *following)
{
    return (following->mark == CLF__MARK_UPPER && clf__word_is_starter(passage, &following->word)) ||
           following->has_inverted;
}

/* Returns whether a number starts a list item at the beginning of a line or sentence: "1. Open the lid." */
static int is_item(const struct clf__passage *passage, size_t start, const struct clf__sentence_word *word)
{
    return word->digits > 0 && word->letters == 0 && !has_words(passage, start, word->start);
}

static int is_number(const struct clf__sentence_word *word)
{
    return word->digits > 0 && word->letters == 0;
}

/* Returns whether a word is a number with an ending: "3.º", "90°", "88-й". */
static int is_ordinal(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    size_t last;
    clf__char_before(passage, word->end, &last);
    return word->digits > 0 && clf__mark_at(passage, last, NULL) != CLF__MARK_DIGIT;
}

/* Returns whether a number ends a sentence; German ordinals and dates do not. */
static int number_ends(const struct clf__passage *passage, size_t start,
                       const struct clf__sentence_word *word, const struct following *following)
{
    enum { DAY = 2, ORDINAL = 3, YEAR = 4 }; /* digits */
    struct clf__sentence_word before = previous_word(passage, start, word);
    int digits = word->end - word->start == (size_t)word->digits ? word->digits : ORDINAL + 1;
    if (following->mark == CLF__MARK_DIGIT) { /* 3. 4. 1995 */
        size_t next;
        int is_day = clf__char_at(passage, following->word.end, &next) == '.' &&
                     following->word.digits <= DAY && clf__mark_at(passage, next, NULL) != CLF__MARK_DIGIT;
        int is_month = is_number(&before) && before.digits <= DAY && following->word.digits == YEAR &&
                       clf__char_at(passage, before.end, NULL) == '.';
        return !(is_day || is_month) || digits > DAY;
    }
    if (digits <= DAY && clf__word_is_german_month(&following->word)) {
        return 0;
    }
    return digits > ORDINAL || !clf__word_precedes_ordinal(&before) || starts(passage, following);
}

/* "J." */
static int is_initial(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    return word->letters == 1 && word->digits == 0 && clf__char_at(passage, word->end, NULL) == '.';
}

/* Returns whether a letter with a full stop ends a sentence. It is an initial, except units and labels. */
static int letter_ends(const struct clf__passage *passage, size_t start,
                       const struct clf__sentence_word *word, const struct clf__sentence_word *before,
                       const struct following *following)
{
    if (!has_words(passage, start, word->start)) {
        return 0; /* "A. The first answer" */
    }
    if (clf__word_is_label(before, word) || clf__char_before(passage, word->start, NULL) == '/' || /* km/h */
        (word->is_capital && clf__char_at(passage, before->end, NULL) == '.' &&
         following->mark != CLF__MARK_DIGIT &&
         clf__word_classify(passage, start, before) == CLF__WORD_NUMBER)) {
        return 1;
    }
    int32_t sign = clf__char_before(passage, before->end, NULL);
    if ((sign == 0xba || sign == 0xaa) && word->is_capital) { /* "3.º B." */
        return 1;
    }
    if (following->mark == CLF__MARK_DIGIT || is_initial(passage, &following->word)) {
        return 0;
    }
    if (word->is_roman && before->is_capital && starts(passage, following)) { /* "Alfonso X. El ..." */
        return 1;
    }
    int is_whole_word = strchr("aeioy", word->lower[0]) != NULL && !word->is_capital; /* "ce qu'il a." */
    return is_whole_word || is_number(before) ||
           (starts(passage, following) && !following->has_opening &&
            !clf__word_is_particle(&following->word));
}

/* Recognises unlisted abbreviations: letters with inner full stops, or only consonants. */
static int looks_abbreviated(const struct clf__sentence_word *word)
{
    enum { PART = 3, CONSONANTS = 4 };
    if (word->letters == 0 || word->digits > 0) {
        return 0;
    }
    if (word->stops == 0) {
        return word->capitals <= word->is_capital && word->letters <= CONSONANTS &&
               !clf__word_has_vowels(word);
    }
    int letters = 0;
    for (const char *at = word->lower; *at != '\0' && letters <= PART; at++) {
        int is_letter = *at != '-' && ((unsigned char)*at & 0xc0) != 0x80;
        letters = *at == '.' ? 0 : letters + is_letter;
    }
    return letters <= PART;
}

/* Returns whether a number or label follows: "p. 5", "vol. II", "bl. B"; but not "no. I ...", an English
 * sentence. */
static int is_number_next(const struct clf__passage *passage, const struct following *following,
                          const struct clf__sentence_word *word, enum clf__word_class class)
{
    const struct clf__sentence_word *next = &following->word;
    int32_t behind = clf__char_at(passage, next->end, NULL);
    if (following->mark == CLF__MARK_DIGIT || (next->is_roman && next->letters > 1)) {
        return !following->has_opening || class == CLF__WORD_NUMBER;
    }
    return class == CLF__WORD_NUMBER && next->letters == 1 && next->is_capital && behind != '\'' &&
           behind != 0x2019 && !clf__word_is_short_month(word) &&
           (word->is_capital || (next->is_roman && strcmp(word->lower, "no") != 0) ||
            !clf__word_is_starter(passage, next));
}

/* Returns whether a sentence is too short to end with a time: "At 5 p.m. Mr. Lee ..." */
static int is_adverbial(const struct clf__passage *passage, size_t start, size_t end)
{
    enum { MOST = 6 };
    size_t at = start;
    while (at < end && !clf__mark_is_word(clf__mark_at(passage, at, NULL))) {
        clf__char_at(passage, at, &at);
    }
    struct clf__sentence_word first = clf__word_at(passage, at);
    return clf__word_is_preposition(&first) && count_words(passage, start, end, MOST + 1) <= MOST;
}

/* "il cap. De Rosa": a particle and a capitalised name */
static int is_surname(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    size_t next = clf__skip_spaces(passage, word->end);
    return clf__word_is_particle(word) && clf__mark_at(passage, next, NULL) == CLF__MARK_UPPER;
}

/* Returns whether an abbreviation ends a sentence; `before` is the word before it. */
static int abbreviation_ends(const struct clf__passage *passage, size_t start,
                             const struct clf__sentence_word *word, const struct clf__sentence_word *before,
                             const struct following *following, enum clf__word_class class)
{
    int is_alone = !has_words(passage, start, word->start) && class != CLF__WORD_NUMBER; /* "P.S. The ..." */
    int is_title = clf__word_is_title(word, before);
    if (is_alone || is_number_next(passage, following, word, class) ||
        (following->has_bracket &&
         (class != CLF__WORD_NUMBER || clf__word_is_short_month(word))) || /* "Ltd. (UK)" */
        (class == CLF__WORD_TIME && clf__word_is_zone(&following->word))) {
        return 0;
    }
    switch (class) {
    case CLF__WORD_NEVER: /* "5 см." is not "см. 5"; but "5 Min. Pause" */
        return is_number(before) && word->stops == 0 && word->letters <= 3 &&
               (!word->is_capital || starts(passage, following));
    case CLF__WORD_TIME:
        return starts(passage, following) || !is_adverbial(passage, start, word->end);
    case CLF__WORD_BETWEEN:
        return starts(passage, following) && !(is_title && is_surname(passage, &following->word));
    case CLF__WORD_NUMBER: /* "на 88-й мин." */
        return !is_ordinal(passage, before) || starts(passage, following);
    case CLF__WORD_LAST: /* "S. A. R." */
        return word->letters > 1 || !word->is_capital || !is_initial(passage, &following->word);
    default:
        return 1;
    }
}

/* Returns whether two abbreviations follow each other: "Phys. Rev.", "JJ. OO.". */
static int is_chain(const struct clf__passage *passage, size_t start, const struct clf__sentence_word *word,
                    const struct following *following)
{
    enum { SHORT = 5, PAIR = 2 };
    struct clf__sentence_word next = following->word;
    size_t behind;
    if (clf__char_at(passage, next.end, &behind) != '.' || !word->is_capital || !next.is_capital ||
        following->has_opening || following->is_joined || !has_words(passage, start, word->start)) {
        return 0;
    }
    if (word->letters == PAIR && word->capitals == PAIR && next.letters == PAIR && next.capitals == PAIR) {
        return 1;
    }
    enum clf__mark mark = clf__mark_at(passage, clf__skip_spaces(passage, behind), NULL);
    int continues = mark == CLF__MARK_LOWER || mark == CLF__MARK_COMMA || mark == CLF__MARK_DIGIT ||
                    mark == CLF__MARK_UPPER;
    return word->letters <= SHORT && next.letters > 1 && next.letters <= SHORT && continues &&
           !clf__word_is_starter(passage, word) && !clf__word_is_starter(passage, &next) &&
           clf__word_classify(passage, next.start, &next) != CLF__WORD_NEVER;
}

/* Handles a single full stop without a following quotation mark. */
static int stop_ends(const struct clf__passage *passage, size_t start, const struct clf__ending *ending,
                     const struct following *following)
{
    struct clf__sentence_word word = clf__word_before(passage, start, ending->start);
    if (clf__word_is_elided_initial(&word)) { /* "l'opera d'A. Manzoni" */
        return 0;
    }
    if (is_number(&word)) {
        return number_ends(passage, start, &word, following);
    }
    struct clf__sentence_word before = previous_word(passage, start, &word);
    enum clf__word_class class = clf__word_classify(passage, start, &word);
    if (clf__word_is_title(&word, &before)) {
        class = CLF__WORD_BETWEEN;
    }
    if (class == CLF__WORD_TIME && word.letters == 1 && word.lower[0] != 'm' &&
        (word.lower[0] != 'c' || before.is_capital) && !is_number(&before) && !before.is_roman) {
        class = CLF__WORD_PLAIN; /* "г. Омск" */
    }
    if (clf__word_begins_abbreviation(passage, &word, &following->word) ||
        (following->mark == CLF__MARK_LOWER &&
         (class != CLF__WORD_PLAIN || word.letters == 1 || looks_abbreviated(&word)))) {
        return 0;
    }
    if ((class == CLF__WORD_PLAIN || class == CLF__WORD_NUMBER) &&
        is_chain(passage, start, &word, following)) {
        return 0;
    }
    if (class != CLF__WORD_PLAIN) {
        return abbreviation_ends(passage, start, &word, &before, following, class);
    }
    if (word.letters == 1 && word.digits == 0) {
        return letter_ends(passage, start, &word, &before, following);
    }
    enum { SHORT = 4 }; /* maximum length of a possible abbreviation: "Ausg. 5", "nach Inf. III" */
    int is_first = !has_words(passage, start, word.start);
    int is_numbered = (following->mark == CLF__MARK_DIGIT && is_first) ||
                      (following->word.is_roman && following->word.letters > 1);
    if (word.letters <= SHORT && is_numbered && !following->has_opening) {
        return 0;
    }
    int is_unit =
        is_number(&before) && word.stops == 0 && (!word.is_capital || clf__word_is_unit(&word)); /* 2,7 Гб */
    if (looks_abbreviated(&word) && !is_unit) {
        class = is_number(&before) && word.stops > 0 ? CLF__WORD_TIME : CLF__WORD_BETWEEN;
        return abbreviation_ends(passage, start, &word, &before, following, class);
    }
    return 1;
}

/* `"Stop!" Paul shouted.` */
static int is_reported(const struct clf__passage *passage, const struct following *following)
{
    enum { NAMES = 2 };
    struct clf__sentence_word word = following->word;
    int is_i = word.letters == 1 && word.lower[0] == 'i'; /* "Stop!" I shouted. */
    if (following->mark != CLF__MARK_UPPER || (clf__word_is_starter(passage, &word) && !is_i)) {
        return 0;
    }
    for (int i = 0; i < NAMES; i++) {
        word = clf__word_at(passage, clf__skip_spaces(passage, word.end));
        if (clf__word_reports(&word)) {
            return 1;
        }
    }
    return 0;
}

/* Handles marks without following white space: in scripts without spaces, or where the space is missing. */
static int joined_ends(const struct clf__passage *passage, size_t start, const struct clf__ending *ending,
                       const struct following *following)
{
    enum { WORD = 2 };
    struct clf__sentence_word word = clf__word_before(passage, start, ending->start);
    int is_marked = ending->is_final || ending->has_ellipsis;
    enum clf__mark initial = clf__mark_at(passage, word.start, NULL);
    if (following->mark == CLF__MARK_LETTER || (following->has_opening && ending->is_wide) ||
        (following->mark == CLF__MARK_DIGIT && ending->is_final && ending->stops == 0 &&
         initial == CLF__MARK_LETTER)) {
        int is_cased = word.letters > 0 && initial != CLF__MARK_LETTER;
        int is_name = is_cased && initial != CLF__MARK_DIGIT && !ending->is_wide; /* Yahoo!ニュース */
        return (ending->is_final && !is_name) ||
               (ending->has_ellipsis ? ending->has_quote && following->has_opening
                                     : !is_cased && ending->stops == 1);
    }
    if (ending->is_wide) { /* ３．５ */
        size_t before;
        clf__char_before(passage, ending->start, &before);
        return following->mark != CLF__MARK_DIGIT || ending->stops == 0 ||
               clf__mark_at(passage, before, NULL) != CLF__MARK_DIGIT;
    }
    if (following->mark != CLF__MARK_UPPER || following->has_dash || word.stops > 0) {
        return 0;
    }
    if (ending->has_quote) {
        return 1;
    }
    return word.letters >= WORD && word.capitals <= word.is_capital && word.digits == 0 &&
           following->word.digits == 0 && following->word.capitals == 1 &&
           (is_marked || (clf__word_is_starter(passage, &following->word) &&
                          clf__word_classify(passage, start, &word) == CLF__WORD_PLAIN));
}

static int ends(const struct clf__passage *passage, size_t start, const struct clf__ending *ending)
{
    enum { SHORT = 2 }; /* words before a heart that is a verb: "I ❤ Paris" */
    struct following following = read_following(passage, ending);
    enum clf__mark first = clf__mark_at(passage, ending->next, NULL);
    int is_inside = following.is_joined && !ending->is_wide && !ending->is_final && /* 3.5, e.g. */
                    (following.mark == CLF__MARK_LOWER || following.mark == CLF__MARK_DIGIT);
    if (following.mark == CLF__MARK_END || following.is_small || is_inside || first == CLF__MARK_COMMA ||
        first == CLF__MARK_CLOSING || !has_words(passage, start, ending->start)) {
        return 0;
    }
    struct clf__sentence_word word = clf__word_before(passage, start, ending->start);
    size_t before;
    clf__char_before(passage, ending->start, &before);
    int is_omission = clf__mark_at(passage, before, NULL) == CLF__MARK_OPENING; /* [...] */
    if (is_omission || (ending->stops == 1 && is_item(passage, start, &word))) {
        return 0;
    }
    if (ending->is_heart && count_words(passage, start, ending->start, SHORT + 1) <= SHORT) {
        return 0;
    }
    if (ending->is_final && clf__word_is_exclaimed(&word, !has_words(passage, start, word.start)) &&
        !starts(passage, &following)) {
        return 0;
    }
    int is_closed = ending->has_quote || ending->has_bracket;
    if (following.mark == CLF__MARK_LETTER && (clf__japanese_particle(passage, ending->next, is_closed) ||
                                               (is_closed && clf__japanese_reports(passage, ending->next)))) {
        return 0;
    }
    size_t quoted = clf__japanese_skip_quotations(passage, ending->next);
    if (is_closed && following.is_joined && quoted > ending->next &&
        clf__japanese_particle(passage, quoted, 1)) {
        return 0;
    }
    if (following.is_joined && !joined_ends(passage, start, ending, &following)) {
        return 0;
    }
    if (following.mark == CLF__MARK_LOWER && passage->has_capitals == 0 &&
        (ending->has_quote || ending->has_ellipsis)) {
        return 0;
    }
    if (ending->is_final) {
        return !ending->has_quote || ending->is_wide || !is_reported(passage, &following);
    }
    if (ending->has_ellipsis) {
        return !ending->is_spaced || ending->stops > 3;
    }
    return ending->has_quote || stop_ends(passage, start, ending, &following);
}

/* Returns whether a quotation begins and ends at sentence boundaries, so that its sentences are split. */
static int stands_alone(const struct clf__passage *passage, size_t start, size_t opening, size_t partner)
{
    size_t at, last = partner;
    clf__char_before(passage, partner, &at);
    while (at > opening && clf__char_before(passage, at, &last) >= 0 &&
           clf__mark_at(passage, last, NULL) == CLF__MARK_SPACE) {
        at = last;
    }
    enum clf__mark mark = clf__mark_at(passage, last, NULL), behind = clf__mark_at(passage, partner, NULL);
    if (behind == CLF__MARK_STOP || behind == CLF__MARK_FINAL) { /* «Go. Run». */
        last = partner;
        mark = behind;
    }
    if (has_words(passage, start, opening) ||
        (mark != CLF__MARK_STOP && mark != CLF__MARK_FINAL && mark != CLF__MARK_ELLIPSIS)) {
        return 0;
    }
    struct clf__ending ending = clf__ending_read(passage, last);
    return clf__mark_at(passage, ending.next, NULL) == CLF__MARK_END || ends(passage, start, &ending);
}

size_t clf__sentence_end(const struct clf__passage *passage, size_t start)
{
    size_t next, size = clf__item_end(passage, start);
    size_t inside =
        0; /* no sentence ends before this offset, because a quotation or bracket is part of the sentence */
    int is_bracket = 0;
    for (size_t at = start; at < size; at = next) {
        enum clf__mark mark = clf__mark_at(passage, at, &next);
        if (mark == CLF__MARK_LINE_BREAK) {
            return at;
        }
        if (mark == CLF__MARK_OPENING && at >= inside) {
            size_t partner = clf__mark_partner(passage, at);
            if (partner > 0 && !stands_alone(passage, start, at, partner)) {
                inside = partner;
                is_bracket = is_bracket_at(passage, at);
            }
        }
        if (mark == CLF__MARK_STOP || mark == CLF__MARK_FINAL || mark == CLF__MARK_ELLIPSIS) {
            struct clf__ending ending = clf__ending_read(passage, at);
            int is_whole = ending.end >= inside && (!is_bracket || ending.last >= inside || inside == 0);
            if (is_whole && ends(passage, start, &ending)) {
                return ending.end;
            }
            clf__char_at(passage, ending.last, &next);
        }
    }
    return size;
}
