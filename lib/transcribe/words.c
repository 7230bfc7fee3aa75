/* Word timestamps of a window, from the cross-attention heads in a second decoder pass over the window's text
 * (openai/whisper, timing.py). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "text/tokenizers/speech_words.h"
#include "transcribe/alignment.h"
#include "transcribe/internal.h"

enum {
    HEADS_AT_A_TIME = 32,  /* heads whose attention is copied to the host at a time */
    RANGES = 2,            /* ranges per row: all text, and the row's own id */
    COLUMNS_A_SECOND = 50, /* rows per second in the encoder's output */
};

/* One pass over a window. */
struct pass {
    const struct clf_transcriber *transcriber;
    const struct clf__window_place *place;
    struct clf__ids inputs;
    int first; /* index of the last input before the text */
    int count; /* number of text ids */
    int columns;
    struct clf__session_head *heads;
    int head_count;
    float *weights; /* (HEADS_AT_A_TIME, inputs, rows of a source) */
    float *matrix;  /* (inputs, columns) */
    int *times;     /* (count + 1) columns at which the text ids begin, and the end column */
    float *chances; /* (count) log-probabilities among text ids */
};

static clf_status make_inputs(struct pass *pass, int32_t language, const int32_t *ids)
{
    const struct clf_transcriber *transcriber = pass->transcriber;
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    struct clf__ids *inputs = &pass->inputs;
    CLF__TRY(clf__append_start(inputs, transcriber, language));
    pass->first = inputs->count;
    CLF__TRY(clf__ids_append(inputs, tokens->no_timestamps));
    for (int i = 0; i < pass->count; i++) {
        CLF__TRY(clf__ids_append(inputs, ids[i]));
    }
    return clf__ids_append(inputs, tokens->end);
}

/* Selects the alignment heads that the model names, else all heads of the second half of its layers. */
static clf_status choose_heads(struct pass *pass)
{
    const struct clf__config *config = &pass->transcriber->model->transformer->config;
    int first = config->decoder_layers / 2, each = config->decoder_heads;
    int named = config->word_head_count;
    pass->head_count = named > 0 ? named : (config->decoder_layers - first) * each;
    CLF__TRY(clf__allocate(&pass->heads, (size_t)pass->head_count, sizeof *pass->heads));
    for (int i = 0; i < pass->head_count; i++) {
        pass->heads[i].layer = named > 0 ? config->word_heads[i].layer : first + i / each;
        pass->heads[i].head = named > 0 ? config->word_heads[i].head : i % each;
    }
    return CLF_OK;
}

static clf_status sum_heads(struct pass *pass)
{
    struct clf__session *session = pass->place->session;
    int rows = pass->inputs.count, stride = clf__session_source_rows(session, CLF__WINDOW_FRAMES);
    int most = clf__min_int(HEADS_AT_A_TIME, pass->head_count);
    size_t each = (size_t)rows * (size_t)stride;
    CLF__TRY(clf__allocate(&pass->weights, (size_t)most * each, sizeof *pass->weights));
    CLF__TRY(clf__allocate(&pass->matrix, (size_t)rows * (size_t)pass->columns, sizeof *pass->matrix));
    for (int first = 0; first < pass->head_count; first += most) {
        int count = clf__min_int(most, pass->head_count - first);
        CLF__TRY(clf__session_align(session, pass->place->slot, pass->inputs.data, rows, pass->heads + first,
                                    count, pass->weights));
        for (int i = 0; i < count; i++) {
            clf__alignment_add_head(pass->matrix, pass->weights + (size_t)i * each, rows, stride,
                                    pass->columns);
        }
    }
    size_t size = (size_t)rows * (size_t)pass->columns;
    for (size_t i = 0; i < size; i++) {
        pass->matrix[i] /= (float)pass->head_count;
    }
    return CLF_OK;
}

/* Computes the probability of each text id among all text ids. */
static clf_status look_at_text(struct pass *pass, const int32_t *ids)
{
    int rows = pass->inputs.count;
    int32_t *ranges, end = pass->transcriber->tokens.end;
    float *statistics;
    CLF__TRY(clf__allocate(&pass->chances, (size_t)pass->count, sizeof *pass->chances));
    CLF__TRY(clf__allocate(&ranges, (size_t)rows * RANGES * 2, sizeof *ranges));
    clf_status status = clf__allocate(&statistics, (size_t)rows * RANGES * 2, sizeof *statistics);
    if (status != CLF_OK) {
        clf__free(ranges);
        return status;
    }
    for (int r = 0; r < rows; r++) {
        int at = r - pass->first;
        int32_t id = at >= 0 && at < pass->count ? ids[at] : 0;
        memcpy(ranges + (size_t)r * RANGES * 2, (int32_t[]){0, end, id, id + 1}, RANGES * 2 * sizeof *ranges);
    }
    status = clf__session_look(pass->place->session, ranges, RANGES, statistics);
    for (int i = 0; i < pass->count && status == CLF_OK; i++) {
        const float *found = statistics + (size_t)(pass->first + i) * RANGES * 2;
        pass->chances[i] = found[2] - (found[0] + found[1]);
    }
    clf__free(ranges);
    clf__free(statistics);
    return status;
}

static clf_status listen(struct pass *pass, int32_t language, const int32_t *ids)
{
    CLF__TRY(make_inputs(pass, language, ids));
    CLF__TRY(choose_heads(pass));
    CLF__TRY(sum_heads(pass));
    CLF__TRY(look_at_text(pass, ids));
    CLF__TRY(clf__allocate(&pass->times, (size_t)pass->count + 1, sizeof *pass->times));
    return clf__alignment_warp(pass->times, pass->matrix + (size_t)pass->first * (size_t)pass->columns,
                               pass->count + 1, pass->columns);
}

/* A word begins with its first id and ends at the start of the next word. Takes ownership of the words'
 * texts. */
static clf_status time_words(struct clf__timed_words *out, const struct pass *pass,
                             struct clf__speech_words *words)
{
    CLF__TRY(clf__allocate(&out->data, (size_t)words->count, sizeof *out->data));
    for (int i = 0, at = 0; i < words->count; i++) {
        struct clf__speech_word *word = &words->data[i];
        double sum = 0.0;
        for (int k = at; k < at + word->ids; k++) {
            sum += exp((double)pass->chances[k]);
        }
        out->data[i] = (struct clf__timed_word){
            .text = word->text,
            .ids = word->ids,
            .start = (double)pass->times[at] / COLUMNS_A_SECOND,
            .end = (double)pass->times[at + word->ids] / COLUMNS_A_SECOND,
            .probability = sum / word->ids,
        };
        at += word->ids;
        word->text = NULL;
        out->count++;
    }
    return CLF_OK;
}

clf_status clf__window_words(struct clf__timed_words *out, const struct clf_transcriber *transcriber,
                             const struct clf__window_place *place, int32_t language, const char *code,
                             const int32_t *ids, int count, int frames)
{
    *out = (struct clf__timed_words){0};
    if (count == 0) {
        return CLF_OK;
    }
    struct pass pass = {.transcriber = transcriber,
                        .place = place,
                        .count = count,
                        .columns = frames / CLF__FRAMES_A_TIMESTAMP};
    struct clf__speech_words words = {0};
    clf_status status = listen(&pass, language, ids);
    if (status == CLF_OK) {
        status = clf__speech_words_split(&words, &transcriber->tokens, transcriber->model->tokenizer, ids,
                                         count, clf__speech_is_spaceless(code));
    }
    if (status == CLF_OK) {
        status = time_words(out, &pass, &words);
    }
    clf__speech_words_free(&words);
    clf__ids_free(&pass.inputs);
    clf__free(pass.heads);
    clf__free(pass.weights);
    clf__free(pass.matrix);
    clf__free(pass.times);
    clf__free(pass.chances);
    return status;
}
