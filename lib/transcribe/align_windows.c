/* Aligns given texts with encoded windows, and computes the probabilities of their languages: single passes
 * of the decoder. */
#include <math.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "transcribe/alignment.h"
#include "transcribe/encoded.h"
#include "transcribe/internal.h"
#include "transcribe/token_times.h"

/* --- Languages. --- */

struct detection {
    const struct clf_windows *windows;
    const int32_t *languages; /* (count) */
    int count;
    float *probabilities; /* (count) */
};

/* Computes the softmax over the languages. */
static clf_status compare(struct detection *detection, const float *logits)
{
    double highest = -INFINITY, sum = 0;
    for (int i = 0; i < detection->count; i++) {
        highest = fmax(highest, (double)logits[detection->languages[i]]);
    }
    for (int i = 0; i < detection->count; i++) {
        sum += exp((double)logits[detection->languages[i]] - highest);
    }
    if (!isfinite(sum)) {
        return clf__model_fail_not_finite(detection->windows->model);
    }
    for (int i = 0; i < detection->count; i++) {
        detection->probabilities[i] = (float)(exp((double)logits[detection->languages[i]] - highest) / sum);
    }
    return CLF_OK;
}

static clf_status detect(void *context, const struct clf__window_place *place)
{
    struct detection *detection = context;
    const struct clf__session_head none = {0, 0};
    float *logits;
    CLF__TRY(clf__session_align(place->session, place->slot, &detection->windows->tokens.start, 1, &none, 0,
                                NULL));
    CLF__TRY(clf__allocate(&logits, (size_t)clf__windows_config(detection->windows)->target_vocabulary,
                           sizeof *logits));
    clf_status status = clf__session_logits(place->session, 0, 1, logits);
    status = status == CLF_OK ? compare(detection, logits) : status;
    clf__free(logits);
    return status;
}

static const struct clf__window_kind detection_kind = {.leave = detect};

clf_status clf_windows_languages(float *probabilities, struct clf_windows *windows, const int32_t *languages,
                                 int count)
{
    struct clf__window_capacity capacity = clf__windows_usual_capacity(clf__windows_config(windows));
    struct detection *each;
    if (count < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "languages: the count is %d; pass 1 or more", count);
    }
    CLF__TRY(clf__windows_check_ids(windows, languages, count, "languages", 0));
    CLF__TRY(clf__allocate(&each, (size_t)windows->count, sizeof *each));
    for (int i = 0; i < windows->count; i++) {
        each[i] = (struct detection){windows, languages, count, probabilities + (size_t)i * (size_t)count};
    }
    clf_status status = clf__windows_run_all(windows, &detection_kind, &capacity, 0, each, sizeof *each);
    clf__free(each);
    return status;
}

/* --- Alignments. --- */

struct alignment {
    const struct clf_windows *windows;
    struct clf__timed_text text;
    struct clf_window_alignment *result;
};

/* Lists the positions of each token's row of the path. */
static clf_status list_path(struct clf_window_alignment *out, const struct clf__token_times *times, int rows)
{
    int count = 0;
    for (int r = 0; r < rows; r++) {
        count += times->last[r] - times->first[r] + 1;
    }
    CLF__TRY(clf__allocate(&out->tokens, (size_t)count, sizeof *out->tokens));
    CLF__TRY(clf__allocate(&out->positions, (size_t)count, sizeof *out->positions));
    for (int r = 0; r < rows; r++) {
        for (int c = times->first[r]; c <= times->last[r]; c++) {
            out->tokens[out->count] = r;
            out->positions[out->count++] = c;
        }
    }
    return CLF_OK;
}

static clf_status write(struct clf_window_alignment *out, const struct clf__token_times *times, int count)
{
    CLF__TRY(clf__allocate(&out->probabilities, (size_t)count, sizeof *out->probabilities));
    for (int i = 0; i < count; i++) {
        out->probabilities[i] = expf(times->log_probabilities[i]);
    }
    out->probability_count = count;
    return times->columns > 0 ? list_path(out, times, count + 1) : CLF_OK;
}

static clf_status align(void *context, const struct clf__window_place *place)
{
    struct alignment *alignment = context;
    struct clf__token_times times;
    alignment->text.place = place;
    clf_status status = clf__token_times_find(&times, &alignment->text);
    status = status == CLF_OK ? write(alignment->result, &times, alignment->text.count) : status;
    clf__token_times_free(&times);
    return status;
}

static const struct clf__window_kind alignment_kind = {.leave = align};

static clf_status check_text(const struct clf_windows *windows, const struct clf_ids *start,
                             const struct clf_ids *text, int frames, int index)
{
    int inputs = clf__timed_text_inputs(start->count, text->count);
    int positions = clf__windows_config(windows)->decoder_max_positions;
    CLF__TRY(clf__windows_check_ids(windows, text->ids, text->count, "text", index));
    if (frames < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "frames of window %d: %d is negative; use 0 or more", index,
                         frames);
    }
    return inputs <= positions ? CLF_OK
                               : clf__fail(CLF_TEXT,
                                           "text %d: has %d tokens with those around it, but the model has "
                                           "%d positions; align a shorter text",
                                           index, inputs, positions);
}

static clf_status align_all(struct clf_windows *windows, struct alignment *each, const struct clf_ids *start,
                            const struct clf_ids *texts, const int *frames, int median_width)
{
    struct clf__window_capacity capacity = clf__windows_usual_capacity(clf__windows_config(windows));
    for (int i = 0; i < windows->count; i++) {
        CLF__TRY(check_text(windows, start, &texts[i], frames[i], i));
        each[i].windows = windows;
        each[i].text = (struct clf__timed_text){.config = clf__windows_config(windows),
                                                .tokens = &windows->tokens,
                                                .start = start->ids,
                                                .start_count = start->count,
                                                .ids = texts[i].ids,
                                                .count = texts[i].count,
                                                .columns = frames[i] / CLF__FRAMES_A_TIMESTAMP,
                                                .reach = median_width / 2};
        capacity.inputs = clf__max_int(capacity.inputs, clf__timed_text_inputs(start->count, texts[i].count));
    }
    return clf__windows_run_all(windows, &alignment_kind, &capacity, 0, each, sizeof *each);
}

clf_status clf_windows_align(struct clf_window_alignment **out, struct clf_windows *windows,
                             const struct clf_ids *start, const struct clf_ids *texts, const int *frames,
                             int median_width)
{
    enum { MOST_WIDTH = CLF__WINDOW_FRAMES };
    struct clf_window_alignment *results;
    struct alignment *each = NULL;
    *out = NULL;
    if (median_width < 1 || median_width > MOST_WIDTH) {
        return clf__fail(CLF_BAD_ARGUMENT, "median width: %d is out of range; use 1 to %d", median_width,
                         MOST_WIDTH);
    }
    CLF__TRY(clf__windows_check_ids(windows, start->ids, start->count, "start", 0));
    CLF__TRY(clf__allocate(&results, (size_t)windows->count, sizeof *results));
    clf_status status = clf__allocate(&each, (size_t)windows->count, sizeof *each);
    for (int i = 0; i < windows->count && status == CLF_OK; i++) {
        each[i].result = &results[i];
    }
    status = status == CLF_OK ? align_all(windows, each, start, texts, frames, median_width) : status;
    clf__free(each);
    if (status != CLF_OK) {
        clf_window_alignments_free(results, windows->count);
        return status;
    }
    *out = results;
    return CLF_OK;
}

void clf_window_alignments_free(struct clf_window_alignment *alignments, int count)
{
    for (int i = 0; alignments != NULL && i < count; i++) {
        clf__free(alignments[i].tokens);
        clf__free(alignments[i].positions);
        clf__free(alignments[i].probabilities);
    }
    clf__free(alignments);
}
