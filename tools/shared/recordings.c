#include "shared/recordings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "shared/erase_line.h"
#include "shared/progress.h"

static const char *const endings[RECORDINGS_ALL_FORMATS] = {"txt", "srt", "vtt", "tsv", "json"};

/* A recording. */
struct item {
    struct clf_audio *audio;
    char *held; /* output that waits for earlier recordings */
    size_t held_size;
    double seconds; /* transcribed so far */
    int is_done;
};

struct work {
    const struct flags *flags;
    struct item *items;
    int next;            /* first unfinished recording; its output is printed at once */
    int prints_segments; /* prints segments as they are decoded */
    int shows_progress;
    double start;
    int result;
};

int recordings_formats(int *first, const struct flags *flags)
{
    int are_all = flags->format == RECORDINGS_ALL_FORMATS;
    *first = are_all ? CLF_TRANSCRIPT_TEXT : flags->format;
    return are_all ? RECORDINGS_ALL_FORMATS : 1;
}

clf_status recordings_name(char **out, const struct flags *flags, int format, const char *path)
{
    char *name;
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    int length = (int)(dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base));
    if (strcmp(path, "-") == 0) {
        base = "stdin";
        length = (int)strlen(base);
    }
    size_t size = (size_t)length + strlen(endings[format]) + 2;
    if ((name = malloc(size)) == NULL) {
        return CLF_OUT_OF_MEMORY;
    }
    snprintf(name, size, "%.*s.%s", length, base, endings[format]);
    clf_status status = clf__path_join(out, flags->output, name);
    free(name);
    return status;
}

int recordings_interrupted(void *unused)
{
    return signals_interrupted(unused) || output_failed();
}

/* Prints the text of a recording, or holds it until all earlier recordings are printed. */
static void print(struct work *work, int index, const char *text)
{
    struct item *item = &work->items[index];
    size_t size = strlen(text);
    if (index == work->next) {
        fputs(text, stdout);
        fflush(stdout);
        return;
    }
    char *held = realloc(item->held, item->held_size + size + 1);
    if (held == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        work->result = EXIT_FAILED;
        return;
    }
    memcpy(held + item->held_size, text, size + 1);
    item->held = held;
    item->held_size += size;
}

/* Advances to the first unfinished recording and prints its held output. */
static void go_on(struct work *work)
{
    while (work->next < work->flags->operand_count && work->items[work->next].is_done) {
        work->next++;
        if (work->next < work->flags->operand_count && work->items[work->next].held != NULL) {
            fputs(work->items[work->next].held, stdout);
            fflush(stdout);
        }
    }
}

static void erase_progress(const struct work *work)
{
    if (work->shows_progress) {
        erase_line();
    }
}

static void print_segment(int index, const struct clf_segment *segment, void *user)
{
    struct work *work = user;
    struct clf_segment one = *segment;
    struct clf_transcript transcript = {.text = "", .language = "", .segments = &one, .count = 1};
    char *text;
    if (work->prints_segments &&
        clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_TEXT, NULL) == CLF_OK) {
        erase_progress(work);
        print(work, index, text);
        clf_string_free(text);
    }
}

/* Shows the position in the first unfinished recording and the total speed. */
static void show_progress(int index, double seconds, double of, void *user)
{
    struct work *work = user;
    double elapsed = seconds_now() - work->start, all = 0;
    work->items[index].seconds = seconds;
    if (!work->shows_progress || index != work->next || elapsed <= 0) {
        return;
    }
    for (int i = 0; i < work->flags->operand_count; i++) {
        all += work->items[i].seconds;
    }
    erase_line();
    fprintf(stderr, "%.0f of %.0f s, %.1f× real time", seconds, of, all / elapsed);
    fflush(stderr);
}

static clf_status write_output(struct work *work, int index, int format, const char *text)
{
    char *output;
    if (work->flags->output == NULL) {
        print(work, index, work->prints_segments ? "" : text);
        print(work, index, format == CLF_TRANSCRIPT_JSON ? "\n" : "");
        return CLF_OK;
    }
    clf_status status = recordings_name(&output, work->flags, format, work->flags->operands[index]);
    if (status == CLF_OK) {
        status = clf__file_write(output, text, strlen(text));
        clf_string_free(output);
    }
    return status;
}

/* Writes the transcript in each requested format. */
static clf_status write_outputs(struct work *work, int index, const struct clf_transcript *transcript)
{
    int first, count = recordings_formats(&first, work->flags);
    for (int format = first; format < first + count; format++) {
        char *text;
        CLF__TRY(
            clf_transcript_write(&text, transcript, (clf_transcript_format)format, &work->flags->subtitles));
        clf_status status = write_output(work, index, format, text);
        clf_string_free(text);
        CLF__TRY(status);
    }
    return CLF_OK;
}

/* Reports an interruption with the command's message instead of the library's. */
static int report(clf_status status)
{
    return status == CLF_INTERRUPTED ? report_interrupted() : report_failure(status);
}

static clf_status open_recording(struct clf_audio **out, int index, void *user)
{
    struct work *work = user;
    const char *path = work->flags->operands[index];
    clf_status status = work->flags->raw_rate >= 0 ? clf_audio_open_raw(out, path, work->flags->raw_rate)
                                                   : clf_audio_open(out, path);
    work->items[index].audio = status == CLF_OK ? *out : NULL;
    return status;
}

static void end_recording(int index, clf_status status, struct clf_transcript *transcript, void *user)
{
    struct work *work = user;
    struct item *item = &work->items[index];
    erase_progress(work);
    if (status == CLF_OK && work->flags->verbose) {
        fprintf(stderr, "clformer: %s: language %s\n", clf_audio_name(item->audio), transcript->language);
    }
    if (status == CLF_OK) {
        status = write_outputs(work, index, transcript);
    }
    if (status != CLF_OK && !(status == CLF_INTERRUPTED && output_failed())) {
        work->result = report(status);
    }
    clf_transcript_free(transcript);
    clf_audio_free(item->audio);
    item->audio = NULL;
    item->is_done = 1;
    go_on(work);
}

int recordings_transcribe(struct clf_transcriber *transcriber, const struct flags *flags)
{
    struct work work = {
        .flags = flags,
        .items = calloc((size_t)flags->operand_count, sizeof *work.items),
        .prints_segments = flags->output == NULL && flags->format == CLF_TRANSCRIPT_TEXT,
        .shows_progress = !flags->quiet && isatty(STDERR_FILENO),
        .start = seconds_now(),
        .result = EXIT_DONE,
    };
    if (work.items == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    struct clf_recordings recordings;
    clf_recordings_init(&recordings);
    recordings.count = flags->operand_count;
    recordings.open = open_recording;
    recordings.done = end_recording;
    recordings.segment = print_segment;
    recordings.progress = show_progress;
    recordings.payload = &work;
    clf_status status = clf_transcribe_several(transcriber, &recordings);
    if (status != CLF_OK && work.result == EXIT_DONE && !output_failed()) {
        work.result = report(status);
    }
    for (int i = 0; i < flags->operand_count; i++) {
        free(work.items[i].held);
    }
    free(work.items);
    return work.result;
}
