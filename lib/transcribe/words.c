/* Word timestamps of a window, in a second decoder pass over the window's text. */
#include <math.h>

#include "base/memory.h"
#include "text/tokenizers/speech_words.h"
#include "transcribe/alignment.h"
#include "transcribe/internal.h"
#include "transcribe/token_times.h"

enum { COLUMNS_A_SECOND = 50 }; /* rows per second in the encoder's output */

/* A word begins with its first id and ends at the start of the next word. Takes ownership of the words'
 * texts. */
static clf_status time_words(struct clf__timed_words *out, const struct clf__token_times *times,
                             struct clf__speech_words *words)
{
    CLF__TRY(clf__allocate(&out->data, (size_t)words->count, sizeof *out->data));
    for (int i = 0, at = 0; i < words->count; i++) {
        struct clf__speech_word *word = &words->data[i];
        double sum = 0.0;
        for (int k = at; k < at + word->ids; k++) {
            sum += exp((double)times->log_probabilities[k]);
        }
        out->data[i] = (struct clf__timed_word){
            .text = word->text,
            .ids = word->ids,
            .start = (double)times->first[at] / COLUMNS_A_SECOND,
            .end = (double)times->first[at + word->ids] / COLUMNS_A_SECOND,
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
    const struct clf__config *config = &transcriber->model->transformer->config;
    struct clf__ids start = {.count = 0};
    struct clf__token_times times = {.columns = 0};
    struct clf__speech_words words = {0};
    clf_status status = clf__append_start(&start, transcriber, language);
    if (status == CLF_OK) {
        const struct clf__timed_text text = {.config = config,
                                             .tokens = &transcriber->tokens,
                                             .place = place,
                                             .start = start.data,
                                             .start_count = start.count,
                                             .ids = ids,
                                             .count = count,
                                             .columns = frames / CLF__FRAMES_A_TIMESTAMP,
                                             .reach = CLF__MEDIAN_REACH};
        status = clf__token_times_find(&times, &text);
    }
    if (status == CLF_OK) {
        status = clf__speech_words_split(&words, &transcriber->tokens, transcriber->model->tokenizer, ids,
                                         count, clf__speech_is_spaceless(code));
    }
    if (status == CLF_OK) {
        status = time_words(out, &times, &words);
    }
    clf__speech_words_free(&words);
    clf__ids_free(&start);
    clf__token_times_free(&times);
    return status;
}
