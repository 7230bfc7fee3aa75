/* A request to OpenAI's endpoints for speech, and its answer. */
#ifndef CLF_TOOLS_SERVE_OPENAI_ANSWERS_H
#define CLF_TOOLS_SERVE_OPENAI_ANSWERS_H

#include <jansson.h>

#include "serve/endpoints.h"
#include "serve/speech.h"
#include "serve/upload.h"

enum openai_format { OPENAI_JSON, OPENAI_TEXT, OPENAI_SRT, OPENAI_VERBOSE_JSON, OPENAI_VTT };

struct openai_job {
    struct upload *upload; /* owned; options of the task point into it */
    struct speech_task task;
    enum openai_format format;
    int translates, streams;
    int has_words, has_segments; /* in verbose_json */
};

void openai_job_free(struct openai_job *job);
/* Returns 1 for true, 1, yes, y and on. */
int openai_is_true(const char *text);
/* Answers with a transcript in the requested format. */
struct answer openai_answer(const struct openai_job *job, const struct clf_transcript *transcript);
/* Returns {"type": "duration", "seconds"}. */
json_t *openai_usage(const struct speech_task *task);

#endif
