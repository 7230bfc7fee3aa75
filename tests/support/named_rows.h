/* Adds tokens for ids that the tokenizer does not have, so that a search may generate them, as in
 * transformers. */
#ifndef CLF_TESTS_NAMED_ROWS_H
#define CLF_TESTS_NAMED_ROWS_H

#include <jansson.h>
#include <stdio.h>

#include "support/support.h"

/* Adds special tokens, which decoded text omits, with the ids first .. last to tokenizer_config.json. */
static inline void name_rows(const char *folder, int first, int last)
{
    char path[4200], key[16], name[32];
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    json_t *config = json_load_file(path, 0, NULL);
    json_t *decoder = json_object_get(config, "added_tokens_decoder");
    if (decoder == NULL) {
        decoder = json_object();
        json_object_set_new(config, "added_tokens_decoder", decoder);
    }
    for (int id = first; id <= last; id++) {
        snprintf(key, sizeof key, "%d", id);
        snprintf(name, sizeof name, "<row_%d>", id);
        json_object_set_new(decoder, key,
                            json_pack("{ss sb sb}", "content", name, "special", 1, "normalized", 0));
    }
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

#endif
