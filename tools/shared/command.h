/* What the verbs of the command share. */
#ifndef CLF_TOOLS_COMMAND_H
#define CLF_TOOLS_COMMAND_H

#include <stdio.h>

#include <clformer/clformer.h>

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG_CALL = 2, EXIT_CUT = 3 };

/* What a verb does where it is one of several ranks of MPI. */
enum verb_ranks {
    ALONE,     /* refuses */
    EACH_RANK, /* each works by itself */
    AS_RANKS   /* all work together */
};

/* One verb: `run` gets the arguments from the verb on. */
struct verb {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
    int cleans_up; /* it may have something to write or to remove when a signal asks it to stop */
    enum verb_ranks ranks;
    const char *heading; /* in the help, of the verbs from here on; NULL: none */
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

/* Flags that mean the same in every verb. */
struct flags {
    const char *model;
    const char *device;
    const char *output;
    const char *target; /* a given translation */
    struct clf_device_options device_options;
    struct clf_translate_options translate; /* valid after flags_apply() */
    int quiet, verbose, json;
    int report; /* devices */
    int resume;
    struct clf_model_options model_options;
    /* Flags that override the model's own values; negative or NULL where they were not given. */
    int beam, beam_groups, n_best, alternatives, min_length, max_length, batch_tokens, renormalize;
    int no_repeat_ngram_size, encoder_no_repeat_ngram_size;
    double length_penalty, coverage_penalty, diversity_penalty; /* NaN: not given */
    double repetition_penalty, encoder_repetition_penalty;      /* likewise */
    int sample, no_sample, top_k, seed;
    double temperature, top_p, min_p, typical_p, epsilon, eta; /* likewise */
    double max_length_factor;                                  /* likewise */
    const char *shortlist, *length_decay;
    int length_rule, early_stopping;
    const char *forced_first, *forced_last, *suppress;
    int pieces;
    const char *source_language, *target_language;
    const char *task;
    int split_sentences;
    int stream; /* the text as it grows */
    int alignments, alignment_layer, replace_unknown;
    const char *target_prefix, *target_prefix_file;
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
    int word_timestamps, carry_initial_prompt;
    struct clf_transcript_options subtitles; /* its size is set by who uses it */
    double patience, max_initial_timestamp, no_speech_threshold, log_probability_threshold,
        hallucination_silence_threshold, temperature_increment,
        compression_ratio_threshold; /* NaN: not given; FLAG_NONE: the word none */
    /* bleu, wer */
    int words, lower_case;
    /* What is left. */
    char **operands;
    int operand_count;
};

#define FLAG_NONE INFINITY

/* Which flags a verb takes. */
enum {
    TAKES_MODEL = 1,
    TAKES_DEVICE = 2,
    TAKES_SEARCH = 4, /* beams, lengths, bans */
    TAKES_LINES = 8,  /* --batch-tokens, --tokens, --source-language, --target-language */
    TAKES_JSON = 16,
    TAKES_OUTPUT = 32, /* a page */
    TAKES_BENCH = 64,  /* with a model that need not be named */
    TAKES_TUNE = 128,  /* likewise */
    TAKES_TARGET = 256,
    TAKES_FOLDER = 512, /* to write */
    TAKES_TRAIN = 1024,
    TAKES_BLEU = 2048,
    TAKES_AVERAGE = 4096,
    TAKES_TEXTS = 8192, /* --split-sentences */
    TAKES_CONVERT = 16384,
    TAKES_DEVICES = 32768, /* as TAKES_DEVICE, several of them */
    TAKES_SPEECH = 1 << 16,
    TAKES_RESULTS = 1 << 17,    /* -o, a file of lines */
    TAKES_REFERENCES = 1 << 18, /* to compare lines with */
    TAKES_REPORT = 1 << 19,     /* devices */
};

/* Parses a verb's arguments. Returns -1 to go on, or the exit status to end with (after --help, or a wrong
 * call that was reported). `help` is printed for --help, followed by the flags that the verb takes. */
int flags_parse(struct flags *flags, int argc, char **argv, int takes, const char *help);
/* Prints "  -d, --device DEVICE   meaning", the meaning broken between words. `letter` may be 0 and `value`
 * NULL.
 */
void help_print_flag(FILE *file, char letter, const char *name, const char *value, const char *meaning);
/* The word that a flag of choices takes for a number. Returns 0 where there is none. */
int flags_choice(char *word, size_t size, const char *name, int index);
/* Shows `visit` the name and the value, as text, of every flag that a verb takes, until it fails. */
typedef clf_status flags_visit(void *user, const char *name, const char *value);
clf_status flags_each(const struct flags *flags, int takes, flags_visit *visit, void *user);
/* Fails with a sentence that names the number of operands wanted. */
int flags_operands(const struct flags *flags, int least, int most, const char *wanted);

/* A device and, where flags->model is set, a model on it; of several the first ones. */
struct setup {
    struct clf_device *device;
    struct clf_model *model;
    struct clf_device **devices; /* (count) NULL: there is the one device */
    struct clf_model **models;   /* (count) NULL for a device that is left out */
    int count;
};
/* Opens both, having said which device on stderr with --verbose, which also makes the device take times.
 * Returns an exit status; nothing is left on failure. */
int setup_open(struct setup *setup, const struct flags *flags);
/* The same for the devices that a list in flags->device names, the model on each. One that fails is left out
 * with a warning, where another one does not. */
int setup_open_several(struct setup *setup, const struct flags *flags);
/* A translator over the models of either, by flags->translate. */
clf_status setup_translator(struct clf_translator **out, const struct setup *setup,
                            const struct flags *flags);
/* Prints the batch size of a translator on stderr, a line for each of its devices. */
void print_batch_sizes(const struct clf_translator *translator);
/* Prints how much each of several devices did, where there are several. */
void print_device_shares(const struct setup *setup, const struct clf_translator *translator);
void setup_close(struct setup *setup);

/* Prints the device's time by kernel on stderr, beside its peaks, which are measured for it. Nothing on a
 * device that was opened without --verbose. Returns `status`, or the exit status of its own failure. */
int print_kernel_times(struct clf_device *device, int status);
/* The same for each device of a setup. */
int print_all_kernel_times(const struct setup *setup, int status);

/* Prints the host's seconds by stage on stderr, a line without its end. */
void print_stage_times(const struct clf_stage_times *times);

/* The model's own values overridden by the flags, in flags->translate; `suppressed` is freed by
 * flags_release(). */
int flags_apply(struct flags *flags, const struct clf_model *model);
void flags_release(struct flags *flags);

/* Where failures are told until something else is said here, in place of standard error; NULL: there. `tell`
 * gets a failure whose sentence was recorded, and returns its exit status; it is asked once. */
typedef int failure_function(clf_status status);
void failures_told_by(failure_function *tell);

/* Prints "clformer: <clf_last_error()>", or that a signal came, and gives the exit status of a failure. An
 * interruption is said once, however many calls it fails. */
int report_failure(clf_status status);
/* The same where there is no device at all, with what to install. */
int report_no_device(const struct clf_device_list *list);
/* Prints "clformer: interrupted" and gives EXIT_FAILED, for signals_finish(). */
int report_interrupted(void);
/* Prints "clformer: ..." and gives EXIT_WRONG_CALL. */
int report_wrong_call(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends the library's messages to stderr: warnings and notices unless --quiet, the rest with --verbose. */
void log_to_stderr(const struct flags *flags);

/* SIGPIPE becomes an error of writing. Where `asks` is set, SIGINT, SIGTERM and SIGHUP ask the work to stop,
 * unless whoever started the command has them ignored; otherwise they end it at once, as ever. */
void signals_catch(int asks);
int signals_interrupted(void *unused);
/* With by_signal 1, signals_finish() ends the process by SIGPIPE after standard output was closed, as other
 * commands end before head. One of several ranks passes 0: its launcher would report a crash. */
void signals_end_quietly(int by_signal);
/* Dies of the signal that asked to stop, now that everything is cleaned up: a shell's loop goes on after an
 * exit status, and ends where Ctrl-C ended the command. Returns `status` where no signal asked. */
int signals_finish(int status);

/* Flushes standard output; a closed pipe is quiet, anything else is reported. Returns the exit status. */
int output_finish(int status);
int output_failed(void); /* an earlier write failed: there is no use in going on */

#endif
