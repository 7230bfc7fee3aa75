#include <string.h>

#include "translate/documents/html/tokens.h"
#include "translate/documents/xml/xml.h"

/* Returns the position after the next `word` at or after `at`, or the end of the document. */
static size_t find_after(const struct clf__xml_tokens *tokens, size_t at, const char *word)
{
    size_t size = strlen(word);
    while (at + size <= tokens->size) {
        const char *found = memchr(tokens->bytes + at, word[0], tokens->size - at);
        if (found == NULL) {
            break;
        }
        at = (size_t)(found - tokens->bytes);
        if (size <= tokens->size - at && memcmp(found, word, size) == 0) {
            return at + size;
        }
        at++;
    }
    return tokens->size;
}

static int continues(const struct clf__xml_tokens *tokens, size_t at, const char *word)
{
    size_t size = strlen(word);
    return size <= tokens->size - at && memcmp(tokens->bytes + at, word, size) == 0;
}

/* Returns the position after the quotation mark that closes the one at `at`. */
static size_t quoted_end(const struct clf__xml_tokens *tokens, size_t at)
{
    const char *found = memchr(tokens->bytes + at + 1, tokens->bytes[at], tokens->size - at - 1);
    return found != NULL ? (size_t)(found - tokens->bytes) + 1 : tokens->size;
}

/* Returns the position after a document type at `at`; its declarations are between brackets. */
static size_t doctype_end(const struct clf__xml_tokens *tokens, size_t at)
{
    int is_inside = 0;
    at += 2;
    while (at < tokens->size) {
        char byte = tokens->bytes[at];
        if (byte == '"' || byte == '\'') {
            at = quoted_end(tokens, at);
        } else if (is_inside && continues(tokens, at, "<!--")) {
            at = find_after(tokens, at + 4, "-->");
        } else if (is_inside && continues(tokens, at, "<?")) {
            at = find_after(tokens, at + 2, "?>");
        } else {
            is_inside = byte == '[' ? 1 : byte == ']' ? 0 : is_inside;
            at++;
            if (byte == '>' && !is_inside) {
                return at;
            }
        }
    }
    return at;
}

/* Reads a tag whose name starts at `name`. */
static void read_tag(struct clf__xml_token *token, const struct clf__xml_tokens *tokens, size_t name)
{
    size_t at = name;
    while (at < tokens->size && !clf__html_is_space(tokens->bytes[at]) &&
           strchr("/>", tokens->bytes[at]) == NULL) {
        at++;
    }
    token->name = name;
    token->name_size = at - name;
    while (at < tokens->size && tokens->bytes[at] != '>') {
        char byte = tokens->bytes[at];
        at = byte == '"' || byte == '\'' ? quoted_end(tokens, at) : at + 1;
    }
    token->end = at + (at < tokens->size);
    if (token->kind == CLF__XML_START && at > name && at < tokens->size && tokens->bytes[at - 1] == '/') {
        token->kind = CLF__XML_EMPTY;
    }
}

static const char cdata_start[] = "<![CDATA[", cdata_end[] = "]]>";

struct clf__xml_range clf__xml_cdata(const struct clf__xml_token *token)
{
    return (struct clf__xml_range){token->start + strlen(cdata_start), token->end - strlen(cdata_end)};
}

/* Reads the markup at a "<". */
static void read_markup(struct clf__xml_token *token, const struct clf__xml_tokens *tokens, size_t at)
{
    if (continues(tokens, at, "<!--")) {
        token->end = find_after(tokens, at + 4, "-->");
    } else if (continues(tokens, at, cdata_start)) {
        token->kind = CLF__XML_CDATA;
        token->end = find_after(tokens, at + strlen(cdata_start), cdata_end);
    } else if (continues(tokens, at, "<?")) {
        token->end = find_after(tokens, at + 2, "?>");
    } else if (continues(tokens, at, "<!")) {
        token->end = doctype_end(tokens, at);
    } else if (continues(tokens, at, "</")) {
        token->kind = CLF__XML_END;
        read_tag(token, tokens, at + 2);
    } else {
        token->kind = CLF__XML_START;
        read_tag(token, tokens, at + 1);
    }
}

/* Returns the size of a reference to an entity that is not predefined; 0: text begins at `at`. */
static size_t reference_size(const struct clf__xml_tokens *tokens, size_t at)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (continues(tokens, at, known[i])) {
            return 0;
        }
    }
    return find_after(tokens, at, ";") - at;
}

/* Returns the end of the text that begins at `at`. */
static size_t text_end(const struct clf__xml_tokens *tokens, size_t at)
{
    while (at < tokens->size && tokens->bytes[at] != '<' &&
           (tokens->bytes[at] != '&' || reference_size(tokens, at) == 0)) {
        at++;
    }
    return at;
}

struct clf__xml_tokens clf__xml_begin(const char *bytes, size_t size)
{
    return (struct clf__xml_tokens){
        .bytes = bytes, .size = size, .at = clf__utf8_mark(bytes, size), .line = 1};
}

int clf__xml_next(struct clf__xml_token *out, struct clf__xml_tokens *tokens)
{
    size_t at = tokens->at;
    *out = (struct clf__xml_token){.kind = CLF__XML_OTHER, .start = at, .line = tokens->line};
    if (at >= tokens->size) {
        return 0;
    }
    if (tokens->bytes[at] == '<') {
        read_markup(out, tokens, at);
    } else if (tokens->bytes[at] == '&' && reference_size(tokens, at) > 0) {
        out->kind = CLF__XML_REFERENCE;
        out->end = at + reference_size(tokens, at);
    } else {
        out->kind = CLF__XML_TEXT;
        out->end = text_end(tokens, at);
    }
    for (; at < out->end; at++) {
        tokens->line += tokens->bytes[at] == '\n';
    }
    tokens->at = out->end;
    return 1;
}

size_t clf__xml_skip(struct clf__xml_tokens *tokens, const struct clf__xml_token *start)
{
    struct clf__xml_token token = *start;
    int depth = token.kind == CLF__XML_START;
    while (depth > 0 && clf__xml_next(&token, tokens)) {
        depth += token.kind == CLF__XML_START;
        depth -= token.kind == CLF__XML_END;
    }
    return token.end;
}

int clf__xml_is_tag(const struct clf__xml_token *token)
{
    return token->kind == CLF__XML_START || token->kind == CLF__XML_END || token->kind == CLF__XML_EMPTY;
}

int clf__xml_is_named(const struct clf__xml_token *tag, const char *bytes, const char *name)
{
    const char *found = bytes + tag->name, *colon = memchr(found, ':', tag->name_size);
    size_t size = tag->name_size;
    if (colon != NULL && strchr(name, ':') == NULL) {
        size -= (size_t)(colon + 1 - found);
        found = colon + 1;
    }
    return size == strlen(name) && memcmp(found, name, size) == 0;
}

int clf__xml_next_attribute(struct clf__xml_range *name, struct clf__xml_range *value, const char *bytes,
                            const struct clf__xml_token *tag, size_t *at)
{
    const size_t end = tag->end;
    *at = *at > 0 ? *at : tag->name + tag->name_size;
    while (*at < end && clf__html_is_space(bytes[*at])) {
        ++*at;
    }
    name->start = *at;
    while (*at < end && bytes[*at] != '=' && !clf__html_is_space(bytes[*at])) {
        ++*at;
    }
    name->end = *at;
    while (*at < end && bytes[*at] != '"' && bytes[*at] != '\'') {
        ++*at;
    }
    if (*at >= end) {
        return 0;
    }
    const char *quote = memchr(bytes + *at + 1, bytes[*at], end - *at - 1);
    value->start = *at + 1;
    value->end = quote != NULL ? (size_t)(quote - bytes) : end;
    *at = value->end + 1;
    return 1;
}

int clf__xml_attribute(struct clf__xml_range *value, const char *bytes, const struct clf__xml_token *tag,
                       const char *name)
{
    struct clf__xml_range found;
    size_t at = 0, size = strlen(name);
    while (clf__xml_next_attribute(&found, value, bytes, tag, &at)) {
        if (found.end - found.start == size && memcmp(bytes + found.start, name, size) == 0) {
            return 1;
        }
    }
    return 0;
}

int clf__xml_has_value(const char *bytes, const struct clf__xml_token *tag, const char *name,
                       const char *value)
{
    struct clf__xml_range found;
    size_t size = strlen(value);
    return clf__xml_attribute(&found, bytes, tag, name) && found.end - found.start == size &&
           memcmp(bytes + found.start, value, size) == 0;
}
