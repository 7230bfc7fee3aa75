#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokenizers/moses/rules.h"

#include <string.h>

#include <pcre2.h>

#include "base/memory.h"

struct clf__moses_compiled {
    pcre2_code *code;
    const char *replacement;
};

/* White space as in Python. */
static const char space[] = "\\x09-\\x0d\\x1c-\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"
                            "\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

/* --- Compiling --- */

/* Finds the character set whose name follows "{"; *length is the length of the name, or 0 if it is not a set.
 */
static clf_status find_class(char **out, size_t *length, const struct clf__moses_sets *sets, const char *name)
{
    *length = strcspn(name, "}");
    if (*length == strlen("space") && strncmp(name, "space", *length) == 0) {
        return clf__copy_string(out, space);
    }
    for (int i = 0; i < CLF__MOSES_SETS; i++) {
        const char *known = clf__moses_set_name((enum clf__moses_set)i);
        if (strlen(known) == *length && strncmp(name, known, *length) == 0) {
            return clf__moses_set_class(out, sets, (enum clf__moses_set)i);
        }
    }
    *length = 0;
    return CLF_OK;
}

static clf_status expand(struct clf__moses_text *out, const char *pattern, const struct clf__moses_sets *sets)
{
    while (*pattern != '\0') {
        char *class = NULL;
        size_t length = 0;
        if (*pattern == '{') {
            CLF__TRY(find_class(&class, &length, sets, pattern + 1));
        }
        clf_status status =
            class != NULL ? clf__moses_put(out, class, strlen(class)) : clf__moses_put(out, pattern, 1);
        clf__free(class);
        CLF__TRY(status);
        pattern += length > 0 ? length + 2 : 1;
    }
    return CLF_OK;
}

static clf_status compile(struct clf__moses_compiled *out, const struct clf__moses_rule *rule,
                          const struct clf__moses_sets *sets)
{
    int error = 0;
    PCRE2_SIZE offset = 0;
    struct clf__moses_text pattern = {.size = 0};
    clf_status status = expand(&pattern, rule->pattern, sets);
    if (status == CLF_OK) {
        out->replacement = rule->replacement;
        out->code = pcre2_compile((PCRE2_SPTR)pattern.bytes, pattern.size, PCRE2_UTF | PCRE2_UCP, &error,
                                  &offset, NULL);
        if (out->code == NULL) {
            PCRE2_UCHAR why[120] = "";
            pcre2_get_error_message(error, why, sizeof why);
            status = clf__fail(error == PCRE2_ERROR_HEAP_FAILED ? CLF_OUT_OF_MEMORY : CLF_UNSUPPORTED,
                               "the pattern \"%s\" is not supported (PCRE2: %s)", rule->pattern,
                               (const char *)why);
        }
    }
    clf__free(pattern.bytes);
    if (status == CLF_OK) {
        pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE); /* optional: matching is slower without JIT */
    }
    return status;
}

clf_status clf__moses_rules_open(struct clf__moses_rules *out, const struct clf__moses_rule *table,
                                 size_t rows, const struct clf__moses_language *language,
                                 const struct clf__moses_sets *sets)
{
    *out = (struct clf__moses_rules){.count = 0};
    CLF__TRY(clf__allocate(&out->items, rows, sizeof *out->items));
    clf_status status = CLF_OK;
    for (size_t i = 0; i < rows && status == CLF_OK; i++) {
        if (table[i].where == 0 || (table[i].where & language->does) != 0) {
            status = compile(&out->items[out->count], &table[i], sets);
            out->count += status == CLF_OK;
        }
    }
    if (status != CLF_OK) {
        clf__moses_rules_close(out);
    }
    return status;
}

void clf__moses_rules_close(struct clf__moses_rules *rules)
{
    for (int i = 0; i < rules->count; i++) {
        pcre2_code_free(rules->items[i].code);
    }
    clf__free(rules->items);
    *rules = (struct clf__moses_rules){.count = 0};
}

/* --- Texts --- */

static clf_status make_room(struct clf__moses_text *text, size_t needed)
{
    return clf__grow_to(&text->bytes, needed, &text->room, 1);
}

clf_status clf__moses_put(struct clf__moses_text *text, const char *bytes, size_t size)
{
    CLF__TRY(make_room(text, text->size + size + 1));
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return CLF_OK;
}

void clf__moses_work_end(struct clf__moses_work *work)
{
    clf__free(work->text.bytes);
    clf__free(work->other.bytes);
    pcre2_match_data_free(work->data);
    *work = (struct clf__moses_work){.data = NULL};
}

clf_status clf__moses_work_begin(struct clf__moses_work *out, const char *text, size_t size)
{
    enum { MOST_GROUPS = 4 };
    *out = (struct clf__moses_work){.data = pcre2_match_data_create(MOST_GROUPS, NULL)};
    clf_status status = out->data != NULL
                            ? clf__moses_put(&out->text, text, size)
                            : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to match a pattern");
    if (status == CLF_OK) {
        status = make_room(&out->other, out->text.room);
    }
    if (status != CLF_OK) {
        clf__moses_work_end(out);
    }
    return status;
}

void clf__moses_work_turn(struct clf__moses_work *work)
{
    struct clf__moses_text text = work->text;
    work->text = work->other;
    work->other = text;
    work->other.size = 0;
}

/* --- Running --- */

static clf_status run(const struct clf__moses_compiled *rule, struct clf__moses_work *work)
{
    const uint32_t options = PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_NO_UTF_CHECK;
    struct clf__moses_text *text = &work->text, *other = &work->other;
    int result = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE room = 0, size = 1; /* available and required size */
    while (result == PCRE2_ERROR_NOMEMORY && size > room) {
        CLF__TRY(make_room(other, size));
        size = room = other->room;
        result = pcre2_substitute(rule->code, (PCRE2_SPTR)text->bytes, text->size, 0, options, work->data,
                                  NULL, (PCRE2_SPTR)rule->replacement, PCRE2_ZERO_TERMINATED,
                                  (PCRE2_UCHAR *)other->bytes, &size);
    }
    if (result < 0) {
        PCRE2_UCHAR why[120] = "";
        pcre2_get_error_message(result, why, sizeof why);
        return clf__fail(CLF_TEXT, "the line cannot be split into words (PCRE2: %s)", (const char *)why);
    }
    if (result > 0) {
        other->size = size;
        clf__moses_work_turn(work);
    }
    return CLF_OK;
}

clf_status clf__moses_rules_run(const struct clf__moses_rules *rules, struct clf__moses_work *work)
{
    for (int i = 0; i < rules->count; i++) {
        CLF__TRY(run(&rules->items[i], work));
    }
    return CLF_OK;
}
