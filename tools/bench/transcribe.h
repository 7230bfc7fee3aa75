/* A batch of copies of a recording, which bench transcribes. */
#ifndef CLF_TOOLS_BENCH_TRANSCRIBE_H
#define CLF_TOOLS_BENCH_TRANSCRIBE_H

#include <clformer/transcriber.h>

#include "base/status.h"
#include "bench/bench.h"

struct transcribe_case {
    int batch, beam;
    struct clf_transcriber *transcriber;
    struct clf_audio **audios; /* (batch) */
    long long tokens; /* tokens of all segments of a call, or generated tokens if their number is forced */
    struct clf__failure failure;
};

/* Opens the recording call->work `batch` times. The flags may force the number of tokens per window. */
clf_status transcribe_case_prepare(struct transcribe_case *one, const struct bench_call *call,
                                   struct clf_model *model);
/* Transcribes the batch; the context is the case. */
clf_status transcribe_case_run(void *context);
void transcribe_case_release(struct transcribe_case *one);

#endif
