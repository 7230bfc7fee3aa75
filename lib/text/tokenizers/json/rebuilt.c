#include "text/tokenizers/json/rebuilt.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "text/tokenizers/classes/class.h"

static clf_status no_memory(const char *path)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", path);
}

/* Returns the first Precompiled in the file's normalizer, at most one level deep; borrowed, or NULL. */
static json_t *find_table(const json_t *normalizer)
{
    const json_t *members = json_object_get(normalizer, "normalizers");
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    if (type != NULL && strcmp(type, "Precompiled") == 0) {
        return (json_t *)normalizer;
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        json_t *member = json_array_get(members, i);
        type = json_string_value(json_object_get(member, "type"));
        if (type != NULL && strcmp(type, "Precompiled") == 0) {
            return member;
        }
    }
    return NULL;
}

static clf_status parse(json_t **out, const char *text, const char *path)
{
    return clf__json_parse(out, text, strlen(text), path, clf__json_settings);
}

/* Sets a key of the root to a parsed JSON text. */
static clf_status set_section(json_t *root, const char *key, const char *text, const char *path)
{
    json_t *value = NULL;
    CLF__TRY(parse(&value, text, path));
    return json_object_set_new(root, key, value) == 0 ? CLF_OK : no_memory(path);
}

static clf_status set_normalizer(json_t *root, const struct clf__class_pipeline *row, const char *path)
{
    json_t *table = row->takes_table ? json_incref(find_table(json_object_get(root, "normalizer"))) : NULL;
    char *text = NULL;
    clf_status status = clf__format(&text, "{\"type\": \"Sequence\", \"normalizers\": [%s]}",
                                    table != NULL ? row->with_table : row->without_table);
    if (status == CLF_OK) {
        status = set_section(root, "normalizer", text, path);
    }
    json_t *members = json_object_get(json_object_get(root, "normalizer"), "normalizers");
    if (status == CLF_OK && table != NULL && json_array_insert(members, 0, table) != 0) {
        status = no_memory(path);
    }
    json_decref(table);
    clf__free(text);
    return status;
}

/* Sets the unknown id of a model. In Pegasus, only the unknown token's score of 0 distinguishes it from
 * another token with the same name. */
static clf_status set_unknown_id(json_t *model, const char *path, const char *unknown)
{
    const json_t *vocab = json_object_get(model, "vocab");
    for (size_t i = 1; i < json_array_size(vocab); i++) {
        const json_t *row = json_array_get(vocab, i);
        const char *token = json_string_value(json_array_get(row, 0));
        if (token != NULL && strcmp(token, unknown) == 0 && json_number_value(json_array_get(row, 1)) == 0) {
            return json_object_set_new(model, "unk_id", json_integer((json_int_t)i)) == 0 ? CLF_OK
                                                                                          : no_memory(path);
        }
    }
    return clf__fail(
        CLF_FORMAT,
        "%s: \"model\", Unigram: \"vocab\" has no \"%.80s\" with score 0; download the file again", path,
        unknown);
}

static clf_status set_model(json_t *root, const char *path, const struct clf__rebuilt_settings *settings)
{
    const struct clf__class_pipeline *row = settings->class->pipeline;
    json_t *model = json_object_get(root, "model"), *options = NULL;
    const char *type = json_string_value(json_object_get(model, "type"));
    if (!json_is_object(model)) {
        return clf__fail(CLF_FORMAT, "%s: \"model\": is not an object; download the file again", path);
    }
    if (type != NULL && strcmp(type, row->model) != 0) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"model\" is %.40s, but %s reads %s; set \"tokenizer_class\" in "
                         "tokenizer_config.json to \"TokenizersBackend\" to use the file as it is",
                         path, type, settings->class->name, row->model);
    }
    CLF__TRY(parse(&options, row->options, path));
    int failed = json_object_update(model, options);
    json_decref(options);
    if (failed != 0) {
        return no_memory(path);
    }
    if (row->finds_unknown && strcmp(row->model, "Unigram") == 0) {
        return set_unknown_id(model, path, settings->unknown_token);
    }
    if (row->finds_unknown) {
        return json_object_set_new(model, "unk_token", json_string(settings->unknown_token)) == 0
                   ? CLF_OK
                   : no_memory(path);
    }
    return CLF_OK;
}

clf_status clf__rebuilt_apply(json_t *root, const char *path, const struct clf__rebuilt_settings *settings)
{
    const struct clf__class_pipeline *row = settings->class->pipeline;
    char pre_tokenizer[512];
    snprintf(pre_tokenizer, sizeof pre_tokenizer, row->pre_tokenizer,
             settings->adds_prefix_space ? "true" : "false");
    CLF__TRY(set_normalizer(root, row, path));
    CLF__TRY(set_section(root, "pre_tokenizer", pre_tokenizer, path));
    CLF__TRY(set_section(root, "decoder", row->decoder, path));
    return set_model(root, path, settings);
}
