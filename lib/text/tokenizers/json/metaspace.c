#include "text/tokenizers/json/metaspace.h"

#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"

static clf_status read_scheme(enum clf__metaspace_prepends *out, const struct clf__node *node)
{
    static const char *const names[] = {"always", "first", "never"};
    const char *name = NULL;
    int adds = 1;
    CLF__TRY(clf__node_bool(node, "add_prefix_space", &adds)); /* key in older files */
    CLF__TRY(clf__node_string(node, "prepend_scheme", &name));
    *out = adds ? CLF__METASPACE_ALWAYS : CLF__METASPACE_NEVER;
    for (int i = 0; name != NULL && i < 3; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (enum clf__metaspace_prepends)i;
            return CLF_OK;
        }
    }
    return name == NULL
               ? CLF_OK
               : clf__node_fail(node, CLF_UNSUPPORTED,
                                "the prepend_scheme \"%.40s\" is not supported; use always, first or never",
                                name);
}

clf_status clf__metaspace_read(void **state, const struct clf__node *node)
{
    struct clf__metaspace meta = {.splits = 1}, *kept = NULL;
    UChar32 mark = 0x2581;
    CLF__TRY(clf__node_character(node, "replacement", &mark));
    CLF__TRY(clf__node_bool(node, "split", &meta.splits));
    CLF__TRY(read_scheme(&meta.prepends, node));
    U8_APPEND_UNSAFE((uint8_t *)meta.mark, meta.mark_size, mark);
    CLF__TRY(clf__allocate(&kept, 1, sizeof *kept));
    *kept = meta;
    *state = kept;
    return CLF_OK;
}
