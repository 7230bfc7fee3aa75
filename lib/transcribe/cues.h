/* Subtitle cues: texts with start and end times (openai/whisper, utils.py). */
#ifndef CLF_TRANSCRIBE_CUES_H
#define CLF_TRANSCRIBE_CUES_H

#include <math.h>

#include <clformer/transcriber.h>

struct clf__cues {
    struct clf__cue {
        long long start, end; /* milliseconds */
        char *text;           /* owned */
    } * data;
    int count, capacity;
};

/* Rounds half to even. */
static inline long long clf__milliseconds(double seconds)
{
    return llrint(seconds * 1000.0);
}

/* Replaces each character that a subtitle parser may treat as a line break with a space. */
void clf__line_breaks_remove(char *text);

/* Makes one cue per segment or, for a transcript with words, cues laid out by the options. *out must be freed
 * after a failure too. */
clf_status clf__cues_make(struct clf__cues *out, const struct clf_transcript *transcript,
                          const struct clf_transcript_options *options);
void clf__cues_free(struct clf__cues *cues);

#endif
