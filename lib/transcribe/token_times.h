/* Aligns the text tokens of an encoded window with its time, from the cross-attention heads in a decoder pass
 * over the text (openai/whisper, timing.py). */
#ifndef CLF_TRANSCRIBE_TOKEN_TIMES_H
#define CLF_TRANSCRIBE_TOKEN_TIMES_H

#include "engine/windows.h"
#include "model/config/types.h"
#include "text/tokenizers/speech.h"

/* The text and the tokens before it. */
struct clf__timed_text {
    const struct clf__config *config;
    const struct clf__speech_tokens *tokens;
    const struct clf__window_place *place;
    const int32_t *start; /* (start_count) the start token, and perhaps language and task */
    int start_count;
    const int32_t *ids; /* (count) text ids */
    int count;
    int columns; /* columns of the window to align with: rows of the encoder's output, 50 per second */
    int reach;   /* neighbours on either side in the median filter */
};

struct clf__token_times {
    int columns; /* at most the columns of the window */
    /* (count + 1) columns at which each text id, and the end after them, begin and end. */
    int *first, *last;
    float *log_probabilities; /* (count) of the text ids among all text ids */
};

/* Returns the number of decoder inputs, which the capacity of the window must include. */
static inline int clf__timed_text_inputs(int start_count, int count)
{
    return start_count + 1 + count + 1; /* no-timestamps and end token */
}

/* Computes the times. The caller frees *out even after a failure. */
clf_status clf__token_times_find(struct clf__token_times *out, const struct clf__timed_text *text);
void clf__token_times_free(struct clf__token_times *times);

#endif
