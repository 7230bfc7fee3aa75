#include "text/sentences/items.h"

#include "text/sentences/words.h"

/* A marker such as "1.", "2)", "b." or "• 3.)", and the text that follows it. */
struct marker {
    int32_t bullet; /* -1: none */
    int value;      /* the number, or the letter's code point */
    int is_letter, has_stop, has_bracket;
    size_t text; /* the offset of the item's text */
};

static int is_bullet(int32_t character)
{
    return character == 0x2022 || character == 0x2043 || character == 0x2023 || character == 0xb7 ||
           character == '*' || character == '-' || character == 0x2013;
}

static int is_basic_letter(int32_t character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

/* Reads one letter or up to three digits, and returns the offset of the next character. */
static size_t read_value(struct marker *marker, const struct clf__passage *passage, size_t at)
{
    enum { DIGITS = 3 };
    size_t next;
    int32_t character = clf__char_at(passage, at, &next);
    if (is_basic_letter(character)) {
        marker->is_letter = 1;
        marker->value = character;
        return next;
    }
    size_t first = at;
    while (at - first < DIGITS && character >= '0' && character <= '9') {
        marker->value = 10 * marker->value + (character - '0');
        at = next;
        character = clf__char_at(passage, at, &next);
    }
    return at;
}

/* Reads the marker at an offset; returns 0 if there is none. */
static int read_marker(struct marker *marker, const struct clf__passage *passage, size_t at)
{
    size_t next;
    *marker = (struct marker){.bullet = -1};
    if (is_bullet(clf__char_at(passage, at, &next))) {
        marker->bullet = clf__char_at(passage, at, NULL);
        at = clf__skip_spaces(passage, next);
    }
    size_t end = read_value(marker, passage, at);
    if (end == at) {
        return 0;
    }
    marker->has_stop = clf__char_at(passage, end, &next) == '.';
    end = marker->has_stop ? next : end;
    marker->has_bracket = clf__char_at(passage, end, &next) == ')';
    end = marker->has_bracket ? next : end;
    marker->text = clf__skip_spaces(passage, end);
    int is_initial = marker->is_letter && marker->value <= 'Z' && !marker->has_bracket; /* "A. Smith" */
    return (marker->has_stop || marker->has_bracket) && !is_initial && marker->text > end;
}

/* Returns whether a marker continues another's list. The texts of both items must start alike, which excludes
 * German ordinals ("1. Advent und 2. Advent") and dates. */
static int is_next(const struct clf__passage *passage, const struct marker *first,
                   const struct marker *marker, size_t at)
{
    size_t start;
    clf__char_before(passage, at, &start);
    while (start > first->text && clf__mark_at(passage, start, NULL) == CLF__MARK_SPACE) {
        clf__char_before(passage, start, &start);
    }
    size_t end;
    enum clf__mark before = clf__mark_at(passage, start, &end);
    struct clf__sentence_word word = clf__word_before(passage, first->text, end);
    return marker->bullet == first->bullet && marker->is_letter == first->is_letter &&
           marker->has_stop == first->has_stop && marker->has_bracket == first->has_bracket &&
           marker->value == first->value + 1 && before != CLF__MARK_COMMA && word.letters > 0 &&
           !clf__word_precedes_ordinal(&word) &&
           clf__mark_at(passage, marker->text, NULL) == clf__mark_at(passage, first->text, NULL);
}

size_t clf__item_end(const struct clf__passage *passage, size_t start)
{
    struct marker first, marker;
    if (!read_marker(&first, passage, clf__skip_spaces(passage, start))) {
        return passage->size;
    }
    int is_after_space = 0;
    for (size_t at = first.text, next; at < passage->size && at - start < CLF__QUOTE_BYTES; at = next) {
        enum clf__mark mark = clf__mark_at(passage, at, &next);
        if (mark == CLF__MARK_LINE_BREAK) {
            break;
        }
        if (is_after_space && read_marker(&marker, passage, at) && is_next(passage, &first, &marker, at)) {
            return at;
        }
        is_after_space = mark == CLF__MARK_SPACE;
    }
    return passage->size;
}
