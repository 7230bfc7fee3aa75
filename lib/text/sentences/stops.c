#include "text/sentences/stops.h"

#include <string.h>

#include "text/sentences/abbreviations.h"

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
                       const struct clf__sentence_word *word, const struct clf__following *following)
{
    enum { DAY = 2, ORDINAL = 3, YEAR = 4 }; /* digits */
    struct clf__sentence_word before = clf__previous_word(passage, start, word);
    int digits = word->end - word->start == (size_t)word->digits ? word->digits : ORDINAL + 1;
    if (following->mark == CLF__MARK_DIGIT) { /* 3. 4. 1995 */
        size_t next;
        int is_day = clf__char_at(passage, following->word.end, &next) == '.' &&
                     following->word.digits <= DAY && clf__mark_at(passage, next, NULL) != CLF__MARK_DIGIT;
        int is_month = is_number(&before) && before.digits <= DAY && following->word.digits == YEAR &&
                       clf__char_at(passage, before.end, NULL) == '.';
        return !(is_day || is_month) || digits > DAY;
    }
    if (digits <= DAY && (clf__word_is_german_month(&following->word) ||
                          clf__word_is_german_rank(&following->word))) { /* "3. Mai", "4. Stock" */
        return 0;
    }
    return digits > ORDINAL || !clf__word_precedes_ordinal(&before) ||
           clf__following_starts(passage, following);
}

/* "J." */
static int is_initial(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    return word->letters == 1 && word->digits == 0 && clf__char_at(passage, word->end, NULL) == '.';
}

/* "R & B": returns whether a single letter and an ampersand come before. */
static int is_after_ampersand(const struct clf__passage *passage, const struct clf__sentence_word *letter)
{
    size_t at = letter->start;
    int32_t character = clf__char_before(passage, at, &at);
    if (character == ' ') {
        character = clf__char_before(passage, at, &at);
    }
    if (character != '&') {
        return 0;
    }
    if (clf__char_before(passage, at, NULL) == ' ') {
        clf__char_before(passage, at, &at);
    }
    struct clf__sentence_word other = clf__word_before(passage, 0, at);
    return other.letters == 1 && other.is_capital;
}

/* "groups A and B": returns whether a conjunction and a single letter come before. */
static int is_letter_list(const struct clf__passage *passage, size_t start,
                          const struct clf__sentence_word *conjunction)
{
    struct clf__sentence_word letter = clf__previous_word(passage, start, conjunction);
    return clf__word_joins(conjunction) && letter.letters == 1 && letter.digits == 0 && letter.is_capital &&
           clf__char_at(passage, letter.end, NULL) != '.';
}

/* "судья Орлов А. М.": returns whether a letter is the second initial after a Russian surname. */
static int is_after_surname(const struct clf__passage *passage, size_t start,
                            const struct clf__sentence_word *word, const struct clf__sentence_word *before)
{
    if (!word->is_capital || !before->is_capital || !is_initial(passage, before)) {
        return 0;
    }
    struct clf__sentence_word surname = clf__previous_word(passage, start, before);
    return clf__char_at(passage, surname.end, NULL) == ' ' && clf__word_is_russian_surname(&surname);
}

/* "12 N. Main St." */
static int is_compass(const struct clf__passage *passage, const struct clf__sentence_word *word,
                      const struct clf__following *following)
{
    size_t street = clf__skip_spaces(passage, following->word.end);
    struct clf__sentence_word next = clf__word_at(passage, street);
    return word->is_capital && clf__word_is_in(" n s e w ", word->lower) && following->word.is_capital &&
           next.is_capital &&
           clf__word_is_in(" st ave rd blvd dr ln street avenue road boulevard drive lane ", next.lower);
}

/* Returns whether a letter with a full stop ends a sentence. It is an initial, except units and labels. */
static int letter_ends(const struct clf__passage *passage, size_t start,
                       const struct clf__sentence_word *word, const struct clf__sentence_word *before,
                       const struct clf__following *following)
{
    if (!clf__has_words(passage, start, word->start)) {
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
    if (word->is_capital && (is_letter_list(passage, start, before) || is_after_ampersand(passage, word))) {
        return 1;
    }
    if (following->mark == CLF__MARK_DIGIT || is_initial(passage, &following->word)) {
        return 0;
    }
    if (word->is_roman && before->is_capital &&
        clf__following_starts(passage, following)) { /* "Alfonso X. El ..." */
        return 1;
    }
    if (is_after_surname(passage, start, word, before)) {
        return 1;
    }
    if (is_compass(passage, word, following)) {
        return 0;
    }
    int is_whole_word = strchr("aeioy", word->lower[0]) != NULL && !word->is_capital; /* "ce qu'il a." */
    return is_whole_word || is_number(before) ||
           (clf__following_starts(passage, following) && !following->has_opening &&
            !clf__word_is_particle(&following->word));
}

/* Recognises unlisted abbreviations: letters with inner full stops, or only consonants. */
static int looks_abbreviated(const struct clf__sentence_word *word)
{
    enum { PART = 3, CONSONANTS = 4, COMPOUND = 4 };
    if (word->letters == 0 || word->digits > 0) {
        return 0;
    }
    if (word->stops == 0) {
        return word->capitals <= word->is_capital && word->letters <= CONSONANTS &&
               !clf__word_has_vowels(word);
    }
    const char *hyphen = strstr(word->lower, ".-"); /* "Dipl.-Kfm." */
    if (hyphen != NULL && strchr(hyphen + 1, '.') == NULL) {
        return strlen(hyphen + 2) <= COMPOUND;
    }
    int letters = 0, longest = 0;
    for (const char *at = word->lower; *at != '\0'; at++) {
        int is_letter = *at != '-' && ((unsigned char)*at & 0xc0) != 0x80;
        letters = *at == '.' ? 0 : letters + is_letter;
        longest = letters > longest ? letters : longest;
        int is_apostrophe = *at == '\'' ? at[1] != '\0' : strncmp(at, "\xe2\x80\x99", 3) == 0;
        if (is_apostrophe) { /* "dell'A.C." */
            letters = longest = 0;
        }
    }
    return longest <= PART;
}

/* Returns whether a sign before a number follows: "ref. № 5", "max. $20". */
static int is_sign_next(const struct clf__passage *passage, const struct clf__following *following,
                        enum clf__word_class class)
{
    size_t next;
    int32_t sign = clf__char_at(passage, following->word.start, &next);
    int is_amount = sign == '$' || sign == 0x20ac || sign == 0xa3 || sign == '+' || sign == '<' ||
                    sign == '>' || sign == '~' || sign == '#' || sign == 0xb1 || sign == 0x2248;
    int has_number = clf__mark_at(passage, clf__skip_spaces(passage, next), NULL) == CLF__MARK_DIGIT;
    return has_number && (sign == 0xa7 || sign == 0x2116 || (is_amount && class == CLF__WORD_NUMBER));
}

/* "Cat. No. 5": returns whether an abbreviation of "number" and a number follow. */
static int is_numbering_next(const struct clf__passage *passage, const struct clf__sentence_word *next)
{
    size_t behind;
    return clf__word_is_in(" no nr n núm num ", next->lower) &&
           clf__char_at(passage, next->end, &behind) == '.' &&
           clf__mark_at(passage, clf__skip_spaces(passage, behind), NULL) == CLF__MARK_DIGIT;
}

/* "No. BA 117": returns whether a word is a short code before a number. */
static int is_code(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    enum { LETTERS = 3 };
    size_t next = clf__skip_spaces(passage, word->end);
    return word->letters > 1 && word->letters <= LETTERS && word->capitals == word->letters &&
           next > word->end && clf__mark_at(passage, next, NULL) == CLF__MARK_DIGIT;
}

/* Returns whether a number is not the first word of a sentence, as a comma or "and" follows. */
static int is_bare_number(const struct clf__passage *passage, const struct clf__sentence_word *number)
{
    enum { DIGITS = 3 };
    size_t next;
    int32_t behind = clf__char_at(passage, number->end, &next);
    struct clf__sentence_word word = clf__word_at(passage, clf__skip_spaces(passage, number->end));
    int is_comma = (behind == ',' && clf__mark_at(passage, next, NULL) == CLF__MARK_SPACE) || behind == ';' ||
                   behind == ')';
    return is_number(number) && number->digits <= DIGITS && (is_comma || clf__word_joins(&word));
}

/* Returns whether a short unlisted word is an abbreviation before a number: "ref. 5, cant. 3", "doc. 7 y 8".
 */
static int is_numbered(const struct clf__passage *passage, size_t start,
                       const struct clf__sentence_word *word, const struct clf__following *following)
{
    enum { SHORT = 5, SHORTER = 4 };
    size_t at = word->start, begin;
    while (at > start && clf__char_before(passage, at, &begin) >= 0 &&
           clf__mark_at(passage, begin, NULL) == CLF__MARK_SPACE) {
        at = begin;
    }
    int32_t character = at > start ? clf__char_before(passage, at, NULL) : -1;
    int is_after_comma = character == ',' || character == ';' || character == '(';
    return following->mark == CLF__MARK_DIGIT && !following->has_opening && word->letters > 1 &&
           word->letters <= SHORT && word->capitals == 0 && word->digits == 0 &&
           (is_after_comma || (word->letters <= SHORTER && is_bare_number(passage, &following->word)));
}

/* "2 caps. 3 times a day": returns whether a number and how often follow. */
static int is_dose_next(const struct clf__passage *passage, const struct clf__following *following)
{
    size_t next = clf__skip_spaces(passage, following->word.end);
    struct clf__sentence_word word = clf__word_at(passage, next);
    int is_times = clf__char_at(passage, next, NULL) == 0xd7 || clf__begins_with(passage, next, "-mal");
    return following->mark == CLF__MARK_DIGIT && (is_times || clf__word_is_frequency(&word));
}

/* Returns whether a number or label follows: "p. 5", "vol. II", "bl. B"; but not "no. I ...", an English
 * sentence. */
static int is_number_next(const struct clf__passage *passage, const struct clf__following *following,
                          const struct clf__sentence_word *word, enum clf__word_class class)
{
    const struct clf__sentence_word *next = &following->word;
    int32_t behind = clf__char_at(passage, next->end, NULL);
    enum { DAY = 2 }; /* digits */
    static const char english[] =
        " no mind art fig app cap bin gem temp max sect rev mod comp prop exp par cell op ";
    if (following->mark == CLF__MARK_DIGIT && clf__word_is_weekday(word)) {
        return next->digits <= DAY;
    }
    if (following->mark == CLF__MARK_DIGIT || (next->is_roman && next->letters > 1)) {
        return !following->has_opening || class == CLF__WORD_NUMBER;
    }
    if (is_sign_next(passage, following, class) || (class == CLF__WORD_NUMBER && is_code(passage, next)) ||
        (class == CLF__WORD_NUMBER && is_numbering_next(passage, next))) {
        return 1;
    }
    return class == CLF__WORD_NUMBER && next->letters == 1 && next->is_capital && behind != '\'' &&
           behind != 0x2019 && !clf__word_is_short_month(word) &&
           (word->is_capital || (next->is_roman && !clf__word_is_in(english, word->lower)) ||
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
    return clf__word_is_preposition(&first) && clf__count_words(passage, start, end, MOST + 1) <= MOST;
}

/* "il cap. De Rosa": a particle and a capitalised name */
static int is_surname(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    size_t next = clf__skip_spaces(passage, word->end);
    return clf__word_is_particle(word) && clf__mark_at(passage, next, NULL) == CLF__MARK_UPPER;
}

/* "90 Min. Umsteigen muss man nicht.": returns whether a finite verb comes after the next word. */
static int is_clause(const struct clf__passage *passage, const struct clf__sentence_word *next)
{
    struct clf__sentence_word verb = clf__word_at(passage, clf__skip_spaces(passage, next->end));
    return next->is_capital && clf__word_is_finite(&verb);
}

/* Returns whether an abbreviation ends a sentence; `before` is the word before it. */
static int abbreviation_ends(const struct clf__passage *passage, size_t start,
                             const struct clf__sentence_word *word, const struct clf__sentence_word *before,
                             const struct clf__following *following, enum clf__word_class class)
{
    int is_alone =
        !clf__has_words(passage, start, word->start) && class != CLF__WORD_NUMBER; /* "P.S. The ..." */
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
               (!word->is_capital || clf__following_starts(passage, following) ||
                is_clause(passage, &following->word));
    case CLF__WORD_TIME:
        return clf__following_starts(passage, following) || !is_adverbial(passage, start, word->end);
    case CLF__WORD_BETWEEN:
        if (!word->is_capital && strcmp(word->lower, "prof") == 0 && clf__word_is_finite(before)) {
            return 1; /* "Il est prof." */
        }
        return (clf__following_starts(passage, following) &&
                !(is_title && is_surname(passage, &following->word))) ||
               (is_number(before) && is_clause(passage, &following->word));
    case CLF__WORD_NUMBER: /* "на 88-й мин." */
        return !is_ordinal(passage, before) || clf__following_starts(passage, following);
    case CLF__WORD_LAST: /* "S. A. R." */
        return word->letters > 1 || !word->is_capital || !is_initial(passage, &following->word);
    default:
        return 1;
    }
}

/* Returns whether two abbreviations follow each other: "Phys. Rev.", "JJ. OO.". */
static int is_chain(const struct clf__passage *passage, size_t start, const struct clf__sentence_word *word,
                    const struct clf__following *following)
{
    enum { SHORT = 5, PAIR = 2 };
    struct clf__sentence_word next = following->word;
    size_t behind;
    if (clf__char_at(passage, next.end, &behind) != '.' || !word->is_capital || !next.is_capital ||
        following->has_opening || following->is_joined || !clf__has_words(passage, start, word->start)) {
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

/* "/proc": returns whether a slash begins the word. */
static int is_path(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    size_t slash;
    int is_slash = clf__char_before(passage, word->start, &slash) == '/';
    int32_t before = is_slash ? clf__char_before(passage, slash, NULL) : 0;
    return is_slash && (before < 0 || before == ' ' || before == '"' || before == '/');
}

int clf__stop_ends(const struct clf__passage *passage, size_t start, const struct clf__ending *ending,
                   const struct clf__following *following)
{
    struct clf__sentence_word word = clf__word_before(passage, start, ending->start);
    if (clf__word_is_elided_initial(passage, &word)) { /* "l'opera d'A. Manzoni" */
        return 0;
    }
    if (is_number(&word)) {
        return number_ends(passage, start, &word, following);
    }
    struct clf__sentence_word before = clf__previous_word(passage, start, &word);
    enum clf__word_class class = clf__word_classify(passage, start, &word);
    if (is_path(passage, &word)) {
        return 1;
    }
    if (clf__word_is_title(&word, &before)) {
        class = CLF__WORD_BETWEEN;
    }
    if (class == CLF__WORD_TIME && word.letters == 1 && word.lower[0] != 'm' &&
        (word.lower[0] != 'c' || before.is_capital) && !is_number(&before) && !before.is_roman) {
        class = CLF__WORD_PLAIN; /* "г. Омск" */
    }
    if (class == CLF__WORD_TIME && word.capitals > 1 && clf__word_is_listed(" a.c ", word.lower) &&
        !is_number(&before)) {
        class = CLF__WORD_PLAIN; /* "l'A.C. Milan" */
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
    int is_first = !clf__has_words(passage, start, word.start);
    int has_number = (following->mark == CLF__MARK_DIGIT && is_first) ||
                     (following->word.is_roman && following->word.letters > 1);
    if ((word.letters <= SHORT && has_number && !following->has_opening) ||
        is_numbered(passage, start, &word, following) ||
        (is_number(&before) && is_dose_next(passage, following))) {
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
