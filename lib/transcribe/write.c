/* Transcripts as text, subtitles, tables and JSON: byte for byte like openai/whisper's utils.py, except that
 * line breaks and arrows of the model start or end no cue or row. */
#include <clformer/transcriber.h>

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"
#include "base/options.h"
#include "text/speech.h"
#include "transcribe/cues.h"

enum { SHORT = 128 };

/* A growing text. */
struct text {
    char *bytes;
    size_t size, capacity;
};

static clf_status add_bytes(struct text *text, const char *bytes, size_t size)
{
    size_t needed = text->size + size + 1;
    CLF__TRY(clf__grow_to(&text->bytes, needed, &text->capacity, 1));
    if (size > 0) {
        memcpy(text->bytes + text->size, bytes, size);
    }
    text->size += size;
    text->bytes[text->size] = '\0';
    return CLF_OK;
}

static clf_status add(struct text *text, const char *string)
{
    return add_bytes(text, string, strlen(string));
}

/* At most SHORT bytes. */
static clf_status add_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static clf_status add_format(struct text *text, const char *format, ...)
{
    char bytes[SHORT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(bytes, sizeof bytes, format, arguments);
    va_end(arguments);
    return add(text, bytes);
}

/* A segment's text without white space around it. */
static clf_status add_stripped(struct text *text, const struct clf_segment *segment)
{
    size_t size;
    const char *bytes = clf__speech_strip(&size, segment->text);
    return add_bytes(text, bytes, size);
}

/* The same as one column of one row: tabs and line breaks become spaces. */
static clf_status add_column(struct text *text, const struct clf_segment *segment)
{
    size_t first = text->size;
    CLF__TRY(add_stripped(text, segment));
    for (size_t i = first; i < text->size; i++) {
        text->bytes[i] = text->bytes[i] == '\t' ? ' ' : text->bytes[i];
    }
    clf__line_breaks_remove(text->bytes + first);
    text->size = first + strlen(text->bytes + first);
    return CLF_OK;
}

static clf_status add_time(struct text *text, long long all, int is_srt)
{
    long long hours = all / 3600000;
    if (is_srt || hours > 0) {
        CLF__TRY(add_format(text, "%02lld:", hours));
    }
    return add_format(text, "%02lld:%02lld%c%03lld", all / 60000 % 60, all / 1000 % 60, is_srt ? ',' : '.',
                      all % 1000);
}

typedef clf_status writer(struct text *text, const struct clf_transcript *transcript,
                          const struct clf_transcript_options *options);

static clf_status write_text(struct text *text, const struct clf_transcript *transcript,
                             const struct clf_transcript_options *options)
{
    (void)options;
    for (int i = 0; i < transcript->count; i++) {
        CLF__TRY(add_stripped(text, &transcript->segments[i]));
        CLF__TRY(add(text, "\n"));
    }
    return CLF_OK;
}

static clf_status write_cues(struct text *text, const struct clf__cues *cues, int is_srt)
{
    for (int i = 0; i < cues->count; i++) {
        const struct clf__cue *cue = &cues->data[i];
        if (is_srt) {
            CLF__TRY(add_format(text, "%d\n", i + 1));
        }
        CLF__TRY(add_time(text, cue->start, is_srt));
        CLF__TRY(add(text, " --> "));
        CLF__TRY(add_time(text, cue->end, is_srt));
        CLF__TRY(add(text, "\n"));
        CLF__TRY(add(text, cue->text));
        CLF__TRY(add(text, "\n\n"));
    }
    return CLF_OK;
}

static clf_status write_subtitles(struct text *text, const struct clf_transcript *transcript,
                                  const struct clf_transcript_options *options, int is_srt)
{
    struct clf__cues cues;
    clf_status status = clf__cues_make(&cues, transcript, options);
    status = status == CLF_OK ? write_cues(text, &cues, is_srt) : status;
    clf__cues_free(&cues);
    return status;
}

static clf_status write_srt(struct text *text, const struct clf_transcript *transcript,
                            const struct clf_transcript_options *options)
{
    return write_subtitles(text, transcript, options, 1);
}

static clf_status write_vtt(struct text *text, const struct clf_transcript *transcript,
                            const struct clf_transcript_options *options)
{
    CLF__TRY(add(text, "WEBVTT\n\n"));
    return write_subtitles(text, transcript, options, 0);
}

static clf_status write_tsv(struct text *text, const struct clf_transcript *transcript,
                            const struct clf_transcript_options *options)
{
    (void)options;
    CLF__TRY(add(text, "start\tend\ttext\n"));
    for (int i = 0; i < transcript->count; i++) {
        const struct clf_segment *segment = &transcript->segments[i];
        CLF__TRY(add_format(text, "%lld\t%lld\t", clf__milliseconds(segment->start),
                            clf__milliseconds(segment->end)));
        CLF__TRY(add_column(text, segment));
        CLF__TRY(add(text, "\n"));
    }
    return CLF_OK;
}

/* A string as Python's json writes it. */
static clf_status add_string(struct text *text, const char *string)
{
    static const char short_escapes[] = "\"\"\\\\\nn\rr\tt\bb\ff"; /* a character, then its letter */
    const uint8_t *bytes = (const uint8_t *)string;
    int32_t size = (int32_t)strlen(string), at = 0;
    CLF__TRY(add(text, "\""));
    while (at < size) {
        UChar32 character;
        U8_NEXT(bytes, at, size, character);
        const char *escape = character > 0 && character < 128 ? strchr(short_escapes, character) : NULL;
        int is_pair = escape != NULL && (escape - short_escapes) % 2 == 0;
        if (is_pair) {
            CLF__TRY(add_format(text, "\\%c", escape[1]));
        } else if (character >= 0x10000) {
            CLF__TRY(add_format(text, "\\u%04x\\u%04x", (unsigned)U16_LEAD(character),
                                (unsigned)U16_TRAIL(character)));
        } else if (character < ' ' || character > '~') {
            CLF__TRY(add_format(text, "\\u%04x", (unsigned)(character < 0 ? 0xfffd : character)));
        } else {
            CLF__TRY(add_format(text, "%c", (char)character));
        }
    }
    return add(text, "\"");
}

/* The shortest decimal number that is this one, as Python writes it. */
static clf_status add_number(struct text *text, double number)
{
    char digits[SHORT];
    int precision = 1;
    if (!isfinite(number)) {
        return add(text, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    }
    do {
        snprintf(digits, sizeof digits, "%.*e", precision - 1, number);
    } while (precision++ < 17 && strtod(digits, NULL) != number);
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10), most = precision - 2;
    if (exponent >= -4 && exponent < 16) {
        snprintf(digits, sizeof digits, "%.*f", most > exponent ? most - exponent : 1, number);
    }
    for (char *at = digits; *at != '\0'; at++) { /* a locale may have a comma */
        *at = strchr("0123456789e+-", *at) != NULL ? *at : '.';
    }
    return add(text, digits);
}

static clf_status add_field(struct text *text, const char *name, double number)
{
    CLF__TRY(add_format(text, ", \"%s\": ", name));
    return add_number(text, number);
}

static clf_status add_words(struct text *text, const struct clf_segment *segment)
{
    CLF__TRY(add(text, ", \"words\": ["));
    for (int i = 0; i < segment->word_count; i++) {
        const struct clf_word *word = &segment->words[i];
        CLF__TRY(add(text, i > 0 ? ", {\"word\": " : "{\"word\": "));
        CLF__TRY(add_string(text, word->text));
        CLF__TRY(add_field(text, "start", word->start));
        CLF__TRY(add_field(text, "end", word->end));
        CLF__TRY(add_field(text, "probability", word->probability));
        CLF__TRY(add(text, "}"));
    }
    return add(text, "]");
}

static clf_status add_segment(struct text *text, const struct clf_segment *segment, int has_words)
{
    CLF__TRY(add_format(text, "{\"id\": %d, \"seek\": %lld", segment->id, (long long)segment->seek));
    CLF__TRY(add_field(text, "start", segment->start));
    CLF__TRY(add_field(text, "end", segment->end));
    CLF__TRY(add(text, ", \"text\": "));
    CLF__TRY(add_string(text, segment->text));
    CLF__TRY(add(text, ", \"tokens\": ["));
    for (int i = 0; i < segment->token_count; i++) {
        CLF__TRY(add_format(text, "%s%d", i > 0 ? ", " : "", segment->tokens[i]));
    }
    CLF__TRY(add(text, "]"));
    CLF__TRY(add_field(text, "temperature", segment->temperature));
    CLF__TRY(add_field(text, "avg_logprob", segment->avg_logprob));
    CLF__TRY(add_field(text, "compression_ratio", segment->compression_ratio));
    CLF__TRY(add_field(text, "no_speech_prob", segment->no_speech_prob));
    if (has_words) {
        CLF__TRY(add_words(text, segment));
    }
    return add(text, "}");
}

static clf_status write_json(struct text *text, const struct clf_transcript *transcript,
                             const struct clf_transcript_options *options)
{
    (void)options;
    CLF__TRY(add(text, "{\"text\": "));
    CLF__TRY(add_string(text, transcript->text));
    CLF__TRY(add(text, ", \"segments\": ["));
    for (int i = 0; i < transcript->count; i++) {
        CLF__TRY(add(text, i > 0 ? ", " : ""));
        CLF__TRY(add_segment(text, &transcript->segments[i], transcript->has_words));
    }
    CLF__TRY(add(text, "], \"language\": "));
    CLF__TRY(add_string(text, transcript->language));
    return add(text, "}");
}

void clf_transcript_options_init_sized(struct clf_transcript_options *options, size_t size)
{
    memset(options, 0, size);
    options->size = size;
}

static clf_status check_options(const struct clf_transcript_options *options,
                                const struct clf_transcript *transcript)
{
    const struct {
        const char *name;
        int value, most;
    } values[] = {
        {"highlighting of words", options->highlight_words, 1},
        {"width of lines", options->max_line_width, INT_MAX},
        {"count of lines", options->max_line_count, INT_MAX},
        {"count of words a line", options->max_words_per_line, INT_MAX},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i].value < 0 || values[i].value > values[i].most) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s is %d: must be 0 or more%s", values[i].name,
                             values[i].value, values[i].most == 1 ? ", 1 at most" : "");
        }
        if (values[i].value > 0 && !transcript->has_words) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "%s is for the times of words, which the transcript does not have",
                             values[i].name);
        }
    }
    return CLF_OK;
}

clf_status clf_transcript_write(char **out, const struct clf_transcript *transcript,
                                clf_transcript_format format, const struct clf_transcript_options *options)
{
    static writer *const writers[] = {
        [CLF_TRANSCRIPT_TEXT] = write_text, [CLF_TRANSCRIPT_SRT] = write_srt,
        [CLF_TRANSCRIPT_VTT] = write_vtt,   [CLF_TRANSCRIPT_TSV] = write_tsv,
        [CLF_TRANSCRIPT_JSON] = write_json,
    };
    struct text text = {0};
    struct clf_transcript_options own;
    *out = NULL;
    if ((unsigned)format >= sizeof writers / sizeof *writers) {
        return clf__fail(CLF_BAD_ARGUMENT, "format %d of a transcript is unknown", (int)format);
    }
    clf_transcript_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_transcript_options",
                               "clf_transcript_options_init()"));
    CLF__TRY(check_options(&own, transcript));
    clf_status status = add(&text, "");
    status = status == CLF_OK ? writers[format](&text, transcript, &own) : status;
    if (status != CLF_OK) {
        clf__free(text.bytes);
        return status;
    }
    *out = text.bytes;
    return CLF_OK;
}
