#include "config/family/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const frozen[] = {".embed_positions.weight", NULL};

const struct clf__tensor_names clf__names_canonical = {NULL, 0, frozen};

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

int clf__names_stored(const struct clf__tensor_names *names, const char *canonical, char *stored, size_t size)
{
    if (!names->rules) {
        snprintf(stored, size, "%s", canonical);
        return 1;
    }
    for (int i = 0; i < names->rule_count; i++) {
        struct match match;
        if (matches(&match, names->rules[i].canonical, canonical)) {
            write_name(&match, names->rules[i].stored, stored, size);
            return 1;
        }
    }
    return 0;
}

int clf__names_are_frozen(const struct clf__tensor_names *names, const char *stored)
{
    size_t length = strlen(stored);
    for (int i = 0; names->frozen[i]; i++) {
        size_t ending = strlen(names->frozen[i]);
        if (length >= ending && strcmp(stored + length - ending, names->frozen[i]) == 0) {
            return 1;
        }
    }
    return 0;
}
