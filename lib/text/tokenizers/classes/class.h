/* A tokenizer class: which files it reads, how it assigns ids and where it puts language tokens. Related
 * classes share a file; list.c lists all classes. In Hugging Face folders, "tokenizer_class" is the name of
 * the class. */
#ifndef CLF_TEXT_CLASSES_CLASS_H
#define CLF_TEXT_CLASSES_CLASS_H

#include "base/status.h"
#include "text/tokenizers/classes/pipeline.h"
#include "text/tokenizers/token_list.h"

struct clf__added_tokens;
struct clf__json;
struct clf__segmenter;

/* Settings that classes read from tokenizer_config.json; strings are borrowed. */
struct clf__class_settings {
    int rows;                              /* vocabulary rows of the model; may be more or fewer than
                                              tokens */
    const struct clf__added_tokens *added; /* added tokens of the folder */
    int extra_ids;                         /* -1: the default of the class */
    int legacy_behaviour;
    const char *language_codes, *source_language, *target_language;
    const char *languages[2]; /* source and target language codes, for segmenters that depend on the language;
                                 or NULL */
};
clf_status clf__class_read_settings(struct clf__class_settings *out, const struct clf__json *config,
                                    int rows);

/* Where a source has its language token. */
enum clf__language_place {
    CLF__LANGUAGE_NOWHERE,
    CLF__LANGUAGE_IN_FRONT, /* source language token, before the text */
    CLF__LANGUAGE_BEHIND,   /* source language token, after the end token */
    CLF__LANGUAGE_IN_TEXT,  /* target language token as the first word of the text */
};

enum { CLF__MOST_CLASS_SPECIALS = 6 };

struct clf__tokenizer_class {
    const char *name;  /* without the "Fast" suffix */
    const char *model; /* segmenter file for both sides; NULL: source.spm and target.spm, or none */
    const struct clf__segmenter *segmenter; /* NULL: SentencePiece */
    int has_vocabulary;   /* ids come from vocab.json; otherwise from the order of the model */
    const char *sides[2]; /* files of source and target ids instead of vocab.json; NULL: vocab.json */
    int skipped;          /* number of leading model tokens to skip */
    /* Add the tokens before and after the model's tokens. NULL: none. */
    clf_status (*before)(struct clf__token_list *tokens);
    clf_status (*behind)(struct clf__token_list *tokens, const struct clf__class_settings *settings);
    /* Names the model rows after the last token, which would otherwise be spare. NULL: none. */
    clf_status (*name_spare)(struct clf__token_list *tokens);
    const char *specials[CLF__MOST_CLASS_SPECIALS + 1]; /* special tokens, in any id order; ends with NULL */
    int starts_source;                                  /* the first special token starts a source */
    const char *unknown;       /* unknown token if the folder names none; NULL: <unk> */
    const char *spaces_before; /* special token that absorbs white space before it; may be NULL */
    int adds_prefix_space;     /* default of "add_prefix_space" */
    int joins_plainly;         /* tokens are concatenated and their space marks become spaces */
    int never_cleans_up;       /* ignores clean_up_tokenization_spaces */
    int prefers_json;          /* reads tokenizer.json even if the files of the class exist */
    /* The class to use instead if the folder names no class and the first token of its SentencePiece model is
     * <s>; the model's ids are then used. NULL: none. */
    const struct clf__tokenizer_class *numbered;
    /* A language token is a code between these strings. */
    const char *language_opens, *language_closes;
    int finds_languages; /* every such token is a language; otherwise only tokens with the language flag */
    enum clf__language_place place;
    int may_be_behind;      /* "legacy_behaviour" moves the language after the end token */
    int starts_with_target; /* the decoder starts with the target language; otherwise the target language is
                               the second token */
    const char *source_language; /* default source language */
    const struct clf__class_pipeline
        *pipeline; /* sections that replace sections of tokenizer.json; NULL: none */
};

/* Finds a class by name, with or without "Fast"; NULL: unknown class. */
const struct clf__tokenizer_class *clf__tokenizer_class_find(const char *name);

/* The classes in list.c. */
extern const struct clf__tokenizer_class clf__class_marian, clf__class_mbart, clf__class_mbart50,
    clf__class_nllb, clf__class_m2m100, clf__class_pegasus, clf__class_t5, clf__class_bart,
    clf__class_roberta, clf__class_whisper, clf__class_barthez, clf__class_blenderbot,
    clf__class_blenderbot_small, clf__class_byt5, clf__class_fsmt;

/* Adds languages from a NULL-terminated list. */
clf_status clf__class_add_languages(struct clf__token_list *tokens, const struct clf__tokenizer_class *of,
                                    const char *const *codes);

#endif
