/* One window: its frames are encoded, and what is said in it is searched for. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "transcribe/internal.h"

clf_status clf__encode_window(struct clf_transcriber *transcriber)
{
    int first[] = {0, CLF__WINDOW_FRAMES};
    struct clf__sequences window = {.count = 1, .first = first};
    clf__session_release_all(transcriber->session);
    return clf__session_start(transcriber->session, &window);
}

clf_status clf__detect_language(int32_t *out, struct clf_transcriber *transcriber)
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
    *out = range_id >= 0 ? range_id : ranges[0];
    return CLF_OK;
}

/* Of ids, those from `first` on. */
static clf_status append(struct clf__ids *prompt, const struct clf__ids *ids, int first)
{
    for (int i = first > 0 ? first : 0; i < ids->count; i++) {
        CLF__TRY(clf__ids_append(prompt, ids->data[i]));
    }
    return CLF_OK;
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

/* What stands before the text: what was said before, then the language, the task and what the window begins
 * with. */
static clf_status make_prompt(struct clf__ids *prompt, const struct clf_transcriber *transcriber,
                              int32_t language, const struct clf__ids *previous)
{
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    const struct clf_transcribe_options *options = &transcriber->options;
    int most = transcriber->model->transformer->config.decoder_max_positions / 2 - 1;
    if (previous->count > 0) {
        CLF__TRY(clf__ids_append(prompt, tokens->start_of_previous));
        CLF__TRY(append(prompt, previous, previous->count - most));
    }
    CLF__TRY(clf__append_start(prompt, transcriber, language));
    if (!options->timestamps) {
        CLF__TRY(clf__ids_append(prompt, tokens->no_timestamps));
    }
    CLF__TRY(append(prompt, &transcriber->prefix, 0));
    if (prompt->count >= transcriber->model->transformer->config.decoder_max_positions) {
        return clf__fail(CLF_TEXT, "prompt and prefix are %d tokens, which leaves no room for others",
                         prompt->count);
    }
    return CLF_OK;
}

static struct clf__passage_rules make_rules(const struct clf_transcriber *transcriber,
                                            const struct clf__attempt *attempt)
{
    const struct clf__config *config = &transcriber->model->transformer->config;
    const struct clf__speech_tokens *tokens = &transcriber->tokens;
    const struct clf_transcribe_options *options = &transcriber->options;
    return (struct clf__passage_rules){
        .vocabulary = config->target_vocabulary,
        .end_id = tokens->end,
        .timestamp_begin = tokens->timestamp_begin,
        .no_speech_id = tokens->no_speech,
        .start_id = tokens->start,
        .has_timestamps = options->timestamps,
        .first_timestamps =
            (int)lround(options->max_initial_timestamp * CLF__FRAMES_A_SECOND / CLF__FRAMES_A_TIMESTAMP) + 1,
        .suppressed = transcriber->suppressed.data,
        .suppressed_count = transcriber->suppressed.count,
        .suppressed_first = transcriber->suppressed_first.data,
        .suppressed_first_count = transcriber->suppressed_first.count,
        .most_tokens = config->decoder_max_positions / 2,
        .patience = options->patience,
        .length_penalty = options->length_penalty,
        .temperature = attempt->temperature,
        .random_key = clf__draws_key(options->seed, attempt->window, attempt->number),
    };
}

static clf_status search(struct clf_transcriber *transcriber, const struct clf__passage_rules *rules,
                         const struct clf__ids *prompt)
{
    struct clf__step *step;
    clf__passage_begin(transcriber->passage, rules, prompt->data, prompt->count, 0);
    while ((step = clf__passage_prepare(transcriber->passage)) != NULL) {
        CLF__TRY(clf__transcriber_go_on(transcriber));
        CLF__TRY(clf__session_step(transcriber->session, step));
        clf__passage_advance(transcriber->passage);
    }
    return CLF_OK;
}

static clf_status describe(struct clf__decoded *out, const struct clf_transcriber *transcriber)
{
    struct clf__passage_result result = clf__passage_result(transcriber->passage);
    char *text = NULL;
    size_t size;
    CLF__TRY(clf__speech_text(&text, &transcriber->tokens, transcriber->model->tokenizer, result.ids,
                              result.count));
    const char *stripped = clf__speech_strip(&size, text);
    *out = (struct clf__decoded){
        .ids = result.ids,
        .count = result.count,
        .avg_logprob = result.log_probability / (result.count + 1),
        .no_speech = result.no_speech,
        .compression_ratio = clf__compression_ratio(stripped, size),
    };
    clf__free(text);
    return CLF_OK;
}

clf_status clf__decode_window(struct clf__decoded *out, struct clf_transcriber *transcriber,
                              const struct clf__attempt *attempt)
{
    struct clf__passage_rules rules = make_rules(transcriber, attempt);
    struct clf__ids prompt = {0};
    clf_status status = make_prompt(&prompt, transcriber, attempt->language, attempt->previous);
    if (status == CLF_OK) {
        status = search(transcriber, &rules, &prompt);
    }
    if (status == CLF_OK) {
        status = describe(out, transcriber);
        out->temperature = rules.temperature;
    }
    clf__ids_free(&prompt);
    return status;
}
