#include "text/tokenizers/json/model.h"

#include <string.h>

static const struct clf__model_kind *const kinds[] = {
    &clf__model_unigram,
    &clf__model_bpe,
    &clf__model_word_piece,
    &clf__model_word_level,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Guesses the kind of a model from its keys, because files from before 2020 have no type. */
static const struct clf__model_kind *guess(const json_t *model)
{
    return json_object_get(model, "merges") != NULL                      ? &clf__model_bpe
           : json_is_array(json_object_get(model, "vocab"))              ? &clf__model_unigram
           : json_object_get(model, "continuing_subword_prefix") != NULL ? &clf__model_word_piece
                                                                         : &clf__model_word_level;
}

clf_status clf__model_find(const struct clf__model_kind **out, const struct clf__node *node)
{
    const char *name = NULL;
    CLF__TRY(clf__node_string(node, "type", &name));
    *out = name == NULL ? guess(node->value) : NULL;
    for (int i = 0; name != NULL && i < KINDS; i++) {
        *out = strcmp(kinds[i]->name, name) == 0 ? kinds[i] : *out;
    }
    return *out != NULL
               ? CLF_OK
               : clf__node_fail(
                     node, CLF_UNSUPPORTED,
                     "\"%.40s\" is not supported; use a tokenizer with Unigram, BPE, WordPiece or WordLevel",
                     name);
}
