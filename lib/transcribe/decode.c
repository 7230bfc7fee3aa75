/* Encodes the frames of a window and searches for its transcript. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "transcribe/internal.h"

clf_status clf__encode_windows(struct clf_transcriber *transcriber, int count)
{
    int first[CLF__MOST_RECORDINGS + 1];
    for (int i = 0; i <= count; i++) {
        first[i] = i * CLF__WINDOW_FRAMES;
    }
    struct clf__sequences windows = {.count = count, .first = first};
    clf__session_release_all(transcriber->session);
    return clf__session_start(transcriber->session, &windows);
}

clf_status clf__detect_language(int32_t *out, double *probability, struct clf_transcriber *transcriber)
{
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    int32_t ranges[] = {tokens->start + 1, tokens->start + 1 + tokens->languages};
    int32_t token = tokens->start, zero = 0, no_bans[2] = {0}, id, range_id;
    float value, statistics[4], range_value, range_statistics[2];
    struct clf__step step = {
        .rows = 1,
        .tokens = &token,
        .positions = &zero,
        .cache_rows = &zero,
        .parents = &zero,
        .slots = &zero,
        .banned = no_bans,
        .banned_offsets = no_bans,
        .candidates = 1,
        .ranges_each = 1,
        .ranges = ranges,
        .values = &value,
        .ids = &id,
        .statistics = statistics,
        .range_values = &range_value,
        .range_ids = &range_id,
        .range_statistics = range_statistics,
    };
    CLF__TRY(clf__session_step(transcriber->session, &step));
    if (isnan(statistics[3])) {
        return clf__model_fail_not_finite(transcriber->model);
    }
    *out = range_id >= 0 ? range_id : ranges[0];
    if (probability != NULL) {
        *probability = exp(-(double)range_statistics[1]);
    }
    return CLF_OK;
}

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

static struct clf__whisper_rules make_rules(const struct clf_transcriber *transcriber,
                                            const struct clf__attempt *attempt)
{
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
        .patience = options->patience,
        .length_penalty = options->length_penalty,
        .temperature = attempt->temperature,
        .random_key = clf__draws_key(options->seed, attempt->window, attempt->number),
    };
}

clf_status clf__decode_begin(struct clf_transcriber *transcriber, const struct clf__attempt *attempt)
{
    struct clf__decoding *decoding = &transcriber->decodings[attempt->slot];
    struct clf__ids *prompt = &decoding->prompt;
    decoding->rules = make_rules(transcriber, attempt);
    prompt->count = 0;
    CLF__TRY(make_prompt(prompt, transcriber, attempt->language, attempt->previous));
    clf__whisper_begin(transcriber->whisper, &decoding->rules, prompt->data, prompt->count, attempt->slot);
    return CLF_OK;
}

clf_status clf__decode_all(struct clf_transcriber *transcriber)
{
    struct clf__step *step;
    while ((step = clf__whisper_prepare(transcriber->whisper)) != NULL) {
        CLF__TRY(clf__transcriber_go_on(transcriber));
        CLF__TRY(clf__session_step(transcriber->session, step));
        clf__whisper_advance(transcriber->whisper);
    }
    return CLF_OK;
}

clf_status clf__decode_end(struct clf_transcriber *transcriber, const struct clf__attempt *attempt)
{
    struct clf__whisper_result result = clf__whisper_result(transcriber->whisper, attempt->slot);
    char *text = NULL;
    size_t size;
    if (result.ids == NULL) { /* all tokens are suppressed, even the end token */
        *attempt->out = (struct clf__decoded){.has_failed = 1, .is_not_finite = result.is_not_finite};
        return CLF_OK;
    }
    transcriber->generated += result.count;
    CLF__TRY(clf__speech_text(&text, &transcriber->tokens, transcriber->model->tokenizer, result.ids,
                              result.count));
    const char *stripped = clf__speech_strip(&size, text);
    *attempt->out = (struct clf__decoded){
        .ids = result.ids,
        .count = result.count,
        .temperature = attempt->temperature,
        .avg_logprob = result.log_probability / (result.count + 1),
        .no_speech = result.no_speech,
        .compression_ratio = clf__compression_ratio(stripped, size),
    };
    clf__free(text);
    return CLF_OK;
}
