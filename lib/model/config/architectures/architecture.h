/* An architecture: properties that are fixed in an implementation's code instead of config.json. Each
 * architecture has one file in architectures/ and one row in CLF__ARCHITECTURE_LIST; other code never tests
 * for an architecture by name. */
#ifndef CLF_CONFIG_ARCHITECTURES_ARCHITECTURE_H
#define CLF_CONFIG_ARCHITECTURES_ARCHITECTURE_H

#include <jansson.h>

#include "model/config/architectures/names.h"
#include "model/config/build.h"
#include "model/config/initial.h"

struct clf__model_description;

/* The default preset of a new model */
#define CLF__DEFAULT_PRESET "marian"
/* The architecture of models that their files describe completely */
#define CLF__DESCRIBED_ARCHITECTURE "transformer"
/* The architecture of OpenAI's speech models */
#define CLF__OPENAI_ARCHITECTURE "whisper"
/* Values of "length_rule" that only one architecture defines */
/* clang-format off */
#define CLF__ARCHITECTURE_LENGTH_RULES { "jadore", CLF__LENGTH_INCLUDING_START }
/* Values of "encoder_attention_type" */
#define CLF__ARCHITECTURE_ENCODER_ATTENTIONS \
    { "local", CLF__MIXER_LOCAL }, { "transient-global", CLF__MIXER_TRANSIENT_GLOBAL }
/* clang-format on */

enum { CLF__MOST_SPECIALS = 4, CLF__MOST_RECIPE_DEFAULTS = 4 };

/* Special tokens of a new vocabulary. */
struct clf__specials {
    const char *first[CLF__MOST_SPECIALS + 1]; /* tokens of the first ids; ends with NULL */
    const char *last;                          /* token of the last id, or NULL */
};

/* A default of a training recipe that differs from other architectures. */
struct clf__architecture_default {
    const char *key, *fallback;
};

/* A key of config.json that an architecture's folders rename, forbid or allow in addition to the common keys.
 */
struct clf__architecture_key {
    const char *ours;   /* canonical name */
    const char *theirs; /* name in the architecture's folders, or NULL if the key is not allowed */
    int is_optional;    /* may be missing, although other architectures require the key */
};

struct clf__architecture {
    /* The model_type in Hugging Face folders, which may set only sizes and the keys below. NULL: a clformer
     * folder, which names the preset and may set any key. */
    const char *hugging_face;
    /* Changes the defaults of missing keys. NULL: keeps the paper's values. */
    void (*start)(struct clf__config *config, struct clf__config_choices *choices);
    /* Renamed and additional keys; the last entry has no name. NULL: none. */
    const struct clf__architecture_key *keys;
    /* Reads keys that need more than renaming; called after all other keys except the embedding-sharing keys.
     * NULL: none. */
    clf_status (*read)(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json);
    /* Sets the decoding defaults of a folder without generation_config.json; keys in config.json take
     * precedence. NULL: the defaults of transformers' generate(). */
    void (*decode)(struct clf__config *config);
    /* Writes the keys of a new folder, except sizes and ids; returns non-zero if out of memory. NULL: only
     * the preset name is written. */
    int (*describe)(json_t *config, json_t *generation, const struct clf__model_description *description);
    /* Returns the initial distribution of a parameter. NULL: the architecture cannot be trained. */
    struct clf__initial (*initial)(const struct clf__config *config, enum clf__role role,
                                   const struct clf__shape *shape);
    const struct clf__tensor_names *names; /* tensor names of the original implementation */
    struct clf__specials specials;
    const char *tokenizer_class; /* tokenizer class of SentencePiece models if tokenizer_config.json has none;
                                    may be NULL */
    /* Special tokens of separate vocabularies; NULL: the same as for a shared vocabulary. */
    const struct clf__specials *separate_specials;

    /* Text and search. */
    int takes_frames;           /* sources are frames by default */
    int has_no_start_token;     /* the decoder starts with the pad token */
    int frames_sources;         /* sources have a start token and an end token instead of only an end token */
    int leaves_sources_open;    /* sources have no end token */
    int hides_start_pad;        /* a pad token at the start of the target would be masked */
    int reads_texts;            /* sources are longer texts instead of sentences */
    int searches_all_positions; /* only the number of positions limits the output length, not the folder's
                                   default length */
    /* The model. */
    int scales_tied_projection_alone; /* the factor sqrt(D) applies only if the target embedding and the
                                         projection are tied */
    int keeps_pad_row;                /* embedding lookups do not train the pad token's row */
    int keeps_tied_pad_row; /* a projection tied to the embedding does not train the pad token's row either */
    int begins_with_zero_pad; /* the pad token's embedding is initialised to zeros */
    /* Per stack: positions of type "learned" are untrained sinusoids. Stored values take precedence, because
     * they are rounded. */
    int stores_sinusoids[2];
    int has_fixed_logits_bias;       /* final_logits_bias is a constant, zero if it is not stored */
    int stores_embeddings_variously; /* files may store one matrix for all embeddings, or additional copies */
    int reads_sharing;               /* read() determines which embeddings are shared */
    int ties_by_file; /* the projection is tied to the embedding unless the weights contain both */
    /* Training. */
    struct clf__architecture_default recipe[CLF__MOST_RECIPE_DEFAULTS + 1]; /* ends with a key of NULL */
    int drops_before_norm;        /* dropout comes before the norm of the embedding sum */
    int drops_feed_forward_alone; /* dropout applies only to the feed-forward output, not to other sub-layer
                                     outputs */
    int drops_activations;        /* "dropout" also applies to the activation */
    int validates_unsmoothed;     /* the validation loss has no label smoothing */
    int counts_updates_done;      /* the learning rate depends on the number of completed steps */
};

const struct clf__architecture *clf__architecture_of(enum clf__architecture_id id);
/* Returns the name of a key in an architecture's folders; NULL: not allowed. Sets *is_optional unless it is
 * NULL. */
const char *clf__architecture_key_name(const struct clf__architecture *architecture, const char *ours,
                                       int *is_optional);
/* Returns 1 if the architecture allows the key in addition to the common keys. */
int clf__architecture_has_key(const struct clf__architecture *architecture, const char *ours);
/* Returns the word of an architecture, and whether the architecture is a preset. */
const char *clf__architecture_word(enum clf__architecture_id id);
int clf__architecture_is_preset(enum clf__architecture_id id);
/* Find an architecture by preset name and by Hugging Face model_type; return 0 if there is none. */
int clf__architecture_find(enum clf__architecture_id *out, const char *word);
int clf__architecture_find_type(enum clf__architecture_id *out, const char *model_type);

/* Finds an architecture by the transformers class that wrote a folder, such as "T5ForConditionalGeneration";
 * returns 0 if there is none. */
int clf__architecture_find_class(enum clf__architecture_id *out, const char *class_name);

/* Writes the supported Hugging Face model_types for a message; truncates the list at `size`. */
void clf__architecture_list_types(char *text, size_t size);
/* Return a description of an unsupported model_type or class; NULL if it is unknown. */
const char *clf__architecture_refused_type(const char *model_type);
const char *clf__architecture_refused_class(const char *class_name);

/* Values shared by several architectures. */
/* Sets sizes, ids and biases of BART, on which related architectures are based. */
void clf__architecture_start_bart(struct clf__config *config, struct clf__config_choices *choices);
void clf__architecture_bias_projections(struct clf__config *config);
void clf__architecture_greedy(struct clf__config *config, int max_length);
/* <s>, <pad>, </s>, <unk>, as in BART. */
#define CLF__BART_SPECIALS                                                                                   \
    {                                                                                                        \
        .first = { "<s>", "<pad>", "</s>", "<unk>" }                                                         \
    }

#endif
