/* Functions and types shared by the verbs of the command; tools/ADD_VERB.md explains how to add a verb. */
#ifndef CLF_TOOLS_COMMAND_H
#define CLF_TOOLS_COMMAND_H

#include <stdio.h>

#include <clformer/clformer.h>

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG_CALL = 2, EXIT_CUT = 3 };

/* Behaviour of a verb that runs as one of several MPI ranks. */
enum verb_ranks {
    ALONE,     /* fails with an error */
    EACH_RANK, /* each rank works independently */
    AS_RANKS   /* the ranks work together */
};

/* A verb; `run` receives the arguments, starting with the verb. */
struct verb {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
    int cleans_up; /* 1: a signal stops the work, and the verb then writes or removes files */
    enum verb_ranks ranks;
    const char *heading; /* heading before this verb in the help; NULL: none */
};
int verb_devices(int argc, char **argv);
int verb_translate(int argc, char **argv);
int verb_transcribe(int argc, char **argv);
int verb_score(int argc, char **argv);
int verb_attend(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_selftest(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_tune(int argc, char **argv);
int verb_train(int argc, char **argv);
int verb_curves(int argc, char **argv);
int verb_average(int argc, char **argv);
int verb_convert(int argc, char **argv);
int verb_bleu(int argc, char **argv);
int verb_wer(int argc, char **argv);
int verb_serve(int argc, char **argv);

/* The values of a flag that may be repeated. */
enum { MOST_FLAG_VALUES = 64 };
struct flag_values {
    const char *items[MOST_FLAG_VALUES];
    int count;
};

/* Flags with the same meaning in every verb. */
struct flags {
    const char *model;
    struct flag_values models; /* serve */
    const char *device;
    const char *output;
    const char *target; /* attend: the translation to show */
    struct clf_device_options device_options;
    struct clf_translate_options translate; /* valid after flags_apply() */
    int quiet, verbose, json;
    int report; /* devices */
    int resume;
    struct clf_model_options model_options;
    /* Flags that override the values of the model; negative or NULL if not given. */
    int beam, beam_groups, n_best, alternatives, min_length, max_length, batch_tokens, renormalize;
    int no_repeat_ngram_size, encoder_no_repeat_ngram_size;
    double length_penalty, coverage_penalty, diversity_penalty; /* NaN: not given */
    double repetition_penalty, encoder_repetition_penalty;      /* NaN: not given */
    int sample, no_sample, top_k, seed;
    double temperature, top_p, min_p, typical_p, epsilon, eta; /* NaN: not given */
    double max_length_factor;                                  /* NaN: not given */
    const char *shortlist, *glossary, *draft, *length_decay;
    int length_rule, early_stopping;
    const char *forced_first, *forced_last, *suppress;
    int tokens, exact_tokens;
    const char *source_language, *target_language;
    const char *task;
    int split_sentences;
    int stream; /* print text as it is generated */
    int alignments, alignment_layer, replace_unknown;
    const char *target_prefix, *target_prefix_file;
    const char *document_format, *elements, *inline_elements;
    const char *encoding, *kept_terms, *memory;
    int all;
    int subtitle_width;
    double reading_speed; /* NaN: not given; FLAG_NONE: the word none */
    /* bench */
    int stage, repeats;
    int merge;
    const char *work, *batches, *beams, *shapes, *html;
    /* tune */
    int again, quick;
    /* train */
    const char *log, *recipe;
    /* transcribe */
    const char *language, *initial_prompt, *prefix, *clips, *temperatures, *hotwords, *suppressed;
    int speech_task, timestamps, format, conditions, raw_rate, best_of, batch;
    const char *prepend_punctuations, *append_punctuations;
    int follow, unstable;
    double step; /* NaN: not given */
    int word_timestamps, carry_initial_prompt, multilingual, vad, vad_min_speech, vad_min_silence,
        vad_speech_pad, batch_windows;
    const char *vad_model;
    struct clf_transcript_options subtitles; /* the caller sets its size */
    double patience, max_initial_timestamp, no_speech_threshold, log_probability_threshold,
        hallucination_silence_threshold, vad_threshold, vad_neg_threshold, vad_max_speech,
        temperature_increment, compression_ratio_threshold; /* NaN: not given; FLAG_NONE: the word none */
    /* bleu, wer */
    int words, lower_case;
    /* serve */
    struct flag_values glossaries, memories, term_lists;
    const char *host, *cors, *keys, *access_log, *suggestions;
    int port, wyoming, grace, max_body, max_upload, metrics, allow_load;
    int libretranslate_text, needs_key, most_requests, most_characters, most_texts, most_queued, wait,
        time_limit;
    /* Remaining arguments. */
    char **operands;
    int operand_count;
};

#define FLAG_NONE INFINITY

/* Groups of flags that verbs accept. */
enum {
    TAKES_MODEL = 1,
    TAKES_DEVICE = 2,
    TAKES_SEARCH = 4, /* beams, lengths, bans */
    TAKES_LINES = 8,  /* --batch-tokens, --tokens, --source-language, --target-language */
    TAKES_JSON = 16,
    TAKES_OUTPUT = 32, /* -o: a page */
    TAKES_BENCH = 64,  /* --model is optional */
    TAKES_TUNE = 128,  /* --model is optional */
    TAKES_TARGET = 256,
    TAKES_FOLDER = 512, /* -o: a model folder */
    TAKES_TRAIN = 1024,
    TAKES_BLEU = 2048,
    TAKES_AVERAGE = 4096,
    TAKES_TEXTS = 8192, /* --split-sentences */
    TAKES_CONVERT = 16384,
    TAKES_DEVICES = 32768, /* -d with several devices */
    TAKES_SPEECH = 1 << 16,
    TAKES_RESULTS = 1 << 17,    /* -o: a file of lines */
    TAKES_REFERENCES = 1 << 18, /* lines to compare with */
    TAKES_REPORT = 1 << 19,     /* devices */
    TAKES_SERVE = 1 << 20,
    TAKES_MODELS = 1 << 21,    /* -m with several models */
    TAKES_DOCUMENTS = 1 << 22, /* files to translate */
};

/* Parses the arguments of a verb. Returns -1 to continue, or an exit status after --help or after reporting
 * wrong usage. --help prints `help`, followed by the flags of the verb. */
int flags_parse(struct flags *flags, int argc, char **argv, int takes, const char *help);
/* Prints "  -d, --device DEVICE  meaning" with the meaning wrapped at word boundaries. `letter` may be 0 and
 * `value` NULL. */
void help_print_flag(FILE *file, char letter, const char *name, const char *value, const char *meaning);
/* Writes choice number `index` of a flag, as the user types it. Returns 0 if there is no such choice. */
int flags_choice(char *word, size_t size, const char *name, int index);
/* Calls `visit` for every flag that a verb takes, with its name and its value as text; stops at the first
 * failure. */
typedef clf_status flags_visit(void *user, const char *name, const char *value);
clf_status flags_each(const struct flags *flags, int takes, flags_visit *visit, void *user);
/* Reports an error if the number of operands is less than `least` or more than `most`; `wanted` describes the
 * operands. Returns -1 to continue, or the exit status. */
int flags_operands(const struct flags *flags, int least, int most, const char *wanted);

/* A device and, if flags->model is set, a model on it; with several devices, the first device and model. */
struct setup {
    struct clf_device *device;
    struct clf_model *model;
    struct clf_device **devices; /* (count) NULL with a single device */
    struct clf_model **models;   /* (count) NULL for a skipped device */
    struct clf_model *draft;     /* with one device and flags->draft; else NULL */
    int count;
};
/* Opens the device and the model. --verbose prints the device and enables profiling. Returns an exit status;
 * on failure nothing is left open. */
int setup_open(struct setup *setup, const struct flags *flags);
/* Opens the devices that flags->device names and, if flags->model is set, loads the model on each. A device
 * that fails is skipped with a warning unless all fail. */
int setup_open_several(struct setup *setup, const struct flags *flags);
/* Creates a translator over the setup's models with the options of flags->translate. */
clf_status setup_translator(struct clf_translator **out, const struct setup *setup,
                            const struct flags *flags);
/* Prints the batch size of a translator on stderr, one line per device. */
void print_batch_sizes(struct clf_translator *translator);
/* Prints the work of each device on stderr if there are several devices. */
void print_device_shares(const struct setup *setup, struct clf_translator *translator);
void setup_close(struct setup *setup);

/* Measures the device's peak rates and prints its times by kernel, relative to the peaks, on stderr. Does
 * nothing if the device was opened without --verbose. Returns `status`, or the exit status of a failure. */
int print_kernel_times(struct clf_device *device, int status);
/* Calls print_kernel_times() for each device of a setup. */
int print_all_kernel_times(const struct setup *setup, int status);

/* Prints the host's seconds by stage on stderr, without a newline. */
void print_stage_times(const struct clf_stage_times *times);

/* Sets flags->translate to the values of the model, overridden by flags. Returns -1 to continue, or an exit
 * status. flags_release() frees the ids in flags->translate.suppressed and the glossary. */
int flags_apply(struct flags *flags, const struct clf_model *model);
void flags_release(struct flags *flags);

/* Sets the function that reports failures; NULL: print to standard error. `report` is called once, with a
 * status that clf_last_error() describes, and returns the exit status. */
typedef int failure_function(clf_status status);
void failures_told_by(failure_function *report);

/* Prints "clformer: <clf_last_error()>", or, at most once, that a signal interrupted the work. Returns the
 * exit status. */
int report_failure(clf_status status);
/* Reports that there is no device, and says what to install. Returns the exit status. */
int report_no_device(const struct clf_device_list *list);
/* Prints "clformer: interrupted". Returns EXIT_FAILED, to be passed to signals_finish(). */
int report_interrupted(void);
/* Prints "clformer: ...". Returns EXIT_WRONG_CALL. */
int report_wrong_call(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints log messages on stderr: warnings and notices unless --quiet, the others with --verbose. */
void log_to_stderr(const struct flags *flags);
/* The same for a server: a message that clients can cause again and again is printed once. */
void log_once_to_stderr(const struct flags *flags);

/* Ignores SIGPIPE, so that a closed pipe becomes a write error. If `stops_work` is 1, SIGINT, SIGTERM and
 * SIGHUP set a flag that stops the work, except signals that the parent process ignored; otherwise they end
 * the process. */
void signals_catch(int stops_work);
/* Makes SIGHUP a request to reopen log files instead of a request to stop. Call after signals_catch(). */
void signals_keep_hangup(void);
/* Returns 1 once after each SIGHUP, or once for several that arrive together. */
int signals_take_hangup(void);
/* Call at the end of standard input, which may be truncated: if Open MPI's mpirun is stopped, it closes the
 * standard input of its ranks and sends SIGCONT, but SIGTERM only a second later. Waits for that SIGTERM. */
void signals_await_stop(void);
int signals_interrupted(void *unused);
/* Makes signals_finish() return its status after SIGTERM, the usual way to stop a server. */
void signals_accept_stop(void);
/* With by_signal 1, signals_finish() terminates the process by SIGPIPE if standard output was closed, as
 * other commands end in a pipe to `head`. With several ranks, pass 0, because mpirun would report a crash. */
void signals_end_quietly(int by_signal);
/* Terminates the process, after cleaning up, by the signal that interrupted it, so that Ctrl-C also ends a
 * shell loop around the command. Returns `status` if there was no signal. */
int signals_finish(int status);

/* Flushes standard output and reports a failure other than a closed pipe. Returns the exit status. */
int output_finish(int status);
int output_failed(void); /* returns 1 if an earlier write to standard output failed */

#endif
