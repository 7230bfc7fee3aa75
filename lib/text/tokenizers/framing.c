/* Framing of sources with language tokens. */
#include <string.h>

#include "text/tokenizers/tokenizer_internal.h"

/* Fails if the model has no row for a language token. */
static clf_status check_row(const struct clf__tokenizer *tokenizer, int32_t id)
{
    clf_status status =
        clf__tokenizer_check_row(&tokenizer->vocabulary, id, tokenizer->options.source_vocabulary);
    return status == CLF_OK ? CLF_OK : CLF_BAD_ARGUMENT;
}

/* Finds the id of the source language (the requested language or the folder's default) if the tokenizer marks
 * source languages. */
static clf_status find_source(int32_t *id, const struct clf__tokenizer *tokenizer, const char *wanted)
{
    const struct clf__language *language;
    *id = -1;
    int has_none = tokenizer->place == CLF__LANGUAGE_NOWHERE || tokenizer->place == CLF__LANGUAGE_IN_TEXT;
    if (wanted != NULL && has_none) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "this model has no source language setting; remove --source-language (\"%.40s\")",
                         wanted);
    }
    if (has_none ||
        (wanted == NULL && (tokenizer->source_language == NULL || tokenizer->languages.count == 0))) {
        return CLF_OK;
    }
    CLF__TRY(clf__languages_find(&language, &tokenizer->languages,
                                 wanted != NULL ? wanted : tokenizer->source_language));
    *id = language->id;
    return check_row(tokenizer, *id);
}

static void put_source(struct clf__framing *framing, enum clf__language_place place, int32_t language)
{
    if (language < 0) {
        return;
    }
    if (place == CLF__LANGUAGE_IN_FRONT) {
        framing->before[0] = language;
    } else {
        framing->before[0] = -1;
        framing->behind[framing->behind[0] >= 0] = language;
    }
}

clf_status clf__tokenizer_frame(struct clf__framing *out, const struct clf__tokenizer *tokenizer,
                                const char *source_language, const char *target_language)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    struct clf__framing framing = {
        .before = {options->source_start_id, -1},
        .behind = {options->source_end_id, -1},
        .forced_first = -1,
        .decoder_start = -1,
    };
    int32_t source;
    if (options->source_end_id == CLF__FRAMED_BY_CLASS) {
        const struct clf__tokenizer_class *class = tokenizer->class;
        framing.behind[0] = options->end_id;
        framing.before[0] = class != NULL && class->starts_source
                                ? clf__vocabulary_id(tokenizer->source.vocabulary, class->specials[0],
                                                     strlen(class->specials[0]))
                                : -1;
    }
    if (tokenizer->has_own_framing) {
        memcpy(framing.before, tokenizer->own_before, sizeof framing.before);
        memcpy(framing.behind, tokenizer->own_behind, sizeof framing.behind);
    }
    CLF__TRY(find_source(&source, tokenizer, source_language));
    if (!tokenizer->has_own_framing || source_language != NULL) {
        put_source(&framing, tokenizer->place, source);
    }
    if (target_language != NULL) {
        const struct clf__language *language;
        CLF__TRY(clf__languages_find(&language, &tokenizer->languages, target_language));
        CLF__TRY(check_row(tokenizer, language->id));
        if (tokenizer->place == CLF__LANGUAGE_IN_TEXT) {
            framing.word = tokenizer->source.vocabulary->tokens[language->id];
        } else if (tokenizer->class->starts_with_target) {
            framing.decoder_start = language->id;
        } else {
            framing.forced_first = language->id;
        }
    }
    *out = framing;
    return CLF_OK;
}

void clf__framing_clear(struct clf__framing *framing)
{
    for (int i = 0; i < CLF__MOST_FRAMING; i++) {
        framing->before[i] = framing->behind[i] = -1;
    }
    framing->word = NULL;
}

int clf__framing_count(const struct clf__framing *framing)
{
    int count = 0;
    for (int i = 0; i < CLF__MOST_FRAMING; i++) {
        count += (framing->before[i] >= 0) + (framing->behind[i] >= 0);
    }
    return count;
}

int clf__tokenizer_languages(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->languages.count;
}

const char *clf__tokenizer_language(const struct clf__tokenizer *tokenizer, int index)
{
    return tokenizer->languages.items[index].code;
}

const char *clf__tokenizer_source_language(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->languages.count > 0 ? tokenizer->source_language : NULL;
}

const char *clf__tokenizer_target_language(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->languages.count > 0 ? tokenizer->target_language : NULL;
}

int clf__tokenizer_is_language(const struct clf__tokenizer *tokenizer, int32_t id)
{
    int i = 0;
    while (i < tokenizer->languages.count && tokenizer->languages.items[i].id != id) {
        i++;
    }
    return i < tokenizer->languages.count;
}

int clf__tokenizer_needs_target(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->languages.count > 0 && tokenizer->place != CLF__LANGUAGE_IN_TEXT;
}

const char *clf__tokenizer_class_name(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->class != NULL ? tokenizer->class->name : NULL;
}
