/* Transcripts in the forms of OpenAI and whisper.cpp. Texts are freed by free(); NULL: out of memory. */
#ifndef CLF_TOOLS_SERVE_SPEECH_RESULTS_H
#define CLF_TOOLS_SERVE_SPEECH_RESULTS_H

#include <jansson.h>

#include <clformer/clformer.h>

/* Returns the text without surrounding white space, followed by `end`. */
char *speech_text(const struct clf_transcript *transcript, const char *end);
/* Returns SRT, or WebVTT whose times always have hours. */
char *speech_srt(const struct clf_transcript *transcript);
char *speech_vtt(const struct clf_transcript *transcript);
/* Returns a transcript in a format of the command. */
char *speech_format(const struct clf_transcript *transcript, clf_transcript_format format);

/* Returns {"id", "seek", "start", "end", "text", "tokens", ...}. */
json_t *speech_segment(const struct clf_segment *segment);
/* Adds {"word", "start", "end"}, and with_probability "probability", for each word to an array. */
void speech_words(json_t *array, const struct clf_segment *segment, int with_probability);
/* Returns compact JSON of a value, which is released. */
char *speech_json(json_t *value);

#endif
