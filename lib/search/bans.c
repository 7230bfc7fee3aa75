#include <string.h>

#include "search/internal.h"

size_t clf__bans_limit(const struct clf__search_options *options)
{
    size_t listed = (size_t)options->suppressed_count + (size_t)options->bad_word_count + 1;
    size_t vocabulary = (size_t)options->vocabulary;
    return listed < vocabulary ? listed : vocabulary;
}

/* Puts an id into an ascending list, once; returns its new length. */
static int insert(int32_t *list, int count, int32_t id)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (list[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < count && list[low] == id) {
        return count;
    }
    memmove(list + low + 1, list + low, (size_t)(count - low) * sizeof *list);
    list[low] = id;
    return count + 1;
}

int clf__bans_prepare(int32_t *always_banned, const struct clf__search_options *options)
{
    int count = 0;
    for (int i = 0; i < options->suppressed_count; i++) {
        count = insert(always_banned, count, options->suppressed[i]);
    }
    for (int word = 0; word < options->bad_word_count; word++) {
        int32_t first = options->bad_word_offsets[word];
        int32_t id = options->bad_words[first];
        if (options->bad_word_offsets[word + 1] - first == 1 && id != options->end_id) {
            count = insert(always_banned, count, id);
        }
    }
    return count;
}

/* True where all ids of a bad word but its last are the latest of the beam's. */
static int would_complete(const struct clf__beam *beam, const int32_t *word, int word_length)
{
    int before = word_length - 1;
    int held = beam->length + 1; /* the start token too */
    return before <= held && memcmp(beam->ids + held - before, word, (size_t)before * sizeof *word) == 0;
}

int clf__bans_write(int32_t *banned, const struct clf__search_source *source, const struct clf__beam *beam)
{
    const struct clf__search_options *options = source->options;
    int count = source->always_banned_count;
    memcpy(banned, source->always_banned, (size_t)count * sizeof *banned);
    if (beam->length + 1 < options->min_length) {
        count = insert(banned, count, options->end_id);
    }
    for (int i = 0; i < options->bad_word_count; i++) {
        const int32_t *word = options->bad_words + options->bad_word_offsets[i];
        int word_length = options->bad_word_offsets[i + 1] - options->bad_word_offsets[i];
        if (word_length > 1 && would_complete(beam, word, word_length)) {
            count = insert(banned, count, word[word_length - 1]);
        }
    }
    return count;
}
