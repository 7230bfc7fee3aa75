#include "serve/openai_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve/speech_results.h"
#include "shared/results.h"

json_t *openai_usage(const struct speech_task *task)
{
    return json_pack("{s:s, s:I}", "type", "duration", "seconds", (json_int_t)ceil(task->seconds));
}

/* Returns the text without surrounding white space. */
static json_t *stripped(const struct clf_transcript *transcript)
{
    char *text = speech_text(transcript, "");
    json_t *value = text != NULL ? result_text(text, strlen(text)) : NULL;
    free(text);
    return value;
}

static json_t *verbose(const struct openai_job *job, const struct clf_transcript *transcript)
{
    const char *language = job->translates ? "english" : speech_language_name(transcript->language);
    json_t *object =
        json_pack("{s:s, s:s, s:f, s:o}", "task", job->translates ? "translate" : "transcribe", "language",
                  language, "duration", job->task.seconds, "text", stripped(transcript));
    json_t *words = json_array(), *segments = json_array();
    for (int i = 0; i < transcript->count; i++) {
        speech_words(words, &transcript->segments[i], 0);
        json_array_append_new(segments, speech_segment(&transcript->segments[i]));
    }
    if (job->has_words) {
        json_object_set(object, "words", words);
    }
    if (job->has_segments) {
        json_object_set(object, "segments", segments);
    }
    json_decref(words);
    json_decref(segments);
    json_object_set_new(object, "usage", openai_usage(&job->task));
    return object;
}

struct answer openai_answer(const struct openai_job *job, const struct clf_transcript *transcript)
{
    struct answer answer = {.status = 200};
    switch (job->format) {
    case OPENAI_TEXT:
        answer.text = speech_text(transcript, "\n");
        answer.type = "text/plain; charset=utf-8";
        break;
    case OPENAI_SRT:
        answer.text = speech_srt(transcript);
        answer.type = "text/plain; charset=utf-8";
        break;
    case OPENAI_VTT:
        answer.text = speech_vtt(transcript);
        answer.type = "text/vtt; charset=utf-8";
        break;
    case OPENAI_VERBOSE_JSON:
        answer.text = speech_json(verbose(job, transcript));
        break;
    case OPENAI_JSON:
        answer.text = speech_json(
            json_pack("{s:o, s:o}", "text", stripped(transcript), "usage", openai_usage(&job->task)));
        break;
    }
    return answer;
}
