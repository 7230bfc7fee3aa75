/* The parts of a recording that are decoded: with voice activity detection, speech; with windows side by
 * side, parts of at most 30 s that do not depend on each other. */
#ifndef CLF_TRANSCRIBE_PLAN_H
#define CLF_TRANSCRIBE_PLAN_H

#include "audio/vad/speech.h"
#include "transcribe/internal.h"

struct clf__plan {
    struct clf__spans spans; /* in samples, multiples of CLF__FRAME_SAMPLES, in the order of decoding */
    struct clf__part {
        int first, count; /* index of the first span; number of spans */
    } * parts;            /* (count) at least one, which may be empty */
    int count, capacity;
    int64_t frames; /* number of whole frames of the recording */
};

/* Returns 1 if recordings need a plan. */
static inline int clf__plan_is_needed(const struct clf_transcribe_options *options)
{
    return options->vad || options->batch_windows > 0;
}

/* Reads a recording and plans its parts; sequential decoding has one part. The caller frees the plan even
 * after a failure. */
clf_status clf__plan_make(struct clf__plan *out, const struct clf_transcriber *transcriber,
                          struct clf_audio *audio, const struct clf_translate_options *hooks);
void clf__plan_free(struct clf__plan *plan);

/* Returns the rules for finding speech; silence_ms: the default of vad_min_silence_duration_ms. */
struct clf__speech_rules clf__plan_speech_rules(const struct clf_transcribe_options *options,
                                                double silence_ms);

/* Returns CLF_BAD_ARGUMENT if the options of voice activity detection are out of range. */
clf_status clf__plan_check(const struct clf_transcribe_options *options);

#endif
