/* A transcriber: options, suppressed ids and device memory. */
#include <clformer/transcriber.h>

#include <math.h>
#include <string.h>

#include "audio/vad/silero.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "base/options.h"
#include "engine/handle.h"
#include "model/config/sides.h"
#include "text/tokenizers/speech_tokens.h"
#include "transcribe/internal.h"
#include "transcribe/plan.h"

enum { DEFAULT_BEAM = 5, DEFAULT_SAMPLES = 5, MOST_BEAMS = 64, MOST_PATIENCE = 8, DEFAULT_PAD_MS = 400 };

static const double DEFAULT_RATIO = 2.4;

void clf_transcribe_options_init_sized(struct clf_transcribe_options *options, size_t size)
{
    const struct clf_transcribe_options defaults = {
        .size = sizeof defaults,
        .beam = DEFAULT_BEAM,
        .patience = 1,
        .length_penalty = -1,
        .timestamps = 1,
        .condition_on_previous = 1,
        .max_initial_timestamp = 1,
        .no_speech_threshold = 0.6,
        .log_probability_threshold = -1,
        .best_of = DEFAULT_SAMPLES,
        .batch = 1,
        .compression_ratio_threshold = clf__compression_is_known() ? DEFAULT_RATIO : NAN,
        .vad_threshold = 0.5,
        .vad_neg_threshold = NAN,
        .vad_min_silence_duration_ms = NAN,
        .vad_max_speech_duration_s = NAN,
        .vad_speech_pad_ms = DEFAULT_PAD_MS,
    };
    clf__options_init(options, size, &defaults);
}

static clf_status check_clips(const struct clf_transcribe_options *options)
{
    if (options->clip_count < 0 || (options->clips == NULL && options->clip_count > 0)) {
        return clf__fail(CLF_BAD_ARGUMENT, "clips: the count is %d, but there is no list",
                         options->clip_count);
    }
    for (int i = 0; i < options->clip_count; i++) {
        double clip = options->clips[i], from = i % 2 ? options->clips[i - 1] : 0;
        if (!(clip >= from && clip < 1e9)) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "clip %g: is out of order; pass start, end, start, end, ... in seconds, with "
                             "each end after its start",
                             clip);
        }
    }
    return CLF_OK;
}

static clf_status check_options(const struct clf_transcribe_options *options)
{
    CLF__TRY(clf__check_range("beam", options->beam, 1, MOST_BEAMS));
    CLF__TRY(clf__check_range("batch", options->batch, 1, CLF__MOST_RECORDINGS));
    if (options->priority != CLF_PRIORITY_INTERACTIVE && options->priority != CLF_PRIORITY_BULK) {
        return clf__fail(CLF_BAD_ARGUMENT, "priority: %d is out of range; use %d (interactive) or %d (bulk)",
                         (int)options->priority, (int)CLF_PRIORITY_INTERACTIVE, (int)CLF_PRIORITY_BULK);
    }
    CLF__TRY(clf__check_range("patience", options->patience, 0.01, MOST_PATIENCE));
    CLF__TRY(clf__check_range("length penalty", options->length_penalty, -1, 1));
    CLF__TRY(clf__check_range("latest first timestamp", options->max_initial_timestamp, 0, 30));
    double silence = options->hallucination_silence_threshold;
    CLF__TRY(clf__check_range("hallucination silence threshold", silence, 0, 1e9));
    if (silence > 0 && !options->word_timestamps) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "the hallucination silence threshold requires word timestamps; turn them on");
    }
    if (options->hotwords != NULL && options->prefix != NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "hotwords: have no effect with a prefix; remove one of them");
    }
    CLF__TRY(clf__temperatures_check(options));
    CLF__TRY(clf__check_range("batch windows", options->batch_windows, 0, CLF__MOST_RECORDINGS));
    if (options->vad_model != NULL && !options->vad) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: the VAD model requires voice activity detection; turn it on",
                         options->vad_model);
    }
    CLF__TRY(options->vad ? clf__plan_check(options) : CLF_OK);
    return check_clips(options);
}

/* Adds the suppressed ids of the options. */
static clf_status add_suppressed(struct clf__ids *ids, const struct clf_transcriber *transcriber)
{
    static const int32_t unspoken[] = {-1};
    const struct clf_transcribe_options *options = &transcriber->options;
    const int32_t *suppressed = options->suppressed != NULL ? options->suppressed : unspoken;
    int count = options->suppressed != NULL ? options->suppressed_count : 1;
    int vocabulary = transcriber->model->transformer->config.target_vocabulary;
    for (int i = 0; i < count; i++) {
        if (suppressed[i] < -1 || suppressed[i] >= vocabulary) {
            return clf__fail(CLF_BAD_ARGUMENT, "suppressed id: %d is outside the vocabulary; use 0 to %d",
                             suppressed[i], vocabulary - 1);
        }
        CLF__TRY(suppressed[i] < 0 ? clf__speech_unspoken(ids, transcriber->model->tokenizer)
                                   : clf__ids_append(ids, suppressed[i]));
    }
    return CLF_OK;
}

/* Suppresses ids without a token, except timestamps, which need no token text. */
static clf_status add_spare(struct clf__ids *ids, const struct clf_transcriber *transcriber)
{
    struct clf__ids spare = {.count = 0};
    int32_t first = transcriber->tokens.timestamp_begin;
    clf_status status = clf__tokenizer_spare(transcriber->model->tokenizer, &spare);
    for (int i = 0; status == CLF_OK && i < spare.count; i++) {
        int is_time = spare.data[i] >= first && spare.data[i] < first + CLF__SPEECH_TIMES;
        status = is_time ? CLF_OK : clf__ids_append(ids, spare.data[i]);
    }
    clf__ids_free(&spare);
    return status;
}

static clf_status make_bans(struct clf_transcriber *transcriber)
{
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    const struct clf__tokenizer *tokenizer = transcriber->model->tokenizer;
    struct clf__ids *always = &transcriber->suppressed, *first = &transcriber->suppressed_first;
    const int32_t special[] = {tokens->transcribe,  tokens->translate,         tokens->start,
                               tokens->start_of_lm, tokens->start_of_previous, tokens->no_speech};
    int has_none = transcriber->options.suppressed != NULL && transcriber->options.suppressed_count == 0;
    CLF__TRY(add_suppressed(always, transcriber));
    CLF__TRY(add_spare(always, transcriber));
    for (size_t i = 0; !has_none && i < sizeof special / sizeof *special; i++) {
        CLF__TRY(clf__ids_append(always, special[i]));
    }
    if (transcriber->options.timestamps) {
        CLF__TRY(clf__ids_append(always, tokens->no_timestamps));
    }
    clf__ids_sort(always);
    for (int i = 0; i < always->count; i++) {
        CLF__TRY(clf__ids_append(first, always->data[i]));
    }
    CLF__TRY(clf__speech_encode(first, tokenizer, " "));
    CLF__TRY(clf__ids_append(first, tokens->end));
    clf__ids_sort(first);
    return CLF_OK;
}

/* Prompts begin with exactly one space; an empty prompt is a space, as in openai/whisper. */
static clf_status encode_prompt(struct clf__ids *ids, const struct clf_transcriber *transcriber,
                                const char *text)
{
    size_t size;
    char *spaced = NULL;
    if (text == NULL) {
        return CLF_OK;
    }
    const char *stripped = clf__speech_strip(&size, text);
    CLF__TRY(clf__format(&spaced, " %.*s", (int)size, stripped));
    clf_status status = clf__speech_encode(ids, transcriber->model->tokenizer, spaced);
    for (int i = 0; i < ids->count && status == CLF_OK; i++) {
        if (ids->data[i] >= transcriber->tokens.end) {
            status =
                clf__fail(CLF_TEXT, "\"%.80s\": a prompt cannot contain special tokens; remove them", text);
        }
    }
    clf__free(spaced);
    return status;
}

static const char *unless_empty(const char *text)
{
    return text != NULL && *text != '\0' ? text : NULL;
}

clf_status clf__transcriber_set_prompt(struct clf_transcriber *transcriber, const char *text)
{
    transcriber->prompt.count = 0;
    return encode_prompt(&transcriber->prompt, transcriber, text);
}

/* Reads whether the model is multilingual from generation_config.json, or infers it from the vocabulary. */
static clf_status find_kind(struct clf_transcriber *transcriber)
{
    struct clf__json json;
    transcriber->is_multilingual =
        transcriber->model->transformer->config.target_vocabulary >= CLF__SPEECH_MULTILINGUAL;
    CLF__TRY(clf__json_find_in(&json, transcriber->model->folder, "generation_config.json"));
    if (json.root != NULL) {
        clf_status status = clf__json_bool(&json, "is_multilingual", &transcriber->is_multilingual);
        clf__json_free(&json);
        return status;
    }
    return CLF_OK;
}

static clf_status choose_language(struct clf_transcriber *transcriber)
{
    const char *language = transcriber->options.language;
    const char *code = language != NULL ? clf__speech_code(language) : NULL;
    transcriber->language = -1;
    if (!transcriber->is_multilingual) {
        int is_english = language == NULL || (code != NULL && strcmp(code, "en") == 0);
        int detects = transcriber->options.multilingual;
        if (!is_english || transcriber->options.translate || detects) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             transcriber->options.translate
                                 ? "%s: this model is English-only and cannot translate; remove the task"
                             : detects
                                 ? "%s: this model is English-only; turn the detection of the language of "
                                   "each window off"
                                 : "%s: this model is English-only; remove the language or use en",
                             transcriber->model->folder);
        }
        return CLF_OK;
    }
    if (language != NULL && transcriber->options.multilingual) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "language %s: has no effect if the language of each window is "
                         "detected; remove one of them",
                         language);
    }
    if (language != NULL) { /* a model may have languages that openai/whisper lacks */
        transcriber->language = clf__speech_language_id(&transcriber->tokens, transcriber->model->tokenizer,
                                                        code != NULL ? code : language);
        if (transcriber->language < 0) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "%s: unknown language \"%s\"; use its code or its English name, such as fr or French",
                transcriber->model->folder, language);
        }
        int rows = transcriber->model->transformer->config.target_vocabulary;
        if (transcriber->language >= rows) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "%s: language \"%s\" has id %d, but the model has only %d rows; choose another language",
                transcriber->model->folder, language, (int)transcriber->language, rows);
        }
    }
    return CLF_OK;
}

/* Returns the number of samples at temperatures above 0; 0 if all temperatures are 0. */
static int count_samples(const struct clf_transcribe_options *options)
{
    int samples = 0;
    for (int i = 0; i < clf__temperature_count(options); i++) {
        samples = clf__temperature(options, i) > 0 ? options->best_of : samples;
    }
    return samples;
}

static struct clf__window_capacity capacity_of(const struct clf_transcriber *transcriber)
{
    const struct clf__config *config = &transcriber->model->transformer->config;
    const struct clf_transcribe_options *options = &transcriber->options;
    int samples = count_samples(options);
    return (struct clf__window_capacity){
        .search =
            {
                .beams = options->beam,
                .samples = samples,
                .positions = config->decoder_max_positions,
                .wanted = clf__whisper_wanted(options->beam, options->patience),
                .finished = clf__max_int(clf__max_int(options->beam, samples),
                                         (int)ceil(options->beam * options->patience)),
                .banned = transcriber->suppressed_first.count,
            },
        .inputs = options->word_timestamps ? clf__words_most_inputs(config) : 0,
    };
}

/* Checks that the longest possible prompt leaves space for a window's text. */
static clf_status check_room(const struct clf_transcriber *transcriber)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    int positions = transcriber->model->transformer->config.decoder_max_positions;
    struct clf__room room = clf__room_before(transcriber);
    int has_previous = options->condition_on_previous || transcriber->prompt.count > 0;
    int before = has_previous || room.hotwords > 0;
    before += room.hotwords + (has_previous ? room.previous : 0);
    int own = 1 + 2 * transcriber->is_multilingual + !options->timestamps + transcriber->prefix.count;
    return before + own < positions
               ? CLF_OK
               : clf__fail(CLF_TEXT,
                           "the prompt, hotwords and prefix have up to %d tokens and leave no room for text "
                           "in the decoder's %d positions; shorten them",
                           before + own, positions);
}

static clf_status prepare(struct clf_transcriber *transcriber)
{
    const struct clf_model *model = transcriber->model;
    const struct clf__config *config = &model->transformer->config;
    if (!clf__config_hears_windows(config)) {
        return clf__fail(CLF_UNSUPPORTED,
                         config->feature_size > 0 ? "%s: is a speech model other than Whisper; use `clformer "
                                                    "translate` with the paths of recordings as lines"
                                                  : "%s: is a text model; use `clformer translate`",
                         model->folder);
    }
    if (config->feature_size > CLF__LOG_MEL_MOST_BANDS) {
        return clf__fail(CLF_UNSUPPORTED, "%s: the model requires %d mel bands, but at most %d are supported",
                         model->folder, config->feature_size, CLF__LOG_MEL_MOST_BANDS);
    }
    CLF__TRY(check_options(&transcriber->options));
    transcriber->most_tokens = config->decoder_max_positions / 2;
    if (transcriber->options.word_timestamps &&
        clf__words_most_inputs(config) > config->decoder_max_positions) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: %d decoder positions are too few for word timestamps; turn word timestamps off",
                         model->folder, config->decoder_max_positions);
    }
    if (transcriber->options.word_timestamps && config->word_head_count == 0) {
        clf__log(
            CLF_LOG_WARNING,
            "%s: alignment heads are not configured; word timestamps use all heads of the second half of "
            "the layers and are less accurate",
            model->folder);
    }
    CLF__TRY(clf__speech_tokens_find(&transcriber->tokens, model->tokenizer, model->folder));
    CLF__TRY(find_kind(transcriber));
    CLF__TRY(choose_language(transcriber));
    CLF__TRY(make_bans(transcriber));
    CLF__TRY(encode_prompt(&transcriber->prompt, transcriber, transcriber->options.initial_prompt));
    CLF__TRY(encode_prompt(&transcriber->prefix, transcriber, unless_empty(transcriber->options.prefix)));
    CLF__TRY(encode_prompt(&transcriber->hotwords, transcriber, unless_empty(transcriber->options.hotwords)));
    CLF__TRY(check_room(transcriber));
    transcriber->capacity = capacity_of(transcriber);
    const char *vad_model = unless_empty(transcriber->options.vad_model);
    return vad_model != NULL ? clf__silero_open(&transcriber->vad_network, vad_model) : CLF_OK;
}

/* Creates the engine of a transcriber that does not share one. */
static clf_status create_engine(struct clf_transcriber *transcriber)
{
    enum { NO_CACHE = -1 };
    CLF__TRY(clf__engine_create(&transcriber->engine, &transcriber->model, 1, 0, NO_CACHE));
    transcriber->owns_engine = 1;
    const struct clf_transcribe_options *options = &transcriber->options;
    transcriber->engine->batch_windows = options->batch_windows > 0 ? options->batch_windows : options->batch;
    return CLF_OK;
}

/* engine NULL: the transcriber gets its own. */
static clf_status create(struct clf_transcriber **out, struct clf_engine *engine, struct clf_model *model,
                         const struct clf_transcribe_options *options)
{
    struct clf_transcribe_options own;
    clf_transcribe_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_transcribe_options"));
    struct clf_transcriber *transcriber;
    CLF__TRY(clf__allocate(&transcriber, 1, sizeof *transcriber));
    transcriber->model = model;
    transcriber->options = own;
    clf_status status = prepare(transcriber);
    if (status == CLF_OK && engine == NULL) {
        status = create_engine(transcriber);
    } else if (status == CLF_OK) {
        transcriber->engine = engine;
        clf__engine_join(engine);
    }
    if (status == CLF_OK) {
        status = clf__engine_fit_windows(transcriber->engine, &transcriber->capacity);
    }
    if (status != CLF_OK) {
        clf_transcriber_free(transcriber);
        return status;
    }
    *out = transcriber;
    return CLF_OK;
}

clf_status clf_transcriber_create(struct clf_transcriber **out, struct clf_model *model,
                                  const struct clf_transcribe_options *options)
{
    *out = NULL;
    return model != NULL ? create(out, NULL, model, options)
                         : clf__fail(CLF_BAD_ARGUMENT, "model: is NULL; load one with clf_model_load()");
}

clf_status clf_transcriber_create_shared(struct clf_transcriber **out, struct clf_engine *engine,
                                         const struct clf_transcribe_options *options)
{
    *out = NULL;
    return engine != NULL
               ? create(out, engine, engine->lanes[0].model, options)
               : clf__fail(CLF_BAD_ARGUMENT, "engine: is NULL; create one with clf_engine_create()");
}

void clf_transcriber_free(struct clf_transcriber *transcriber)
{
    if (transcriber == NULL) {
        return;
    }
    int is_inside = transcriber->owns_engine && clf__handle_is_here(transcriber->engine);
    if (atomic_load(&transcriber->calls) > 0 || is_inside) {
        clf__log(CLF_LOG_WARNING,
                 "the transcriber was not freed, because it is in use; free its jobs first, and do not "
                 "free it in its own callbacks");
        return;
    }
    clf__engine_leave(transcriber->engine, transcriber->owns_engine);
    clf__ids_free(&transcriber->suppressed);
    clf__ids_free(&transcriber->suppressed_first);
    clf__ids_free(&transcriber->prompt);
    clf__ids_free(&transcriber->prefix);
    clf__ids_free(&transcriber->hotwords);
    clf__silero_free(transcriber->vad_network);
    clf__free(transcriber);
}
