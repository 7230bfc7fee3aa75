#include "serve/glossaries.h"

#include <string.h>

#include "base/status.h"
#include "serve/named_files.h"

static int find(const struct glossaries *glossaries, const char *name, size_t size)
{
    int i = 0;
    while (i < glossaries->count &&
           (glossaries->items[i].name_size != size || memcmp(glossaries->items[i].name, name, size) != 0)) {
        i++;
    }
    return i;
}

clf_status glossaries_load(struct glossaries *out, const struct flag_values *values)
{
    for (int i = 0; i < values->count; i++) {
        const char *name = values->items[i], *path = NULL;
        size_t size = 0;
        CLF__TRY(named_files_split(&size, &path, "glossary", name));
        if (find(out, name, size) < out->count) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "--glossary %s: another glossary is called %.*s; choose another name", name,
                             (int)size, name);
        }
        out->items[out->count].name = name;
        out->items[out->count].name_size = size;
        CLF__TRY(clf_glossary_load(&out->items[out->count].glossary, path));
        out->count++;
    }
    return CLF_OK;
}

void glossaries_free(struct glossaries *glossaries)
{
    for (int i = 0; i < glossaries->count; i++) {
        clf_glossary_free(glossaries->items[i].glossary);
    }
    glossaries->count = 0;
}

struct clf_glossary *glossaries_find(const struct glossaries *glossaries, const char *name)
{
    int i = find(glossaries, name, strlen(name));
    return i < glossaries->count ? glossaries->items[i].glossary : NULL;
}
