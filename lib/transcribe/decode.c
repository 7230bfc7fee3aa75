/* The attempts to decode a window: their prompts, rules and results. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "transcribe/transcription.h"

/* Appends ids `first` to `end` - 1, clipped to the list. */
static clf_status append(struct clf__ids *prompt, const struct clf__ids *ids, int first, int end)
{
    for (int i = first > 0 ? first : 0; i < end && i < ids->count; i++) {
        CLF__TRY(clf__ids_append(prompt, ids->data[i]));
    }
    return CLF_OK;
}

struct clf__room clf__room_before(const struct clf_transcriber *transcriber)
{
    int positions = transcriber->model->transformer->config.decoder_max_positions;
    int half = clf__max_int(positions / 2 - 1, 0);
    int given = clf__min_int(transcriber->hotwords.count, half);
    return (struct clf__room){
        .hotwords = given,
        .previous = given > 0 ? clf__min_int(half, positions - positions / 4 - given) : half,
    };
}

/* Appends hotwords, then a carried initial prompt, then the latest text of earlier windows. If the prompt or
 * the text is too long, its first tokens are dropped, as by openai/whisper's list slices. */
static clf_status append_before(struct clf__ids *prompt, const struct clf_transcriber *transcriber,
                                const struct clf__ids *previous)
{
    struct clf__room room = clf__room_before(transcriber);
    int carried = transcriber->options.carry_initial_prompt ? transcriber->prompt.count : 0;
    int rest = room.previous - carried;
    int first = rest > 0 ? clf__max_int(previous->count - rest, 0) : clf__min_int(-rest, previous->count);
    int over = clf__max_int(carried + previous->count - first - room.previous, 0);
    if (room.hotwords == 0 && carried == 0 && previous->count == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__ids_append(prompt, transcriber->tokens.start_of_previous));
    CLF__TRY(append(prompt, &transcriber->hotwords, 0, room.hotwords));
    CLF__TRY(append(prompt, &transcriber->prompt, over, carried));
    return append(prompt, previous, first + clf__max_int(over - carried, 0), previous->count);
}

clf_status clf__append_start(struct clf__ids *ids, const struct clf_transcriber *transcriber,
                             int32_t language)
{
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    CLF__TRY(clf__ids_append(ids, tokens->start));
    if (transcriber->is_multilingual) {
        CLF__TRY(clf__ids_append(ids, language));
        CLF__TRY(
            clf__ids_append(ids, transcriber->options.translate ? tokens->translate : tokens->transcribe));
    }
    return CLF_OK;
}

/* Builds the prompt: text of earlier windows, language, task and the prefix of the window. */
static clf_status make_prompt(struct clf__ids *prompt, const struct clf_transcriber *transcriber,
                              int32_t language, const struct clf__ids *previous)
{
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    const struct clf_transcribe_options *options = &transcriber->options;
    CLF__TRY(append_before(prompt, transcriber, previous));
    CLF__TRY(clf__append_start(prompt, transcriber, language));
    if (!options->timestamps) {
        CLF__TRY(clf__ids_append(prompt, tokens->no_timestamps));
    }
    return append(prompt, &transcriber->prefix, 0, transcriber->prefix.count);
}

/* Returns the number of timestamps allowed as the first token, rounded half to even as in Python; 0: all. */
static int count_first_timestamps(const struct clf_transcribe_options *options)
{
    double latest = options->max_initial_timestamp;
    return latest > 0 ? (int)lrint(latest / CLF__TIMESTAMP_STEP) + 1 : 0;
}

/* Returns the text tokens of earlier windows. */
static struct clf__ids previous_of(const struct clf__transcription *work)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    int carried = transcriber->options.carry_initial_prompt ? transcriber->prompt.count : 0;
    int first = clf__max_int(work->forgotten, carried); /* a carried prompt is added separately */
    return (struct clf__ids){.data = work->said.data + first, .count = work->said.count - first};
}

static struct clf__whisper_rules make_rules(const struct clf__transcription *work)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    const struct clf__config *config = &transcriber->model->transformer->config;
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    const struct clf_transcribe_options *options = &transcriber->options;
    return (struct clf__whisper_rules){
        .vocabulary = config->target_vocabulary,
        .end_id = tokens->end,
        .timestamp_begin = tokens->timestamp_begin,
        .no_speech_id = tokens->no_speech,
        .start_id = tokens->start,
        .has_timestamps = options->timestamps,
        .text_only = transcriber->text_only,
        .first_timestamps = count_first_timestamps(options),
        .suppressed = transcriber->suppressed.data,
        .suppressed_count = transcriber->suppressed.count,
        .suppressed_first = transcriber->suppressed_first.data,
        .suppressed_first_count = transcriber->suppressed_first.count,
        .most_tokens = transcriber->most_tokens,
        .beams = options->beam,
        .samples = options->best_of,
        .patience = options->patience,
        .length_penalty = options->length_penalty,
        .temperature = work->attempt.temperature,
        .random_key = clf__draws_key(options->seed, work->seek, work->attempt.number),
    };
}

clf_status clf__detection_begin(struct clf__transcription *work)
{
    const struct clf__speech_tokens *tokens = &work->transcriber->tokens;
    struct clf__attempt *attempt = &work->attempt;
    attempt->rules = (struct clf__whisper_rules){
        .vocabulary = work->transcriber->model->transformer->config.target_vocabulary,
        .end_id = tokens->end,
        .timestamp_begin = tokens->timestamp_begin,
        .no_speech_id = tokens->no_speech,
        .start_id = tokens->start,
        .languages = tokens->languages,
        .most_tokens = 1,
        .beams = 1,
        .patience = 1,
    };
    attempt->prompt.count = 0;
    return clf__ids_append(&attempt->prompt, tokens->start);
}

clf_status clf__detection_end(struct clf__transcription *work, const struct clf__whisper_result *result)
{
    if (result->is_not_finite) {
        return clf__model_fail_not_finite(work->transcriber->model);
    }
    work->language = result->count > 0 ? result->ids[0] : work->transcriber->tokens.start + 1;
    if (work->probability != NULL) {
        *work->probability = exp(result->log_probability);
    }
    return CLF_OK;
}

clf_status clf__decode_begin(struct clf__transcription *work)
{
    struct clf__attempt *attempt = &work->attempt;
    struct clf__ids previous = previous_of(work);
    attempt->temperature = clf__temperature(&work->transcriber->options, attempt->number);
    attempt->rules = make_rules(work);
    attempt->prompt.count = 0;
    return make_prompt(&attempt->prompt, work->transcriber, work->language, &previous);
}

clf_status clf__decode_end(struct clf__transcription *work, const struct clf__whisper_result *result)
{
    struct clf_transcriber *transcriber = work->transcriber;
    char *text = NULL;
    size_t size;
    if (result->ids == NULL) { /* all tokens are suppressed, even the end token */
        work->decoded = (struct clf__decoded){.has_failed = 1, .is_not_finite = result->is_not_finite};
        return CLF_OK;
    }
    atomic_fetch_add(&transcriber->generated, result->count);
    CLF__TRY(clf__speech_text(&text, &transcriber->tokens, transcriber->model->tokenizer, result->ids,
                              result->count));
    const char *stripped = clf__speech_strip(&size, text);
    work->decoded = (struct clf__decoded){
        .ids = result->ids,
        .count = result->count,
        .temperature = work->attempt.temperature,
        .avg_logprob = result->log_probability / (result->count + 1),
        .no_speech = result->no_speech,
        .compression_ratio = clf__compression_ratio(stripped, size),
    };
    clf__free(text);
    return CLF_OK;
}
