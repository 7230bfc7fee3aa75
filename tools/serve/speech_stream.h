/* A transcript as server-sent events, one per segment. */
#ifndef CLF_TOOLS_SERVE_SPEECH_STREAM_H
#define CLF_TOOLS_SERVE_SPEECH_STREAM_H

#include "serve/openai_answers.h"

/* Set this callback of the task before it begins. */
void speech_stream_segment(const struct clf_segment *segment, void *user);
/* Answers with a response that runs the job, whose task has begun, in a thread of its own. Frees the job. */
struct answer speech_stream_answer(struct openai_job *job, struct MHD_Connection *connection);

#endif
