/* An architecture: the properties that an implementation fixes in code rather than in config.json. Each
 * architecture has one file in family/ and one row of CLF__SYSTEM_LIST; other code never tests for an
 * architecture by name. */
#ifndef CLF_CONFIG_FAMILY_FAMILY_H
#define CLF_CONFIG_FAMILY_FAMILY_H

#include <jansson.h>

#include "model/config/build.h"
#include "model/config/family/names.h"
#include "model/config/initial.h"

struct clf__model_description;

/* Default preset of a new model. */
#define CLF__DEFAULT_PRESET "marian"
/* The architecture of models that are fully described by their files. */
#define CLF__DESCRIBED_FAMILY "transformer"
/* The model_type of OpenAI's speech models. */
#define CLF__OPENAI_FAMILY "whisper"
/* Values of "length_rule" that a single architecture defines. */
/* clang-format off */
#define CLF__FAMILY_LENGTH_RULES { "jadore", CLF__LENGTH_INCLUDING_START }
/* The words of "encoder_attention_type". */
#define CLF__FAMILY_ENCODER_ATTENTIONS \
    { "local", CLF__MIXER_LOCAL }, { "transient-global", CLF__MIXER_TRANSIENT_GLOBAL }
/* clang-format on */

enum { CLF__MOST_SPECIALS = 4, CLF__MOST_RECIPE_DEFAULTS = 4 };

/* Special tokens and their positions in a vocabulary. */
struct clf__specials {
    const char *first[CLF__MOST_SPECIALS + 1]; /* first ids; ends with NULL */
    const char *last;                          /* the last id, or NULL */
};

/* The default of a recipe choice for architectures whose training differs from most. */
struct clf__family_default {
    const char *key, *fallback;
};

/* A key of config.json that has another name in an architecture's folders, or that is allowed only there. */
struct clf__family_key {
    const char *ours,
        *theirs;     /* canonical name; name in the architecture's folders, NULL: not allowed there */
    int is_optional; /* may be missing although other architectures require it */
};

struct clf__family {
    /* The model_type in Hugging Face folders, where the architecture fixes all keys but sizes; NULL: a
     * clformer folder, which names the preset and may set every key. */
    const char *hugging_face;
    /* Changes the paper's values, which are the defaults of missing keys. NULL: no changes. */
    void (*start)(struct clf__config *config, struct clf__config_choices *choices);
    /* Renamed and additional keys; ends with an entry without a name. NULL: none. */
    const struct clf__family_key *keys;
    /* Reads keys that need more than renaming, after all keys except embedding sharing. NULL: none. */
    clf_status (*read)(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json);
    /* Sets the decoding defaults of a folder without generation_config.json; keys of its config.json replace
     * them. NULL: the defaults of transformers' generate(). */
    void (*decode)(struct clf__config *config);
    /* Writes the keys of a new folder besides sizes and ids; returns non-zero if out of memory. NULL: writes
     * the preset name. */
    int (*describe)(json_t *config, json_t *generation, const struct clf__model_description *description);
    /* Returns the initial distribution of a parameter. NULL if the architecture is not trained. */
    struct clf__initial (*initial)(const struct clf__config *config, enum clf__role role,
                                   const struct clf__shape *shape);
    const struct clf__tensor_names *names; /* names of the tensors in the original implementation */
    struct clf__specials specials;
    const char *tokenizer_class; /* default for SentencePiece if tokenizer_config.json names none; may be
                                    NULL */
    /* Special tokens of separate vocabularies; NULL: as for a single vocabulary. */
    const struct clf__specials *separate_specials;

    /* Text and search. */
    int takes_frames;           /* sources are frames unless config.json says otherwise */
    int has_no_start_token;     /* the decoder starts with the pad token */
    int frames_sources;         /* sources are framed by start and end token; otherwise only the end token */
    int leaves_sources_open;    /* sources have no end token */
    int hides_start_pad;        /* a pad token at the start of a target would be masked */
    int reads_texts;            /* sources are texts of any length, not sentences */
    int searches_all_positions; /* the longest output is limited by positions, not by the folder's default */
    /* The model. */
    int scales_tied_projection_alone; /* sqrt(D) applies only if the projection is tied to the target
                                         embedding */
    int keeps_pad_row;                /* the lookup of the pad token does not train its embedding */
    int keeps_tied_pad_row;           /* nor does a projection tied to the embedding */
    int begins_with_zero_pad;         /* the embedding of the pad token is initialised with zeros */
    /* Per side: learned positions are untrained sinusoids; stored (rounded) values take precedence. */
    int stores_sinusoids[2];
    int has_fixed_logits_bias;       /* final_logits_bias is a constant; zeros if not stored */
    int stores_embeddings_variously; /* one matrix for all embeddings is stored, or an additional copy */
    int reads_sharing;               /* read() sets which embeddings are shared */
    int ties_by_file;                /* the projection is tied to the embedding unless stored separately */
    /* Training. */
    struct clf__family_default recipe[CLF__MOST_RECIPE_DEFAULTS + 1]; /* ends with a key of NULL */
    int drops_before_norm;        /* dropout before the norm of the embedding sum */
    int drops_feed_forward_alone; /* of the sub-layer outputs, only the feed-forward's has dropout */
    int drops_activations;        /* "dropout" also applies to the activation */
    int validates_unsmoothed;     /* validation loss without label smoothing */
    int counts_updates_done;      /* the learning rate depends on completed updates */
};

const struct clf__family *clf__family_of(enum clf__system system);
/* Returns the name of a key in an architecture's folders; NULL: no such key. Sets *is_optional unless
   NULL. */
const char *clf__family_key_name(const struct clf__family *family, const char *ours, int *is_optional);
/* Returns whether only this architecture's folders may set the key. */
int clf__family_has_key(const struct clf__family *family, const char *ours);
/* Returns the word of an architecture, and whether the architecture is a preset. */
const char *clf__system_word(enum clf__system system);
int clf__system_is_preset(enum clf__system system);
/* Find an architecture by preset name or by Hugging Face model_type; return 0 if it is unknown. */
int clf__family_find(enum clf__system *out, const char *word);
int clf__family_find_type(enum clf__system *out, const char *model_type);

/* Finds an architecture by the transformers class that saved a folder ("T5ForConditionalGeneration"); returns
 * 0 if it is unknown. */
int clf__family_find_class(enum clf__system *out, const char *architecture);

/* Writes the supported Hugging Face model_types for a message, truncated to size. */
void clf__family_list_types(char *text, size_t size);
/* Returns a description of a model_type or class that is known to be unsupported; NULL: unknown. */
const char *clf__family_refused_type(const char *model_type);
const char *clf__family_refused_class(const char *architecture);

/* Values shared by several architectures. */
/* Sizes, ids and biases of BART, from which related architectures start. */
void clf__family_start_bart(struct clf__config *config, struct clf__config_choices *choices);
void clf__family_bias_projections(struct clf__config *config);
void clf__family_greedy(struct clf__config *config, int max_length);
/* <s>, <pad>, </s>, <unk>, as in BART. */
#define CLF__BART_SPECIALS                                                                                   \
    {                                                                                                        \
        .first = { "<s>", "<pad>", "</s>", "<unk>" }                                                         \
    }

#endif
