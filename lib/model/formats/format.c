#include "model/formats/format.h"

#include <ctype.h>
#include <string.h>

const struct clf__format *clf__format_of(enum clf__system system)
{
    switch (system) {
    case CLF__JADORE:
        return &clf__format_jadore;
    case CLF__ANNOTATED:
        return &clf__format_annotated;
    case CLF__SPEECH:
        return &clf__format_speech;
    case CLF__MARIAN:
    case CLF__PAPER:
    case CLF__ILLUSTRATED:
        break;
    }
    return &clf__format_canonical;
}

/* What a pattern's `#` and `*` stood for. */
struct match {
    const char *index;
    int index_length;
    const char *rest;
};

static int matches(struct match *match, const char *pattern, const char *name)
{
    *match = (struct match){"", 0, ""};
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            match->rest = name;
            return 1;
        }
        if (*pattern == '#') {
            match->index = name;
            while (isdigit((unsigned char)*name)) {
                name++;
            }
            match->index_length = (int)(name - match->index);
        } else if (*pattern != *name++) {
            return 0;
        }
    }
    return *name == '\0';
}

static void write_name(const struct match *match, const char *pattern, char *stored, size_t size)
{
    const char *mark = strchr(pattern, '#');
    int before = mark ? (int)(mark - pattern) : 0;
    const char *after = mark ? mark + 1 : pattern;
    snprintf(stored, size, "%.*s%.*s%.*s%s", before, pattern, match->index_length, match->index,
             (int)strcspn(after, "*"), after, match->rest);
}

int clf__format_name(const struct clf__format *format, const char *canonical, char *stored, size_t size)
{
    if (!format->rules) {
        snprintf(stored, size, "%s", canonical);
        return 1;
    }
    for (int i = 0; i < format->rule_count; i++) {
        struct match match;
        if (matches(&match, format->rules[i].canonical, canonical)) {
            write_name(&match, format->rules[i].stored, stored, size);
            return 1;
        }
    }
    return 0;
}

int clf__format_is_frozen(const struct clf__format *format, const char *stored)
{
    size_t length = strlen(stored);
    for (int i = 0; format->frozen[i]; i++) {
        size_t ending = strlen(format->frozen[i]);
        if (length >= ending && strcmp(stored + length - ending, format->frozen[i]) == 0) {
            return 1;
        }
    }
    return 0;
}
