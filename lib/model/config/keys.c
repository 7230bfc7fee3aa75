#include "model/config/keys.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/config/architectures/architecture.h"
#include "text/tokenizers/vocabulary.h"

enum { MAX_LAYERS = 4096, MAX_HEADS = 4096, MAX_WIDTH = CLF__CONFIG_MOST_WIDTH };
enum { MAX_FFN = 1 << 20, MAX_POSITIONS = 1 << 20, MAX_STACK = 100 };
enum { MAX_SCALE = 1000000, MAX_TOKENS = CLF__CONFIG_MOST_TOKENS };

#define LEAST_PENALTY 1e-6 /* penalties are positive */
#define MOST_PENALTY  1e6

static const struct clf__key_word activations[] = {{"linear", CLF__IDENTITY},
                                                   {"relu", CLF__RELU},
                                                   {"gelu", CLF__GELU_ERF},
                                                   {"gelu_python", CLF__GELU_ERF},
                                                   {"gelu_new", CLF__GELU_TANH},
                                                   {"gelu_fast", CLF__GELU_TANH},
                                                   {"gelu_accurate", CLF__GELU_TANH},
                                                   {"gelu_pytorch_tanh", CLF__GELU_TANH},
                                                   {"silu", CLF__SILU},
                                                   {"swish", CLF__SILU},
                                                   {NULL, 0}};
static const struct clf__key_word positions[] = {{"sinusoid", CLF__POSITIONS_SINUSOID},
                                                 {"learned", CLF__POSITIONS_LEARNED},
                                                 {"relative", CLF__POSITIONS_RELATIVE},
                                                 {"none", CLF__POSITIONS_NONE},
                                                 {NULL, 0}};
static const struct clf__key_word layouts[] = {
    {"interleaved", CLF__SINUSOID_INTERLEAVED}, {"halves", CLF__SINUSOID_HALVES}, {NULL, 0}};
static const struct clf__key_word frequencies[] = {
    {"by_width", CLF__SINUSOID_BY_WIDTH}, {"by_last", CLF__SINUSOID_BY_LAST}, {NULL, 0}};
static const struct clf__key_word norms[] = {
    {"layer", CLF__NORM_LAYER}, {"rms", CLF__NORM_RMS}, {"std", CLF__NORM_STD}, {NULL, 0}};
static const struct clf__key_word rules[] = {{"huggingface", CLF__LENGTH_HUGGINGFACE},
                                             {"gnmt", CLF__LENGTH_GNMT},
                                             {"none", CLF__LENGTH_NONE},
                                             CLF__ARCHITECTURE_LENGTH_RULES,
                                             {NULL, 0}};

static const struct clf__key_word encoder_attentions[] = {CLF__ARCHITECTURE_ENCODER_ATTENTIONS, {NULL, 0}};

/* clang-format off */
#define FIELDS(encoder, decoder) {offsetof(struct clf__config, encoder), offsetof(struct clf__config, decoder)}
#define KEY(name, type, stage, field, low, high, words, uses)                                                       \
    {name, CLF__KEY_##type, CLF__KEY_##stage, uses, FIELDS(field, field), low, high, words}
/* EVERY: read in clformer and Hugging Face folders. OURS: read only in clformer folders. */
#define EVERY (CLF__KEY_CHOSEN | CLF__KEY_EVERY)
#define OURS  CLF__KEY_CHOSEN
#define SHOWN CLF__KEY_SHOWN
#define SIZE(name, field, high)      KEY(name, WHOLE, SIZE, field, 1, high, NULL, EVERY | SHOWN)
#define RATE(name, stage, field)     KEY(name, REAL, stage, field, 0, 0.999, NULL, EVERY)
#define FLAG(name, field)            KEY(name, FLAG, SWITCH, field, 0, 1, NULL, OURS | SHOWN)
#define WORD(name, field, words, of) KEY(name, WORD, SWITCH, field, 0, 0, words, OURS | SHOWN | (of))
#define NUMBER(name, field, low, of) KEY(name, WHOLE, SWITCH, field, low, MAX_POSITIONS, NULL, OURS | SHOWN | (of))
#define SCALE(name, field)           KEY(name, REAL, DERIVED, field, -MAX_SCALE, MAX_SCALE, NULL, OURS | SHOWN)
#define ID(name, field)              KEY(name, WHOLE, ALONE, field, 0, 0, NULL, SHOWN)
#define SHARED(name, field)          KEY(name, FLAG, ALONE, field, 0, 1, NULL, EVERY | SHOWN)
#define DECODING(name, type, field, low, high, words)                                                               \
    KEY(name, type, DECODING, generation.field, low, high, words, EVERY | CLF__KEY_GENERATION)
#define ALONE(word, bits)            {.name = (word), .uses = (bits)}

const struct clf__config_key clf__config_keys[] = {
    SIZE("d_model", d_model, MAX_WIDTH),
    SIZE("encoder_layers", encoder_layers, MAX_LAYERS),
    SIZE("decoder_layers", decoder_layers, MAX_LAYERS),
    SIZE("encoder_attention_heads", encoder_heads, MAX_HEADS),
    SIZE("decoder_attention_heads", decoder_heads, MAX_HEADS),
    SIZE("encoder_ffn_dim", encoder_ffn, MAX_FFN),
    SIZE("decoder_ffn_dim", decoder_ffn, MAX_FFN),
    {"max_position_embeddings", CLF__KEY_WHOLE, CLF__KEY_SIZE, EVERY | SHOWN,
     FIELDS(encoder_max_positions, decoder_max_positions), 1, MAX_POSITIONS, NULL},
    ID("vocab_size", source_vocabulary),
    ID("decoder_vocab_size", target_vocabulary),
    KEY("max_source_positions", WHOLE, SWITCH, encoder_max_positions, 1, MAX_POSITIONS, NULL, OURS),
    KEY("max_target_positions", WHOLE, SWITCH, decoder_max_positions, 1, MAX_POSITIONS, NULL, OURS),
    KEY("feature_size", WHOLE, SWITCH, feature_size, 1, MAX_WIDTH, NULL, OURS | SHOWN),
    KEY("frame_stack", WHOLE, SWITCH, frame_stack, 1, MAX_STACK, NULL, OURS | SHOWN | CLF__KEY_OF_FRAMES),
    KEY("frame_step", WHOLE, SWITCH, frame_step, 1, MAX_STACK, NULL, OURS | SHOWN | CLF__KEY_OF_FRAMES),
    ALONE("d_k", OURS),
    ALONE("d_v", OURS),
    {"position_embedding_type", CLF__KEY_WORD, CLF__KEY_SWITCH, OURS | SHOWN,
     FIELDS(encoder_positions, decoder_positions), 0, 0, positions},
    WORD("sinusoid_layout", sinusoid_layout, layouts, CLF__KEY_OF_SINUSOID),
    WORD("sinusoid_frequency", sinusoid_frequency, frequencies, CLF__KEY_OF_SINUSOID),
    NUMBER("relative_attention_num_buckets", relative_buckets, 4, CLF__KEY_OF_RELATIVE),
    NUMBER("relative_attention_max_distance", relative_distance, 2, CLF__KEY_OF_RELATIVE),
    KEY("encoder_attention_type", WORD, ALONE, encoder_mixer, 0, 0, encoder_attentions, SHOWN | CLF__KEY_OF_WINDOW),
    KEY("local_radius", WHOLE, ALONE, local_radius, 0, MAX_POSITIONS, NULL, SHOWN | CLF__KEY_OF_WINDOW),
    KEY("global_block_size", WHOLE, ALONE, global_block_size, 1, MAX_POSITIONS, NULL, SHOWN | CLF__KEY_OF_GLOBAL),
    NUMBER("position_offset", position_offset, 0, 0),
    FLAG("position_padding_aware", position_padding_aware),
    WORD("norm", norm, norms, 0),
    KEY("layer_norm_eps", REAL, SWITCH, norm_epsilon, 0, 1, NULL, OURS | SHOWN),
    FLAG("normalize_before", norm_first),
    FLAG("add_final_layer_norm", norm_final),
    FLAG("normalize_embedding", norm_embedding),
    FLAG("q_proj_bias", query_bias),
    FLAG("k_proj_bias", key_bias),
    FLAG("v_proj_bias", value_bias),
    FLAG("out_proj_bias", output_bias),
    FLAG("scale_attention", attention_scaled),
    KEY("activation_function", WORD, KIND, activation, 0, 0, activations, EVERY | SHOWN),
    FLAG("gated_feed_forward", ffn_gated),
    FLAG("feed_forward_bias", ffn_bias),
    FLAG("mask_pad_tokens", mask_pad_tokens),
    SCALE("encoder_embedding_scale", encoder_embedding_scale),
    SCALE("decoder_embedding_scale", decoder_embedding_scale),
    SCALE("output_scale", output_scale),
    ALONE("scale_embedding", EVERY),
    ALONE("scale_emb_or_prj", OURS),
    SHARED("share_encoder_decoder_embeddings", share_source_target),
    SHARED("tie_word_embeddings", share_target_output),
    ALONE("emb_src_trg_weight_sharing", OURS),
    ALONE("trg_emb_prj_weight_sharing", OURS),
    FLAG("add_bias_logits", logits_bias),
    RATE("dropout", KIND, dropout),
    RATE("embedding_dropout", RATE, embedding_dropout),
    RATE("attention_dropout", RATE, attention_dropout),
    RATE("activation_dropout", RATE, activation_dropout),
    ID("pad_token_id", pad_id),
    ID("bos_token_id", start_id),
    ID("eos_token_id", end_id),
    ID("decoder_start_token_id", decoder_start_id),
    ALONE("source_starts_with_bos", OURS),
    ALONE("source_ends_with_eos", OURS),
    DECODING("num_beams", WHOLE, beams, 1, CLF__SEARCH_BEAMS_LIMIT, NULL),
    DECODING("num_return_sequences", WHOLE, n_best, 1, CLF__SEARCH_BEAMS_LIMIT, NULL),
    DECODING("num_beam_groups", WHOLE, groups, 1, CLF__SEARCH_BEAMS_LIMIT, NULL),
    DECODING("diversity_penalty", REAL, diversity_penalty, 0, MOST_PENALTY, NULL),
    ALONE("length_penalty", EVERY | CLF__KEY_GENERATION),
    KEY("length_rule", WORD, DECODING, generation.length_rule, 0, 0, rules, OURS | CLF__KEY_GENERATION),
    DECODING("renormalize_logits", FLAG, renormalize, 0, 1, NULL),
    DECODING("min_length", WHOLE, min_length, 0, MAX_TOKENS, NULL),
    DECODING("no_repeat_ngram_size", WHOLE, no_repeat_ngram, 0, MAX_TOKENS, NULL),
    DECODING("encoder_no_repeat_ngram_size", WHOLE, source_no_repeat_ngram, 0, MAX_TOKENS, NULL),
    DECODING("repetition_penalty", REAL, repetition_penalty, LEAST_PENALTY, MOST_PENALTY, NULL),
    DECODING("encoder_repetition_penalty", REAL, source_repetition_penalty, LEAST_PENALTY, MOST_PENALTY, NULL),
    DECODING("do_sample", FLAG, sampling.is_on, 0, 1, NULL),
    DECODING("temperature", REAL, sampling.temperature, 0, MOST_PENALTY, NULL),
    DECODING("top_k", WHOLE, sampling.top_k, 0, MAX_TOKENS, NULL),
    DECODING("top_p", REAL, sampling.top_p, 0, 1, NULL),
    DECODING("min_p", REAL, sampling.min_p, 0, 1, NULL),
    DECODING("typical_p", REAL, sampling.typical_p, 0, 1, NULL),
    DECODING("epsilon_cutoff", REAL, sampling.epsilon_cutoff, 0, 1, NULL),
    DECODING("eta_cutoff", REAL, sampling.eta_cutoff, 0, 1, NULL),
    ALONE("early_stopping", EVERY | CLF__KEY_GENERATION),
    ALONE("max_length", EVERY | CLF__KEY_GENERATION),
    ALONE("max_new_tokens", EVERY | CLF__KEY_GENERATION),
    ALONE("min_new_tokens", EVERY | CLF__KEY_GENERATION),
    ALONE("forced_bos_token_id", EVERY | CLF__KEY_GENERATION),
    ALONE("forced_eos_token_id", EVERY | CLF__KEY_GENERATION),
    ALONE("bad_words_ids", EVERY | CLF__KEY_GENERATION),
    ALONE("sequence_bias", EVERY | CLF__KEY_GENERATION),
    ALONE("suppress_tokens", EVERY | CLF__KEY_GENERATION),
    {.name = NULL},
};
/* clang-format on */

const struct clf__config_key *clf__config_key_find(const char *name, size_t length)
{
    for (const struct clf__config_key *key = clf__config_keys; key->name != NULL; key++) {
        if (strlen(key->name) == length && memcmp(key->name, name, length) == 0) {
            return key;
        }
    }
    return NULL;
}

_Static_assert(sizeof(enum clf__norm_kind) == sizeof(int), "enumerations are read as int");

static clf_status read_real(const struct clf__json *json, const struct clf__config_key *key, const char *name,
                            float *field)
{
    double value = *field;
    CLF__TRY(clf__json_double(json, name, key->low, key->high, &value));
    *field = (float)value;
    return CLF_OK;
}

static clf_status read_field(void *field, const struct clf__json *json, const struct clf__config_key *key,
                             const char *name)
{
    switch (key->type) {
    case CLF__KEY_WHOLE:
        return clf__json_int(json, name, (long long)key->low, (long long)key->high, field);
    case CLF__KEY_REAL:
        return read_real(json, key, name, field);
    case CLF__KEY_FLAG:
        return clf__json_bool(json, name, field);
    case CLF__KEY_WORD:
        break;
    }
    return clf__config_read_word(json, name, key->words, field);
}

/* Returns the name of a key in the file; NULL: the key is not allowed there. */
static const char *name_in_file(const struct clf__config_key *key, const struct clf__architecture *theirs)
{
    int is_fixed = key->stage == CLF__KEY_SWITCH || key->stage == CLF__KEY_DERIVED;
    if (theirs == NULL) {
        return key->name;
    }
    return is_fixed && !clf__architecture_has_key(theirs, key->name)
               ? NULL
               : clf__architecture_key_name(theirs, key->name, NULL);
}

clf_status clf__config_read_stage(struct clf__config *config, const struct clf__json *json,
                                  enum clf__key_stage stage, const struct clf__architecture *theirs)
{
    for (const struct clf__config_key *key = clf__config_keys; key->name != NULL; key++) {
        const char *name = key->stage == stage ? name_in_file(key, theirs) : NULL;
        for (int i = 0; i < 2 && name != NULL; i++) {
            CLF__TRY(read_field((char *)config + key->fields[i], json, key, name));
        }
    }
    return CLF_OK;
}

static const char *word_of(const struct clf__config_key *key, int value)
{
    const struct clf__key_word *word = key->words;
    while (word->value != value && word[1].word != NULL) {
        word++;
    }
    return word->word;
}

const char *clf__config_key_word(const char *name, int value)
{
    return word_of(clf__config_key_find(name, strlen(name)), value);
}

json_t *clf__config_key_value(const struct clf__config *config, const struct clf__config_key *key)
{
    const void *field = (const char *)config + key->fields[0];
    switch (key->type) {
    case CLF__KEY_REAL:
        return json_real((double)*(const float *)field);
    case CLF__KEY_FLAG:
        return json_boolean(*(const int *)field);
    case CLF__KEY_WORD:
        return json_string(word_of(key, *(const int *)field));
    case CLF__KEY_WHOLE:
        break;
    }
    return json_integer(*(const int *)field);
}
