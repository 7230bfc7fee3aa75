#include "model/config/architectures/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* Sinusoids, which are computed instead of being read, and leftovers of old fairseq versions. */
static const char *const frozen[] = {".embed_positions.weight", ".embed_positions.weights", "coder.version",
                                     NULL};

const struct clf__tensor_names clf__names_canonical = {NULL, 0, frozen};

static const struct clf__name_rule bare[] = {{"*", "*"}, {"model.*", "*"}};

const struct clf__tensor_names clf__names_bare = {bare, sizeof bare / sizeof *bare, frozen};

enum { SIDE, INDEX, REST, MARKS };
static const char marks[MARKS] = {[SIDE] = '@', [INDEX] = '#', [REST] = '*'};

/* The parts of a name matched by the wildcards of a pattern. */
struct match {
    const char *starts[sizeof marks];
    int lengths[sizeof marks];
};

/* Returns the length of the part that a wildcard matches; 0: no match. */
static size_t length_of(char mark, const char *name)
{
    switch (mark) {
    case '@':
        return strncmp(name, "encoder.", 8) == 0 || strncmp(name, "decoder.", 8) == 0 ? strlen("encoder") : 0;
    case '#':
        return strspn(name, "0123456789");
    default:
        return strlen(name);
    }
}

static int matches(struct match *match, const char *pattern, const char *name)
{
    for (; *pattern; pattern++) {
        const char *mark = memchr(marks, *pattern, sizeof marks);
        size_t length = mark ? length_of(*mark, name) : *pattern == *name;
        if (length == 0) {
            return 0;
        }
        if (mark) {
            match->starts[mark - marks] = name;
            match->lengths[mark - marks] = (int)length;
        }
        name += length;
    }
    return *name == '\0';
}

static void write_name(const struct match *match, const char *pattern, char *stored, size_t size)
{
    for (size_t used = 0; *pattern && used < size; pattern++) {
        if (*pattern == '+') {
            const char *index = match->starts[INDEX];
            used += (size_t)snprintf(stored + used, size - used, "%lld", strtoll(index, NULL, 10) + 1);
            continue;
        }
        const char *mark = memchr(marks, *pattern, sizeof marks);
        used += (size_t)snprintf(stored + used, size - used, "%.*s", mark ? match->lengths[mark - marks] : 1,
                                 mark ? match->starts[mark - marks] : pattern);
    }
}

int clf__names_stored(const struct clf__tensor_names *names, const char *canonical, int choice, char *stored,
                      size_t size)
{
    if (!names->rules) {
        snprintf(stored, size, "%s", canonical);
        return choice == 0;
    }
    for (int i = 0; i < names->rule_count; i++) {
        struct match match = {.lengths = {0}};
        if (matches(&match, names->rules[i].canonical, canonical) && choice-- == 0) {
            write_name(&match, names->rules[i].stored, stored, size);
            return 1;
        }
    }
    return 0;
}

int clf__names_are_frozen(const struct clf__tensor_names *names, const char *stored)
{
    for (int i = 0; names->frozen != NULL && names->frozen[i] != NULL; i++) {
        if (clf__ends_with(stored, names->frozen[i])) {
            return 1;
        }
    }
    return 0;
}
