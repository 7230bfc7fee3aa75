#include "train/translation.h"

#include <string.h>

#include <clformer/bleu.h>
#include <clformer/translator.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "train/corpus.h"

void clf__translated_free(struct clf__translated *translated)
{
    for (int i = 0; i < translated->count; i++) {
        clf__free((char *)translated->lines[i].source);
        clf__free((char *)translated->lines[i].reference);
        clf__free((char *)translated->lines[i].translation);
    }
    clf__free(translated->lines);
    *translated = (struct clf__translated){0};
}

static int is_blank(struct clf__corpus_text text)
{
    size_t i = 0;
    while (i < text.size && strchr(" \t\r\v\f", text.text[i])) {
        i++;
    }
    return i == text.size;
}

/* Returns whether a text can be translated: not blank, valid UTF-8 without NUL bytes. */
static int is_usable(struct clf__corpus_text text)
{
    return !is_blank(text) && !memchr(text.text, '\0', text.size) &&
           clf__utf8_valid_prefix(text.text, text.size) == text.size;
}

/* Removes each `joiner` at the end of a token and the space after it. */
static void join_tokens(char *text, const char *joiner)
{
    size_t length = strlen(joiner);
    char *out = text;
    while (*text) {
        int is_token_end = strncmp(text, joiner, length) == 0 && (text[length] == ' ' || !text[length]);
        if (is_token_end) {
            text += length + (text[length] == ' ');
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

static clf_status add_line(struct clf__translated *translated, const struct clf__run *run,
                           const struct clf__corpus *corpus, const struct clf__corpus_pair *pair)
{
    CLF__TRY(
        clf__grow(&translated->lines, translated->count, &translated->capacity, sizeof *translated->lines));
    char *source = NULL, *reference = NULL;
    clf_status status = run->transformer->config.feature_size > 0
                            ? clf__corpus_path(&source, corpus, pair->source)
                            : clf__copy_bytes(&source, pair->source.text, pair->source.size);
    if (status == CLF_OK) {
        status = clf__copy_bytes(&reference, pair->target.text, pair->target.size);
    }
    if (status != CLF_OK) {
        clf__free(source);
        return status;
    }
    translated->lines[translated->count++] = (struct clf_train_sample){source, reference, NULL};
    return CLF_OK;
}

static clf_status read_lines(struct clf__translated *translated, const struct clf__run *run, int most)
{
    const struct clf__texts *files = &run->settings.valid;
    struct clf__corpus corpus;
    struct clf__corpus_pair pair;
    CLF__TRY(clf__corpus_open(&corpus, files->items[0], files->count > 1 ? files->items[1] : NULL));
    clf_status status = CLF_OK;
    while (status == CLF_OK && translated->count < most && clf__corpus_next(&status, &corpus, &pair)) {
        if (!pair.is_torn && is_usable(pair.source) && is_usable(pair.target)) {
            status = add_line(translated, run, &corpus, &pair);
        }
    }
    clf__corpus_close(&corpus);
    return status;
}

static void set_options(struct clf_translate_options *options, const struct clf__run *run)
{
    clf_translate_options_init(options, run->model);
    const struct clf__settings *settings = &run->settings;
    /* An untrained model rarely emits the end token. Translations are limited to 1.5 times the longest
     * reference, because longer ones score badly anyway. */
    struct clf__training_limits limits;
    clf__dataset_limits(&limits, run->valid, &run->batching);
    int longest = limits.target_length + limits.target_length / 2 + 10;
    options->max_length = longest < options->max_length ? longest : options->max_length;
    options->min_length = 0;
    options->beam = (int)settings->beam;
    options->n_best = 1;
    options->length_penalty = settings->length_penalty;
    options->subwords = settings->tokens;
    options->interrupted = run->hooks.interrupted;
    options->payload = run->hooks.payload;
}

static clf_status take(struct clf__translated *translated, const struct clf_translation *translations)
{
    for (int i = 0; i < translated->count; i++) {
        const char *text = translations[i].count > 0 ? translations[i].hypotheses[0].text : "";
        char *copy;
        CLF__TRY(clf__copy_string(&copy, text));
        translated->lines[i].translation = copy;
    }
    return CLF_OK;
}

static clf_status translate(struct clf__translated *translated, struct clf_translator *translator)
{
    struct clf_line *lines = NULL;
    struct clf_translation *translations = NULL;
    CLF__TRY(clf__allocate(&lines, (size_t)translated->count, sizeof *lines));
    for (int i = 0; i < translated->count; i++) {
        lines[i] = (struct clf_line){translated->lines[i].source, strlen(translated->lines[i].source)};
    }
    clf_status status = clf_translate(&translations, translator, lines, translated->count);
    if (status == CLF_OK) {
        status = take(translated, translations);
        clf_translations_free(translations, translated->count);
    }
    clf__free(lines);
    return status;
}

static clf_status open_translator(struct clf_translator **translator, const struct clf__run *run)
{
    struct clf_translate_options options;
    set_options(&options, run);
    CLF__TRY(clf_translator_create(translator, run->model, &options));
    return clf_translator_prepare(*translator);
}

/* Translates with the weights in fp32, as in a loaded checkpoint. */
static clf_status translate_with(struct clf__translated *translated, const struct clf__run *run)
{
    struct clf_translator *translator = NULL;
    clf__training_pause(run->training, 1);
    clf_status status = open_translator(&translator, run);
    if (status == CLF_OK && translated != NULL) {
        status = translate(translated, translator);
    }
    clf_translator_free(translator);
    clf__training_pause(run->training, 0);
    return status;
}

static int is_wanted(const struct clf__run *run)
{
    return run->settings.bleu != CLF__BLEU_NONE || run->settings.samples > 0;
}

clf_status clf__translated_reach(const struct clf__run *run)
{
    struct clf_translate_options options;
    set_options(&options, run);
    int source_length = clf_model_describe(run->model)->max_source_length;
    return is_wanted(run)
               ? clf__transformer_ensure_positions(run->transformer, source_length, options.max_length)
               : CLF_OK;
}

clf_status clf__translated_dry_run(const struct clf__run *run)
{
    return is_wanted(run) ? translate_with(NULL, run) : CLF_OK;
}

static void join_lines(struct clf__translated *translated, const struct clf__run *run)
{
    const char *joiner = run->settings.joiner;
    for (int i = 0; joiner && i < translated->count; i++) {
        struct clf_train_sample *line = &translated->lines[i];
        if (run->transformer->config.feature_size == 0) {
            join_tokens((char *)line->source, joiner);
        }
        join_tokens((char *)line->reference, joiner);
        join_tokens((char *)line->translation, joiner);
    }
}

clf_status clf__translated_make(struct clf__translated *out, const struct clf__run *run, int most)
{
    *out = (struct clf__translated){0};
    clf_status status = read_lines(out, run, most);
    if (status == CLF_OK && out->count > 0) {
        status = translate_with(out, run);
    }
    if (status != CLF_OK) {
        clf__translated_free(out);
        return status;
    }
    join_lines(out, run);
    return CLF_OK;
}

clf_status clf__translated_bleu(double *out, const struct clf__translated *translated,
                                const struct clf__settings *settings)
{
    const char **texts = NULL;
    struct clf_bleu bleu;
    size_t count = (size_t)translated->count;
    CLF__TRY(clf__allocate(&texts, 2 * count, sizeof *texts));
    for (size_t i = 0; i < count; i++) {
        texts[i] = translated->lines[i].translation;
        texts[count + i] = translated->lines[i].reference;
    }
    clf_status status = clf_bleu_corpus(&bleu, texts, texts + count, translated->count,
                                        settings->bleu == CLF__BLEU_SPACES ? CLF_BLEU_SPACES : CLF_BLEU_13A,
                                        settings->lower_case);
    clf__free(texts);
    *out = bleu.score;
    return status;
}
