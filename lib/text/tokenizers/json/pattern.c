#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokenizers/json/pattern.h"

#include <string.h>

#include <pcre2.h>

#include "base/memory.h"
#include "text/tokenizers/json/ruby.h"

enum { MATCH_LIMIT = 1000000, HEAP_KIB = 65536, MAX_EXPRESSION = 1 << 12 };

void clf__pattern_free(struct clf__pattern *pattern)
{
    pcre2_code_free(pattern->code);
    clf__free(pattern->literal);
    clf__free(pattern->where);
    *pattern = (struct clf__pattern){.size = 0};
}

static clf_status compile(struct clf__pattern *out, const struct clf__node *node, const char *expression)
{
    int error = 0;
    PCRE2_SIZE offset = 0;
    char *translated = NULL;
    if (strlen(expression) > MAX_EXPRESSION) {
        return clf__node_fail(
            node, CLF_UNSUPPORTED,
            "the pattern has %zu bytes, but at most %d are supported; use another tokenizer",
            strlen(expression), MAX_EXPRESSION);
    }
    CLF__TRY(clf__ruby_translate(&translated, node, expression));
    out->code = pcre2_compile((PCRE2_SPTR)translated, PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                              &offset, NULL);
    clf__free(translated);
    if (out->code == NULL) {
        PCRE2_UCHAR why[120] = "";
        pcre2_get_error_message(error, why, sizeof why);
        return clf__node_fail(node, CLF_UNSUPPORTED,
                              "the pattern \"%.80s\" is not supported (PCRE2: %s); use the files from which "
                              "the tokenizer was converted",
                              expression, (const char *)why);
    }
    pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE); /* optional: matching is slower without JIT */
    return CLF_OK;
}

static clf_status read_pattern(struct clf__pattern *out, const struct clf__node *node, const char *key)
{
    const json_t *value = json_object_get(node->value, key);
    const char *literal = json_string_value(json_object_get(value, "String"));
    const char *expression = json_string_value(json_object_get(value, "Regex"));
    if ((literal == NULL) == (expression == NULL) || json_object_size(value) != 1) {
        return clf__node_fail(
            node, CLF_FORMAT,
            "\"%s\" is neither {\"String\": ...} nor {\"Regex\": ...}; download the file again", key);
    }
    CLF__TRY(clf__format(&out->where, "%s: \"%s\", %s", node->path, node->section, node->part));
    if (expression != NULL) {
        return compile(out, node, expression);
    }
    out->size = strlen(literal);
    return clf__copy_string(&out->literal, literal);
}

clf_status clf__pattern_read(struct clf__pattern *out, const struct clf__node *node, const char *key)
{
    *out = (struct clf__pattern){.size = 0};
    clf_status status = read_pattern(out, node, key);
    if (status != CLF_OK) {
        clf__pattern_free(out);
    }
    return status;
}

clf_status clf__pattern_begin(struct clf__pattern_search *out, const struct clf__pattern *pattern)
{
    *out = (struct clf__pattern_search){.pattern = pattern};
    if (pattern->code == NULL) {
        return CLF_OK;
    }
    out->data = pcre2_match_data_create(1, NULL);
    out->context = pcre2_match_context_create(NULL);
    if (out->data == NULL || out->context == NULL) {
        clf__pattern_end(out);
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to match a pattern");
    }
    pcre2_set_match_limit(out->context, MATCH_LIMIT);
    pcre2_set_heap_limit(out->context, HEAP_KIB);
    return CLF_OK;
}

void clf__pattern_end(struct clf__pattern_search *search)
{
    pcre2_match_data_free(search->data);
    pcre2_match_context_free(search->context);
    *search = (struct clf__pattern_search){.size = 0};
}

void clf__pattern_text(struct clf__pattern_search *search, const char *text, size_t size)
{
    search->text = text;
    search->size = size;
    search->at = 0;
}

static int next_literal(struct clf__pattern_search *search, struct clf__pattern_match *match)
{
    const char *literal = search->pattern->literal;
    size_t size = search->pattern->size;
    const char *from = search->text + search->at, *end = search->text + search->size;
    while (size > 0 && (size_t)(end - from) >= size &&
           (from = memchr(from, literal[0], (size_t)(end - from)))) {
        if ((size_t)(end - from) >= size && memcmp(from, literal, size) == 0) {
            match->start = (size_t)(from - search->text);
            match->end = search->at = match->start + size;
            return 1;
        }
        from++;
    }
    return 0;
}

static int match_at(const struct clf__pattern_search *search, uint32_t options)
{
    int result = pcre2_match(search->pattern->code, (PCRE2_SPTR)search->text, search->size, search->at,
                             options | PCRE2_NO_UTF_CHECK, search->data, search->context);
    return result != PCRE2_ERROR_JIT_STACKLIMIT
               ? result
               : pcre2_match(search->pattern->code, (PCRE2_SPTR)search->text, search->size, search->at,
                             options | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, search->data, search->context);
}

clf_status clf__pattern_next(struct clf__pattern_search *search, struct clf__pattern_match *match, int *found)
{
    *found = 0;
    if (search->pattern->code == NULL) {
        *found = next_literal(search, match);
        return CLF_OK;
    }
    if (search->at > search->size) {
        return CLF_OK;
    }
    int result = match_at(search, 0);
    if (result == PCRE2_ERROR_NOMATCH) {
        return CLF_OK;
    }
    if (result < 0) {
        PCRE2_UCHAR why[120] = "";
        pcre2_get_error_message(result, why, sizeof why);
        return clf__fail(CLF_TEXT, "%s: the pattern cannot be matched on this line (PCRE2: %s)",
                         search->pattern->where, (const char *)why);
    }
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(search->data);
    *match = (struct clf__pattern_match){offsets[0], offsets[1] > offsets[0] ? offsets[1] : offsets[0]};
    *found = 1;
    search->at = match->end;
    if (match->end == match->start) { /* empty match: continue after the next character */
        for (search->at++;
             search->at < search->size && ((unsigned char)search->text[search->at] & 0xC0) == 0x80;) {
            search->at++;
        }
    }
    return CLF_OK;
}
