#include "model/aliases.h"

#include <string.h>

#include "model/config/architectures/architecture.h"
#include "model/tree.h"

static const char shared[] = "model.shared.weight";
static const char encoder[] = "model.encoder.embed_tokens.weight";
static const char decoder[] = "model.decoder.embed_tokens.weight";

/* Transformers 4 and earlier store an embedding that is shared but not tied as one matrix, transformers 5 as
 * three. */
static void add_substitutes(struct clf__aliases *aliases, const struct clf__config *config, const char *name)
{
    int is_embedding = strcmp(name, encoder) == 0 || strcmp(name, decoder) == 0;
    if (!is_embedding || !clf__architecture_of(config->architecture)->stores_embeddings_variously) {
        return;
    }
    aliases->names[aliases->count++] = shared;
    if (!config->separate_vocabularies) {
        aliases->names[aliases->count++] = strcmp(name, encoder) == 0 ? decoder : encoder;
    }
}

struct clf__aliases clf__aliases_of(const struct clf__config *config, const char *name)
{
    struct clf__aliases out = {.names = {name}, .count = 1};
    if (config->share_source_target && strcmp(name, shared) == 0) {
        out.names[out.count++] = encoder;
        out.names[out.count++] = decoder;
    }
    if (config->share_target_output && strcmp(name, clf__target_embedding_name(config)) == 0) {
        out.names[out.count++] = "lm_head.weight";
    }
    out.same = out.count;
    add_substitutes(&out, config, name);
    return out;
}
