#include "serve/libretranslate_text.h"

#include <stdlib.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "translate/documents/format.h"
#include "translate/documents/html/text.h"

enum { WORD_CHARACTERS = 20 /* a longer source is not one word */ };

/* A range of a string. */
struct span {
    const char *bytes;
    size_t size;
};

static int is_space(char character)
{
    return strchr(" \t\n\v\f\r", character) != NULL && character != '\0';
}

static struct span strip(struct span text)
{
    while (text.size > 0 && is_space(text.bytes[0])) {
        text.bytes++;
        text.size--;
    }
    while (text.size > 0 && is_space(text.bytes[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Returns the bytes of the punctuation mark at the end; 0: none. */
static size_t mark_size(struct span text)
{
    static const char *const marks[] = {"!", "?", ".", ",", ";", "。"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t size = strlen(marks[i]);
        if (text.size >= size && memcmp(text.bytes + text.size - size, marks[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

/* Returns the word at the start of a text. */
static struct span next_word(struct span *rest)
{
    *rest = strip(*rest);
    struct span word = {rest->bytes, 0};
    while (word.size < rest->size && !is_space(rest->bytes[word.size])) {
        word.size++;
    }
    rest->bytes += word.size;
    rest->size -= word.size;
    return word;
}

/* Returns the first word that occurs twice, or the whole text. */
static struct span repeated_word(struct span text)
{
    struct span rest = text, word;
    while ((word = next_word(&rest)).size > 0) {
        struct span others = rest, other;
        while ((other = next_word(&others)).size > 0) {
            if (other.size == word.size && memcmp(other.bytes, word.bytes, word.size) == 0) {
                return word;
            }
        }
    }
    return text;
}

static int has_space(struct span text)
{
    int found = 0;
    for (size_t i = 0; i < text.size; i++) {
        found |= is_space(text.bytes[i]);
    }
    return found;
}

/* Returns -1 if all letters with a case are lower case, 1 if they are upper case, else 0. */
static int letter_case(struct span text)
{
    int has_lower = 0, has_upper = 0;
    UChar32 point;
    for (int32_t at = 0; at < (int32_t)text.size;) {
        U8_NEXT(text.bytes, at, (int32_t)text.size, point);
        has_lower |= point >= 0 && u_isULowercase(point);
        has_upper |= point >= 0 && u_isUUppercase(point);
    }
    return has_upper - has_lower;
}

/* Converts the first `size` bytes to a letter case; returns 0 if out of memory. */
static int convert(char **text, size_t size, int is_upper)
{
    UErrorCode failed = U_ZERO_ERROR;
    int32_t most = 4 * (int32_t)size + 1, length = 0, converted;
    size_t rest = strlen(*text + size);
    UChar *before = malloc((size_t)most * sizeof *before), *after = malloc((size_t)most * sizeof *after);
    char *out = malloc(4 * (size_t)most + rest + 1);
    int is_ok = before != NULL && after != NULL && out != NULL;
    if (is_ok) {
        u_strFromUTF8(before, most, &length, *text, (int32_t)size, &failed);
        converted = (is_upper ? u_strToUpper : u_strToLower)(after, most, before, length, "", &failed);
        u_strToUTF8(out, 4 * most, &length, after, converted, &failed);
        is_ok = U_SUCCESS(failed) != 0;
    }
    if (is_ok) {
        memcpy(out + length, *text + size, rest + 1);
        free(*text);
        *text = out;
    } else {
        free(out);
    }
    free(before);
    free(after);
    return is_ok;
}

/* Returns the first character of a text. */
static struct span first_character(struct span text)
{
    int32_t size = 0;
    U8_FWD_1(text.bytes, size, (int32_t)text.size);
    return (struct span){text.bytes, (size_t)size};
}

/* Gives a text the letter case of its source: the whole text if the source has only one case, else the first
 * letter. */
static int follow_case(char **text, struct span source)
{
    struct span whole = {*text, strlen(*text)};
    int wanted = letter_case(source);
    if (wanted == 0 && whole.size > 0) {
        wanted = letter_case(first_character(source));
        whole = first_character(whole);
    }
    return wanted == 0 || convert(text, whole.size, wanted > 0);
}

json_t *libretranslate_text(const json_t *source, const json_t *translation)
{
    struct span from = strip((struct span){json_string_value(source), json_string_length(source)});
    struct span to = {json_string_value(translation), json_string_length(translation)};
    while (to.size > 0 && *to.bytes == '\n') {
        to.bytes++;
        to.size--;
    }
    if (from.size == 0 || to.size == 0) {
        return json_stringn(from.bytes, from.size);
    }
    size_t mark = mark_size(from), own = mark_size(to);
    to.size -= own;
    if (!has_space(from) && clf__utf8_count(from.bytes, from.size) < WORD_CHARACTERS) {
        to = repeated_word(to);
    }
    char *text = malloc(to.size + mark + 1);
    if (text != NULL) {
        memcpy(text, to.bytes, to.size);
        memcpy(text + to.size, from.bytes + from.size - mark, mark);
        text[to.size + mark] = '\0';
    }
    json_t *result = NULL;
    if (text != NULL && follow_case(&text, from)) {
        size_t size;
        char *decoded;
        if (clf__html_references(&decoded, &size, text, strlen(text)) == CLF_OK) {
            result = json_stringn(decoded, size);
            clf__free(decoded);
        }
    }
    free(text);
    return result;
}
