/* The configuration that describes every supported encoder-decoder. */
#ifndef CLF_CONFIG_TYPES_H
#define CLF_CONFIG_TYPES_H

#include "math/gemm/gemm.h"
#include "math/ops/layernorm.h"
#include "math/ops/positions.h"
#include "search/types.h"

/* X(NAME, word): the architectures; family/<word>.c defines each. Those that can be trained and written come
 * first; for them, the word is the preset name in config.json. */
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
    X(FSMT, fsmt)                                                                                            \
    X(TRANSFORMER, transformer)                                                                              \
    X(MARIAN_NMT, marian_nmt)

enum clf__system {
#define CLF__SYSTEM_ENUM(name, word) CLF__##name,
    CLF__SYSTEM_LIST(CLF__SYSTEM_ENUM)
#undef CLF__SYSTEM_ENUM
};

/* Bound on the magnitude of "length_penalty" and --length-penalty. */
enum { CLF__LENGTH_PENALTY_LIMIT = 1000 };
/* Bounds on the factor of an exponential length penalty. */
#define CLF__LEAST_DECAY 1e-6
#define CLF__MOST_DECAY  1e6
/* Bound on the magnitude of a bias in "sequence_bias". */
#define CLF__MOST_BIAS 1e6

enum clf__positions_kind {
    CLF__POSITIONS_NONE,
    CLF__POSITIONS_SINUSOID,
    CLF__POSITIONS_LEARNED,
    CLF__POSITIONS_RELATIVE
};

/* First sub-layer of each layer of a stack; model/tree.c lists its parameters. SSRU and average attention are
 * for decoders, local and transient-global attention for encoders. */
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
    int source_vocabulary, target_vocabulary; /* V of each side; source 0: frames */
    int d_model;                              /* model width D */
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads; /* number of heads H; decoder_heads also applies to cross-attention */
    /* Widths d_k and d_v of a head; in MarianMT they are D / H, so the sides may differ. */
    int encoder_key_width, encoder_value_width;
    int decoder_key_width, decoder_value_width;
    int encoder_ffn, decoder_ffn;                     /* F */
    int encoder_max_positions, decoder_max_positions; /* maximum source and target length */
    int usual_source; /* maximum source length if the tokenizer has none; 0: encoder_max_positions */
    int feature_size; /* width of a frame; 0: the source is tokens */
    /* Number of adjacent log-mel frames in a row, and the distance in frames to the next row. */
    int frame_stack, frame_step;
    int convolves_frames;      /* two convolutions, not a linear layer, process the frames: two frames make a
                                  position */
    int separate_vocabularies; /* target tokens are in target_vocab.json */
    /* Positions. */
    enum clf__positions_kind encoder_positions, decoder_positions;
    enum clf__sinusoid_layout sinusoid_layout;
    enum clf__sinusoid_frequency sinusoid_frequency;
    int position_offset;    /* table row of the first token; a side's table has max_positions + offset rows */
    int has_default_length; /* the Hugging Face folder sets no output length */
    int position_padding_aware; /* pad tokens use the position of row pad_id and are not counted */
    int relative_buckets, relative_distance; /* T5 (Raffel 2020): one bias table per side, in
                                                self-attention */
    int relative_each_layer;                 /* one table per layer instead (UMT5) */
    /* Norms. */
    enum clf__norm_kind norm;
    float norm_epsilon;
    int norm_first;          /* pre-norm */
    int norm_final;          /* a norm after each stack */
    int norm_embedding;      /* norm on the sum of embeddings */
    int norm_decoder_tokens; /* in the decoder, applied to the token embedding before positions are added */
    /* Attention. */
    enum clf__mixer_type encoder_mixer, decoder_mixer;
    int local_radius;                   /* local and transient-global attention: maximum distance of a key */
    int global_block_size;              /* transient-global attention: rows per global token */
    int average_filters, average_width; /* average attention: matrix multiplications after the mean; inner
                                           width */
    int average_gated;
    enum clf__activation average_activation;
    int query_bias, key_bias, value_bias, output_bias; /* biases of the attention projections */
    int attention_scaled;                              /* queries are scaled by 1 / sqrt(K) */
    /* Feed-forward. */
    enum clf__activation activation;
    int ffn_gated; /* gated feed-forward: activation(fc1 x) * (fc_gate x) */
    int ffn_bias;
    /* Embeddings and output. */
    float encoder_embedding_scale, decoder_embedding_scale;
    int share_source_target; /* one embedding for both sides */
    int share_target_output; /* the output projection is the target embedding */
    float output_scale;      /* factor of the logits */
    int logits_bias;
    /* Dropout rates in training: of sub-layer outputs (speech: only feed-forward), of the embedding sum, of
     * attention weights, and after the activation. */
    float dropout, embedding_dropout, attention_dropout, activation_dropout;
    /* Ids; -1 if the model has none. */
    int pad_id, start_id, end_id, decoder_start_id;
    int start_is_given;                 /* the caller chooses the start token; decoder_start_id is -1 */
    int source_start_id, source_end_id; /* ids around a source */
    int mask_pad_tokens;           /* source and target-prefix tokens equal to pad_id are masked as keys */
    enum clf__precision precision; /* default precision for loading the weights */
    /* Generation defaults. */
    struct clf__search_options generation; /* lists are owned by the configuration; no prefix */
    int forced_first;                      /* forced prefix: one id, or -1 */
    /* Cross-attention that aligns unknown tokens with the source: a decoder layer, counted from 1, and its
     * first `alignment_heads` heads, 0: all. Layer 0: not set. */
    int alignment_layer, alignment_heads;
    /* Cross-attention heads for word timestamps, owned; none: not set. */
    struct clf__word_head {
        int layer, head; /* counted from 0 */
    } * word_heads;
    int word_head_count;
};

#endif
