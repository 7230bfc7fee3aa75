#include "text/tokenizers/json/part.h"

#include <string.h>

#include "base/memory.h"

/* A text may grow by a factor of GROWTH, as with SentencePiece, or to LEAST_ROOM bytes. */
enum { MAX_STEPS = 1000, GROWTH = 32, LEAST_ROOM = 1 << 16 };

void clf__chain_free(struct clf__chain *chain)
{
    for (int i = 0; i < chain->count; i++) {
        const struct clf__part_kind *kind = chain->steps[i].kind;
        if (kind->free != NULL) {
            kind->free(chain->steps[i].state);
        } else {
            clf__free(chain->steps[i].state);
        }
    }
    clf__free(chain->steps);
    clf__free(chain->where);
    *chain = (struct clf__chain){.count = 0};
}

static clf_status add_step(struct clf__chain *chain, const struct clf__part_kind *kind,
                           const struct clf__node *node)
{
    if (chain->count == MAX_STEPS) {
        return clf__node_fail(node, CLF_UNSUPPORTED, "has more than %d parts; save the tokenizer with fewer",
                              MAX_STEPS);
    }
    CLF__TRY(clf__grow(&chain->steps, chain->count, &chain->capacity, sizeof *chain->steps));
    if (chain->where == NULL) {
        CLF__TRY(clf__format(&chain->where, "%s: \"%s\"", node->path, node->section));
    }
    struct clf__chain_step step = {.kind = kind};
    if (kind->read != NULL) {
        CLF__TRY(kind->read(&step.state, node));
    }
    chain->steps[chain->count++] = step;
    return CLF_OK;
}

static clf_status read_sequence(struct clf__chain *chain, const struct clf__part_section *section,
                                const struct clf__node *node)
{
    const json_t *members = json_object_get(node->value, section->members);
    if (!json_is_array(members)) {
        return clf__node_fail(node, CLF_FORMAT, "has no list \"%s\"; download the file again",
                              section->members);
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        CLF__TRY(clf__chain_read(chain, section, json_array_get(members, i), node->path));
    }
    return CLF_OK;
}

clf_status clf__chain_read(struct clf__chain *chain, const struct clf__part_section *section,
                           const json_t *value, const char *path)
{
    struct clf__node node = {.value = value, .path = path, .section = section->name};
    if (value == NULL || json_is_null(value)) {
        return CLF_OK;
    }
    if (!json_is_object(value)) {
        return clf__node_fail(&node, CLF_FORMAT, "is not an object; download the file again");
    }
    const char *name;
    CLF__TRY(clf__node_need_string(&node, "type", &name));
    node.part = name;
    if (strcmp(name, "Sequence") == 0) {
        return read_sequence(chain, section, &node);
    }
    for (int i = 0; i < section->count; i++) {
        const struct clf__part_kind *kind = &section->kinds[i];
        if (strcmp(kind->name, name) == 0) {
            CLF__TRY(clf__node_check_keys(&node, kind->keys));
            return add_step(chain, kind, &node);
        }
    }
    node.part = NULL;
    return clf__node_fail(
        &node, CLF_UNSUPPORTED,
        "the part \"%.40s\" is not supported; use the files from which the tokenizer was converted", name);
}

clf_status clf__chain_run(const struct clf__chain *chain, struct clf__word_list *words,
                          struct clf__word_list *spare)
{
    clf_status status = CLF_OK;
    size_t size = words->size, most = GROWTH * size + LEAST_ROOM;
    for (int i = 0; i < chain->count && status == CLF_OK; i++) {
        clf__word_list_clear(spare);
        spare->keeps_empty = words->keeps_empty;
        spare->most = most;
        status = chain->steps[i].kind->run(chain->steps[i].state, spare, words);
        if (spare->is_full) {
            status = clf__fail(CLF_TEXT,
                               "%s, %s: produces more than %zu bytes from a text of %zu; use the files from "
                               "which the tokenizer was converted",
                               chain->where, chain->steps[i].kind->name, most, size);
        }
        spare->most = 0;
        spare->is_full = 0;
        struct clf__word_list swapped = *words;
        *words = *spare;
        *spare = swapped;
    }
    return status;
}
