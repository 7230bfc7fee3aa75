/* The options of a translator, resolved for its model. They do not change after their creation, so that any
 * number of threads may read them. */
#ifndef CLF_ENGINE_SETTINGS_H
#define CLF_ENGINE_SETTINGS_H

#include <clformer/translator.h>

#include <stdatomic.h>

#include "engine/capacity.h"
#include "model/config/config.h"
#include "model/model.h"
#include "search/types.h"
#include "text/glossary/glossary.h"
#include "text/shortlist.h"
#include "text/tokenizers/tokenizer.h"

struct clf__settings {
    struct clf_model *model;
    struct clf_translate_options options;
    struct clf__framing framing;       /* for the languages in the options */
    struct clf__search_options search; /* `suppressed` owned */
    int owns_sequences, owns_ends;     /* bad_words and their offsets, and other_end_ids, are owned */
    struct clf__config task_config;    /* configuration of the selected task, with separate search lists */
    char *source_prefix;               /* task prefix of each source; NULL: none */
    int decoder_start_id;
    int takes_start;                  /* the decoder starts with the first token of a line's prefix */
    struct clf__shortlist *shortlist; /* NULL: all words are candidates */
    struct clf__capacity capacity;    /* that a line without terms needs */
    struct clf_glossary *glossary;    /* NULL: none */
    atomic_uchar *places; /* (vocabulary) with a glossary: what is known of each id for a term beside it, as
                             in struct clf__constraints; 0: not known yet */
    struct clf__settings
        *starts; /* settings of the step that finds the first tokens of alternatives; NULL: none */
    atomic_int warns_of_sentences; /* the warning about a line with several sentences was not logged yet */
};

/* Resolves options; NULL for the model's values. Strings and lists of the options are not needed afterwards.
 * CLF_BAD_ARGUMENT names options out of range or in conflict. */
clf_status clf__settings_create(struct clf__settings **out, struct clf_model *model,
                                const struct clf_translate_options *options);
void clf__settings_free(struct clf__settings *settings);

/* Checks a number of tokens per batch; 0: the default. */
clf_status clf__batch_tokens_check(int batch_tokens);

/* Checks the values of the options, without resolving them. */
clf_status clf__settings_check(const struct clf__settings *settings);

/* Fails if the model's decoder can only start with a token from the line's prefix. */
clf_status clf__settings_check_start(const struct clf__settings *settings);

#endif
