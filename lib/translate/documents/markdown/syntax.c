/* The notation of links and character references (spec.commonmark.org, version 0.29). */
#include <string.h>

#include "translate/documents/html/tokens.h"
#include "translate/documents/markdown/markdown.h"

enum { MOST_LABEL = 1000, MOST_PARENTHESES = 32, MOST_REFERENCE = 33 };
static const size_t none = (size_t)-1;

int clf__markdown_is_punctuation(char byte)
{
    return byte != '\0' && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", byte) != NULL;
}

static int is_escape(const char *text, size_t size, size_t at)
{
    return text[at] == '\\' && at + 1 < size && clf__markdown_is_punctuation(text[at + 1]);
}

static size_t skip_spaces(const char *text, size_t size, size_t at)
{
    while (at < size && clf__html_is_space(text[at])) {
        at++;
    }
    return at;
}

/* Returns the end of a target in angle brackets; `none` if it is malformed. */
static size_t angle_end(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '\n' && text[at] != '<'; at++) {
        if (text[at] == '>') {
            return at + 1;
        }
        at += is_escape(text, size, at);
    }
    return none;
}

static size_t target_end(const char *text, size_t size, size_t at)
{
    size_t start = at;
    int depth = 0;
    if (at < size && text[at] == '<') {
        return angle_end(text, size, at);
    }
    for (; at < size && !clf__html_is_space(text[at]); at++) {
        if (text[at] == '(' && ++depth > MOST_PARENTHESES) {
            return none;
        }
        if (text[at] == ')' && depth-- == 0) {
            return at;
        }
        at += is_escape(text, size, at);
    }
    return at < size && at > start ? at : none;
}

/* Returns the end of a title; `none` if there is none. */
static size_t title_end(const char *text, size_t size, size_t at)
{
    char open = '\0', close = '\0';
    if (at < size && strchr("\"'(", text[at]) != NULL) {
        open = text[at];
        close = (char)(open == '(' ? ')' : open);
    }
    for (at++; open != '\0' && at < size; at++) {
        if (text[at] == close) {
            return at + 1;
        }
        if (open == '(' && text[at] == open) {
            return none;
        }
        at += is_escape(text, size, at);
    }
    return none;
}

/* Returns the end of "(target "title")"; `none` if it is malformed. */
static size_t resource_end(const char *text, size_t size, size_t at)
{
    at = target_end(text, size, skip_spaces(text, size, at + 1));
    if (at == none) {
        return none;
    }
    size_t title = skip_spaces(text, size, at);
    if (title > at) {
        size_t end = title_end(text, size, title);
        at = end != none ? end : title;
    }
    at = skip_spaces(text, size, at);
    return at < size && text[at] == ')' ? at + 1 : none;
}

/* Returns the end of "[label]"; `none` if it is malformed. */
static size_t label_end(const char *text, size_t size, size_t at)
{
    size_t start = at;
    for (at++; at < size && text[at] != '[' && at - start <= MOST_LABEL; at++) {
        if (text[at] == ']') {
            return at + 1;
        }
        at += is_escape(text, size, at);
    }
    return none;
}

struct clf__markdown_tail clf__markdown_read_tail(const char *text, size_t size, size_t at)
{
    size_t end = at < size && text[at] == '(' ? resource_end(text, size, at) : none;
    if (end == none && at < size && text[at] == '[') {
        end = label_end(text, size, at);
    }
    return end == none ? (struct clf__markdown_tail){0, 0}
                       : (struct clf__markdown_tail){end - at, end - at > 2 || text[at] == '('};
}

/* Returns the start of the next line if only spaces are left on this one; `none` otherwise. */
static size_t line_end(const char *text, size_t size, size_t at)
{
    while (at < size && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    return at == size ? at : text[at] == '\n' ? at + 1 : none;
}

size_t clf__markdown_definition(const char *text, size_t size, size_t at)
{
    size_t start = at;
    at = at < size && text[at] == '[' ? label_end(text, size, at) : none;
    if (at == none || at - start < 3 || at == size || text[at] != ':') {
        return 0;
    }
    at = target_end(text, size, skip_spaces(text, size, at + 1));
    if (at == none) {
        return 0;
    }
    size_t title = skip_spaces(text, size, at);
    size_t end = title > at ? title_end(text, size, title) : none;
    end = end != none ? line_end(text, size, end) : none;
    end = end != none ? end : line_end(text, size, at);
    return end != none ? end - start : 0;
}

size_t clf__markdown_reference(const char *text, size_t size, size_t at)
{
    size_t end = at + 1;
    while (end < size && end - at < MOST_REFERENCE &&
           (text[end] == '#' || (text[end] >= '0' && text[end] <= '9') ||
            ((text[end] | 0x20) >= 'a' && (text[end] | 0x20) <= 'z'))) {
        end++;
    }
    return end > at + 1 && end < size && text[end] == ';' ? end + 1 - at : 0;
}
