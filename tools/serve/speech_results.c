#include "serve/speech_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/results.h"
#include "text/tokenizers/speech.h"

enum { DIGITS = 12 }; /* of numbers: 0.6 instead of 0.59999999999999998 */

char *speech_text(const struct clf_transcript *transcript, const char *end)
{
    size_t size;
    const char *text = clf__speech_strip(&size, transcript->text);
    size_t room = size + strlen(end) + 1;
    char *out = malloc(room);
    if (out != NULL) {
        snprintf(out, room, "%.*s%s", (int)size, text, end);
    }
    return out;
}

char *speech_format(const struct clf_transcript *transcript, clf_transcript_format format)
{
    char *text;
    if (clf_transcript_write(&text, transcript, format, NULL) != CLF_OK) {
        return NULL;
    }
    char *out = strdup(text); /* the library may have another allocator */
    clf_string_free(text);
    return out;
}

char *speech_srt(const struct clf_transcript *transcript)
{
    return speech_format(transcript, CLF_TRANSCRIPT_SRT);
}

/* Writes the times of a cue, with hours where they lack them. */
static void write_times(FILE *file, const char *line, size_t size)
{
    static const char arrow[] = " --> ";
    const char *end = strstr(line, arrow);
    size_t first = (size_t)(end - line), second = size - first - strlen(arrow);
    const char *other = end + strlen(arrow);
    enum { WITHOUT_HOURS = sizeof "00:00.000" - 1 };
    fprintf(file, "%s%.*s%s%s%.*s\n", first == WITHOUT_HOURS ? "00:" : "", (int)first, line, arrow,
            second == WITHOUT_HOURS ? "00:" : "", (int)second, other);
}

char *speech_vtt(const struct clf_transcript *transcript)
{
    char *text = speech_format(transcript, CLF_TRANSCRIPT_VTT), *out = NULL;
    size_t out_size = 0;
    FILE *file = text != NULL ? open_memstream(&out, &out_size) : NULL;
    if (file == NULL) {
        free(text);
        return NULL;
    }
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (strstr(line, " --> ") != NULL) { /* never in the text of a cue, see clf_transcript_write() */
            write_times(file, line, (size_t)(end - line));
        } else {
            fprintf(file, "%s\n", line);
        }
    }
    free(text);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        free(out);
        return NULL;
    }
    return out;
}

json_t *speech_segment(const struct clf_segment *segment)
{
    return json_pack("{s:i, s:I, s:f, s:f, s:o, s:o, s:f, s:f, s:o, s:f}", "id", segment->id, "seek",
                     (json_int_t)segment->seek, "start", segment->start, "end", segment->end, "text",
                     result_text(segment->text, strlen(segment->text)), "tokens",
                     result_ids(segment->tokens, segment->token_count), "temperature", segment->temperature,
                     "avg_logprob", segment->avg_logprob, "compression_ratio",
                     result_number(segment->compression_ratio), "no_speech_prob", segment->no_speech_prob);
}

void speech_words(json_t *array, const struct clf_segment *segment, int with_probability)
{
    for (int i = 0; i < segment->word_count; i++) {
        const struct clf_word *word = &segment->words[i];
        json_t *object = json_pack("{s:o, s:f, s:f}", "word", result_text(word->text, strlen(word->text)),
                                   "start", word->start, "end", word->end);
        if (with_probability) {
            json_object_set_new(object, "probability", result_number(word->probability));
        }
        json_array_append_new(array, object);
    }
}

char *speech_json(json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(value);
    return text;
}
