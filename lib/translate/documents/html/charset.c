#include "translate/documents/html/charset.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "translate/documents/html/tokens.h"

enum { MOST_BYTES = 1024 };

static int is_word(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

/* Finds the name in "text/html; charset=NAME"; its size is 0 if there is none. */
static const char *find_charset(size_t *name_size, const char *text, size_t size)
{
    static const char word[] = "charset";
    size_t at = 0, length = 0;
    while (at + strlen(word) <= size && strncasecmp(text + at, word, strlen(word)) != 0) {
        at++;
    }
    at = at + strlen(word) <= size ? at + strlen(word) : size;
    while (at < size && (clf__html_is_space(text[at]) || strchr("='\"", text[at]) != NULL)) {
        at++;
    }
    while (at + length < size && !clf__html_is_space(text[at + length]) &&
           strchr(";'\"", text[at + length]) == NULL) {
        length++;
    }
    *name_size = length;
    return text + at;
}

/* Finds the name of the encoding in a meta tag; its size is 0 if there is none. */
static const char *read_meta(size_t *name_size, const struct clf__html_tokens *tokens,
                             const struct clf__html_token *tag)
{
    const char *bytes = tokens->bytes, *name = "", *content = "";
    size_t content_size = 0;
    int is_type = 0;
    *name_size = 0;
    for (size_t at = tag->name + tag->name_size; at + 1 < tag->end;) {
        struct clf__html_attribute found;
        if (clf__html_is_space(bytes[at]) || bytes[at] == '/') {
            at++;
            continue;
        }
        at = clf__html_attribute(&found, tokens, at);
        if (is_word(bytes + found.name, found.name_size, "charset")) {
            name = bytes + found.value;
            *name_size = found.value_size;
        } else if (is_word(bytes + found.name, found.name_size, "content")) {
            content = bytes + found.value;
            content_size = found.value_size;
        } else if (is_word(bytes + found.name, found.name_size, "http-equiv")) {
            is_type = is_word(bytes + found.value, found.value_size, "content-type");
        }
    }
    return is_type && *name_size == 0 ? find_charset(name_size, content, content_size) : name;
}

clf_status clf__html_charset(char **out, const char *bytes, size_t size)
{
    struct clf__html_tokens tokens = {.bytes = bytes, .size = size < MOST_BYTES ? size : MOST_BYTES};
    struct clf__html_token token;
    *out = NULL;
    while (clf__html_next(&token, &tokens)) {
        size_t name_size = 0;
        const char *name =
            token.kind == CLF__HTML_START_TAG && is_word(bytes + token.name, token.name_size, "meta")
                ? read_meta(&name_size, &tokens, &token)
                : NULL;
        if (name_size > 0 && memchr(name, '\0', name_size) == NULL) {
            return clf__copy_bytes(out, name, name_size);
        }
    }
    return CLF_OK;
}
