#include "text/sentences/ends.h"

#include "text/sentences/abbreviations.h"
#include "text/sentences/items.h"
#include "text/sentences/japanese.h"
#include "text/sentences/stops.h"

/* Returns whether a number starts a list item at the beginning of a line or sentence: "1. Open the lid." */
static int is_item(const struct clf__passage *passage, size_t start, const struct clf__sentence_word *word)
{
    return word->digits > 0 && word->letters == 0 && !clf__has_words(passage, start, word->start);
}

/* `"Stop!" Paul shouted.` */
static int is_reported(const struct clf__passage *passage, const struct clf__following *following)
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
                       const struct clf__following *following)
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
    struct clf__following following = clf__following_read(passage, ending);
    enum clf__mark first = clf__mark_at(passage, ending->next, NULL);
    int is_inside = following.is_joined && !ending->is_wide && !ending->is_final && /* 3.5, e.g. */
                    (following.mark == CLF__MARK_LOWER || following.mark == CLF__MARK_DIGIT);
    if (following.mark == CLF__MARK_END || following.is_small || is_inside || first == CLF__MARK_COMMA ||
        first == CLF__MARK_CLOSING || !clf__has_words(passage, start, ending->start)) {
        return 0;
    }
    struct clf__sentence_word word = clf__word_before(passage, start, ending->start);
    size_t before;
    clf__char_before(passage, ending->start, &before);
    int is_omission = clf__mark_at(passage, before, NULL) == CLF__MARK_OPENING; /* [...] */
    if (is_omission || (ending->stops == 1 && is_item(passage, start, &word))) {
        return 0;
    }
    if (ending->is_heart && clf__count_words(passage, start, ending->start, SHORT + 1) <= SHORT) {
        return 0;
    }
    if (ending->is_final && clf__word_is_exclaimed(&word, !clf__has_words(passage, start, word.start)) &&
        !clf__following_starts(passage, &following)) {
        return 0;
    }
    int is_closed = ending->has_quote || ending->has_bracket;
    if (following.mark == CLF__MARK_LETTER && (clf__japanese_particle(passage, ending->next, is_closed) ||
                                               (is_closed && clf__japanese_reports(passage, ending->next)))) {
        return 0;
    }
    if (following.is_joined && clf__japanese_repeats(passage, start, ending->end)) {
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
    return ending->has_quote || clf__stop_ends(passage, start, ending, &following);
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
    if (clf__has_words(passage, start, opening) ||
        (mark != CLF__MARK_STOP && mark != CLF__MARK_FINAL && mark != CLF__MARK_ELLIPSIS)) {
        return 0;
    }
    struct clf__ending ending = clf__ending_read(passage, last);
    return clf__mark_at(passage, ending.next, NULL) == CLF__MARK_END || ends(passage, start, &ending);
}

/* « Je pars, dit-il. — Déjà ? »: returns whether a dash and a capital letter begin another speaker's turn. */
static int is_turn(const struct clf__passage *passage, const struct clf__ending *ending)
{
    size_t next;
    int32_t dash = clf__char_at(passage, ending->next, &next);
    size_t text = clf__skip_spaces(passage, next);
    return (dash == 0x2014 || dash == 0x2013) && text > next &&
           clf__mark_at(passage, text, NULL) == CLF__MARK_UPPER;
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
            if (partner > 0 && !clf__has_words(passage, start, at) && clf__japanese_narrates(passage, at)) {
                return partner;
            }
            if (partner > 0 && !stands_alone(passage, start, at, partner)) {
                inside = partner;
                is_bracket = clf__is_bracket_at(passage, at);
            }
        }
        if (mark == CLF__MARK_STOP || mark == CLF__MARK_FINAL || mark == CLF__MARK_ELLIPSIS) {
            struct clf__ending ending = clf__ending_read(passage, at);
            int is_whole = ending.end >= inside ? !is_bracket || ending.last >= inside || inside == 0
                                                : !is_bracket && is_turn(passage, &ending);
            if (is_whole && ends(passage, start, &ending)) {
                return ending.end;
            }
            clf__char_at(passage, ending.last, &next);
        }
    }
    return size;
}
