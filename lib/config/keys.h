/* The keys of config.json and generation_config.json, each said once: reading, choosing, writing and showing
 * a configuration follow from one table. */
#ifndef CLF_CONFIG_KEYS_H
#define CLF_CONFIG_KEYS_H

#include "base/json.h"
#include "config/config.h"
#include "config/word.h"

/* Of a model, a head or a frame. */
enum { CLF__CONFIG_MOST_WIDTH = 65536 };
/* Of an output. */
enum { CLF__CONFIG_MOST_TOKENS = 1 << 30 };

/* When a key is read. What depends on others, or on the vocabulary, has a function of its own. */
enum clf__key_stage {
    CLF__KEY_ALONE,   /* by that function */
    CLF__KEY_SIZE,    /* first, and written even where it is the preset's */
    CLF__KEY_KIND,    /* first */
    CLF__KEY_RATE,    /* once "dropout" is known, which is the default */
    CLF__KEY_SWITCH,  /* in our own folders; a family of Hugging Face's fixes it unless it lists the key */
    CLF__KEY_DERIVED, /* the same, over what was worked out from the others */
    CLF__KEY_DECODING /* from generation_config.json, or from config.json where a folder has only that */
};

enum clf__key_type { CLF__KEY_WHOLE, CLF__KEY_REAL, CLF__KEY_FLAG, CLF__KEY_WORD };

/* What else a key is. */
enum {
    CLF__KEY_CHOSEN = 1,       /* a new model's description may choose it */
    CLF__KEY_EVERY = 2,        /* and so for the families of Hugging Face, which fix the others */
    CLF__KEY_GENERATION = 4,   /* it is written to generation_config.json */
    CLF__KEY_SHOWN = 8,        /* inspect shows its field */
    CLF__KEY_OF_SINUSOID = 16, /* but only where positions are of this kind */
    CLF__KEY_OF_RELATIVE = 32,
    CLF__KEY_OF_FRAMES = 64,  /* where the source is frames, one a position */
    CLF__KEY_OF_WINDOW = 128, /* where the encoder's attention is local or transient-global */
    CLF__KEY_OF_GLOBAL = 256  /* where it is transient-global */
};

struct clf__config_key {
    const char *name;
    enum clf__key_type type;
    enum clf__key_stage stage;
    unsigned uses;
    size_t fields[2]; /* its places in struct clf__config: the same one twice, or each side's */
    double low, high;
    const struct clf__key_word *words; /* ended by one without a word */
};

/* In the order in which they are shown; ended by one without a name. */
extern const struct clf__config_key clf__config_keys[];

/* NULL: there is none of this name, of length bytes. */
const struct clf__config_key *clf__config_key_find(const char *name, size_t length);

/* Reads the keys of a stage by the names of a family of Hugging Face's, or of our own folders (NULL); those
 * that are missing stay as they are. */
struct clf__family;
clf_status clf__config_read_stage(struct clf__config *config, const struct clf__json *json,
                                  enum clf__key_stage stage, const struct clf__family *theirs);

/* The value of its field; NULL where there is no memory. The caller releases it. */
json_t *clf__config_key_value(const struct clf__config *config, const struct clf__config_key *key);

/* The word of a key of words. */
const char *clf__config_key_word(const char *name, int value);

#endif
