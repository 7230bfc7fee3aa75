#include "text/sentences/following.h"

int clf__is_bracket_at(const struct clf__passage *passage, size_t at)
{
    int32_t character = clf__char_at(passage, at, NULL);
    return character == '(' || character == '[' || character == 0xff08 || character == 0xff3b;
}

struct clf__following clf__following_read(const struct clf__passage *passage,
                                          const struct clf__ending *ending)
{
    struct clf__following following = {.is_joined = ending->next == ending->end};
    enum { MOST = 64 }; /* ellipses up to this distance in bytes are skipped */
    size_t at = ending->next, next;
    following.has_bracket = clf__is_bracket_at(passage, at);
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

int clf__count_words(const struct clf__passage *passage, size_t start, size_t end, int most)
{
    int count = 0, is_inside = 0;
    for (size_t at = start, next; at < end && count < most; at = next) {
        int is_space = clf__mark_at(passage, at, &next) == CLF__MARK_SPACE;
        count += !is_space && !is_inside;
        is_inside = !is_space;
    }
    return count;
}

int clf__has_words(const struct clf__passage *passage, size_t start, size_t end)
{
    enum { DISTANCE = 256 };
    for (size_t at = end - start > DISTANCE ? end - DISTANCE : start, next; at < end; at = next) {
        if (clf__mark_is_word(clf__mark_at(passage, at, &next))) {
            return 1;
        }
    }
    return 0;
}

struct clf__sentence_word clf__previous_word(const struct clf__passage *passage, size_t start,
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

int clf__following_starts(const struct clf__passage *passage, const struct clf__following *following)
{
    return (following->mark == CLF__MARK_UPPER && clf__word_is_starter(passage, &following->word)) ||
           following->has_inverted;
}
