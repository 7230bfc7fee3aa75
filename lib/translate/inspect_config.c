/* A configuration in words. */
#include <stdarg.h>

#include "base/memory.h"
#include "model/family.h"
#include "translate/inspect_internal.h"

static const char *activation_word(enum clf__activation kind)
{
    static const char *const words[] = {"identity", "relu", "gelu", "gelu_new", "silu"};
    return words[kind];
}
_Static_assert(CLF__IDENTITY == 0 && CLF__SILU == 4, "activation_word() has one word an activation");

static json_t *positions_object(const struct clf__config *config)
{
    static const char *const kinds[] = {"none", "sinusoid", "learned", "relative"};
    json_t *object = json_pack("{s:s, s:i}", "position_embedding_type", kinds[config->positions],
                               "max_position_embeddings", config->max_positions);
    int failed = object == NULL;
    if (!failed && config->positions == CLF__POSITIONS_SINUSOID) {
        int halves = config->sinusoid_layout == CLF__SINUSOID_HALVES;
        int by_last = config->sinusoid_frequency == CLF__SINUSOID_BY_LAST;
        failed = json_object_set_new(object, "sinusoid_layout",
                                     json_string(halves ? "halves" : "interleaved")) != 0 ||
                 json_object_set_new(object, "sinusoid_frequency",
                                     json_string(by_last ? "by_last" : "by_width")) != 0;
    } else if (!failed && config->positions == CLF__POSITIONS_RELATIVE) {
        failed = json_object_set_new(object, "relative_attention_num_buckets",
                                     json_integer(config->relative_buckets)) != 0 ||
                 json_object_set_new(object, "relative_attention_max_distance",
                                     json_integer(config->relative_distance)) != 0;
    }
    failed = failed ||
             json_object_set_new(object, "position_offset", json_integer(config->position_offset)) != 0 ||
             json_object_set_new(object, "position_padding_aware",
                                 json_boolean(config->position_padding_aware)) != 0;
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *sizes_object(const struct clf__config *config)
{
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "d_model", config->d_model,
        "encoder_layers", config->encoder_layers, "decoder_layers", config->decoder_layers,
        "encoder_attention_heads", config->encoder_heads, "decoder_attention_heads", config->decoder_heads,
        "encoder_d_k", config->encoder_key_width, "encoder_d_v", config->encoder_value_width, "decoder_d_k",
        config->decoder_key_width, "decoder_d_v", config->decoder_value_width, "encoder_ffn_dim",
        config->encoder_ffn, "decoder_ffn_dim", config->decoder_ffn, "vocab_size", config->source_vocabulary,
        "decoder_vocab_size", config->target_vocabulary, "feature_size", config->feature_size);
}

static json_t *layers_object(const struct clf__config *config)
{
    static const char *const norms[] = {"layer", "rms", "std"};
    return json_pack("{s:s, s:f, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:s, s:b, s:b, s:b}", "norm",
                     norms[config->norm], "layer_norm_eps", (double)config->norm_epsilon, "normalize_before",
                     config->norm_first, "add_final_layer_norm", config->norm_final, "normalize_embedding",
                     config->norm_embedding, "q_proj_bias", config->query_bias, "k_proj_bias",
                     config->key_bias, "v_proj_bias", config->value_bias, "out_proj_bias",
                     config->output_bias, "scale_attention", config->attention_scaled, "activation_function",
                     activation_word(config->activation), "gated_feed_forward", config->ffn_gated,
                     "feed_forward_bias", config->ffn_bias, "mask_pad_tokens", config->mask_pad_tokens);
}

static json_t *ends_object(const struct clf__config *config)
{
    return json_pack("{s:f, s:f, s:f, s:b, s:b, s:b, s:i, s:i, s:i, s:i, s:i, s:i}",
                     "encoder_embedding_scale", (double)config->encoder_embedding_scale,
                     "decoder_embedding_scale", (double)config->decoder_embedding_scale, "output_scale",
                     (double)config->output_scale, "share_encoder_decoder_embeddings",
                     config->share_source_target, "tie_word_embeddings", config->share_target_output,
                     "add_bias_logits", config->logits_bias, "pad_token_id", config->pad_id, "bos_token_id",
                     config->start_id, "eos_token_id", config->end_id, "decoder_start_token_id",
                     config->decoder_start_id, "source_start_token_id", config->source_start_id,
                     "source_end_token_id", config->source_end_id);
}

json_t *clf__inspect_configuration(const struct clf__config *config)
{
    json_t *all = sizes_object(config);
    json_t *parts[] = {positions_object(config), layers_object(config), ends_object(config)};
    int failed = all == NULL;
    for (int i = 0; i < 3; i++) {
        failed = failed || parts[i] == NULL || json_object_update(all, parts[i]) != 0;
        json_decref(parts[i]);
    }
    if (failed) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *ids_array(const int32_t *ids, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count && array != NULL; i++) {
        if (json_array_append_new(array, json_integer(ids[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *bad_words_array(const struct clf__search_options *options)
{
    json_t *array = json_array();
    for (int i = 0; i < options->bad_word_count && array != NULL; i++) {
        int first = options->bad_word_offsets[i], count = options->bad_word_offsets[i + 1] - first;
        if (json_array_append_new(array, ids_array(options->bad_words + first, count)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

json_t *clf__inspect_generation(const struct clf__search_options *options)
{
    static const char *const rules[] = {"huggingface", "gnmt", "none", "jadore"};
    static const char *const stops[] = {"false", "true", "never", "all"};
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:s, s:f, s:s, s:b, s:i, s:i, s:o, s:o}", "beam", options->beams, "n_best",
        options->n_best, "min_length", options->min_length, "max_length", options->max_length, "length_rule",
        rules[options->length_rule], "length_penalty", options->length_penalty, "early_stopping",
        stops[options->early_stopping], "renormalize", options->renormalize, "forced_first",
        options->forced_first, "forced_last", options->forced_last, "suppress",
        ids_array(options->suppressed, options->suppressed_count), "bad_words", bad_words_array(options));
}

clf_status clf__inspect_say(json_t *sentences, const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (json_array_append_new(sentences, json_string(sentence)) == 0) {
        return CLF_OK;
    }
    return clf__fail(CLF_OUT_OF_MEMORY, "no host memory left to describe the model");
}

static clf_status say_of_heads(json_t *sentences, const char *side, int heads, int key_width, int value_width,
                               int d_model)
{
    if (heads * key_width != d_model || heads * value_width != d_model) {
        CLF__TRY(clf__inspect_say(sentences,
                                  "the %s's %d heads of d_k %d and d_v %d do not add up to d_model %d", side,
                                  heads, key_width, value_width, d_model));
    }
    if (key_width % 8 != 0 || value_width % 8 != 0) {
        CLF__TRY(clf__inspect_say(
            sentences, "the %s's heads are %d wide (values %d), no multiple of 8: vectors stay part empty",
            side, key_width, value_width));
    }
    return CLF_OK;
}

static clf_status say_of_ends(json_t *sentences, const struct clf__config *config)
{
    int is_shared = config->share_source_target;
    if (config->feature_size == 0 && !is_shared && config->source_vocabulary == config->target_vocabulary) {
        CLF__TRY(clf__inspect_say(sentences, "both vocabularies have %d pieces, but embeddings of their own",
                                  config->target_vocabulary));
    }
    if (!config->share_target_output) {
        CLF__TRY(clf__inspect_say(sentences, "the output projection is a matrix of its own, not the target "
                                             "embedding"));
    }
    if (config->pad_id >= 0 && config->pad_id == config->end_id) {
        CLF__TRY(clf__inspect_say(sentences, "padding and the end token are one id, %d", config->end_id));
    }
    return CLF_OK;
}

clf_status clf__inspect_unusual(json_t *sentences, const struct clf__config *config, const json_t *file)
{
    /* In our own folders a key that is left out has the preset's value. */
    if (clf__family_of(config->system)->hugging_face &&
        json_object_get(file, "activation_function") == NULL) {
        CLF__TRY(clf__inspect_say(sentences, "config.json names no activation_function; %s is taken",
                                  activation_word(config->activation)));
    }
    if (config->d_model % 16 != 0) {
        CLF__TRY(clf__inspect_say(sentences, "d_model %d is no multiple of 16: vectors stay part empty",
                                  config->d_model));
    }
    CLF__TRY(say_of_heads(sentences, "encoder", config->encoder_heads, config->encoder_key_width,
                          config->encoder_value_width, config->d_model));
    CLF__TRY(say_of_heads(sentences, "decoder", config->decoder_heads, config->decoder_key_width,
                          config->decoder_value_width, config->d_model));
    if (config->encoder_layers != config->decoder_layers) {
        CLF__TRY(clf__inspect_say(sentences, "the encoder has %d layers, the decoder %d",
                                  config->encoder_layers, config->decoder_layers));
    }
    return say_of_ends(sentences, config);
}
