#include "text/tokenizers/token_list.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_FORMATTED = 64 };

void clf__token_list_free(struct clf__token_list *tokens)
{
    clf__free(tokens->text);
    clf__free(tokens->marks);
    *tokens = (struct clf__token_list){0};
}

clf_status clf__token_list_add(struct clf__token_list *tokens, const char *token, size_t length, int marks)
{
    if (tokens->count > INT_MAX / 2 || memchr(token, '\0', length) != NULL) {
        return clf__fail(CLF_FORMAT, "token %d %s", tokens->count,
                         tokens->count > INT_MAX / 2 ? "exceeds the maximum number of tokens"
                                                     : "contains a NUL byte");
    }
    CLF__TRY(clf__grow(&tokens->marks, tokens->count, &tokens->capacity, sizeof *tokens->marks));
    CLF__TRY(clf__grow_to(&tokens->text, tokens->bytes + length + 1, &tokens->bytes_capacity, 1));
    memcpy(tokens->text + tokens->bytes, token, length);
    tokens->text[tokens->bytes + length] = '\0';
    tokens->bytes += length + 1;
    tokens->marks[tokens->count++] = (uint16_t)marks;
    return CLF_OK;
}

clf_status clf__token_list_format(struct clf__token_list *tokens, int marks, const char *format, ...)
{
    char token[MAX_FORMATTED];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(token, sizeof token, format, arguments);
    va_end(arguments);
    return clf__token_list_add(tokens, token, (size_t)length, marks);
}

const char *clf__token_list_at(const struct clf__token_list *tokens, int number)
{
    const char *token = tokens->text;
    if (number < 0 || number >= tokens->count) {
        return NULL;
    }
    for (int i = 0; i < number; i++) {
        token += strlen(token) + 1;
    }
    return token;
}

void clf__token_list_truncate(struct clf__token_list *tokens, int count)
{
    const char *end = clf__token_list_at(tokens, count);
    if (end != NULL) {
        tokens->bytes = (size_t)(end - tokens->text);
        tokens->count = count;
    }
}
