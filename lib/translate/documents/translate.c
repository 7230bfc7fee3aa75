/* Translates a document: segments with marks use a translator with alignment, and other segments a translator
 * without. */
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "engine/engine.h"
#include "translate/documents/format.h"

/* A translated sentence of a segment. */
struct sentence {
    size_t source, text; /* positions in the segment and in its translation */
    size_t source_size, text_size;
    int first_link; /* first of its links; they end at the first link of the next sentence */
};

/* A running call; the payload of its hooks. */
struct call {
    struct clf_document *document;
    const struct clf_translate_options *given;
    int *segments; /* (line_count) index of the segment of each line */
    struct clf_line *lines;
    int line_count;
    /* The sentences of the current line: */
    struct clf__output text; /* the translations of the sentences, one after another */
    struct sentence *sentences;
    int count, capacity;
    struct clf_alignment_link *links;
    int link_count, link_capacity;
    struct clf__failure failure;
};

static int is_interrupted(void *payload)
{
    const struct call *call = payload;
    return call->failure.status != CLF_OK ||
           (call->given->interrupted != NULL && call->given->interrupted(call->given->payload));
}

static void poll(void *payload)
{
    const struct call *call = payload;
    if (call->given->poll != NULL) {
        call->given->poll(call->given->payload);
    }
}

static clf_status keep_sentence(struct call *call, const struct clf__segment *segment,
                                const struct clf_sentence *sentence)
{
    const struct sentence *last = call->count > 0 ? &call->sentences[call->count - 1] : NULL;
    size_t at = last != NULL ? last->source + last->source_size : 0;
    struct sentence kept = {.source = clf__text_find(segment->text, segment->shown.text_size, at,
                                                     sentence->source, sentence->source_size),
                            .text = call->text.size,
                            .source_size = sentence->source_size,
                            .text_size = strlen(sentence->text),
                            .first_link = call->link_count};
    CLF__TRY(clf__grow(&call->sentences, call->count, &call->capacity, sizeof *call->sentences));
    call->sentences[call->count++] = kept;
    clf__output_add(&call->text, sentence->text, kept.text_size);
    for (int i = 0; i < sentence->link_count; i++) {
        CLF__TRY(clf__grow(&call->links, call->link_count, &call->link_capacity, sizeof *call->links));
        call->links[call->link_count] = sentence->links[i];
        call->links[call->link_count++].source += kept.source;
    }
    return call->text.status;
}

static void take_sentence(int line, const struct clf_sentence *sentence, void *payload)
{
    struct call *call = payload;
    int segment = call->segments[line];
    if (call->failure.status == CLF_OK) {
        clf_status status = keep_sentence(call, &call->document->segments.items[segment], sentence);
        call->failure = clf__failure_keep(status);
    }
    if (call->given->sentence_translated != NULL) {
        call->given->sentence_translated(segment, sentence, call->given->payload);
    }
}

/* Converts the links of the sentences to positions in the whole translation. */
static void join_links(struct call *call, const char *text, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < call->count; i++) {
        const struct sentence *sentence = &call->sentences[i];
        int end = i + 1 < call->count ? sentence[1].first_link : call->link_count;
        size_t found = clf__text_find(text, size, at, call->text.bytes + sentence->text, sentence->text_size);
        for (int k = sentence->first_link; k < end; k++) {
            call->links[k].text += found;
        }
        at = found + sentence->text_size <= size ? found + sentence->text_size : size;
    }
}

static clf_status set_translation(struct call *call, int line, const struct clf_translation *translation)
{
    if (translation->count == 0) { /* the line cannot be translated */
        return CLF_OK;
    }
    const char *text = translation->hypotheses[0].text;
    size_t size = strlen(text);
    join_links(call, text, size);
    return clf_document_set(call->document, call->segments[line], text, size, call->links, call->link_count);
}

static void take_translation(int line, const struct clf_translation *translation, void *payload)
{
    struct call *call = payload;
    if (call->failure.status == CLF_OK) {
        clf_status status = set_translation(call, line, translation);
        call->failure = clf__failure_keep(status);
    }
    call->count = call->link_count = 0;
    call->text.size = 0;
    if (call->given->translated != NULL) {
        call->given->translated(call->segments[line], translation, call->given->payload);
    }
}

/* Selects the segments with marks (1), or the others (0). */
static void select_lines(struct call *call, int has_marks)
{
    call->line_count = 0;
    for (int i = 0; i < call->document->segments.count; i++) {
        const struct clf_document_segment *segment = &call->document->segments.items[i].shown;
        if ((segment->mark_count > 0) == has_marks && !call->document->segments.items[i].is_known &&
            clf__text_has_letter(segment->text, segment->text_size)) {
            call->segments[call->line_count] = i;
            call->lines[call->line_count++] = (struct clf_line){segment->text, segment->text_size};
        }
    }
}

static clf_status translate_selected(struct call *call, struct clf_engine *engine, int has_marks,
                                     const struct clf_translate_options *given)
{
    struct clf_translate_options options = *given;
    struct clf_translator *translator;
    struct clf_translation *translations = NULL;
    select_lines(call, has_marks);
    if (call->line_count == 0) {
        return CLF_OK;
    }
    const int layers = clf_model_describe(engine->lanes[0].model)->decoder_layers;
    options.split_sentences = 1;
    options.alignment_layer = !has_marks                    ? 0
                              : options.alignment_layer > 0 ? options.alignment_layer
                                                            : layers - (layers > 1);
    options.interrupted = is_interrupted;
    options.poll = poll;
    options.sentence_translated = take_sentence;
    options.translated = take_translation;
    options.payload = call;
    CLF__TRY(clf_translator_create_shared(&translator, engine, &options));
    clf_status status = clf_translate(&translations, translator, call->lines, call->line_count);
    clf_translations_free(translations, call->line_count);
    clf_translator_free(translator);
    return call->failure.status != CLF_OK ? clf__failure_again(&call->failure) : status;
}

/* Removes the languages of TMX and of a translation memory from the options of a model of one language pair,
 * which has no such setting. */
static void drop_languages(struct clf_translate_options *options, const struct clf_document *document,
                           const struct clf__tokenizer *tokenizer)
{
    int has_languages = document->has_memory || strcmp(document->format->shown.name, "tmx") == 0;
    if (has_languages && tokenizer != NULL && clf__tokenizer_languages(tokenizer) == 0) {
        options->source_language = options->target_language = NULL;
    }
}

clf_status clf_document_translate(struct clf_document *document, struct clf_engine *engine,
                                  const struct clf_translate_options *options)
{
    if (document == NULL || engine == NULL ||
        (options != NULL && (options->streamed != NULL || options->generated != NULL))) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "the translation of a document requires a document and an engine, and "
                         "cannot be streamed");
    }
    struct clf_translate_options given;
    clf_translate_options_init(&given, engine->lanes[0].model);
    CLF__TRY(clf__options_take(&given, sizeof given, options, "clf_translate_options"));
    drop_languages(&given, document, engine->lanes[0].model->tokenizer);
    struct call call = {.document = document, .given = &given};
    size_t count = (size_t)document->segments.count;
    clf_status status = clf__allocate(&call.segments, count, sizeof *call.segments);
    if (status == CLF_OK) {
        status = clf__allocate(&call.lines, count, sizeof *call.lines);
    }
    for (int has_marks = 0; has_marks < 2 && status == CLF_OK; has_marks++) {
        status = translate_selected(&call, engine, has_marks, &given);
    }
    clf__free(call.segments);
    clf__free(call.lines);
    clf__free(call.text.bytes);
    clf__free(call.sentences);
    clf__free(call.links);
    return status;
}
