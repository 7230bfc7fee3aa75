/* The configuration that describes every supported encoder-decoder. */
#ifndef CLF_CONFIG_TYPES_H
#define CLF_CONFIG_TYPES_H

#include "math/gemm/gemm.h"
#include "math/ops/layernorm.h"
#include "math/ops/positions.h"
#include "search/types.h"

/* X(NAME, word): the architectures, defined in architectures/<word>.c. Architectures that can be trained and
 * written come first; their word is the preset name in config.json. */
#define CLF__PRESET_LIST(X)                                                                                  \
    X(MARIAN, marian)                                                                                        \
    X(PAPER, paper)                                                                                          \
    X(JADORE, jadore)                                                                                        \
    X(ANNOTATED, annotated)                                                                                  \
    X(SPEECH, speech)                                                                                        \
    X(ILLUSTRATED, illustrated)                                                                              \
    X(WHISPER, whisper)
#define CLF__ARCHITECTURE_LIST(X)                                                                            \
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
    X(FSMT, fsmt)                                                                                            \
    X(TRANSFORMER, transformer)                                                                              \
    X(MARIAN_NMT, marian_nmt)

enum clf__architecture_id {
#define CLF__ARCHITECTURE_ENUM(name, word) CLF__##name,
    CLF__ARCHITECTURE_LIST(CLF__ARCHITECTURE_ENUM)
#undef CLF__ARCHITECTURE_ENUM
};

/* Limit on the absolute value of "length_penalty" and --length-penalty */
enum { CLF__LENGTH_PENALTY_LIMIT = 1000 };
/* Limits on the factor of an exponential length penalty */
#define CLF__LEAST_DECAY 1e-6
#define CLF__MOST_DECAY  1e6
/* Limit on the absolute value of a bias in "sequence_bias" */
#define CLF__MOST_BIAS 1e6

enum clf__positions_kind {
    CLF__POSITIONS_NONE,
    CLF__POSITIONS_SINUSOID,
    CLF__POSITIONS_LEARNED,
    CLF__POSITIONS_RELATIVE
};

/* The first sub-layer of each layer; model/tree.c lists its parameters. SSRU and average attention occur only
 * in decoders, local and transient-global attention only in encoders. */
enum clf__mixer_type {
    CLF__MIXER_SELF_ATTENTION,
    CLF__MIXER_SSRU,
    CLF__MIXER_AVERAGE,
    CLF__MIXER_LOCAL,
    CLF__MIXER_TRANSIENT_GLOBAL
};

struct clf__config {
    enum clf__architecture_id architecture;
    /* Sizes. */
    int source_vocabulary, target_vocabulary; /* V of source and target; source 0: frames */
    int d_model;                              /* D */
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads; /* H; cross-attention has decoder_heads */
    /* Widths d_k and d_v of a head; D / H in MarianMT, where encoder and decoder may differ. */
    int encoder_key_width, encoder_value_width;
    int decoder_key_width, decoder_value_width;
    int encoder_ffn, decoder_ffn;                     /* F */
    int encoder_max_positions, decoder_max_positions; /* maximum source and target length */
    int usual_source; /* maximum source length if the tokenizer sets none; 0: encoder_max_positions */
    int feature_size; /* width of a frame; 0: sources are tokens */
    /* Number of adjacent log-mel frames in a row, and distance in frames between rows. */
    int frame_stack, frame_step;
    int convolves_frames;      /* frames pass through two convolutions (two frames per position) instead of a
                                  linear layer */
    int separate_vocabularies; /* target tokens are in target_vocab.json */
    /* Positions. */
    enum clf__positions_kind encoder_positions, decoder_positions;
    enum clf__sinusoid_layout sinusoid_layout;
    enum clf__sinusoid_frequency sinusoid_frequency;
    int position_offset;    /* table row of the first position; each table has max_positions + offset rows */
    int has_default_length; /* 1: the Hugging Face folder sets no output length */
    int position_padding_aware; /* pad tokens use row pad_id and do not advance the position */
    int relative_buckets,
        relative_distance;   /* T5 (Raffel et al. 2020): self-attention bias, one table per stack */
    int relative_each_layer; /* one table per layer (UMT5) */
    /* Norms. */
    enum clf__norm_kind norm;
    float norm_epsilon;
    int norm_first;          /* pre-norm */
    int norm_final;          /* a norm after each stack */
    int norm_embedding;      /* norm after the sum of the embeddings */
    int norm_decoder_tokens; /* in the decoder, the embedding norm is applied before positions are added */
    /* Attention. */
    enum clf__mixer_type encoder_mixer, decoder_mixer;
    int local_radius;      /* local and transient-global attention: maximum distance between query and key */
    int global_block_size; /* transient-global attention: tokens per global token */
    int average_filters,
        average_width; /* average attention: matrix multiplications after the mean; their inner width */
    int average_gated;
    enum clf__activation average_activation;
    int query_bias, key_bias, value_bias, output_bias; /* biases of the attention projections */
    int attention_scaled;                              /* multiplies queries by 1 / sqrt(K) */
    /* Feed-forward. */
    enum clf__activation activation;
    int ffn_gated; /* gated feed-forward: activation(fc1 x) * (fc_gate x) */
    int ffn_bias;
    /* Embeddings and output projection. */
    float encoder_embedding_scale, decoder_embedding_scale;
    int share_source_target; /* source and target share one embedding */
    int share_target_output; /* the target embedding is also the output projection */
    float output_scale;      /* factor of the logits */
    int logits_bias;
    /* Dropout rates in training: of sub-layer outputs (of feed-forward outputs only, for speech), of the
     * embedding sum, of attention weights, and after the activation. */
    float dropout, embedding_dropout, attention_dropout, activation_dropout;
    /* Token ids; -1: none. */
    int pad_id, start_id, end_id, decoder_start_id;
    int start_is_given; /* 1: the caller chooses the start token, and decoder_start_id is -1 */
    int source_start_id, source_end_id; /* ids that frame a source */
    int mask_pad_tokens; /* pad tokens in sources and target prefixes are masked as attention keys */
    enum clf__precision precision; /* default precision of the loaded weights */
    /* Decoding defaults. */
    struct clf__search_options generation; /* the configuration owns the lists; without a prefix */
    int forced_first;                      /* the first id of every output, or -1 */
    /* Cross-attention used to replace unknown tokens with source words: a decoder layer, counted from 1 (0:
     * not set), and the number of its heads to use (0: all). */
    int alignment_layer, alignment_heads;
    /* Cross-attention heads for word timestamps; owned. NULL: not set. */
    struct clf__word_head {
        int layer, head; /* counted from 0 */
    } * word_heads;
    int word_head_count;
};

#endif
