#include "serve/marked_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "serve/texts.h"

/* A translated sentence. */
struct sentence {
    int text;       /* index of its text */
    char *bytes;    /* owned; the translation */
    int first_link; /* its links end where those of the next sentence begin */
};

/* A running call; the payload of its hook. */
struct call {
    const json_t *array;
    struct sentence *sentences; /* (count) */
    int count, capacity;
    struct clf_alignment_link *links; /* (link_count); their sources are positions in the texts */
    int link_count, link_capacity;
    int last;         /* text of the last sentence */
    size_t source_at; /* end of the last sentence in it */
    clf_status status;
};

/* Returns the position of a part of a text at or after `at`; the end of the text if it is not there. */
static size_t find_part(const json_t *text, size_t at, const char *part, size_t part_size)
{
    const char *bytes = json_string_value(text);
    size_t size = json_string_length(text);
    for (; at + part_size <= size; at++) {
        if (memcmp(bytes + at, part, part_size) == 0) {
            return at;
        }
    }
    return size;
}

static clf_status keep_sentence(struct call *call, int text, const struct clf_sentence *sentence)
{
    call->source_at = text == call->last ? call->source_at : 0;
    call->last = text;
    size_t at = find_part(json_array_get(call->array, (size_t)text), call->source_at, sentence->source,
                          sentence->source_size);
    call->source_at = at + sentence->source_size;
    CLF__TRY(clf__grow(&call->sentences, call->count, &call->capacity, sizeof *call->sentences));
    struct sentence *kept = &call->sentences[call->count];
    *kept = (struct sentence){.text = text, .first_link = call->link_count};
    CLF__TRY(clf__copy_string(&kept->bytes, sentence->text));
    call->count++;
    for (int i = 0; i < sentence->link_count; i++) {
        CLF__TRY(clf__grow(&call->links, call->link_count, &call->link_capacity, sizeof *call->links));
        call->links[call->link_count] = sentence->links[i];
        call->links[call->link_count++].source += at;
    }
    return CLF_OK;
}

static void take_sentence(int line, const struct clf_sentence *sentence, void *payload)
{
    struct call *call = payload;
    call->status = call->status == CLF_OK ? keep_sentence(call, line, sentence) : call->status;
}

/* Moves the elements of a text whose sentences begin at *next. */
static int move_elements(struct call *call, struct marked_text *marked, int text, const json_t *translation,
                         int *next)
{
    const json_t *source = json_array_get(call->array, (size_t)text);
    int first = *next < call->count ? call->sentences[*next].first_link : call->link_count, end = first;
    size_t at = 0;
    for (; *next < call->count && call->sentences[*next].text == text; (*next)++) {
        const struct sentence *sentence = &call->sentences[*next];
        size_t size = strlen(sentence->bytes), found = find_part(translation, at, sentence->bytes, size);
        end = *next + 1 < call->count ? sentence[1].first_link : call->link_count;
        for (int i = sentence->first_link; i < end; i++) {
            call->links[i].text += found;
        }
        at = found + size;
    }
    const struct clf__markup_pair pair = {.source = json_string_value(source),
                                          .source_size = json_string_length(source),
                                          .text = json_string_value(translation),
                                          .text_size = json_string_length(translation),
                                          .links = end > first ? call->links + first : NULL,
                                          .link_count = end - first};
    return marks_move(marked, &pair);
}

static clf_status move_all(struct call *call, struct marks *marks, const json_t *translations)
{
    int next = 0, text = 0;
    for (size_t i = 0; i < marks->count; i++) {
        if (marks->texts[i].count == 0) {
            continue;
        }
        if (!move_elements(call, &marks->texts[i], text, json_array_get(translations, (size_t)text), &next)) {
            return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for the markup of a request");
        }
        text++;
    }
    return CLF_OK;
}

static clf_status translate(json_t **out, struct call *call, const struct hop *hop)
{
    struct clf_translate_options options = hop->model->flags.translate;
    int layers = clf_model_describe(hop->model->first)->decoder_layers;
    struct clf_translator *translator;
    options.source_language = hop->source->model_code;
    options.target_language = hop->target->model_code;
    options.priority = texts_priority(call->array);
    options.alignment_layer = layers - (layers > 1); /* as `clformer translate --alignments` */
    options.sentence_translated = take_sentence;
    options.payload = call;
    CLF__TRY(clf_translator_create_shared(&translator, hop->model->engine, &options));
    clf_status status = texts_translate_by(out, call->array, translator);
    clf_translator_free(translator);
    return status == CLF_OK ? call->status : status;
}

clf_status marked_texts_translate(json_t **out, const json_t *array, const struct hop *hop,
                                  struct marks *marks)
{
    struct call call = {.array = array, .last = -1};
    *out = NULL;
    clf_status status = translate(out, &call, hop);
    if (status == CLF_OK) {
        status = move_all(&call, marks, *out);
    }
    for (int i = 0; i < call.count; i++) {
        clf__free(call.sentences[i].bytes);
    }
    clf__free(call.sentences);
    clf__free(call.links);
    if (status != CLF_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}
