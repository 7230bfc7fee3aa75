#include "text/markup/markup.h"

#include <stdlib.h>

#include "base/memory.h"
#include "text/markup/words.h"

enum { ROOT = -1 };

/* State of a move. */
struct move {
    struct clf_mark *out;
    const struct clf_mark *elements;
    int count;
    const struct clf__markup_pair *pair;
    struct clf__markup_word *words; /* (word_count) of the translation */
    int word_count;
    int *first_link; /* (word_count + 1) the first link of each word */
    int *home;       /* (word_count) the innermost element in which a word belongs, or ROOT */
    int *owner;      /* (word_count) the innermost element in which a word is, or ROOT */
    int *ranges;     /* (count, 2) first word of an element, and the word after its last one; equal: empty */
};

static int is_empty(const struct clf_mark *element)
{
    return element->start == element->end;
}

/* Returns the size of the common part of two ranges. */
static size_t common_size(size_t start, size_t end, size_t other, size_t other_end)
{
    size_t from = start > other ? start : other, to = end < other_end ? end : other_end;
    return from < to ? to - from : 0;
}

static void find_links(struct move *move)
{
    int link = 0;
    for (int i = 0; i < move->word_count; i++) {
        while (link < move->pair->link_count &&
               move->pair->links[link].text + move->pair->links[link].text_size <= move->words[i].start) {
            link++;
        }
        move->first_link[i] = link;
    }
    move->first_link[move->word_count] = move->pair->link_count;
}

/* Returns the share of a word that belongs in an element, from -1 to 1; 0: nothing is aligned with the word.
 */
static double find_share(const struct move *move, int word, const struct clf_mark *element)
{
    double in = 0, all = 0;
    for (int i = move->first_link[word]; i < move->pair->link_count; i++) {
        const struct clf_alignment_link *link = &move->pair->links[i];
        if (link->text >= move->words[word].end) {
            break;
        }
        double weight = (double)common_size(link->text, link->text + link->text_size, move->words[word].start,
                                            move->words[word].end);
        double common =
            (double)common_size(link->source, link->source + link->source_size, element->start, element->end);
        all += weight;
        in += weight * common / (double)link->source_size;
    }
    return all > 0 ? 2 * in / all - 1 : 0;
}

/* Returns the range of words of an element's parent. */
static void find_room(int *from, int *to, const struct move *move, int element)
{
    int parent = move->elements[element].parent;
    *from = parent == ROOT ? 0 : move->ranges[2 * parent];
    *to = parent == ROOT ? move->word_count : move->ranges[2 * parent + 1];
}

/* Finds where each word belongs. */
static void find_homes(struct move *move)
{
    for (int i = 0; i < move->word_count; i++) {
        move->home[i] = ROOT;
        for (int k = 0; k < move->count; k++) {
            int is_in = !is_empty(&move->elements[k]) && find_share(move, i, &move->elements[k]) > 0;
            move->home[i] = is_in ? k : move->home[i];
        }
    }
}

/* Returns the element with this parent that is, or contains, an element; ROOT: there is none. */
static int child_of(const struct move *move, int element, int parent)
{
    int child = ROOT;
    while (element != parent && element != ROOT) {
        child = element;
        element = move->elements[element].parent;
    }
    return child;
}

/* Returns whether a word belongs in another element with the same parent. */
static int belongs_elsewhere(const struct move *move, int word, int element)
{
    int parent = move->elements[element].parent, child = child_of(move, move->home[word], parent);
    return child != ROOT && child != element && move->elements[child].parent == parent;
}

/* Finds the consecutive free words with the largest sum of shares; returns 0 if no sum is positive. */
static int find_aligned(const struct move *move, int element, int *first, int *last)
{
    int from, to, start = 0;
    double sum = 0, best = 0;
    find_room(&from, &to, move, element);
    for (int i = from; i < to; i++) {
        if (move->owner[i] != move->elements[element].parent || belongs_elsewhere(move, i, element)) {
            sum = 0;
            continue;
        }
        start = sum > 0 ? start : i;
        sum = (sum > 0 ? sum : 0) + find_share(move, i, &move->elements[element]);
        if (sum > best) {
            best = sum;
            *first = start;
            *last = i + 1;
        }
    }
    return best > 0;
}

/* Finds the free word that is nearest to the relative position of an element; returns 0 if there is none. */
static int find_free(const struct move *move, int element, int *first, int *last)
{
    int from, to, best = -1;
    size_t middle = (move->elements[element].start + move->elements[element].end) / 2;
    find_room(&from, &to, move, element);
    int wanted = (int)((double)middle / (double)move->pair->source_size * move->word_count);
    for (int i = from; i < to; i++) {
        int is_free = move->owner[i] == move->elements[element].parent;
        if (is_free && (best < 0 || abs(i - wanted) < abs(best - wanted))) {
            best = i;
        }
    }
    *first = best;
    *last = best + 1;
    return best >= 0;
}

static void set_range(struct move *move, int element, int first, int last)
{
    move->ranges[2 * element] = first;
    move->ranges[2 * element + 1] = last;
    for (int i = first; i < last; i++) {
        move->owner[i] = element;
    }
    if (first < last) {
        move->out[element].start = move->words[first].start;
        move->out[element].end = move->words[last - 1].end;
    }
}

/* Returns whether an element contains all words of its parent or of the text. */
static int is_whole(const struct move *move, int element)
{
    int parent = move->elements[element].parent;
    size_t start = parent == ROOT ? 0 : move->elements[parent].start;
    size_t end = parent == ROOT ? move->pair->source_size : move->elements[parent].end;
    const char *text = move->pair->source;
    while (start < end && text[start] == ' ') {
        start++;
    }
    while (start < end && text[end - 1] == ' ') {
        end--;
    }
    return start < end && move->elements[element].start <= start && move->elements[element].end >= end;
}

/* Places the elements that contain text: first those with which words are aligned, so that the others do not
 * take these words. */
static void place_elements(struct move *move)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < move->count; i++) {
            int first = 0, last = 0, is_placed = move->ranges[2 * i] < move->ranges[2 * i + 1];
            if (is_placed || is_empty(&move->elements[i])) {
                continue;
            }
            if (is_whole(move, i)) {
                find_room(&first, &last, move, i);
                set_range(move, i, first, last);
            } else if (move->pair->link_count > 0 && (find_aligned(move, i, &first, &last) ||
                                                      (pass == 1 && find_free(move, i, &first, &last)))) {
                set_range(move, i, first, last);
            }
        }
    }
}

/* Returns the word before which an empty element stands: after the words that are aligned with text before
 * the element, nearest to it. */
static int find_place(const struct move *move, int element, int from, int to)
{
    size_t at = move->elements[element].start, nearest = 0;
    int best = from;
    for (int i = from; i < to; i++) {
        for (int k = move->first_link[i]; k < move->pair->link_count; k++) {
            const struct clf_alignment_link *link = &move->pair->links[k];
            size_t middle = link->source + link->source_size / 2;
            if (link->text >= move->words[i].end) {
                break;
            }
            if (middle < at && middle >= nearest) {
                nearest = middle;
                best = i + 1;
            }
        }
    }
    return best;
}

/* Places an element without words between two words, and not in another element. */
static void place_empty(struct move *move, int element)
{
    const struct clf_mark *source = &move->elements[element];
    int parent = source->parent, from, to;
    find_room(&from, &to, move, element);
    size_t start = parent == ROOT ? 0 : move->out[parent].start;
    size_t end = parent == ROOT ? move->pair->text_size : move->out[parent].end;
    size_t before = parent == ROOT ? 0 : move->elements[parent].start;
    size_t after = parent == ROOT ? move->pair->source_size : move->elements[parent].end;
    int place = from;
    if (source->end >= after ||
        (move->pair->link_count == 0 && source->start - before >= (after - before) / 2)) {
        place = to;
    } else if (source->start > before) {
        place = find_place(move, element, from, to);
    }
    while (place > from && place < to && child_of(move, move->owner[place - 1], parent) != ROOT &&
           child_of(move, move->owner[place - 1], parent) == child_of(move, move->owner[place], parent)) {
        place++;
    }
    int follows_space = source->start > 0 && move->pair->source[source->start - 1] == ' ';
    size_t at = place == from ? start
                : place == to ? end
                              : (follows_space ? move->words[place].start : move->words[place - 1].end);
    move->out[element].start = move->out[element].end = at;
    move->ranges[2 * element] = move->ranges[2 * element + 1] = place;
}

static clf_status allocate(struct move *move)
{
    const struct clf__markup_pair *pair = move->pair;
    CLF__TRY(clf__markup_words(&move->words, &move->word_count, pair->text, pair->text_size));
    CLF__TRY(clf__allocate(&move->first_link, (size_t)move->word_count + 1, sizeof *move->first_link));
    CLF__TRY(clf__allocate(&move->home, (size_t)move->word_count, sizeof *move->home));
    CLF__TRY(clf__allocate(&move->owner, (size_t)move->word_count, sizeof *move->owner));
    return clf__allocate(&move->ranges, 2 * (size_t)move->count, sizeof *move->ranges);
}

clf_status clf__markup_move(struct clf_mark *out, const struct clf_mark *elements, int count,
                            const struct clf__markup_pair *pair)
{
    struct move move = {.out = out, .elements = elements, .count = count, .pair = pair};
    clf_status status = allocate(&move);
    if (status == CLF_OK) {
        find_links(&move);
        find_homes(&move);
        for (int i = 0; i < move.word_count; i++) {
            move.owner[i] = ROOT;
        }
        for (int i = 0; i < count; i++) {
            out[i] = (struct clf_mark){.parent = elements[i].parent};
        }
        place_elements(&move);
        for (int i = 0; i < count; i++) {
            if (move.ranges[2 * i] == move.ranges[2 * i + 1]) {
                place_empty(&move, i);
            }
        }
    }
    clf__free(move.words);
    clf__free(move.first_link);
    clf__free(move.home);
    clf__free(move.owner);
    clf__free(move.ranges);
    return status;
}
