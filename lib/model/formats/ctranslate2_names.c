/* Maps CTranslate2's variable names to canonical names. CTranslate2 fuses some matrices that are separate in
 * clformer, but never the reverse. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "model/formats/ctranslate2.h"

enum { MOST_PARTS = 3, NAME_BYTES = 160 };

/* A pair of names; `#` is a placeholder for a layer number. */
struct rule {
    const char *theirs;
    const char *ours[MOST_PARTS]; /* names of the row groups; the second is NULL if there is only one */
};

/* clang-format off */
static const struct rule layer_rules[] = {
    {"self_attention/linear_0/", {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}},
    {"self_attention/linear_1/", {"self_attn.out_proj.", NULL, NULL}},
    {"self_attention/layer_norm/", {"self_attn_layer_norm.", NULL, NULL}},
    {"attention/linear_0/", {"encoder_attn.q_proj.", NULL, NULL}},
    {"attention/linear_1/", {"encoder_attn.k_proj.", "encoder_attn.v_proj.", NULL}},
    {"attention/linear_2/", {"encoder_attn.out_proj.", NULL, NULL}},
    {"attention/layer_norm/", {"encoder_attn_layer_norm.", NULL, NULL}},
    {"ffn/linear_0/", {"fc1.", NULL, NULL}},
    {"ffn/linear_0_noact/", {"fc_gate.", NULL, NULL}},
    {"ffn/linear_1/", {"fc2.", NULL, NULL}},
    {"ffn/layer_norm/", {"final_layer_norm.", NULL, NULL}},
};
static const struct rule stack_rules[] = {
    {"embeddings/", {"embed_tokens.", NULL, NULL}},
    {"embeddings_0/", {"embed_tokens.", NULL, NULL}},
    {"layernorm_embedding/", {"layernorm_embedding.", NULL, NULL}},
    {"layer_norm/", {"layer_norm.", NULL, NULL}},
    {"conv1/", {"conv1.", NULL, NULL}},
    {"conv2/", {"conv2.", NULL, NULL}},
};
/* Last components of names: CTranslate2's, canonical. */
static const char *const endings[][2] = {
    {"weight", "weight"}, {"bias", "bias"}, {"gamma", "weight"}, {"beta", "bias"}};
/* Whole names: CTranslate2's, canonical. */
static const char *const others[][2] = {
    {"encoder/position_encodings/encodings", "model.encoder.embed_positions.weight"},
    {"decoder/position_encodings/encodings", "model.decoder.embed_positions.weight"},
    {"encoder/layer_0/self_attention/relative_attention_bias", "model.encoder.relative_attention_bias.weight"},
    {"decoder/layer_0/self_attention/relative_attention_bias", "model.decoder.relative_attention_bias.weight"},
    {"decoder/projection/weight", "lm_head.weight"},
    {"decoder/projection/bias", "final_logits_bias"},
};
/* clang-format on */

static const char *const sides[] = {"encoder", "decoder"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *find_ending(const char *word)
{
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (strcmp(word, endings[i][0]) == 0) {
            return endings[i][1];
        }
    }
    return NULL;
}

/* Adds the parts of the tensor named `prefix` followed by `name`; sets *found if a rule matches. */
static clf_status add_parts(struct clf__weights *weights, const struct clf__stored_tensor *tensor,
                            const struct rule *rules, size_t rule_count, const char *prefix, const char *name,
                            int *found)
{
    for (size_t i = 0; i < rule_count && !*found; i++) {
        size_t length = strlen(rules[i].theirs);
        const char *ending = strncmp(name, rules[i].theirs, length) == 0 ? find_ending(name + length) : NULL;
        int parts = rules[i].ours[1] == NULL ? 1 : rules[i].ours[2] == NULL ? 2 : 3;
        if (ending == NULL || tensor->dimensions < 1 || tensor->shape[0] % parts != 0) {
            continue;
        }
        *found = 1;
        for (int part = 0; part < parts; part++) {
            char ours[NAME_BYTES];
            snprintf(ours, sizeof ours, "%s%s%s", prefix, rules[i].ours[part], ending);
            int64_t rows = tensor->shape[0] / parts;
            struct clf__stored_tensor slice = clf__stored_tensor_rows(tensor, part * rows, rows);
            CLF__TRY(clf__weights_add(weights, &slice, ours));
        }
    }
    return CLF_OK;
}

int clf__ctranslate2_is_setting(const struct clf__stored_tensor *tensor)
{
    int is_text = tensor->dimensions == 1 && tensor->type == CLF__STORED_I8;
    return tensor->dimensions == 0 || is_text;
}

/* Returns 1 if a bias is an alias: T5's bias is stored for the first layer and aliased in the other layers.
 */
static int is_repeated(const struct clf__weights *weights, const struct clf__stored_tensor *tensor,
                       const char *side)
{
    char first[NAME_BYTES];
    const char *bias = strstr(tensor->name, "/self_attention/relative_attention_bias");
    snprintf(first, sizeof first, "%s/layer_0%s", side, bias != NULL ? bias : "");
    const struct clf__stored_tensor *stored = clf__weights_find(weights, first);
    return bias != NULL && stored != NULL && stored->offset == tensor->offset;
}

static clf_status map_weight(struct clf__weights *weights, const struct clf__stored_tensor *tensor)
{
    int found = 0;
    for (size_t i = 0; i < COUNT(others); i++) {
        if (strcmp(tensor->name, others[i][0]) == 0) {
            return clf__weights_add(weights, tensor, others[i][1]);
        }
    }
    for (size_t s = 0; s < COUNT(sides) && !found; s++) {
        size_t length = strlen(sides[s]);
        const char *name = tensor->name + length + 1;
        int layer, used = 0;
        char prefix[NAME_BYTES / 2];
        if (strncmp(tensor->name, sides[s], length) != 0 || tensor->name[length] != '/') {
            continue;
        }
        snprintf(prefix, sizeof prefix, "model.%s.", sides[s]);
        if (is_repeated(weights, tensor, sides[s])) {
            return CLF_OK;
        }
        CLF__TRY(add_parts(weights, tensor, stack_rules, COUNT(stack_rules), prefix, name, &found));
        if (sscanf(name, "layer_%d/%n", &layer, &used) == 1 && used > 0 && !found) {
            snprintf(prefix, sizeof prefix, "model.%s.layers.%d.", sides[s], layer);
            CLF__TRY(
                add_parts(weights, tensor, layer_rules, COUNT(layer_rules), prefix, name + used, &found));
        }
    }
    return found ? CLF_OK : clf__weights_add(weights, tensor, tensor->name);
}

/* Replacements in TensorFlow names of revision 1, in order of lookup; only the first occurrence is replaced.
 */
static const char *const old_words[][2] = {{"transformer/", ""},
                                           {":0", ""},
                                           {"w_embs", "embeddings/weight"},
                                           {"kernel", "weight"},
                                           {"LayerNorm", "layer_norm"},
                                           {"dense", "projection"},
                                           {"conv1d_", "linear_"},
                                           {"conv1d", "linear_0"},
                                           {"masked_multi_head", "self_attention"},
                                           {"multi_head", NULL}};

/* Replaces words in a TensorFlow name with the words of later revisions. */
static void rename_old(char *name, const char *old)
{
    snprintf(name, NAME_BYTES, "%s", old);
    for (size_t i = 0; i < COUNT(old_words); i++) {
        char rest[NAME_BYTES];
        char *found = strstr(name, old_words[i][0]);
        const char *other = old_words[i][1];
        if (other == NULL) {
            other = strncmp(name, "encoder/", strlen("encoder/")) == 0 ? "self_attention" : "attention";
        }
        if (found != NULL) {
            snprintf(rest, sizeof rest, "%s", found + strlen(old_words[i][0]));
            snprintf(found, NAME_BYTES - (size_t)(found - name), "%s%s", other, rest);
        }
    }
}

/* Adds a tensor under the other canonical names that share it. */
static clf_status map_converted(struct clf__weights *weights, const struct clf__stored_tensor *tensor)
{
    static const char shared[] = "model.shared.weight", target[] = "model.decoder.embed_tokens.weight",
                      output[] = "lm_head.weight";
    int is_shared = strcmp(tensor->name, shared) == 0;
    int is_target = is_shared || strcmp(tensor->name, target) == 0;
    CLF__TRY(clf__weights_add(weights, tensor, is_shared ? target : tensor->name));
    if (is_shared) {
        CLF__TRY(clf__weights_add(weights, tensor, "model.encoder.embed_tokens.weight"));
    }
    return is_target && clf__weights_find(weights, output) == NULL ? clf__weights_add(weights, tensor, output)
                                                                   : CLF_OK;
}

/* `user` points to an enum clf__ctranslate2_part. */
static clf_status map(struct clf__weights *weights, const struct clf__stored_tensor *tensor, void *user)
{
    enum clf__ctranslate2_part part = *(const enum clf__ctranslate2_part *)user;
    int is_setting = clf__ctranslate2_is_setting(tensor);
    if (part == (is_setting ? CLF__CTRANSLATE2_WEIGHTS : CLF__CTRANSLATE2_SETTINGS)) {
        return CLF_OK;
    }
    if (is_setting) {
        return clf__weights_add(weights, tensor, tensor->name);
    }
    if (clf__weights_metadata(weights) != NULL) {
        return map_converted(weights, tensor);
    }
    struct clf__stored_tensor renamed = *tensor;
    char name[NAME_BYTES];
    if (clf__weights_specification(weights).revision == 1) {
        rename_old(name, tensor->name);
        renamed.name = name;
    }
    return map_weight(weights, &renamed);
}

clf_status clf__ctranslate2_open_model(struct clf__weights **out, const char *folder,
                                       enum clf__ctranslate2_part part)
{
    int is_converted;
    CLF__TRY(clf__file_exists_in(&is_converted, folder, CLF__CTRANSLATE2_CONVERTED));
    CLF__TRY(clf__weights_open_file(out, folder, is_converted ? CLF__CTRANSLATE2_CONVERTED : "model.bin"));
    clf_status status = clf__weights_map(*out, map, &part);
    if (status != CLF_OK) {
        clf__weights_close(*out);
        *out = NULL;
    }
    return status;
}
