/* A tokenizer's class: which files it reads, which ids its pieces have, and where it puts languages. Each kin
 * is a file of its own, named in list.c; the word is "tokenizer_class" in Hugging Face's folders. */
#ifndef CLF_TEXT_CLASSES_CLASS_H
#define CLF_TEXT_CLASSES_CLASS_H

#include "base/status.h"
#include "text/classes/pipeline.h"
#include "text/pieces.h"

struct clf__added_tokens;
struct clf__json;
struct clf__segmenter;

/* What tokenizer_config.json says to classes; strings are borrowed from it. */
struct clf__class_settings {
    int rows;                              /* the model's, of which there may be more or fewer than pieces */
    const struct clf__added_tokens *added; /* of the folder */
    int extra_ids;                         /* -1: as many as the class has */
    int legacy_behaviour;
    const char *language_codes, *source_language, *target_language;
    const char
        *languages[2]; /* by which text is cut and joined: the source's and the target's code, or NULL */
};
clf_status clf__class_read_settings(struct clf__class_settings *out, const struct clf__json *config,
                                    int rows);

/* Where a source's ids say its language. */
enum clf__language_place {
    CLF__LANGUAGE_NOWHERE,
    CLF__LANGUAGE_IN_FRONT, /* the source's own language, before the text */
    CLF__LANGUAGE_BEHIND,   /* the same, after the end token */
    CLF__LANGUAGE_IN_TEXT,  /* the target's language, as the text's first word */
};

enum { CLF__MOST_CLASS_SPECIALS = 6 };

struct clf__tokenizer_class {
    const char *name;  /* without the "Fast" of some folders */
    const char *model; /* the segmenter's file, for both sides; NULL: source.spm and target.spm, or none */
    const struct clf__segmenter *segmenter; /* NULL: SentencePiece */
    int has_vocabulary;   /* vocab.json says the ids; else pieces have them in the model's order */
    const char *sides[2]; /* the source's and the target's file of ids; NULL: vocab.json is both */
    int skipped;          /* so many of the model's first pieces are left out */
    /* Adds the pieces before the model's, and those behind. NULL: none. */
    clf_status (*before)(struct clf__pieces *pieces);
    clf_status (*behind)(struct clf__pieces *pieces, const struct clf__class_settings *settings);
    /* Names rows of the model behind the last token, which are spare otherwise. NULL: none. */
    clf_status (*name_spare)(struct clf__pieces *pieces);
    const char *specials[CLF__MOST_CLASS_SPECIALS + 1]; /* wherever they stand; ends with NULL */
    int starts_source;                                  /* a source begins with the first of them */
    const char *unknown;       /* what stands for unknown pieces where the folder does not say; NULL: <unk> */
    const char *spaces_before; /* one of them takes white space before it; or NULL */
    int adds_prefix_space;     /* unless "add_prefix_space" says something else */
    int joins_plainly;         /* pieces are put together as they are, and their marks made spaces */
    int never_cleans_up;       /* whatever clean_up_tokenization_spaces says */
    int prefers_json;          /* tokenizer.json is read even if the class's own files are there */
    /* Takes the place of this class in a folder that names none, where the first piece of the SentencePiece
     * model is <s>: then the ids are the model's own. NULL: none does. */
    const struct clf__tokenizer_class *numbered;
    /* Languages: a piece is the code between these. */
    const char *language_opens, *language_closes;
    int finds_languages; /* every piece of that form is one; else those that are marked */
    enum clf__language_place place;
    int may_be_behind;           /* "legacy_behaviour" puts the language behind */
    int starts_with_target;      /* the decoder starts with the target's language, else it comes next */
    const char *source_language; /* where nothing is said */
    const struct clf__class_pipeline *pipeline; /* of tokenizer.json's; NULL: the file's own */
};

/* By its name, "Fast" or not; NULL: none of ours. */
const struct clf__tokenizer_class *clf__tokenizer_class_find(const char *name);

/* The rows of list.c. */
extern const struct clf__tokenizer_class clf__class_marian, clf__class_mbart, clf__class_mbart50,
    clf__class_nllb, clf__class_m2m100, clf__class_pegasus, clf__class_t5, clf__class_bart,
    clf__class_roberta, clf__class_whisper, clf__class_barthez, clf__class_blenderbot,
    clf__class_blenderbot_small, clf__class_byt5, clf__class_fsmt;

/* Adds languages of a list that ends with NULL. */
clf_status clf__class_add_languages(struct clf__pieces *pieces, const struct clf__tokenizer_class *of,
                                    const char *const *codes);

#endif
