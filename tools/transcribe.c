/* clformer transcribe */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "shared/command.h"
#include "shared/follow.h"
#include "shared/recordings.h"

static const char help[] =
    "Usage: clformer transcribe -m MODEL [FLAGS] FILE...\n"
    "\n"
    "Transcribes recordings in the audio formats that `clformer --version` lists, with any sample rate\n"
    "and number of channels; - is standard input. MODEL is a Whisper folder of Hugging Face or\n"
    "faster-whisper, or an OpenAI model (tiny.en.pt) with its .tiktoken file in the same folder. Windows\n"
    "of 30 s are decoded by the rules of openai/whisper: a window whose text is repetitive or improbable\n"
    "is decoded again at a higher temperature.\n"
    "\n"
    "Example:\n"
    "  $ clformer transcribe -m whisper-tiny.en interview.mp3\n"
    "  $ clformer transcribe -m small.pt --language pt --format srt -o subtitles *.mp3\n"
    "  $ ffmpeg -i film.mkv -f s16le -ac 1 -ar 16000 - |\n"
    "      clformer transcribe -m whisper-small --raw 16000 -\n"
    "  $ arecord -f S16_LE -r 16000 | clformer transcribe -m whisper-small --follow --vad\n"
    "\n"
    "Text is printed segment by segment; other formats are printed at the end of each recording. If a\n"
    "recording cannot be read, an error is printed, the other recordings are transcribed, and the exit\n"
    "status is 1. Without --follow, a pipe is read to its end before it is transcribed.\n";

enum { MOST_TEMPERATURES = 1000 };

struct job {
    struct flags flags;
    struct clf_transcribe_options options;
    double *clips, *temperatures;
    int32_t *suppressed;
    struct follow *follow; /* NULL: whole recordings */
    struct setup setup;
};

/* Parses comma-separated numbers. Returns -1 on success, or an exit status for an invalid value. */
static int parse_numbers(double **out, int *count, const char *text, const char *wanted)
{
    const char *rest = text;
    double *numbers = *out = calloc(strlen(text) / 2 + 1, sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
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

/* A single temperature is followed by temperatures up to 1 with a fixed increment, as in openai/whisper
 * (numpy's arange). Returns -1 on success, or an exit status for an invalid value. */
static int parse_temperatures(struct job *job)
{
    const struct flags *flags = &job->flags;
    const char *text = flags->temperatures != NULL ? flags->temperatures : "0";
    double step = isnan(flags->temperature_increment) ? 0.2 : flags->temperature_increment;
    int count = 0;
    int status = parse_numbers(&job->temperatures, &count, text,
                               "--temperature: must be numbers separated by commas, such as 0,0.4,0.8");
    if (status >= 0) {
        return status;
    }
    if (count == 1 && step > 0) {
        double first = job->temperatures[0];
        double steps = first < 1 ? ceil((1 + 1e-6 - first) / step) : 1;
        if (!(steps <= MOST_TEMPERATURES)) {
            return report_wrong_call(
                "--temperature: %g to 1 in steps of %g are too many temperatures; use a larger increment",
                first, step);
        }
        free(job->temperatures);
        job->temperatures = calloc((size_t)steps, sizeof *job->temperatures);
        if (job->temperatures == NULL) {
            fprintf(stderr, "clformer: out of memory\n");
            return EXIT_FAILED;
        }
        for (count = 0; count < steps; count++) {
            job->temperatures[count] = count == 1 ? first + step : first + count * ((first + step) - first);
        }
    } else if (count > 1 && !isnan(flags->temperature_increment)) {
        return report_wrong_call("--temperature-increment-on-fallback: has no effect with a list of "
                                 "temperatures; remove one of them");
    }
    job->options.temperatures = job->temperatures;
    job->options.temperature_count = count;
    return -1;
}

/* Returns -1 on success, or an exit status for an invalid value. */
static int parse_suppressed(struct job *job)
{
    static const char wanted[] = "--suppress-tokens: must be ids separated by commas, or -1";
    const char *text = job->flags.suppressed;
    double *numbers = NULL;
    int count = 0, status = *text != '\0' ? parse_numbers(&numbers, &count, text, wanted) : -1;
    job->suppressed = calloc((size_t)count + 1, sizeof *job->suppressed);
    if (job->suppressed == NULL) {
        fprintf(stderr, "clformer: out of memory\n");
        status = EXIT_FAILED;
    }
    for (int i = 0; i < count && status < 0; i++) {
        if (!(numbers[i] >= -1 && numbers[i] <= INT32_MAX) || floor(numbers[i]) != numbers[i]) {
            status = report_wrong_call("%s, not \"%s\"", wanted, text);
        } else {
            job->suppressed[i] = (int32_t)numbers[i];
        }
    }
    free(numbers);
    job->options.suppressed = job->suppressed;
    job->options.suppressed_count = count;
    return status;
}

/* Returns the number that a flag sets; NaN: the flag is missing. */
static double number_of(int given)
{
    return given >= 0 ? given : NAN;
}

static void take_flags(struct job *job)
{
    const struct flags *flags = &job->flags;
    struct clf_transcribe_options *options = &job->options;
    const struct {
        double *value, given, none; /* none: the value that the word none sets */
    } reals[] = {
        {&options->patience, flags->patience, NAN},
        {&options->length_penalty, flags->length_penalty, NAN},
        {&options->max_initial_timestamp, flags->max_initial_timestamp, 0},
        {&options->no_speech_threshold, flags->no_speech_threshold, NAN},
        {&options->log_probability_threshold, flags->log_probability_threshold, NAN},
        {&options->compression_ratio_threshold, flags->compression_ratio_threshold, NAN},
        {&options->hallucination_silence_threshold, flags->hallucination_silence_threshold, NAN},
        {&options->vad_threshold, flags->vad_threshold, NAN},
        {&options->vad_neg_threshold, flags->vad_neg_threshold, NAN},
        {&options->vad_max_speech_duration_s, flags->vad_max_speech, NAN},
        {&options->vad_min_speech_duration_ms, number_of(flags->vad_min_speech), NAN},
        {&options->vad_min_silence_duration_ms, number_of(flags->vad_min_silence), NAN},
        {&options->vad_speech_pad_ms, number_of(flags->vad_speech_pad), NAN},
    };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        double given = reals[i].given, value = given == FLAG_NONE ? reals[i].none : given;
        *reals[i].value = isnan(given) ? *reals[i].value : value;
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
    options->carry_initial_prompt = flags->carry_initial_prompt;
    options->prefix = flags->prefix;
    options->hotwords = flags->hotwords;
    options->batch = flags->batch >= 0 ? flags->batch : options->batch;
    options->batch_windows = flags->batch_windows >= 0 ? flags->batch_windows : options->batch_windows;
    options->multilingual = flags->multilingual;
    options->vad = flags->vad;
    options->vad_model = flags->vad_model;
    options->interrupted = recordings_interrupted;
}

/* Checks the flags of voice activity detection and of batches. Returns -1 on success, or an exit status. */
static int check_windows(const struct flags *flags)
{
    int changes_vad = flags->vad_model != NULL || flags->vad_min_speech >= 0 || flags->vad_min_silence >= 0 ||
                      flags->vad_speech_pad >= 0 || !isnan(flags->vad_threshold) ||
                      !isnan(flags->vad_neg_threshold) || !isnan(flags->vad_max_speech);
    if (changes_vad && !flags->vad) {
        return report_wrong_call("flags that begin with --vad- require --vad; add it");
    }
    if (flags->batch_windows == 0) {
        return report_wrong_call(
            "--batch-windows: must be at least 1; remove it to decode window after window");
    }
    if (flags->batch >= 0 && flags->batch_windows > 0) {
        return report_wrong_call("--batch: has no effect with --batch-windows; remove one of them");
    }
    return -1;
}

/* Fails for flags that have no effect without other flags. Returns -1 on success, or an exit status. */
static int check_flags(struct job *job)
{
    const struct flags *flags = &job->flags;
    struct clf_transcript_options *subtitles = &job->flags.subtitles;
    int is_laid_out = subtitles->highlight_words || subtitles->max_line_width > 0 ||
                      subtitles->max_line_count > 0 || subtitles->max_words_per_line > 0;
    int format = job->flags.format, is_subtitle = format == CLF_TRANSCRIPT_SRT ||
                                                  format == CLF_TRANSCRIPT_VTT ||
                                                  format == RECORDINGS_ALL_FORMATS;
    subtitles->size = sizeof *subtitles;
    int status = check_windows(flags);
    if (status >= 0) {
        return status;
    }
    if (job->options.hallucination_silence_threshold > 0 && !job->options.word_timestamps) {
        return report_wrong_call("--hallucination-silence-threshold: requires --word-timestamps; add it");
    }
    if (is_laid_out && !(job->options.word_timestamps && is_subtitle)) {
        return report_wrong_call("the layout of subtitles can be changed only with --word-timestamps and "
                                 "--format srt, vtt or all; "
                                 "add them");
    }
    if (job->flags.carry_initial_prompt && job->flags.initial_prompt == NULL) {
        return report_wrong_call("--carry-initial-prompt: requires --initial-prompt; add it");
    }
    if (subtitles->max_line_count > 0 && subtitles->max_line_width == 0) {
        return report_wrong_call("--max-line-count: requires --max-line-width; add it");
    }
    if (subtitles->max_line_count > 0 && subtitles->max_words_per_line > 0) {
        return report_wrong_call(
            "--max-words-per-line: has no effect with --max-line-count; remove one of them");
    }
    return -1;
}

/* Fails if a transcript would overwrite another transcript or a recording. */
static int check_output(const struct flags *flags, int format, int index)
{
    char *name = NULL;
    int status = recordings_name(&name, flags, format, flags->operands[index]) == CLF_OK ? -1 : EXIT_FAILED;
    for (int i = 0; i < flags->operand_count && status < 0; i++) {
        char *other = NULL;
        const char *path = flags->operands[i];
        if (clf__file_is(name, path)) {
            status =
                report_wrong_call("%s: its transcript would overwrite the recording %s; use another folder",
                                  flags->operands[index], path);
        } else if (i < index && recordings_name(&other, flags, format, path) == CLF_OK &&
                   strcmp(name, other) == 0) {
            status = report_wrong_call(
                "%s and %s: both transcripts would be written to %s; rename one of the recordings, or use "
                "separate folders",
                path, flags->operands[index], name);
        }
        clf_string_free(other);
    }
    clf_string_free(name);
    return status;
}

static int check_outputs(const struct flags *flags)
{
    int first, formats = recordings_formats(&first, flags), status = -1;
    int is_lines = flags->format == CLF_TRANSCRIPT_TEXT || flags->format == CLF_TRANSCRIPT_JSON;
    if (flags->output == NULL && formats > 1) {
        return report_wrong_call("--format all: writes several files; add --output FOLDER");
    }
    if (flags->output == NULL && flags->operand_count > 1 && !is_lines) {
        return report_wrong_call("several recordings need several files in this format; add --output FOLDER");
    }
    for (int i = 0; flags->output != NULL && i < flags->operand_count; i++) {
        for (int format = first; format < first + formats && status < 0; format++) {
            status = check_output(flags, format, i);
        }
    }
    return status;
}

/* Creates the folder for the transcripts, and removes it again if no transcript was written. */
static int transcribe_to(struct clf_transcriber *transcriber, const struct flags *flags)
{
    const char *folder = flags->output;
    if (folder == NULL) {
        return recordings_transcribe(transcriber, flags);
    }
    size_t missing = clf__folder_missing(folder);
    clf_status status = clf__folder_create(folder);
    int result = status == CLF_OK ? recordings_transcribe(transcriber, flags) : report_failure(status);
    clf__folder_remove_empty(folder, missing);
    return result;
}

static int transcribe_all(struct job *job)
{
    struct clf_transcriber *transcriber = NULL;
    clf_status status = clf_transcriber_create(&transcriber, job->setup.model, &job->options);
    int result = status != CLF_OK      ? report_failure(status)
                 : job->follow != NULL ? follow_run(job->follow, transcriber)
                                       : transcribe_to(transcriber, &job->flags);
    clf_transcriber_free(transcriber);
    return result;
}

int verb_transcribe(int argc, char **argv)
{
    struct job job = {.clips = NULL};
    int status = flags_parse(&job.flags, argc, argv, TAKES_MODEL | TAKES_DEVICE | TAKES_SPEECH, help);
    if (status < 0) {
        status = job.flags.follow
                     ? flags_operands(&job.flags, 0, 1, "transcribe --follow requires at most one stream")
                     : flags_operands(&job.flags, 1, argc, "transcribe requires one or more recordings");
    }
    if (status >= 0) {
        return status;
    }
    clf_transcribe_options_init(&job.options);
    take_flags(&job);
    if (job.flags.clips != NULL) {
        status = parse_numbers(&job.clips, &job.options.clip_count, job.flags.clips,
                               "--clip: must be times in seconds separated by commas, such as 10,12.5");
        job.options.clips = job.clips;
    }
    status = status < 0 ? parse_temperatures(&job) : status;
    status = status < 0 && job.flags.suppressed != NULL ? parse_suppressed(&job) : status;
    status = status < 0 ? follow_check(&job.flags) : status;
    status = status < 0 ? check_flags(&job) : status;
    status = status < 0 ? check_outputs(&job.flags) : status;
    if (status < 0 && job.flags.follow) {
        status = follow_open(&job.follow, &job.flags, &job.options);
    }
    status = status < 0 ? setup_open(&job.setup, &job.flags) : status;
    if (status == EXIT_DONE) {
        status = print_all_kernel_times(&job.setup, transcribe_all(&job));
        setup_close(&job.setup);
    }
    follow_close(job.follow);
    free(job.clips);
    free(job.temperatures);
    free(job.suppressed);
    return status;
}
