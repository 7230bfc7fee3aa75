/* The table of keys of config.json and generation_config.json, used to read, set, write and show them. */
#ifndef CLF_CONFIG_KEYS_H
#define CLF_CONFIG_KEYS_H

#include "base/json.h"
#include "model/config/types.h"
#include "model/config/word.h"

/* Maximum width of a model, head or frame. */
enum { CLF__CONFIG_MOST_WIDTH = 65536 };
/* Maximum length of an output. */
enum { CLF__CONFIG_MOST_TOKENS = 1 << 30 };

/* When and how a key is read. Keys that depend on other keys or on the vocabulary are read by functions. */
enum clf__key_stage {
    CLF__KEY_ALONE,   /* read by a function */
    CLF__KEY_SIZE,    /* read first; always written */
    CLF__KEY_KIND,    /* read first */
    CLF__KEY_RATE,    /* read after "dropout", which is the default */
    CLF__KEY_SWITCH,  /* read in clformer folders, and in Hugging Face folders of architectures that list the
                         key */
    CLF__KEY_DERIVED, /* like CLF__KEY_SWITCH, but replaces a derived value */
    CLF__KEY_DECODING /* read from generation_config.json or, if that file is missing, from config.json */
};

enum clf__key_type { CLF__KEY_WHOLE, CLF__KEY_REAL, CLF__KEY_FLAG, CLF__KEY_WORD };

/* Flags of a key. */
enum {
    CLF__KEY_CHOSEN = 1, /* can be set for a new model */
    CLF__KEY_EVERY = 2,  /* allowed in Hugging Face folders, where the architecture fixes all other keys */
    CLF__KEY_GENERATION = 4,   /* written to generation_config.json */
    CLF__KEY_SHOWN = 8,        /* shown by inspect */
    CLF__KEY_OF_SINUSOID = 16, /* only for sinusoidal positions */
    CLF__KEY_OF_RELATIVE = 32,
    CLF__KEY_OF_FRAMES = 64,  /* only for frames, with one position per frame */
    CLF__KEY_OF_WINDOW = 128, /* only for encoders with local or transient-global attention */
    CLF__KEY_OF_GLOBAL = 256  /* only for encoders with transient-global attention */
};

struct clf__config_key {
    const char *name;
    enum clf__key_type type;
    enum clf__key_stage stage;
    unsigned uses;
    size_t fields[2]; /* offsets in struct clf__config of the encoder's and the decoder's field, or the same
                         offset twice */
    double low, high;
    const struct clf__key_word *words; /* the last entry has no word; NULL: not an enumeration */
};

/* The table, in display order; the last entry has no name. */
extern const struct clf__config_key clf__config_keys[];

/* Finds a key by a name of `length` bytes; returns NULL if there is none. */
const struct clf__config_key *clf__config_key_find(const char *name, size_t length);

/* Reads the keys of a stage under the names of a Hugging Face architecture, or of clformer folders if
 * `theirs` is NULL. Missing keys leave their fields unchanged. */
struct clf__architecture;
clf_status clf__config_read_stage(struct clf__config *config, const struct clf__json *json,
                                  enum clf__key_stage stage, const struct clf__architecture *theirs);

/* Returns the value of a key as JSON, which the caller releases; NULL if out of memory. */
json_t *clf__config_key_value(const struct clf__config *config, const struct clf__config_key *key);

/* Returns the word for a value of an enumeration key. */
const char *clf__config_key_word(const char *name, int value);

#endif
