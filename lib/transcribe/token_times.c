#include "transcribe/token_times.h"

#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "transcribe/alignment.h"

enum {
    HEADS_AT_A_TIME = 32, /* heads whose attention is copied to the host at a time */
    RANGES = 2,           /* ranges per row: all text, and the row's own id */
};

/* One pass over a window. */
struct pass {
    const struct clf__timed_text *text;
    struct clf__token_times *times;
    struct clf__ids inputs;
    struct clf__session_head *heads;
    int head_count;
    float *weights; /* (HEADS_AT_A_TIME, inputs, rows of a source) */
    float *matrix;  /* (inputs, columns) */
};

static clf_status make_inputs(struct pass *pass)
{
    const struct clf__timed_text *text = pass->text;
    struct clf__ids *inputs = &pass->inputs;
    for (int i = 0; i < text->start_count; i++) {
        CLF__TRY(clf__ids_append(inputs, text->start[i]));
    }
    CLF__TRY(clf__ids_append(inputs, text->tokens->no_timestamps));
    for (int i = 0; i < text->count; i++) {
        CLF__TRY(clf__ids_append(inputs, text->ids[i]));
    }
    return clf__ids_append(inputs, text->tokens->end);
}

/* Selects the alignment heads that the model names, or else all heads in the second half of the layers. */
static clf_status choose_heads(struct pass *pass)
{
    const struct clf__config *config = pass->text->config;
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
    struct clf__session *session = pass->text->place->session;
    int slot = pass->text->place->slot, columns = pass->times->columns;
    int rows = pass->inputs.count, stride = clf__session_slot_rows(session, slot);
    int most = clf__min_int(HEADS_AT_A_TIME, pass->head_count);
    size_t each = (size_t)rows * (size_t)stride;
    CLF__TRY(clf__allocate(&pass->weights, (size_t)most * each, sizeof *pass->weights));
    CLF__TRY(clf__allocate(&pass->matrix, (size_t)rows * (size_t)columns, sizeof *pass->matrix));
    for (int first = 0; first < pass->head_count; first += most) {
        int count = clf__min_int(most, pass->head_count - first);
        CLF__TRY(clf__session_align(session, slot, pass->inputs.data, rows, pass->heads + first, count,
                                    pass->weights));
        for (int i = 0; i < count; i++) {
            CLF__TRY(clf__alignment_add_head(pass->matrix, pass->weights + (size_t)i * each, rows, stride,
                                             columns, pass->text->reach));
        }
    }
    size_t size = (size_t)rows * (size_t)columns;
    for (size_t i = 0; i < size; i++) {
        pass->matrix[i] /= (float)pass->head_count;
    }
    return CLF_OK;
}

/* Computes the probability of each text id among all text ids. */
static clf_status look_at_text(struct pass *pass)
{
    const struct clf__timed_text *text = pass->text;
    int rows = pass->inputs.count, before = text->start_count;
    int32_t *ranges, end = text->tokens->end;
    float *statistics;
    CLF__TRY(clf__allocate(&pass->times->log_probabilities, (size_t)text->count,
                           sizeof *pass->times->log_probabilities));
    CLF__TRY(clf__allocate(&ranges, (size_t)rows * RANGES * 2, sizeof *ranges));
    clf_status status = clf__allocate(&statistics, (size_t)rows * RANGES * 2, sizeof *statistics);
    if (status != CLF_OK) {
        clf__free(ranges);
        return status;
    }
    for (int r = 0; r < rows; r++) {
        int at = r - before;
        int32_t id = at >= 0 && at < text->count ? text->ids[at] : 0;
        memcpy(ranges + (size_t)r * RANGES * 2, (int32_t[]){0, end, id, id + 1}, RANGES * 2 * sizeof *ranges);
    }
    status = clf__session_look(text->place->session, ranges, RANGES, statistics);
    for (int i = 0; i < text->count && status == CLF_OK; i++) {
        const float *found = statistics + (size_t)(before + i) * RANGES * 2;
        pass->times->log_probabilities[i] = found[2] - (found[0] + found[1]);
    }
    clf__free(ranges);
    clf__free(statistics);
    return status;
}

static clf_status find(struct pass *pass)
{
    const struct clf__timed_text *text = pass->text;
    struct clf__token_times *times = pass->times;
    size_t rows = (size_t)text->count + 1;
    CLF__TRY(make_inputs(pass));
    CLF__TRY(choose_heads(pass));
    CLF__TRY(sum_heads(pass));
    CLF__TRY(look_at_text(pass));
    CLF__TRY(clf__allocate(&times->first, rows, sizeof *times->first));
    CLF__TRY(clf__allocate(&times->last, rows, sizeof *times->last));
    return clf__alignment_warp(times->first, times->last,
                               pass->matrix + (size_t)text->start_count * (size_t)times->columns,
                               text->count + 1, times->columns);
}

clf_status clf__token_times_find(struct clf__token_times *out, const struct clf__timed_text *text)
{
    const struct clf__window_place *place = text->place;
    struct pass pass = {.text = text, .times = out};
    *out = (struct clf__token_times){
        .columns = clf__min_int(text->columns, clf__session_slot_rows(place->session, place->slot))};
    clf_status status = find(&pass);
    clf__ids_free(&pass.inputs);
    clf__free(pass.heads);
    clf__free(pass.weights);
    clf__free(pass.matrix);
    return status;
}

void clf__token_times_free(struct clf__token_times *times)
{
    clf__free(times->first);
    clf__free(times->last);
    clf__free(times->log_probabilities);
}
