/* clformer transcribe */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "shared/command.h"
#include "shared/erase_line.h"
#include "shared/progress.h"
#include "shared/ranks.h"

static const char help[] =
    "Usage: clformer transcribe -m MODEL [FLAGS] FILE...\n\n"
    "Writes down what recordings say: WAV, FLAC, OGG, MP3 and what else libsndfile reads, of any rate and\n"
    "channels; - is standard input. MODEL is a Hugging Face folder of Whisper's. Windows of 30 s are\n"
    "searched by openai/whisper's rules: one whose text repeats itself, or that the model is unsure of, is\n"
    "decoded again at a higher temperature.\n\n"
    "Example:\n"
    "  $ clformer transcribe -m whisper-tiny.en interview.mp3\n"
    "  $ clformer transcribe -m whisper-small --language pt --format srt -o subtitles *.mp3\n"
    "  $ ffmpeg -i film.mkv -f s16le -ac 1 -ar 16000 - |\n"
    "      clformer transcribe -m whisper-small --raw 16000 -\n\n"
    "Text appears segment by segment; the other formats once a recording is through. A recording that\n"
    "cannot be read is said on standard error, the others are transcribed, and the exit status is 1. A\n"
    "pipe is read to its end first.\n";

static const char *const endings[] = {"txt", "srt", "vtt", "tsv", "json"};

struct job {
    struct flags flags;
    struct clf_transcribe_options options;
    double *clips, *temperatures;
    struct setup setup;
    struct clf_transcriber *transcriber;
    int prints_segments; /* as they come */
    int shows_progress;
    double start; /* of a recording */
};

/* Numbers with commas between. Returns -1, or the exit status of a wrong value. */
static int parse_numbers(double **out, int *count, const char *text, const char *wanted)
{
    const char *rest = text;
    double *numbers = *out = calloc(strlen(text) / 2 + 1, sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "clformer: no memory left\n");
        return EXIT_FAILED;
    }
    for (char *end;; rest = end + 1) {
        numbers[(*count)++] = strtod(rest, &end);
        if (end == rest || (*end != ',' && *end != '\0')) {
            return report_wrong_call("%s, not \"%s\"", wanted, text);
        }
        if (*end == '\0') {
            return -1;
        }
    }
}

/* A first temperature alone goes on up to 1, by steps that add up as openai/whisper's do. Returns -1, or the
 * exit status of a wrong value. */
static int parse_temperatures(struct job *job)
{
    const struct flags *flags = &job->flags;
    const char *text = flags->temperatures != NULL ? flags->temperatures : "0";
    double step = isnan(flags->temperature_increment) ? 0.2 : flags->temperature_increment;
    int count = 0;
    int status = parse_numbers(&job->temperatures, &count, text,
                               "--temperature takes numbers with commas between, such as 0,0.4,0.8");
    if (status >= 0) {
        return status;
    }
    if (count == 1 && step > 0) {
        double first = job->temperatures[0];
        int steps = first < 1 ? (int)ceil((1 + 1e-6 - first) / step) : 1;
        free(job->temperatures);
        job->temperatures = calloc((size_t)steps, sizeof *job->temperatures);
        if (job->temperatures == NULL) {
            fprintf(stderr, "clformer: no memory left\n");
            return EXIT_FAILED;
        }
        for (count = 0; count < steps; count++) {
            job->temperatures[count] = first + count * step;
        }
    } else if (count > 1 && !isnan(flags->temperature_increment)) {
        return report_wrong_call("--temperature-increment-on-fallback says nothing beside a list of "
                                 "temperatures");
    }
    job->options.temperatures = job->temperatures;
    job->options.temperature_count = count;
    return -1;
}

static void print_segment(void *user, const struct clf_segment *segment)
{
    struct job *job = user;
    struct clf_segment one = *segment;
    struct clf_transcript transcript = {.text = "", .language = "", .segments = &one, .count = 1};
    char *text;
    if (!job->prints_segments) {
        return;
    }
    if (job->shows_progress) {
        erase_line();
    }
    if (clf_transcript_write(&text, &transcript, CLF_TRANSCRIPT_TEXT, NULL) == CLF_OK) {
        fputs(text, stdout);
        fflush(stdout);
        clf_string_free(text);
    }
}

static void show_progress(void *user, double seconds, double of)
{
    const struct job *job = user;
    double elapsed = seconds_now() - job->start;
    if (job->shows_progress && elapsed > 0) {
        erase_line();
        fprintf(stderr, "%.0f of %.0f s, %.1f times real time", seconds, of, seconds / elapsed);
        fflush(stderr);
    }
}

static void take_flags(struct job *job)
{
    const struct flags *flags = &job->flags;
    struct clf_transcribe_options *options = &job->options;
    const struct {
        double *value, given;
    } reals[] = {
        {&options->patience, flags->patience},
        {&options->max_initial_timestamp, flags->max_initial_timestamp},
        {&options->no_speech_threshold, flags->no_speech_threshold},
        {&options->log_probability_threshold, flags->log_probability_threshold},
        {&options->compression_ratio_threshold, flags->compression_ratio_threshold},
        {&options->hallucination_silence_threshold, flags->hallucination_silence_threshold},
    };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        *reals[i].value = isnan(reals[i].given) ? *reals[i].value : reals[i].given;
    }
    options->beam = flags->beam >= 0 ? flags->beam : options->beam;
    options->best_of = flags->best_of >= 0 ? flags->best_of : options->best_of;
    options->seed = flags->seed >= 0 ? (uint64_t)flags->seed : options->seed;
    options->language = flags->language;
    options->translate = flags->speech_task == 1;
    options->timestamps = flags->timestamps != 0;
    options->word_timestamps = flags->timestamps == 2 || flags->word_timestamps;
    options->prepend_punctuations = flags->prepend_punctuations;
    options->append_punctuations = flags->append_punctuations;
    options->condition_on_previous = flags->conditions != 0;
    options->initial_prompt = flags->initial_prompt;
    options->prefix = flags->prefix;
    options->interrupted = signals_interrupted;
    options->segment = print_segment;
    options->progress = show_progress;
    options->user = job;
    job->prints_segments = flags->output == NULL && flags->format == CLF_TRANSCRIPT_TEXT;
    job->shows_progress = !flags->quiet && isatty(STDERR_FILENO);
}

/* The file of a recording's transcript, without its folder: the recording's name with another ending. */
static clf_status name_output(char **out, const struct job *job, const char *path)
{
    char *name;
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    int length = (int)(dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base));
    if (strcmp(path, "-") == 0) {
        base = "stdin";
        length = (int)strlen(base);
    }
    size_t size = (size_t)length + strlen(endings[job->flags.format]) + 2;
    if ((name = malloc(size)) == NULL) {
        return CLF_OUT_OF_MEMORY;
    }
    snprintf(name, size, "%.*s.%s", length, base, endings[job->flags.format]);
    clf_status status = clf__path_join(out, job->flags.output, name);
    free(name);
    return status;
}

/* Refuses flags that say nothing without others. Returns -1, or the exit status. */
static int check_flags(struct job *job)
{
    struct clf_transcript_options *subtitles = &job->flags.subtitles;
    int is_laid_out = subtitles->highlight_words || subtitles->max_line_width > 0 ||
                      subtitles->max_line_count > 0 || subtitles->max_words_per_line > 0;
    int is_subtitle = job->flags.format == CLF_TRANSCRIPT_SRT || job->flags.format == CLF_TRANSCRIPT_VTT;
    subtitles->size = sizeof *subtitles;
    if (job->options.hallucination_silence_threshold > 0 && !job->options.word_timestamps) {
        return report_wrong_call("--hallucination-silence-threshold needs --word-timestamps");
    }
    if (is_laid_out && !(job->options.word_timestamps && is_subtitle)) {
        return report_wrong_call(
            "lines and words of subtitles need --word-timestamps and --format srt or vtt");
    }
    if (subtitles->max_line_count > 0 && subtitles->max_line_width == 0) {
        return report_wrong_call("--max-line-count needs --max-line-width");
    }
    if (subtitles->max_line_count > 0 && subtitles->max_words_per_line > 0) {
        return report_wrong_call("--max-words-per-line says nothing beside --max-line-count");
    }
    return -1;
}

/* Refuses two recordings whose transcripts would be one file. */
static int check_outputs(const struct job *job)
{
    int count = job->flags.output != NULL ? job->flags.operand_count : 0, status = -1;
    for (int i = 0; i < count && status < 0; i++) {
        for (int j = 0; j < i && status < 0; j++) {
            char *one = NULL, *other = NULL;
            const char *const *paths = (const char *const *)job->flags.operands;
            if (name_output(&one, job, paths[j]) == CLF_OK && name_output(&other, job, paths[i]) == CLF_OK &&
                strcmp(one, other) == 0) {
                status =
                    report_wrong_call("the transcripts of %s and %s would both be %s: give them different "
                                      "names, or different folders",
                                      paths[j], paths[i], one);
            }
            clf_string_free(one);
            clf_string_free(other);
        }
    }
    return status;
}

static clf_status write_output(const struct job *job, const char *path, const char *text)
{
    char *output;
    if (job->flags.output == NULL) {
        fputs(job->prints_segments ? "" : text, stdout);
        fputs(job->flags.format == CLF_TRANSCRIPT_JSON ? "\n" : "", stdout);
        return CLF_OK;
    }
    clf_status status = name_output(&output, job, path);
    if (status == CLF_OK) {
        status = clf__file_write(output, text, strlen(text));
        clf_string_free(output);
    }
    return status;
}

static clf_status transcribe(struct job *job, const char *path)
{
    struct clf_audio *audio;
    struct clf_transcript *transcript;
    char *text;
    clf_status status = job->flags.raw_rate >= 0 ? clf_audio_open_raw(&audio, path, job->flags.raw_rate)
                                                 : clf_audio_open(&audio, path);
    if (status != CLF_OK) {
        return status;
    }
    job->start = seconds_now();
    status = clf_transcribe(&transcript, job->transcriber, audio);
    if (job->shows_progress) {
        erase_line();
    }
    if (status == CLF_OK) {
        if (job->flags.verbose) {
            fprintf(stderr, "clformer: %s: language %s\n", clf_audio_name(audio), transcript->language);
        }
        status = clf_transcript_write(&text, transcript, (clf_transcript_format)job->flags.format,
                                      &job->flags.subtitles);
    }
    clf_audio_free(audio);
    if (status == CLF_OK) {
        status = write_output(job, path, text);
        clf_string_free(text);
    }
    clf_transcript_free(transcript);
    return status;
}

static int transcribe_all(struct job *job)
{
    int result = EXIT_DONE;
    clf_status status = clf_transcriber_create(&job->transcriber, job->setup.model, &job->options);
    if (status == CLF_OK && job->flags.output != NULL) {
        status = clf__folder_create(job->flags.output);
    }
    if (status != CLF_OK) {
        result = report_failure(status);
    }
    for (int i = 0; i < job->flags.operand_count && job->transcriber != NULL && !output_failed(); i++) {
        if (status != CLF_OK && (status == CLF_INTERRUPTED || i == 0)) {
            break;
        }
        status = transcribe(job, job->flags.operands[i]);
        if (status != CLF_OK) {
            result = report_failure(status);
        }
    }
    clf_transcriber_free(job->transcriber);
    return result;
}

int verb_transcribe(int argc, char **argv)
{
    struct job job = {.clips = NULL};
    int status = flags_parse(&job.flags, argc, argv, TAKES_MODEL | TAKES_DEVICE | TAKES_SPEECH, help);
    if (status < 0) {
        status = flags_operands(&job.flags, 1, argc, "transcribe takes one or more recordings");
    }
    if (status < 0) {
        status = ranks_refuse("transcribe works in one process; start one for each of several recordings");
    }
    if (status >= 0) {
        return status;
    }
    clf_transcribe_options_init(&job.options);
    take_flags(&job);
    if (job.flags.clips != NULL) {
        status = parse_numbers(&job.clips, &job.options.clip_count, job.flags.clips,
                               "--clip takes seconds with commas between, such as 10,12.5");
        job.options.clips = job.clips;
    }
    status = status < 0 ? parse_temperatures(&job) : status;
    status = status < 0 ? check_flags(&job) : status;
    status = status < 0 ? check_outputs(&job) : status;
    status = status < 0 ? setup_open(&job.setup, &job.flags) : status;
    if (status == EXIT_DONE) {
        status = print_all_kernel_times(&job.setup, transcribe_all(&job));
        setup_close(&job.setup);
    }
    free(job.clips);
    free(job.temperatures);
    return output_finish(status);
}
