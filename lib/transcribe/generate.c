/* Generates the texts of encoded windows from given prompts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "base/options.h"
#include "transcribe/encoded.h"
#include "transcribe/internal.h"

void clf_window_options_init_sized(struct clf_window_options *options, size_t size)
{
    const struct clf_window_options defaults = {
        .size = sizeof defaults,
        .beam = 5,
        .n_best = 1,
        .patience = 1,
        .length_penalty = 1,
        .repetition_penalty = 1,
        .max_length = 448,
        .max_initial_timestamp = 50,
    };
    clf__options_init(options, size, &defaults);
}

/* The position of the task tokens in all prompts of a call. */
struct layout {
    int start;       /* index of the start token */
    int end;         /* index of the first token after the task tokens */
    int most_tokens; /* maximum number of generated tokens of a text */
    int has_timestamps;
};

/* A call. */
struct call {
    struct clf_windows *windows;
    struct clf_window_options options;
    struct clf__ids suppressed, suppressed_first; /* ascending */
    struct clf__window_capacity capacity;
    int is_drawn;
};

/* A window of a call. */
struct task {
    const struct call *call;
    struct clf__ids prompt; /* borrowed */
    struct clf__whisper_rules rules;
    struct clf_window_result *result;
};

static clf_status check_counts(const struct clf_window_options *options)
{
    int is_drawn = options->temperature > 0;
    int most = is_drawn             ? CLF__MOST_WINDOW_BEAMS
               : options->beam == 1 ? 1
                                    : (int)lround(options->beam * options->patience);
    if (options->beam < 1 || options->beam > CLF__MOST_WINDOW_BEAMS) {
        return clf__fail(CLF_BAD_ARGUMENT, "beam: %d is out of range; use 1 to %d", options->beam,
                         CLF__MOST_WINDOW_BEAMS);
    }
    if (is_drawn && options->beam != 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "beam: is %d, but samples have no beams; use 1 with a temperature",
                         options->beam);
    }
    if (options->n_best < 1 || options->n_best > most) {
        return clf__fail(CLF_BAD_ARGUMENT, "n best: %d is out of range; use 1 to %d%s", options->n_best, most,
                         is_drawn ? "" : ", the beam times the patience, or 1 with beam 1");
    }
    if (options->no_repeat_ngram_size < 0 || options->top_k < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: is negative; use 0 to turn it off",
                         options->top_k < 0 ? "top k" : "n-gram size");
    }
    return CLF_OK;
}

static clf_status check_options(const struct clf_window_options *options)
{
    enum { MOST_PATIENCE = 64, MOST_TEMPERATURE = 100 };
    if (!(options->patience > 0 && options->patience <= MOST_PATIENCE)) {
        return clf__fail(CLF_BAD_ARGUMENT, "patience: %g is out of range; use more than 0, at most %d",
                         options->patience, MOST_PATIENCE);
    }
    if (!(options->repetition_penalty > 0 && options->repetition_penalty < INFINITY)) {
        return clf__fail(CLF_BAD_ARGUMENT, "repetition penalty: %g is out of range; use more than 0",
                         options->repetition_penalty);
    }
    if (!isfinite(options->length_penalty)) {
        return clf__fail(CLF_BAD_ARGUMENT, "length penalty: %g is not a number", options->length_penalty);
    }
    if (!(options->temperature >= 0 && options->temperature <= MOST_TEMPERATURE)) {
        return clf__fail(CLF_BAD_ARGUMENT, "temperature: %g is out of range; use 0 to %d",
                         options->temperature, MOST_TEMPERATURE);
    }
    return check_counts(options);
}

/* Finds the start token and the task tokens after it. */
static clf_status find_layout(struct layout *out, const struct clf_windows *windows,
                              const struct clf_ids *prompt, int index)
{
    const struct clf__speech_tokens *tokens = &windows->tokens;
    int count = prompt->count;
    CLF__TRY(clf__windows_check_ids(windows, prompt->ids, count, "prompt", index));
    *out = (struct layout){.start = 0};
    while (out->start < count && prompt->ids[out->start] != tokens->start) {
        out->start++;
    }
    if (out->start == count) {
        return clf__fail(CLF_BAD_ARGUMENT, "prompt %d: has no start token; add id %d", index,
                         (int)tokens->start);
    }
    out->end = out->start + 1;
    while (out->end < count && prompt->ids[out->end] >= tokens->start &&
           prompt->ids[out->end] <= tokens->no_timestamps) {
        out->end++;
    }
    out->has_timestamps = prompt->ids[out->end - 1] != tokens->no_timestamps;
    int positions = clf__windows_config(windows)->decoder_max_positions;
    return count <= positions
               ? CLF_OK
               : clf__fail(CLF_TEXT, "prompt %d: has %d tokens, but the model has %d positions", index, count,
                           positions);
}

/* Checks that all prompts have the same layout. */
static clf_status check_prompts(struct layout *out, const struct call *call, const struct clf_ids *prompts)
{
    CLF__TRY(find_layout(out, call->windows, &prompts[0], 0));
    for (int i = 1; i < call->windows->count; i++) {
        struct layout other;
        CLF__TRY(find_layout(&other, call->windows, &prompts[i], i));
        if (other.start != out->start || other.end != out->end ||
            other.has_timestamps != out->has_timestamps) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "prompt %d: its start token or its task tokens differ in number from those of prompt 0; "
                "pass prompts with the same number in one call",
                i);
        }
    }
    int most = call->options.max_length;
    out->most_tokens = clf__min_int(most / 2, most - (out->end - 1));
    return out->most_tokens >= 1
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "maximum length: %d leaves no tokens for the text; use at least %d", most,
                           clf__max_int(2, out->end));
}

static clf_status add_ids(struct clf__ids *ids, const struct call *call, const int32_t *added, int count,
                          const char *what)
{
    CLF__TRY(clf__windows_check_ids(call->windows, added, count, what, 0));
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__ids_append(ids, added[i]));
    }
    return CLF_OK;
}

static clf_status make_bans(struct call *call, const struct layout *layout)
{
    const struct clf_window_options *options = &call->options;
    struct clf__ids *always = &call->suppressed, *first = &call->suppressed_first;
    CLF__TRY(add_ids(always, call, options->suppressed, options->suppressed_count, "suppressed ids"));
    if (layout->has_timestamps) {
        CLF__TRY(clf__ids_append(always, call->windows->tokens.no_timestamps));
    }
    CLF__TRY(add_ids(first, call, options->suppressed_first, options->suppressed_first_count,
                     "suppressed first ids"));
    CLF__TRY(add_ids(first, call, always->data, always->count, "suppressed ids"));
    clf__ids_sort(always);
    clf__ids_sort(first);
    return CLF_OK;
}

static struct clf__window_capacity capacity_of(const struct call *call)
{
    const struct clf__config *config = clf__windows_config(call->windows);
    const struct clf_window_options *options = &call->options;
    struct clf__window_capacity usual = clf__windows_usual_capacity(config);
    int wanted = (int)lround(options->beam * options->patience);
    int samples = call->is_drawn ? options->n_best : 0;
    struct clf__window_capacity needed = {
        .search = {.beams = options->beam,
                   .samples = samples,
                   .positions = config->decoder_max_positions,
                   .wanted = options->beam == 1 ? 1 : wanted,
                   .finished = clf__max_int(samples, clf__max_int(wanted, options->n_best) + options->beam),
                   .banned = call->suppressed_first.count +
                             (options->no_repeat_ngram_size > 0 ? config->decoder_max_positions : 0)}};
    return clf__window_capacity_join(&usual, &needed);
}

static struct clf__whisper_rules rules_of(const struct call *call, const struct layout *layout, int window,
                                          int prompt_count)
{
    const struct clf__speech_tokens *tokens = &call->windows->tokens;
    const struct clf_window_options *options = &call->options;
    enum { NO_ID = -1 };
    return (struct clf__whisper_rules){
        .vocabulary = clf__windows_config(call->windows)->target_vocabulary,
        .end_id = tokens->end,
        .timestamp_begin = tokens->timestamp_begin,
        .no_speech_id = tokens->no_speech,
        .start_id = options->wants_no_speech ? tokens->start : NO_ID,
        .has_timestamps = layout->has_timestamps,
        .first_timestamps = clf__max_int(options->max_initial_timestamp, -1) + 1,
        .suppressed = call->suppressed.data,
        .suppressed_count = call->suppressed.count,
        .suppressed_first = call->suppressed_first.data,
        .suppressed_first_count = call->suppressed_first.count,
        .most_tokens = layout->most_tokens,
        .beams = options->beam,
        .samples = options->n_best,
        .patience = options->patience,
        .length_penalty = options->length_penalty,
        .temperature = options->temperature,
        .top_k = options->top_k,
        .prefix_count = prompt_count - layout->end,
        .no_repeat_ngram = options->no_repeat_ngram_size,
        .repetition_penalty = options->repetition_penalty,
        .follows_ctranslate2 = 1,
        .wanted = options->n_best,
        .random_key = clf__draws_key(options->seed, window, 0),
    };
}

static clf_status begin(void *context, const struct clf__whisper_rules **rules,
                        const struct clf__ids **prompt)
{
    struct task *task = context;
    *rules = &task->rules;
    *prompt = &task->prompt;
    return CLF_OK;
}

static clf_status copy_text(struct clf_window_text *out, const struct clf__whisper_text *text,
                            const struct task *task)
{
    CLF__TRY(clf__allocate(&out->ids, (size_t)text->count, sizeof *out->ids));
    for (int i = 0; i < text->count; i++) {
        out->ids[i] = text->ids[i];
    }
    out->count = text->count;
    out->log_probability = text->log_probability;
    out->score = text->score;
    int is_searched = task->rules.most_tokens > task->rules.prefix_count;
    out->logit_count = task->call->options.wants_logits && is_searched ? text->count + text->has_ended : 0;
    return CLF_OK;
}

static clf_status end(void *context, int *again, const struct clf__whisper_result *found)
{
    struct task *task = context;
    struct clf_window_result *result = task->result;
    *again = 0;
    if (found->is_not_finite) {
        return clf__model_fail_not_finite(task->call->windows->model);
    }
    int count = clf__min_int(found->text_count, task->call->options.n_best);
    result->no_speech_probability = found->no_speech;
    CLF__TRY(clf__allocate(&result->texts, (size_t)count, sizeof *result->texts));
    for (; result->count < count; result->count++) {
        CLF__TRY(copy_text(&result->texts[result->count], &found->texts[result->count], task));
    }
    return CLF_OK;
}

static const struct clf__window_kind generation = {.begin = begin, .end = end};

/* A text that is decoded again for its logits. */
struct again {
    struct task task;
    int32_t *forced; /* (rules.forced_count) */
};

static clf_status end_again(void *context, int *again, const struct clf__whisper_result *found)
{
    const struct again *text = context;
    *again = 0;
    return found->is_not_finite ? clf__model_fail_not_finite(text->task.call->windows->model) : CLF_OK;
}

static const struct clf__window_kind repetition = {.begin = begin, .end = end_again};

/* Prepares to decode text `k` of a window, or nothing if it has fewer texts. */
static clf_status prepare_again(struct again *again, const struct task *task, int k)
{
    struct clf__whisper_rules *rules = &again->task.rules;
    struct clf_window_text *text = k < task->result->count ? &task->result->texts[k] : NULL;
    again->task = *task;
    again->task.prompt.count -= rules->prefix_count;
    if (text == NULL || text->logit_count == 0) {
        rules->most_tokens = 0;
        return CLF_OK;
    }
    rules->beams = rules->samples = rules->wanted = 1;
    rules->patience = 1;
    rules->temperature = 0;
    rules->forced_count = text->logit_count;
    CLF__TRY(clf__allocate(&again->forced, (size_t)text->logit_count + 1, sizeof *again->forced));
    memcpy(again->forced, text->ids, (size_t)text->count * sizeof *again->forced);
    again->forced[text->count] = rules->end_id;
    rules->forced = again->forced;
    CLF__TRY(clf__allocate(&text->logits, (size_t)text->logit_count * (size_t)rules->vocabulary,
                           sizeof *text->logits));
    rules->logits = text->logits;
    return CLF_OK;
}

/* Decodes text `k` of each window again. */
static clf_status decode_again(struct call *call, const struct task *tasks, struct again *again, int k)
{
    clf_status status = CLF_OK;
    int count = call->windows->count;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        again[i] = (struct again){.task = tasks[i]};
        status = prepare_again(&again[i], &tasks[i], k);
    }
    if (status == CLF_OK) {
        status = clf__windows_run_all(call->windows, &repetition, &call->capacity, 0, again, sizeof *again);
    }
    for (int i = 0; i < count; i++) {
        clf__free(again[i].forced);
        again[i].forced = NULL;
    }
    return status;
}

/* Fills the logits of all texts. */
static clf_status find_logits(struct call *call, const struct task *tasks)
{
    struct again *again;
    int count = call->windows->count, most = 0;
    for (int i = 0; i < count; i++) {
        most = clf__max_int(most, tasks[i].result->count);
    }
    CLF__TRY(clf__allocate(&again, (size_t)count, sizeof *again));
    clf_status status = CLF_OK;
    for (int k = 0; k < most && status == CLF_OK; k++) {
        status = decode_again(call, tasks, again, k);
    }
    clf__free(again);
    return status;
}

static clf_status generate(struct call *call, const struct clf_ids *prompts,
                           struct clf_window_result *results)
{
    int count = call->windows->count;
    struct layout layout;
    struct task *tasks;
    CLF__TRY(check_prompts(&layout, call, prompts));
    CLF__TRY(make_bans(call, &layout));
    call->capacity = capacity_of(call);
    CLF__TRY(clf__allocate(&tasks, (size_t)count, sizeof *tasks));
    for (int i = 0; i < count; i++) {
        tasks[i] = (struct task){.call = call,
                                 .prompt = {.data = (int32_t *)prompts[i].ids, .count = prompts[i].count},
                                 .rules = rules_of(call, &layout, i, prompts[i].count),
                                 .result = &results[i]};
    }
    clf_status status =
        clf__windows_run_all(call->windows, &generation, &call->capacity, 0, tasks, sizeof *tasks);
    if (status == CLF_OK && call->options.wants_logits) {
        status = find_logits(call, tasks);
    }
    clf__free(tasks);
    return status;
}

clf_status clf_windows_generate(struct clf_window_result **out, struct clf_windows *windows,
                                const struct clf_ids *prompts, const struct clf_window_options *options)
{
    struct call call = {.windows = windows};
    struct clf_window_result *results;
    *out = NULL;
    clf_window_options_init(&call.options);
    CLF__TRY(clf__options_take(&call.options, sizeof call.options, options, "clf_window_options"));
    CLF__TRY(check_options(&call.options));
    call.is_drawn = call.options.temperature > 0;
    CLF__TRY(clf__allocate(&results, (size_t)windows->count, sizeof *results));
    clf_status status = generate(&call, prompts, results);
    clf__ids_free(&call.suppressed);
    clf__ids_free(&call.suppressed_first);
    if (status != CLF_OK) {
        clf_window_results_free(results, windows->count);
        return status;
    }
    *out = results;
    return CLF_OK;
}

void clf_window_results_free(struct clf_window_result *results, int count)
{
    for (int i = 0; results != NULL && i < count; i++) {
        for (int k = 0; k < results[i].count; k++) {
            clf__free(results[i].texts[k].ids);
            clf__free(results[i].texts[k].logits);
        }
        clf__free(results[i].texts);
    }
    clf__free(results);
}
