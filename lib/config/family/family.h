/* A family: what a system's own code fixes beside what its config.json says. One file each in family/, and
 * one row of CLF__SYSTEM_LIST; no other code asks for a family by its name. */
#ifndef CLF_CONFIG_FAMILY_FAMILY_H
#define CLF_CONFIG_FAMILY_FAMILY_H

#include <jansson.h>

#include "config/build.h"
#include "config/family/names.h"
#include "config/initial.h"

struct clf__model_description;

/* The preset of a new model where nothing else is said. */
#define CLF__DEFAULT_PRESET "marian"
/* The family of models that their files describe whole. */
#define CLF__DESCRIBED_FAMILY "transformer"
/* The model_type of OpenAI's speech models. */
#define CLF__OPENAI_FAMILY "whisper"
/* The words of "length_rule" that are a family's own. */
/* clang-format off */
#define CLF__FAMILY_LENGTH_RULES { "jadore", CLF__LENGTH_INCLUDING_START }
/* The words of "encoder_attention_type". */
#define CLF__FAMILY_ENCODER_ATTENTIONS \
    { "local", CLF__MIXER_LOCAL }, { "transient-global", CLF__MIXER_TRANSIENT_GLOBAL }
/* clang-format on */

enum { CLF__MOST_SPECIALS = 4, CLF__MOST_RECIPE_DEFAULTS = 4 };

/* The tokens that are no text, where they stand in a vocabulary. */
struct clf__specials {
    const char *first[CLF__MOST_SPECIALS + 1]; /* the first ids; ends with NULL */
    const char *last;                          /* the last id, or NULL */
};

/* What a choice of a recipe is where nothing is chosen and the family trains otherwise than most. */
struct clf__family_default {
    const char *key, *fallback;
};

/* A key of config.json that a family's folders have under another name, or that they choose where those of
 * other families do not. */
struct clf__family_key {
    const char *ours, *theirs; /* theirs NULL: they have no such key */
    int is_optional;           /* it may be left out where every family's folder holds it */
};

struct clf__family {
    /* The model_type of Hugging Face's folders, whose keys its own arrangement fixes but for sizes; NULL: a
     * folder of ours ("clformer"), which names the preset and may choose every key. */
    const char *hugging_face;
    /* Where config.json has no key: changes of the paper's values. NULL: none. */
    void (*start)(struct clf__config *config, struct clf__config_choices *choices);
    /* Ends with one without a name; NULL: all keys have our names, and none but every family's is read. */
    const struct clf__family_key *keys;
    /* Reads what takes more than a key's other name, once everything but the sharing is read. NULL: nothing.
     */
    clf_status (*read)(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json);
    /* Writes what a new folder says beside sizes and ids; returns not 0 where there is no memory. NULL: the
     * preset's name. */
    int (*describe)(json_t *config, json_t *generation, const struct clf__model_description *description);
    /* How a parameter begins. NULL where no new model is made. */
    struct clf__initial (*initial)(const struct clf__config *config, enum clf__role role,
                                   const struct clf__shape *shape);
    const struct clf__tensor_names *names; /* what its own code calls its tensors */
    struct clf__specials specials;
    const char *tokenizer_class; /* where tokenizer_config.json says none, for SentencePiece; NULL: none */
    /* Where each side's words have a vocabulary of their own; NULL: the same. */
    const struct clf__specials *separate_specials;

    /* Text and search. */
    int takes_frames;        /* its source is frames of features unless config.json says otherwise */
    int has_no_start_token;  /* the decoder starts with the pad token */
    int frames_sources;      /* a source line is put between start and end token, not before the end alone */
    int leaves_sources_open; /* a source line has no end token */
    int hides_start_pad;     /* a pad token that starts a target would be hidden from itself */
    int reads_texts;         /* a source is a text of any length, not a sentence */
    int searches_all_positions; /* the longest output is the positions', whatever a folder's default */
    /* The model. */
    int scales_tied_projection_alone; /* sqrt(D) counts only where the target embedding is the projection */
    int keeps_pad_row;                /* looking up the pad token does not train its row */
    int keeps_tied_pad_row;           /* nor does a projection that is tied to it */
    int begins_with_zero_pad;         /* that row begins as zeros */
    /* Of the encoder and the decoder: learned positions are sinusoids, and stay; where a file holds
     * sinusoids, which may be rounded, they are taken from it. */
    int stores_sinusoids[2];
    int has_fixed_logits_bias;       /* final_logits_bias is a constant, zeros where the file has none */
    int stores_embeddings_variously; /* one matrix for embeddings that are not shared, or a spare one */
    int ties_by_file;                /* the projection is the embedding unless the file holds another one */
    /* Training. */
    struct clf__family_default recipe[CLF__MOST_RECIPE_DEFAULTS + 1]; /* ends with a key of NULL */
    int drops_before_norm;        /* dropout comes before the norm of the embedding sum */
    int drops_feed_forward_alone; /* of what sub-layers give, the feed-forward's alone is dropped out */
    int drops_activations;        /* "dropout" is that of the activation too */
    int validates_unsmoothed;     /* the loss of a validation leaves the smoothing of labels out */
    int counts_updates_done;      /* the learning rate goes by the updates that are done */
};

const struct clf__family *clf__family_of(enum clf__system system);
/* What a family's folders call a key: NULL, they have none. *is_optional, where it is not NULL. */
const char *clf__family_key_name(const struct clf__family *family, const char *ours, int *is_optional);
/* Whether its folders choose a key that others do not. */
int clf__family_has_key(const struct clf__family *family, const char *ours);
/* By the preset's name, and by a model_type of Hugging Face's; 0: there is none. */
int clf__family_find(enum clf__system *out, const char *word);
int clf__family_find_type(enum clf__system *out, const char *model_type);

/* By the class of transformers that saved a folder ("T5ForConditionalGeneration"); 0: there is none. */
int clf__family_find_class(enum clf__system *out, const char *architecture);

/* The model_types of Hugging Face that are read, for a message; cut to size. */
void clf__family_list_types(char *text, size_t size);
/* Says of a model_type or of the class that a folder was saved from what it is, where it is known to be no
 * encoder-decoder of text or one that is not supported; NULL: nothing is known of it. */
const char *clf__family_refused_type(const char *model_type);
const char *clf__family_refused_class(const char *architecture);

/* Parts of several families' values. */
/* BART's sizes, ids and biases, which its kin begin with. */
void clf__family_start_bart(struct clf__config *config, struct clf__config_choices *choices);
void clf__family_bias_projections(struct clf__config *config);
void clf__family_greedy(struct clf__config *config, int max_length);
/* <s>, <pad>, </s>, <unk>, as the BART family has them. */
#define CLF__BART_SPECIALS                                                                                   \
    {                                                                                                        \
        .first = { "<s>", "<pad>", "</s>", "<unk>" }                                                         \
    }

#endif
