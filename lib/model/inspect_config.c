/* Describes a configuration as JSON. */
#include <stdarg.h>

#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/keys.h"
#include "model/config/sides.h"
#include "model/inspect_internal.h"

static int is_in_use(const struct clf__config *config, const struct clf__config_key *key)
{
    return (key->uses & CLF__KEY_SHOWN) &&
           (!(key->uses & CLF__KEY_OF_SINUSOID) ||
            clf__config_has_positions(config, CLF__POSITIONS_SINUSOID)) &&
           (!(key->uses & CLF__KEY_OF_RELATIVE) ||
            clf__config_has_positions(config, CLF__POSITIONS_RELATIVE)) &&
           (!(key->uses & CLF__KEY_OF_WINDOW) || config->encoder_mixer != CLF__MIXER_SELF_ATTENTION) &&
           (!(key->uses & CLF__KEY_OF_GLOBAL) || config->encoder_mixer == CLF__MIXER_TRANSIENT_GLOBAL) &&
           (!(key->uses & CLF__KEY_OF_FRAMES) || (config->feature_size > 0 && !config->convolves_frames));
}

/* Values that depend on several keys. */
static json_t *derived_object(const struct clf__config *config)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "encoder_d_k", config->encoder_key_width,
                     "encoder_d_v", config->encoder_value_width, "decoder_d_k", config->decoder_key_width,
                     "decoder_d_v", config->decoder_value_width, "source_start_token_id",
                     config->source_start_id, "source_end_token_id", config->source_end_id);
}

json_t *clf__inspect_configuration(const struct clf__config *config)
{
    json_t *all = json_object(), *derived = derived_object(config);
    int failed = all == NULL || derived == NULL;
    for (const struct clf__config_key *key = clf__config_keys; key->name != NULL && !failed; key++) {
        failed = is_in_use(config, key) &&
                 json_object_set_new(all, key->name, clf__config_key_value(config, key)) != 0;
    }
    failed = failed || json_object_update(all, derived) != 0;
    json_decref(derived);
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

/* Formats biases as in generation_config.json: pairs of a list of ids and a bias. */
static json_t *biases_array(const struct clf__search_options *options)
{
    json_t *array = json_array();
    for (int i = 0; i < options->biased_count && array != NULL; i++) {
        int first = options->biased_offsets[i], count = options->biased_offsets[i + 1] - first;
        json_t *pair =
            json_pack("[o, f]", ids_array(options->biased + first, count), (double)options->biases[i]);
        if (json_array_append_new(array, pair) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *sampling_object(const struct clf__sampling *sampling)
{
    if (!sampling->is_on) {
        return json_null();
    }
    return json_pack("{s:f, s:i, s:f, s:f, s:f, s:f, s:f}", "temperature", (double)sampling->temperature,
                     "top_k", sampling->top_k, "top_p", (double)sampling->top_p, "min_p",
                     (double)sampling->min_p, "typical_p", (double)sampling->typical_p, "epsilon_cutoff",
                     (double)sampling->epsilon_cutoff, "eta_cutoff", (double)sampling->eta_cutoff);
}

json_t *clf__inspect_generation(const struct clf__config *config)
{
    const struct clf__search_options *options = &config->generation;
    static const char *const stops[] = {"false", "true", "never", "all", "shrink", "ctranslate2"};
    return json_pack(
        "{s:i, s:i, s:i, s:f, s:i, s:i, s:s, s:f, s:s, s:b, s:i, s:i, s:i, s:i, s:f, s:f, s:i, s:f, s:o, "
        "s:o, s:o, "
        "s:o, s:o, s:o}",
        "beam", options->beams, "n_best", options->n_best, "beam_groups", options->groups,
        "diversity_penalty", (double)options->diversity_penalty, "min_length", options->min_length,
        "max_length", options->max_length, "length_rule",
        clf__config_key_word("length_rule", (int)options->length_rule), "length_penalty",
        options->length_penalty, "early_stopping", stops[options->early_stopping], "renormalize",
        options->renormalize, "forced_first", config->forced_first, "forced_last", options->forced_last,
        "no_repeat_ngram_size", options->no_repeat_ngram, "encoder_no_repeat_ngram_size",
        options->source_no_repeat_ngram, "repetition_penalty", (double)options->repetition_penalty,
        "encoder_repetition_penalty", (double)options->source_repetition_penalty, "exponential_decay_start",
        options->decay_start, "exponential_decay_factor", (double)options->decay_factor, "sampling",
        sampling_object(&options->sampling), "other_end_ids",
        ids_array(options->other_end_ids, options->other_end_count), "begin_suppress",
        ids_array(options->begin_suppressed, options->begin_suppressed_count), "suppress",
        ids_array(options->suppressed, options->suppressed_count), "bad_words", bad_words_array(options),
        "sequence_bias", biases_array(options));
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
    return clf__inspect_no_memory();
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
        CLF__TRY(clf__inspect_say(sentences,
                                  "the %s's head widths (%d for keys, %d for values) are not multiples of 8, "
                                  "so vector lanes are unused",
                                  side, key_width, value_width));
    }
    return CLF_OK;
}

static clf_status say_of_ends(json_t *sentences, const struct clf__config *config)
{
    int is_shared = config->share_source_target;
    if (config->feature_size == 0 && !is_shared && config->source_vocabulary == config->target_vocabulary) {
        CLF__TRY(clf__inspect_say(
            sentences,
            "source and target have separate embeddings, although both vocabularies have %d tokens",
            config->target_vocabulary));
    }
    if (!config->share_target_output) {
        CLF__TRY(clf__inspect_say(sentences, "the output projection is not tied to the target embedding"));
    }
    if (config->pad_id >= 0 && config->pad_id == config->end_id) {
        CLF__TRY(
            clf__inspect_say(sentences, "padding and the end token have the same id, %d", config->end_id));
    }
    return CLF_OK;
}

clf_status clf__inspect_unusual(json_t *sentences, const struct clf__config *config, const json_t *file)
{
    /* In clformer folders, a missing key has the value of the preset. */
    if (clf__architecture_of(config->architecture)->hugging_face &&
        json_object_get(file, "activation_function") == NULL) {
        CLF__TRY(clf__inspect_say(sentences, "config.json has no \"activation_function\"; %s is used",
                                  clf__config_key_word("activation_function", (int)config->activation)));
    }
    if (config->d_model % 16 != 0) {
        CLF__TRY(clf__inspect_say(sentences, "d_model %d is not a multiple of 16, so vector lanes are unused",
                                  config->d_model));
    }
    CLF__TRY(say_of_heads(sentences, "encoder", config->encoder_heads, config->encoder_key_width,
                          config->encoder_value_width, config->d_model));
    CLF__TRY(say_of_heads(sentences, "decoder", config->decoder_heads, config->decoder_key_width,
                          config->decoder_value_width, config->d_model));
    if (config->encoder_layers != config->decoder_layers) {
        CLF__TRY(clf__inspect_say(sentences, "the encoder has %d layers, but the decoder %d",
                                  config->encoder_layers, config->decoder_layers));
    }
    return say_of_ends(sentences, config);
}
