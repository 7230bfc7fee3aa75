/* Functions shared by all tokenizer classes. */
#include "text/tokenizers/classes/class.h"

#include "base/json.h"

enum { MOST_EXTRA_IDS = 1 << 16 };

/* Reads "langs" of FSMTTokenizer. Lists of another form are ignored, because they may belong to other
 * classes. */
static void read_languages(struct clf__class_settings *out, const struct clf__json *config)
{
    const json_t *list = json_object_get(config->root, "langs");
    const char *source = json_string_value(json_array_get(list, 0));
    const char *target = json_string_value(json_array_get(list, 1));
    if (json_array_size(list) == 2 && source != NULL && target != NULL) {
        out->languages[0] = source;
        out->languages[1] = target;
    }
}

clf_status clf__class_read_settings(struct clf__class_settings *out, const struct clf__json *config, int rows)
{
    *out = (struct clf__class_settings){.rows = rows, .extra_ids = -1};
    if (config->root == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__json_int(config, "extra_ids", 0, MOST_EXTRA_IDS, &out->extra_ids));
    CLF__TRY(clf__json_bool(config, "legacy_behaviour", &out->legacy_behaviour));
    CLF__TRY(clf__json_string(config, "language_codes", &out->language_codes));
    read_languages(out, config);
    CLF__TRY(clf__json_string(config, "source_lang", &out->source_language)); /* set by MarianTokenizer */
    CLF__TRY(clf__json_string(config, "src_lang", &out->source_language));
    return clf__json_string(config, "tgt_lang", &out->target_language);
}

clf_status clf__class_add_languages(struct clf__token_list *tokens, const struct clf__tokenizer_class *of,
                                    const char *const *codes)
{
    for (; *codes != NULL; codes++) {
        CLF__TRY(clf__token_list_format(tokens, CLF__TOKEN_SPECIAL | CLF__TOKEN_FOUND | CLF__TOKEN_LANGUAGE,
                                        "%s%s%s", of->language_opens, *codes, of->language_closes));
    }
    return CLF_OK;
}
