#include "text/tokenizers/speech_words.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static const char BROKEN[] = "\xef\xbf\xbd"; /* U+FFFD, for invalid UTF-8 */
static const char SIGNS[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

int clf__speech_is_spaceless(const char *language)
{
    static const char *const languages[] = {"zh", "ja", "th", "lo", "my", "yue"};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        if (strcmp(language, languages[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns the text after `count` characters, or its end. */
static const char *skip_characters(const char *text, size_t count)
{
    for (; count > 0 && *text != '\0'; count--) {
        text++;
        while (((unsigned char)*text & 0xc0) == 0x80) {
            text++;
        }
    }
    return text;
}

/* Returns whether a text ends at a character boundary: it has no U+FFFD, or the whole text has it at the same
 * position. `rest` is the whole text from the start of `text`. */
static int is_whole(const char *text, const char *rest)
{
    const char *broken = strstr(text, BROKEN);
    if (broken == NULL) {
        return 1;
    }
    const char *same = skip_characters(rest, clf__utf8_count(text, (size_t)(broken - text)));
    return strncmp(same, BROKEN, strlen(BROKEN)) == 0;
}

/* Adds a word and takes ownership of `text`. */
static clf_status add_word(struct clf__speech_words *words, char *text, int ids)
{
    clf_status status = clf__grow(&words->data, words->count, &words->capacity, sizeof *words->data);
    if (status != CLF_OK) {
        clf__free(text);
        return status;
    }
    words->data[words->count++] = (struct clf__speech_word){text, ids};
    return CLF_OK;
}

/* Splits at every character boundary. *left: number of trailing ids without a complete character. */
static clf_status split_characters(struct clf__speech_words *words, const struct clf__speech_tokens *tokens,
                                   const struct clf__tokenizer *tokenizer, const int32_t *ids, int count,
                                   const char *whole, int *left)
{
    const char *rest = whole;
    int first = 0;
    for (int i = 0; i < count; i++) {
        char *text;
        CLF__TRY(clf__speech_text(&text, tokens, tokenizer, ids + first, i + 1 - first));
        if (!is_whole(text, rest)) {
            clf__free(text);
            continue;
        }
        rest = skip_characters(rest, clf__utf8_count(text, strlen(text)));
        CLF__TRY(add_word(words, text, i + 1 - first));
        first = i + 1;
    }
    *left = count - first;
    return CLF_OK;
}

static int is_sign(const char *text)
{
    char sign[sizeof SIGNS];
    size_t size;
    const char *stripped = clf__speech_strip(&size, text);
    if (size >= sizeof sign) {
        return 0;
    }
    memcpy(sign, stripped, size);
    sign[size] = '\0';
    return strstr(SIGNS, sign) != NULL;
}

/* Joins parts that are not separated by a space or symbol. */
static clf_status join_parts(struct clf__speech_words *words)
{
    int kept = 0;
    clf_status status = CLF_OK;
    for (int i = 0; i < words->count; i++) {
        struct clf__speech_word part = words->data[i];
        if (status != CLF_OK || kept == 0 || part.text[0] == ' ' || is_sign(part.text)) {
            words->data[kept++] = part;
            continue;
        }
        struct clf__speech_word *word = &words->data[kept - 1];
        status = clf__append(&word->text, "%s", part.text);
        word->ids += part.ids;
        clf__free(part.text);
    }
    words->count = kept;
    return status;
}

clf_status clf__speech_words_split(struct clf__speech_words *out, const struct clf__speech_tokens *tokens,
                                   const struct clf__tokenizer *tokenizer, const int32_t *ids, int count,
                                   int is_spaceless)
{
    char *whole;
    int left = 0;
    *out = (struct clf__speech_words){0};
    CLF__TRY(clf__speech_text(&whole, tokens, tokenizer, ids, count));
    clf_status status = split_characters(out, tokens, tokenizer, ids, count, whole, &left);
    clf__free(whole);
    if (status == CLF_OK && !is_spaceless) {
        status = join_parts(out);
    }
    if (status == CLF_OK && left > 0 && out->count > 0) {
        clf__free(out->data[--out->count].text);
    }
    return status;
}

void clf__speech_words_free(struct clf__speech_words *words)
{
    for (int i = 0; i < words->count; i++) {
        clf__free(words->data[i].text);
    }
    clf__free(words->data);
    *words = (struct clf__speech_words){0};
}
