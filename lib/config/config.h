/* The one configuration that describes every encoder-decoder we run. */
#ifndef CLF_CONFIG_CONFIG_H
#define CLF_CONFIG_CONFIG_H

#include <stdio.h>

#include "base/status.h"
#include "gemm/gemm.h"
#include "ops/layernorm.h"
#include "ops/positions.h"
#include "search/search.h"
#include "text/tokenizer.h"

/* X(NAME, word): the systems whose folders we read; family/<word>.c is the rest of it. Those that we train
 * and write too come first: there the word is the preset's name in config.json. */
#define CLF__PRESET_LIST(X)                                                                                  \
    X(MARIAN, marian)                                                                                        \
    X(PAPER, paper)                                                                                          \
    X(JADORE, jadore)                                                                                        \
    X(ANNOTATED, annotated)                                                                                  \
    X(SPEECH, speech)                                                                                        \
    X(ILLUSTRATED, illustrated)                                                                              \
    X(WHISPER, whisper)
#define CLF__SYSTEM_LIST(X)                                                                                  \
    CLF__PRESET_LIST(X)                                                                                      \
    X(BART, bart)                                                                                            \
    X(MBART, mbart)                                                                                          \
    X(M2M100, m2m100)                                                                                        \
    X(PEGASUS, pegasus)                                                                                      \
    X(BLENDERBOT, blenderbot)                                                                                \
    X(BLENDERBOT_SMALL, blenderbot_small)                                                                    \
    X(T5, t5)                                                                                                \
    X(MT5, mt5)                                                                                              \
    X(UMT5, umt5)                                                                                            \
    X(LONGT5, longt5)                                                                                        \
    X(TRANSFORMER, transformer)                                                                              \
    X(MARIAN_NMT, marian_nmt)

enum clf__system {
#define CLF__SYSTEM_ENUM(name, word) CLF__##name,
    CLF__SYSTEM_LIST(CLF__SYSTEM_ENUM)
#undef CLF__SYSTEM_ENUM
};
const char *clf__system_word(enum clf__system system);
int clf__system_is_preset(enum clf__system system);

/* "length_penalty" and --length-penalty are at least -this and at most this. */
enum { CLF__LENGTH_PENALTY_LIMIT = 1000 };
/* Factors of an exponential decay of lengths. */
#define CLF__LEAST_DECAY 1e-6
#define CLF__MOST_DECAY  1e6
/* A bias of "sequence_bias" at most, either way. */
#define CLF__MOST_BIAS 1e6

enum clf__positions_kind {
    CLF__POSITIONS_NONE,
    CLF__POSITIONS_SINUSOID,
    CLF__POSITIONS_LEARNED,
    CLF__POSITIONS_RELATIVE
};

/* The first sub-layer of a stack's layers: model/tree.c says what each is made of. The encoder has attention
 * of one of the three kinds, the decoder self-attention or one that is no attention. */
enum clf__mixer_type {
    CLF__MIXER_SELF_ATTENTION,
    CLF__MIXER_SSRU,
    CLF__MIXER_AVERAGE,
    CLF__MIXER_LOCAL,
    CLF__MIXER_TRANSIENT_GLOBAL
};

struct clf__config {
    enum clf__system system;
    /* Sizes. */
    int source_vocabulary, target_vocabulary; /* V of each side; source 0 for frames */
    int d_model;                              /* D */
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads; /* H; the decoder's serve cross-attention too */
    /* d_k and d_v of one head; MarianMT's are D / H, so they differ where the sides' heads do. */
    int encoder_key_width, encoder_value_width;
    int decoder_key_width, decoder_value_width;
    int encoder_ffn, decoder_ffn;                     /* F */
    int encoder_max_positions, decoder_max_positions; /* longest source, longest target */
    int usual_source; /* longest source where the tokenizer says none; 0: encoder_max_positions */
    int feature_size; /* of a frame; 0: the source is tokens */
    /* How many log-mel frames of a recording lie side by side in a row, and how many later the next row
     * begins. */
    int frame_stack, frame_step;
    int convolves_frames; /* frames go through convolutions, not a linear layer: two of them make a position
                           */
    int separate_vocabularies; /* target pieces are in target_vocab.json */
    /* Positions. */
    enum clf__positions_kind encoder_positions, decoder_positions;
    enum clf__sinusoid_layout sinusoid_layout;
    enum clf__sinusoid_frequency sinusoid_frequency;
    int position_offset;    /* the first token's row of the table; of a side's max_positions + offset rows */
    int has_default_length; /* a folder of Hugging Face's that has no length of outputs */
    int position_padding_aware; /* pad tokens keep the position of row pad_id and are not counted */
    int relative_buckets, relative_distance; /* T5 (Raffel 2020): one bias table a side, in self-attention */
    int relative_each_layer;                 /* one in each layer instead (UMT5) */
    /* Norms. */
    enum clf__norm_kind norm;
    float norm_epsilon;
    int norm_first;          /* pre-norm */
    int norm_final;          /* a norm after each stack */
    int norm_embedding;      /* a norm on the embedding sum */
    int norm_decoder_tokens; /* which in the decoder is of the tokens alone, before their positions */
    /* Attention. */
    enum clf__mixer_type encoder_mixer, decoder_mixer;
    int local_radius;      /* local and transient-global attention: how far from its row a query sees */
    int global_block_size; /* transient-global attention: the rows that make a global token */
    int average_filters, average_width; /* of average attention: products behind the mean; between them */
    int average_gated;
    enum clf__activation average_activation;
    int query_bias, key_bias, value_bias, output_bias; /* of the projections */
    int attention_scaled;                              /* 1 / sqrt(K), else 1 */
    /* Feed-forward. */
    enum clf__activation activation;
    int ffn_gated; /* activation(fc1 x) * (fc_gate x) */
    int ffn_bias;
    /* Embeddings and output. */
    float encoder_embedding_scale, decoder_embedding_scale;
    int share_source_target; /* one embedding for both sides */
    int share_target_output; /* the output projection is the target embedding */
    float output_scale;      /* of the logits */
    int logits_bias;
    /* Rates of dropout, in training: of what sub-layers give (speech: the feed-forward alone), of the
     * embedding sum, of the attention weights, and after the activation. */
    float dropout, embedding_dropout, attention_dropout, activation_dropout;
    /* Ids; -1 where a model has none. */
    int pad_id, start_id, end_id, decoder_start_id;
    int start_is_given; /* with decoder_start_id -1: who translates says what the decoder starts with */
    int source_start_id, source_end_id; /* what frames a source line */
    int mask_pad_tokens;     /* tokens of sources and given targets equal to pad_id are hidden as keys */
    clf_precision precision; /* to load the weights in, where none is asked for */
    /* What generation starts from. */
    struct clf__search_options generation; /* its lists owned by the config; no prefix */
    int forced_first;                      /* the prefix: one id, or -1 */
    /* The cross-attention that says which source token an unknown one comes from: of this decoder layer, 1
     * the first one, its first so many heads, 0: all of them. Layer 0: nothing is said. */
    int alignment_layer, alignment_heads;
    /* The heads of cross-attention that say when the words of a recording were spoken, owned; none: it is not
     * said. */
    struct clf__word_head {
        int layer, head; /* from 0 */
    } * word_heads;
    int word_head_count;
};

/* Fails unless it is a folder; for a file, the failure names its folder where that may be a model. */
clf_status clf__config_check_folder(const char *folder);

/* Reads config.json and generation_config.json of a folder; README.md lists the keys. A key that is left out
 * has the preset's value. */
clf_status clf__config_load(struct clf__config *out, const char *folder);
void clf__config_free(struct clf__config *config);

/* The preset's own values, sizes included (for MARIAN: what transformers' MarianConfig defaults to). */
void clf__config_preset(struct clf__config *out, enum clf__system system);

/* How many ids frame a source line: one that has no others is empty. */
int clf__config_framing(const struct clf__config *config);

/* What it fixes for the text. */
struct clf__tokenizer_options clf__tokenizer_options_of(const struct clf__config *config);

#endif
