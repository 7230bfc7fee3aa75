/* The speech models of a server, and the transcription of a recording. */
#ifndef CLF_TOOLS_SERVE_SPEECH_H
#define CLF_TOOLS_SERVE_SPEECH_H

#include <stdatomic.h>

#include <clformer/clformer.h>

struct speech_models;
struct speech_model;
struct service;

/* Adds a model that is loaded on `count` devices (NULL: not on this device) and prepares it for requests;
 * creates the list at the first call. The name is copied, the loaded models outlive the list.
 * CLF_UNSUPPORTED: it is not a Whisper model. */
clf_status speech_models_add(struct speech_models **models, const char *name, struct clf_model *const *loaded,
                             int count);
void speech_models_free(struct speech_models *models); /* NULL is ignored */

/* Returns a model by name; NULL: unknown. The first model is the default: without a name, and for whisper-1,
 * the name that OpenAI's clients send. */
struct speech_model *speech_models_find(const struct speech_models *models, const char *name);
/* Returns the model at an index, or NULL after the last. */
struct speech_model *speech_models_at(const struct speech_models *models, int index);
const char *speech_model_name(const struct speech_model *model);
double speech_model_seconds(const struct speech_model *model); /* transcribed so far */
/* Returns the counts of the engine; the lines are windows. */
struct clf_stage_times speech_model_times(const struct speech_model *model);
/* Returns the number of recordings that wait for their turn; *running receives the number of those that have
 * it. */
int speech_model_waiting(int *running, const struct speech_model *model);
/* Creates a transcriber that shares the batches of a model. */
clf_status speech_model_transcriber(struct clf_transcriber **out, const struct speech_model *model,
                                    const struct clf_transcribe_options *options);
/* Counts transcribed audio. */
void speech_model_add_seconds(struct speech_model *model, double seconds);
const struct clf_model *speech_model_loaded(const struct speech_model *model);
long long speech_model_created(const struct speech_model *model); /* in seconds since 1970 */
/* Returns 1 for a model that transcribes only English and does not translate. */
int speech_model_is_english_only(const struct speech_model *model);

/* Sets *code to the code of a language that a client gives as a code ("fr", "pt-BR") or English name, or to
 * NULL for NULL or "auto". Returns 0 if the language is unknown. */
int speech_language(const char **code, const char *language);
/* Returns the English name of a code, in lower case; the code itself if it is unknown. */
const char *speech_language_name(const char *code);

enum { SPEECH_MOST_TEMPERATURES = 128 };

/* A transcription: speech_task_init(), then set the options, then _open(), _begin(), _run() and _end(). */
struct speech_task {
    struct service *service;
    struct speech_model *model;
    struct clf_transcribe_options options;                          /* without callbacks */
    void (*segment)(const struct clf_segment *segment, void *user); /* called for each segment, or NULL */
    void *user;
    atomic_int is_abandoned; /* 1: _run() ends with CLF_INTERRUPTED */
    double temperatures[SPEECH_MOST_TEMPERATURES];
    double seconds; /* duration of the recording; 0 until it is known */
    struct clf_audio *audio;
    struct clf_transcriber *transcriber;
    int has_turn, is_refused;
    int may_be_refused; /* set by the caller: fail with status 429 if many requests wait */
    char path[64];      /* path of the recording; messages must not show it */
};

/* Sets the options to the defaults of `clformer transcribe`. */
void speech_task_init(struct speech_task *task, struct service *service, struct speech_model *model);
/* Decodes at a temperature and, as a fallback, at higher ones up to 1, as --temperature and
 * --temperature-increment-on-fallback do. Returns 0 for too many temperatures. */
int speech_task_set_temperature(struct speech_task *task, double first, double increment);
/* Opens the recording in a file: an audio format, or (is_raw) 16-bit samples at 16 kHz. */
clf_status speech_task_open(struct speech_task *task, int file, int is_raw);
/* Waits for a turn, because each transcription holds samples in memory, then creates the transcriber. */
clf_status speech_task_begin(struct speech_task *task);
/* Runs on a thread with client_set(). */
clf_status speech_task_run(struct speech_task *task, struct clf_transcript **out);
/* Detects the language of the first 30 s; the caller frees *code with clf_string_free(). */
clf_status speech_task_detect(struct speech_task *task, char **code, double *probability);
void speech_task_end(struct speech_task *task);

/* Why a transcription failed, for its client. */
struct speech_failure {
    unsigned status;   /* HTTP */
    const char *field; /* the field at fault: "file", "prompt" or "language"; NULL: none */
    char message[512];
};
/* Describes the failure of a function above; call it directly after the failure. Prints failures that the
 * client did not cause. */
struct speech_failure speech_task_failure(const struct speech_task *task, clf_status status);

#endif
