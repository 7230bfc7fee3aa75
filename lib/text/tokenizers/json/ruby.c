#include "text/tokenizers/json/ruby.h"

#include <string.h>

#include "base/memory.h"

/* Unicode character classes as in Oniguruma; PCRE2's \s and \w differ. Outside brackets, \w has six more
 * members, from a Latin-1 table: superscript digits and fractions. */
#define WORD       "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define ALONE      WORD "\\xb2\\xb3\\xb9\\xbc-\\xbe"
#define BEFORE     "(?<=[" ALONE "])"
#define NOT_BEFORE "(?<![" ALONE "])"
#define BEHIND     "(?=[" ALONE "])"
#define NOT_BEHIND "(?![" ALONE "])"

/* Replacement of an escape outside and inside a class; NULL: not expressible. */
static const struct {
    char letter;
    const char *outside, *inside;
} escapes[] = {
    {'s', "\\p{White_Space}", "\\p{White_Space}"},
    {'S', "\\P{White_Space}", "\\P{White_Space}"},
    {'w', "[" ALONE "]", WORD},
    {'W', "[^" ALONE "]", NULL},
    {'h', "[0-9a-fA-F]", "0-9a-fA-F"},
    {'H', "[^0-9a-fA-F]", NULL},
    {'b', "(?:" BEFORE NOT_BEHIND "|" NOT_BEFORE BEHIND ")", "\\b"},
    {'B', "(?:" BEFORE BEHIND "|" NOT_BEFORE NOT_BEHIND ")", NULL},
};

/* [:name:] in a class. */
static const struct {
    const char *name, *members;
} posix_classes[] = {
    {"[:alnum:]", "\\p{Alphabetic}\\p{Nd}"},
    {"[:alpha:]", "\\p{Alphabetic}"},
    {"[:cntrl:]", "\\p{Cc}"},
    {"[:digit:]", "\\p{Nd}"},
    {"[:lower:]", "\\p{Lowercase}"},
    {"[:punct:]", "\\p{P}\\p{S}"},
    {"[:space:]", "\\p{White_Space}"},
    {"[:upper:]", "\\p{Uppercase}"},
    {"[:word:]", WORD},
    {"[:xdigit:]", "0-9a-fA-F"},
};

static clf_status refuse(const struct clf__node *node, const char *what, const char *expression)
{
    return clf__node_fail(node, CLF_UNSUPPORTED,
                          "the pattern \"%.80s\" contains %s, which is not supported; use the files from "
                          "which the tokenizer was converted",
                          expression, what);
}

/* Translates \uHHHH to \x{HHHH}. */
static clf_status add_code_point(char **out, const char **at, const struct clf__node *node,
                                 const char *expression)
{
    if (strspn(*at, "0123456789abcdefABCDEF") < 4) {
        return refuse(node, "\\u without four digits", expression);
    }
    CLF__TRY(clf__append(out, "\\x{%.4s}", *at));
    *at += 4;
    return CLF_OK;
}

/* Translates an escape; *at is after the backslash. */
static clf_status add_escape(char **out, const char **at, int inside, const struct clf__node *node,
                             const char *expression)
{
    char letter = **at;
    if (letter == '\0') {
        return refuse(node, "a backslash at the end", expression);
    }
    ++*at;
    if (letter == 'u') {
        return add_code_point(out, at, node, expression);
    }
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        if (escapes[i].letter == letter) {
            const char *said = inside ? escapes[i].inside : escapes[i].outside;
            return said != NULL ? clf__append(out, "%s", said)
                                : refuse(node, "a negated class in another", expression);
        }
    }
    return clf__append(out, "\\%c", letter);
}

static clf_status add_posix_class(char **out, const char **at, const struct clf__node *node,
                                  const char *expression)
{
    for (size_t i = 0; i < sizeof posix_classes / sizeof *posix_classes; i++) {
        size_t length = strlen(posix_classes[i].name);
        if (strncmp(*at, posix_classes[i].name, length) == 0) {
            *at += length;
            return clf__append(out, "%s", posix_classes[i].members);
        }
    }
    return refuse(node, "an unknown POSIX class", expression);
}

/* Translates a class, starting at its bracket. */
static clf_status add_class(char **out, const char **at, const struct clf__node *node, const char *expression)
{
    int is_negated = (*at)[1] == '^', is_first = 1;
    CLF__TRY(clf__append(out, "[%s", is_negated ? "^" : ""));
    for (*at += 1 + is_negated; **at != ']' || is_first; is_first = 0) {
        if (**at == '\0') {
            return refuse(node, "a class without a closing bracket", expression);
        }
        if (strncmp(*at, "[:", 2) == 0) {
            CLF__TRY(add_posix_class(out, at, node, expression));
        } else if (**at == '[' || strncmp(*at, "&&", 2) == 0) {
            return refuse(node, "a class in another", expression);
        } else if (**at == '\\') {
            ++*at;
            CLF__TRY(add_escape(out, at, 1, node, expression));
        } else {
            CLF__TRY(clf__append(out, "%c", *(*at)++));
        }
    }
    ++*at;
    return clf__append(out, "]");
}

/* Translates options such as (?m: or (?i-m): Ruby's m is Perl's s. */
static clf_status add_options(char **out, const char **at)
{
    size_t length = 2 + strspn(*at + 2, "imx-");
    int are_options = length > 2 && ((*at)[length] == ':' || (*at)[length] == ')');
    CLF__TRY(clf__append(out, "(?"));
    *at += 2;
    for (size_t i = 2; are_options && i < length; i++, ++*at) {
        CLF__TRY(clf__append(out, "%c", **at == 'm' ? 's' : **at));
    }
    return CLF_OK;
}

clf_status clf__ruby_translate(char **out, const struct clf__node *node, const char *expression)
{
    const char *at = expression;
    clf_status status = clf__format(out, "%s", "");
    while (status == CLF_OK && *at != '\0') {
        if (*at == '\\') {
            at++;
            status = add_escape(out, &at, 0, node, expression);
        } else if (*at == '[') {
            status = add_class(out, &at, node, expression);
        } else if (strncmp(at, "(?", 2) == 0) {
            status = add_options(out, &at);
        } else if (strncmp(at, "(*", 2) == 0) {
            status = refuse(node, "a verb", expression);
        } else {
            status = clf__append(out, "%c", *at++);
        }
    }
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}
#define ALONE WORD "\\xb2\\xb3\\xb9\\xbc-\\xbe"
