#include "translate/documents/html/tokens.h"

#include <string.h>
#include <strings.h>

static const char no_translation_class[] = "notranslate";

int clf__html_is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
}

static int is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Returns the byte at a position; NUL at the end of the document. */
static char byte_at(const struct clf__html_tokens *tokens, size_t at)
{
    return at < tokens->size ? tokens->bytes[at] : '\0';
}

/* Returns 1 if the document continues with a word, ignoring case. */
static int continues(const struct clf__html_tokens *tokens, size_t at, const char *word)
{
    size_t size = strlen(word);
    return size <= tokens->size - at && strncasecmp(tokens->bytes + at, word, size) == 0;
}

/* Returns the position after the next `word`; the end of the document if there is none. */
static size_t find_after(const struct clf__html_tokens *tokens, size_t at, const char *word)
{
    size_t size = strlen(word);
    for (const char *found; at < tokens->size; at++) {
        found = memchr(tokens->bytes + at, word[0], tokens->size - at);
        if (found == NULL) {
            break;
        }
        at = (size_t)(found - tokens->bytes);
        if (size <= tokens->size - at && memcmp(found, word, size) == 0) {
            return at + size;
        }
    }
    return tokens->size;
}

/* Returns the end of a comment, which starts with "<!--". */
static size_t comment_end(const struct clf__html_tokens *tokens, size_t start)
{
    size_t at = start + 2; /* "<!-->" and "<!--->" are whole comments */
    for (; at < tokens->size; at++) {
        const char *found = memchr(tokens->bytes + at, '-', tokens->size - at);
        if (found == NULL) {
            break;
        }
        at = (size_t)(found - tokens->bytes);
        if (continues(tokens, at, "-->")) {
            return at + 3;
        }
        if (at >= start + 4 && continues(tokens, at, "--!>")) {
            return at + 4;
        }
    }
    return tokens->size;
}

static size_t skip_spaces(const struct clf__html_tokens *tokens, size_t at)
{
    while (at < tokens->size && clf__html_is_space(tokens->bytes[at])) {
        at++;
    }
    return at;
}

/* Returns 1 if a list of classes, separated by white space, contains notranslate. */
static int has_class(const char *value, size_t size)
{
    const size_t wanted = sizeof no_translation_class - 1;
    for (size_t at = 0, end; at < size; at = end + 1) {
        for (end = at; end < size && !clf__html_is_space(value[end]); end++) {
        }
        if (end - at == wanted && memcmp(value + at, no_translation_class, wanted) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The attributes read so far; of attributes with the same name, the first counts. */
enum { HAS_TRANSLATE = 1, HAS_CLASS = 2 };

static void take_attribute(struct clf__html_token *token, int *seen, const char *name, size_t name_size,
                           const char *value, size_t size)
{
    if (name_size == 9 && strncasecmp(name, "translate", 9) == 0 && !(*seen & HAS_TRANSLATE)) {
        *seen |= HAS_TRANSLATE;
        token->is_notranslate |= size == 2 && strncasecmp(value, "no", 2) == 0;
    } else if (name_size == 5 && strncasecmp(name, "class", 5) == 0 && !(*seen & HAS_CLASS)) {
        *seen |= HAS_CLASS;
        token->is_notranslate |= has_class(value, size);
    }
}

size_t clf__html_attribute(struct clf__html_attribute *out, const struct clf__html_tokens *tokens, size_t at)
{
    const char *bytes = tokens->bytes;
    *out = (struct clf__html_attribute){.name = at++}; /* a name may start with "=" */
    while (at < tokens->size && !clf__html_is_space(bytes[at]) && strchr("/>=", bytes[at]) == NULL) {
        at++;
    }
    out->name_size = at - out->name;
    size_t after = skip_spaces(tokens, at), end;
    if (byte_at(tokens, after) != '=') {
        out->value = after;
        return after;
    }
    out->value = skip_spaces(tokens, after + 1);
    char quote = byte_at(tokens, out->value);
    if (quote == '"' || quote == '\'') {
        const char *found = memchr(bytes + out->value + 1, quote, tokens->size - out->value - 1);
        out->value++;
        end = found != NULL ? (size_t)(found - bytes) : tokens->size;
        after = end + (found != NULL);
    } else {
        for (end = out->value; end < tokens->size && !clf__html_is_space(bytes[end]) && bytes[end] != '>';
             end++) {
        }
        after = end;
    }
    out->value_size = end - out->value;
    return after;
}

/* Reads a tag whose name starts at `name`. A tag cut off by the end of the document is not a tag. */
static void read_tag(struct clf__html_token *token, const struct clf__html_tokens *tokens,
                     enum clf__html_kind kind, size_t name)
{
    size_t at = name;
    int seen = 0;
    while (at < tokens->size && !clf__html_is_space(tokens->bytes[at]) && tokens->bytes[at] != '/' &&
           tokens->bytes[at] != '>') {
        at++;
    }
    token->name = name;
    token->name_size = at - name;
    while (at < tokens->size && tokens->bytes[at] != '>') {
        if (tokens->bytes[at] == '/' || clf__html_is_space(tokens->bytes[at])) {
            token->is_self_closing = byte_at(tokens, at) == '/' && byte_at(tokens, at + 1) == '>';
            at++;
        } else {
            struct clf__html_attribute found;
            at = clf__html_attribute(&found, tokens, at);
            take_attribute(token, &seen, tokens->bytes + found.name, found.name_size,
                           tokens->bytes + found.value, found.value_size);
        }
    }
    token->kind = at < tokens->size ? kind : CLF__HTML_OTHER;
    token->end = at + (at < tokens->size);
}

/* Reads the markup that starts with "<" at a position; returns 0 if it is text. */
static int read_markup(struct clf__html_token *token, const struct clf__html_tokens *tokens, size_t at)
{
    char next = byte_at(tokens, at + 1), after = byte_at(tokens, at + 2);
    *token = (struct clf__html_token){.kind = CLF__HTML_OTHER, .start = at};
    if (is_letter(next)) {
        read_tag(token, tokens, CLF__HTML_START_TAG, at + 1);
    } else if (next == '/' && is_letter(after)) {
        read_tag(token, tokens, CLF__HTML_END_TAG, at + 2);
    } else if (next == '!' && continues(tokens, at, "<!--")) {
        token->end = comment_end(tokens, at);
    } else if (next == '!' && tokens->has_cdata && continues(tokens, at, "<![CDATA[")) {
        token->end = find_after(tokens, at + 9, "]]>");
    } else if (next == '!' || next == '?' || (next == '/' && at + 2 < tokens->size)) {
        token->end = find_after(tokens, at + 2, ">");
    } else {
        return 0;
    }
    return 1;
}

/* Returns 1 if a tag with the name of the raw element starts at a position, after "<" or "</". */
static int is_raw_name(const struct clf__html_tokens *tokens, size_t at)
{
    size_t size = tokens->raw_size;
    if (size >= tokens->size - at ||
        strncasecmp(tokens->bytes + at, tokens->bytes + tokens->raw, size) != 0) {
        return 0;
    }
    char next = tokens->bytes[at + size];
    return clf__html_is_space(next) || next == '/' || next == '>';
}

/* Returns 1 if the raw element has this name. */
static int is_raw(const struct clf__html_tokens *tokens, const char *name)
{
    return tokens->raw_size == strlen(name) &&
           strncasecmp(tokens->bytes + tokens->raw, name, tokens->raw_size) == 0;
}

/* Returns the position of the end tag of the raw element, or the end of the document. In a script, an end tag
 * between "<!--" and "-->" belongs to a start tag there (the "double escaped" states of the standard). */
static size_t raw_end(const struct clf__html_tokens *tokens)
{
    int is_script = is_raw(tokens, "script"), is_escaped = 0, is_double = 0;
    if (is_raw(tokens, "plaintext")) { /* has no end tag */
        return tokens->size;
    }
    for (size_t at = tokens->at; at < tokens->size; at++) {
        char byte = tokens->bytes[at];
        if (byte == '-' && is_escaped && continues(tokens, at, "-->")) {
            is_escaped = is_double = 0;
        }
        if (byte != '<') {
            continue;
        }
        if (byte_at(tokens, at + 1) == '/' && is_raw_name(tokens, at + 2)) {
            if (!is_double) {
                return at;
            }
            is_double = 0;
        } else if (is_script && !is_escaped && continues(tokens, at, "<!--")) {
            is_escaped = 1;
            at++; /* the dashes of "<!-->" also end the comment */
        } else if (is_escaped && is_raw_name(tokens, at + 1)) {
            is_double = 1;
        }
    }
    return tokens->size;
}

int clf__html_next(struct clf__html_token *out, struct clf__html_tokens *tokens)
{
    size_t at = tokens->at;
    struct clf__html_token markup = {.kind = CLF__HTML_TEXT};
    if (tokens->raw_size > 0) {
        at = raw_end(tokens);
        tokens->raw_size = 0;
    } else {
        while (at < tokens->size) {
            const char *found = memchr(tokens->bytes + at, '<', tokens->size - at);
            at = found != NULL ? (size_t)(found - tokens->bytes) : tokens->size;
            if (found == NULL || read_markup(&markup, tokens, at)) {
                break;
            }
            at++;
        }
    }
    if (at > tokens->at) { /* the markup is read again by the next call */
        *out = (struct clf__html_token){.kind = CLF__HTML_TEXT, .start = tokens->at, .end = at};
    } else if (at < tokens->size && (markup.kind != CLF__HTML_TEXT || read_markup(&markup, tokens, at))) {
        *out = markup;
    } else {
        return 0;
    }
    tokens->at = out->end;
    return 1;
}
