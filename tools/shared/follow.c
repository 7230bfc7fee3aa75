#include "shared/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/live_reader.h"
#include "base/memory.h"
#include "shared/recordings.h"
#include "shared/results.h"
#include "text/tokenizers/speech.h"
#include "transcribe/cues.h"

enum { BLOCK = 4096 }; /* samples */

struct follow {
    const struct flags *flags;
    struct clf__live_reader *reader;
    int is_inside; /* text was printed on the current line */
    int cues;      /* number of printed segments */
};

int follow_check(const struct flags *flags)
{
    const struct clf_transcript_options *subtitles = &flags->subtitles;
    int is_laid_out = subtitles->highlight_words || subtitles->max_line_width > 0 ||
                      subtitles->max_line_count > 0 || subtitles->max_words_per_line > 0;
    const struct {
        int is_given;
        const char *problem;
    } useless[] = {
        {flags->output != NULL, "--output: has no effect with --follow; redirect standard output instead"},
        {flags->format == RECORDINGS_ALL_FORMATS,
         "--format all: cannot be combined with --follow; choose one "
         "format"},
        {is_laid_out, "--follow: prints a subtitle per segment; remove the flags that lay out subtitles"},
        {flags->clips != NULL, "--clip: has no effect with --follow; remove it"},
        {flags->timestamps == 0, "--timestamps none: cannot be combined with --follow; remove it"},
        {flags->prefix != NULL, "--prefix: has no effect with --follow; remove it"},
        {flags->batch >= 0 || flags->batch_windows >= 0,
         "--batch and --batch-windows: have no effect with --follow; remove them"},
        {flags->unstable && flags->format != CLF_TRANSCRIPT_JSON, "--unstable: requires --format json; add "
                                                                  "it"},
    };
    if (!flags->follow) {
        return flags->unstable || !isnan(flags->step)
                   ? report_wrong_call("--step and --unstable: require --follow; add it")
                   : -1;
    }
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
        if (useless[i].is_given) {
            return report_wrong_call("%s", useless[i].problem);
        }
    }
    return -1;
}

/* Polled by the library: the writer of a pipe must not wait while the device works. */
static int is_interrupted(void *user)
{
    const struct follow *follow = user;
    if (follow->reader != NULL) {
        clf__live_reader_store(follow->reader);
    }
    return recordings_interrupted(NULL);
}

int follow_open(struct follow **out, const struct flags *flags, struct clf_transcribe_options *options)
{
    struct follow *follow = *out = calloc(1, sizeof *follow);
    if (follow == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    follow->flags = flags;
    options->interrupted = is_interrupted;
    options->payload = follow;
    const char *path = flags->operand_count > 0 ? flags->operands[0] : "-";
    clf_status status = clf__live_reader_open(
        &follow->reader, path, flags->raw_rate >= 0 ? flags->raw_rate : 0, is_interrupted, follow);
    if (status == CLF_INTERRUPTED) {
        return EXIT_FAILED;
    }
    return status == CLF_OK ? -1 : report_failure(status);
}

void follow_close(struct follow *follow)
{
    if (follow != NULL) {
        clf__live_reader_free(follow->reader);
        free(follow);
    }
}

/* Prints words as soon as they are final, and a line per segment. */
static clf_status print_text(struct follow *follow, const struct clf_live_event *event)
{
    char *text;
    size_t size;
    if (event->kind == CLF_LIVE_SEGMENT && follow->is_inside) {
        putchar('\n');
        follow->is_inside = 0;
    } else if (event->kind == CLF_LIVE_WORDS) {
        CLF__TRY(clf__copy_string(&text, event->text));
        clf__line_breaks_remove(text);
        const char *stripped = clf__speech_strip(&size, text);
        fputs(follow->is_inside ? text : stripped, stdout);
        follow->is_inside |= *stripped != '\0';
        clf__free(text);
    }
    return CLF_OK;
}

/* Prints a segment in a format that has a header or numbers. */
static clf_status print_segment(struct follow *follow, const struct clf_live_event *event)
{
    static const char vtt_header[] = "WEBVTT\n\n", tsv_header[] = "start\tend\ttext\n",
                      first_number[] = "1\n";
    int format = follow->flags->format;
    struct clf_segment segment = {
        .text = (char *)event->text, .start = event->start, .end = event->end}; /* only read */
    struct clf_transcript transcript = {.text = "", .language = "", .segments = &segment, .count = 1};
    char *text;
    if (event->kind != CLF_LIVE_SEGMENT) {
        return CLF_OK;
    }
    CLF__TRY(clf_transcript_write(&text, &transcript, (clf_transcript_format)format, NULL));
    const char *header = format == CLF_TRANSCRIPT_SRT   ? first_number
                         : format == CLF_TRANSCRIPT_VTT ? vtt_header
                                                        : tsv_header;
    const char *rest = strncmp(text, header, strlen(header)) == 0 ? text + strlen(header) : text;
    follow->cues += *rest != '\0';
    if (format == CLF_TRANSCRIPT_SRT && *rest != '\0') {
        printf("%d\n", follow->cues);
    }
    fputs(rest, stdout);
    clf_string_free(text);
    return CLF_OK;
}

static clf_status print_events(struct follow *follow, struct clf_live *live)
{
    const struct clf_live_event *event;
    int format = follow->flags->format;
    while ((event = clf_live_take(live)) != NULL) {
        CLF__TRY(format == CLF_TRANSCRIPT_TEXT   ? print_text(follow, event)
                 : format == CLF_TRANSCRIPT_JSON ? result_write(stdout, result_live_event(event))
                                                 : print_segment(follow, event));
        fflush(stdout);
    }
    return CLF_OK;
}

static void print_header(const struct follow *follow)
{
    int format = follow->flags->format;
    fputs(format == CLF_TRANSCRIPT_VTT   ? "WEBVTT\n\n"
          : format == CLF_TRANSCRIPT_TSV ? "start\tend\ttext\n"
                                         : "",
          stdout);
    fflush(stdout);
}

static clf_status follow_stream(struct follow *follow, struct clf_live *live)
{
    float samples[BLOCK];
    size_t count;
    do {
        CLF__TRY(clf__live_reader_read(samples, &count, follow->reader, BLOCK));
        clf_status status = clf_live_feed(live, samples, count, clf__live_reader_waiting(follow->reader));
        CLF__TRY(print_events(follow, live)); /* also after an interruption */
        CLF__TRY(status);
        CLF__TRY(recordings_interrupted(NULL) ? CLF_INTERRUPTED : CLF_OK);
    } while (count > 0);
    clf_status status = clf_live_finish(live);
    CLF__TRY(print_events(follow, live));
    return status;
}

int follow_run(struct follow *follow, struct clf_transcriber *transcriber)
{
    struct clf_live *live = NULL;
    struct clf_live_options options;
    clf_live_options_init(&options);
    options.step = isnan(follow->flags->step) ? options.step : follow->flags->step;
    options.unstable = follow->flags->unstable;
    clf_status status = clf_live_open(&live, transcriber, &options);
    if (status == CLF_OK) {
        print_header(follow);
        status = follow_stream(follow, live);
        if (follow->is_inside) {
            putchar('\n');
        }
    }
    int result = status == CLF_OK            ? EXIT_DONE
                 : status == CLF_INTERRUPTED ? EXIT_FAILED /* the signal ends the process */
                                             : report_failure(status);
    clf_live_free(live);
    return result;
}
