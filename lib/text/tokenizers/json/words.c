#include "text/tokenizers/json/words.h"

#include <limits.h>
#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"

void clf__word_list_free(struct clf__word_list *words)
{
    clf__free(words->bytes);
    clf__free(words->items);
    *words = (struct clf__word_list){.size = 0};
}

void clf__word_list_clear(struct clf__word_list *words)
{
    words->size = words->open = 0;
    words->count = 0;
}

clf_status clf__word_list_put(struct clf__word_list *words, const char *bytes, size_t size)
{
    if (words->most > 0 && size > words->most - words->size) {
        words->is_full = 1;
        return clf__fail(CLF_TEXT, "a text grows to more than %zu bytes", words->most);
    }
    CLF__TRY(
        clf__grow_to(&words->bytes, words->size + size + 1, &words->capacity, 1)); /* bytes is never NULL */
    if (size > 0) {
        memcpy(words->bytes + words->size, bytes, size);
    }
    words->size += size;
    return CLF_OK;
}

clf_status clf__word_list_put_character(struct clf__word_list *words, int32_t character)
{
    uint8_t bytes[U8_MAX_LENGTH];
    size_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, character);
    return clf__word_list_put(words, (const char *)bytes, size);
}

clf_status clf__word_list_end(struct clf__word_list *words, int is_first)
{
    size_t size = words->size - words->open;
    if (size == 0 && !words->keeps_empty) {
        return CLF_OK;
    }
    CLF__TRY(clf__word_list_put(words, "", 0)); /* bytes is never NULL */
    if (words->count > INT_MAX / 4) {
        return clf__fail(CLF_TEXT, "a line has more than %d words", words->count);
    }
    CLF__TRY(clf__grow(&words->items, words->count, &words->item_capacity, sizeof *words->items));
    words->items[words->count++] = (struct clf__word){words->open, size, is_first};
    words->open = words->size;
    return CLF_OK;
}

clf_status clf__word_list_add(struct clf__word_list *words, const char *bytes, size_t size, int is_first)
{
    CLF__TRY(clf__word_list_put(words, bytes, size));
    return clf__word_list_end(words, is_first);
}
