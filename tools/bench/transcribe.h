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
    /* tokens in all segments of a call, or all generated tokens if the flags force their number */
    long long tokens;
    struct clf__failure failure;
};

/* Opens the recording call->work `batch` times. The flags may force the number of tokens per window. */
clf_status transcribe_case_prepare(struct transcribe_case *one, const struct bench_call *call,
                                   struct clf_model *model);
/* Transcribes the batch; the context is the case. */
clf_status transcribe_case_run(void *context);
void transcribe_case_release(struct transcribe_case *one);

#endif
