/* Splits texts into sentences, translates each one, and joins the translations with the original gaps. */
#include <string.h>

#include "base/memory.h"
#include "text/sentences/sentences.h"
#include "text/tokenizers/clean_up.h"
#include "translate/internal.h"

/* The lines of one call and their concatenated parts. */
struct split {
    struct clf__call *call;
    struct clf_translator *translator;
    const struct clf_line *lines;
    int count;
    struct clf__part_list parts;     /* parts of all lines */
    int *first;                      /* (count + 1) first part of each line */
    struct clf_line *sources;        /* (parts.count) */
    struct clf_translation *results; /* (count) */
    int joined;                      /* number of complete results */
};

/* Returns the offset of the white space nearest to the middle of a part; 0: none. */
static size_t find_middle(const char *text, size_t size)
{
    size_t best = 0, middle = size / 2;
    for (size_t at = 1; at < size; at++) {
        size_t away = at < middle ? middle - at : at - middle,
               nearest = best < middle ? middle - best : best - middle;
        if (clf__text_space_in(text + at, size - at) > 0 && (best == 0 || away < nearest)) {
            best = at;
        }
    }
    return best;
}

/* Returns whether a part has more tokens than the model's limit. */
static clf_status is_too_long(int *out, const struct split *split, const char *text, size_t size)
{
    enum { TOKENS_A_BYTE = 4 }; /* more than any normalizer produces from natural text */
    struct clf__source source;
    const struct clf_line line = {text, size};
    *out = 0;
    struct clf_translator *translator = split->translator;
    size_t prefix =
        translator->settings->source_prefix != NULL ? strlen(translator->settings->source_prefix) : 0;
    size_t most =
        TOKENS_A_BYTE * (prefix + size) + (size_t)clf__framing_count(&translator->settings->framing);
    if (most <= (size_t)translator->settings->model->info.max_source_length) {
        return CLF_OK;
    }
    clf_status status = clf__translator_read(&source, translator, &line);
    if (status == CLF_OK) {
        *out = source.cut_from > 0;
        clf__source_free(&source);
    }
    return status == CLF_TEXT ? CLF_OK : status; /* reported when the part is translated */
}

/* Adds a part, or recursively its halves if it is too long. */
static clf_status add_part(struct split *split, const char *text, struct clf__part part)
{
    int is_long;
    CLF__TRY(is_too_long(&is_long, split, text + part.start, part.size));
    size_t middle = is_long ? find_middle(text + part.start, part.size) : 0;
    if (middle == 0) {
        return clf__part_list_add(&split->parts, part);
    }
    struct clf__part left = clf__part_trim(text, part.start, part.start + middle);
    struct clf__part right = clf__part_trim(text, part.start + middle, part.start + part.size);
    CLF__TRY(add_part(split, text, left));
    return right.size > 0 ? add_part(split, text, right) : CLF_OK;
}

static clf_status find_parts(struct split *split)
{
    struct clf__part_list sentences = {.count = 0};
    clf_status status = clf__allocate(&split->first, (size_t)split->count + 1, sizeof *split->first);
    for (int i = 0; status == CLF_OK && i < split->count; i++) {
        sentences.count = 0;
        status = clf__call_ask(split->call, i);
        status = status == CLF_OK
                     ? clf__sentences_find(&sentences, split->lines[i].text, split->lines[i].size)
                     : status;
        for (int k = 0; status == CLF_OK && k < sentences.count; k++) {
            status = add_part(split, split->lines[i].text, sentences.items[k]);
        }
        split->first[i + 1] = split->parts.count;
    }
    clf__part_list_free(&sentences);
    CLF__TRY(status);
    CLF__TRY(clf__allocate(&split->sources, (size_t)split->parts.count, sizeof *split->sources));
    for (int i = 0; i < split->count; i++) {
        for (int k = split->first[i]; k < split->first[i + 1]; k++) {
            split->sources[k] = (struct clf_line){split->lines[i].text + split->parts.items[k].start,
                                                  split->parts.items[k].size};
        }
    }
    return CLF_OK;
}

/* Scripts without spaces between sentences begin at U+2E80. */
static int is_ideographic(const char *text)
{
    return strcmp(text, "\xe2\xba\x80") >= 0;
}

/* Adds the gap before part k of a line: the original gap, or a space if only the target script separates
 * sentences by spaces. */
static clf_status add_gap(char **text, const struct split *split, int line, int k, const char *next)
{
    const struct clf__part *parts = split->parts.items;
    int is_first = k == split->first[line];
    size_t start = is_first ? 0 : parts[k - 1].start + parts[k - 1].size, size = parts[k].start - start;
    if (size == 0 && !is_first && !is_ideographic(next)) {
        return clf__append(text, " ");
    }
    return clf__append(text, "%.*s", (int)size, split->lines[line].text + start);
}

static clf_status add_ids(struct clf_hypothesis *whole, const struct clf_hypothesis *part)
{
    CLF__TRY(clf__resize(&whole->ids, (size_t)whole->count + (size_t)part->count, sizeof *whole->ids));
    memcpy(whole->ids + whole->count, part->ids, (size_t)part->count * sizeof *part->ids);
    whole->count += part->count;
    whole->score += part->score;
    whole->log_probability += part->log_probability;
    return CLF_OK;
}

/* Copies the status of a failed part to its line; the first failure wins. */
static clf_status take_problem(struct clf_translation *line, const struct clf_translation *part)
{
    if (line->status != CLF_OK || part->status == CLF_OK) {
        return CLF_OK;
    }
    line->status = part->status;
    return clf__copy_string(&line->problem, part->problem);
}

/* Calls the hook with part k and its translation. */
static clf_status emit_sentence(const struct split *split, int line, int k,
                                const struct clf_translation *part)
{
    const struct clf_translate_options *options = split->call->options;
    const struct clf_line *source = &split->sources[k];
    const struct clf_hypothesis *best = part->count > 0 ? &part->hypotheses[0] : NULL;
    struct clf_alignment_link *links = NULL;
    int count = 0;
    if (options->sentence_translated == NULL) {
        return CLF_OK;
    }
    if (best != NULL && best->alignment != NULL) {
        CLF__TRY(clf__links_of_text(&links, &count, split->translator->settings, source, best));
    }
    const struct clf_sentence sentence = {.size = sizeof sentence,
                                          .source = source->text,
                                          .source_size = source->size,
                                          .text = best != NULL ? best->text : "",
                                          .links = links,
                                          .link_count = count};
    options->sentence_translated(line, &sentence, options->payload);
    clf__free(links);
    return CLF_OK;
}

/* Appends the missing terms of a part to those of its line. */
static clf_status add_missing(struct clf_translation *line, const struct clf_translation *part)
{
    for (int i = 0; i < part->missing_count; i++) {
        size_t count = (size_t)line->missing_count;
        CLF__TRY(clf__resize(&line->missing_terms, count + 1, sizeof *line->missing_terms));
        CLF__TRY(clf__copy_string(&line->missing_terms[count], part->missing_terms[i]));
        line->missing_count++;
    }
    return CLF_OK;
}

static clf_status join_line(struct clf_translation *out, const struct split *split, int line,
                            const struct clf_translation *parts)
{
    int first = split->first[line], last = split->first[line + 1];
    for (int k = first; k < last; k++) {
        CLF__TRY(take_problem(out, &parts[k]));
        out->cut_from = parts[k].cut_from > out->cut_from ? parts[k].cut_from : out->cut_from;
        out->source_count += parts[k].source_count;
    }
    if (first == last || out->status != CLF_OK) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&out->hypotheses, 1, sizeof *out->hypotheses));
    out->count = 1;
    struct clf_hypothesis *whole = &out->hypotheses[0];
    CLF__TRY(clf__copy_string(&whole->text, ""));
    for (int k = first; k < last; k++) {
        const char *text = parts[k].count > 0 ? parts[k].hypotheses[0].text : "";
        CLF__TRY(emit_sentence(split, line, k, &parts[k]));
        CLF__TRY(add_gap(&whole->text, split, line, k, text));
        CLF__TRY(clf__append(&whole->text, "%s", text));
        CLF__TRY(parts[k].count > 0 ? add_ids(whole, &parts[k].hypotheses[0]) : CLF_OK);
        CLF__TRY(add_missing(out, &parts[k]));
    }
    const struct clf__part *end = &split->parts.items[last - 1];
    const struct clf_line *source = &split->lines[line];
    return clf__append(&whole->text, "%.*s", (int)(source->size - end->start - end->size),
                       source->text + end->start + end->size);
}

/* A clf__emit for parts: joins and emits the lines whose parts are complete. */
static clf_status join_lines(void *user, struct clf_translation *parts, int from, int to)
{
    struct split *split = user;
    (void)from;
    for (; split->joined < split->count && split->first[split->joined + 1] <= to; split->joined++) {
        CLF__TRY(join_line(&split->results[split->joined], split, split->joined, parts));
        CLF__TRY(clf__emit_lines(split->call, split->results, split->joined, split->joined + 1));
    }
    return CLF_OK;
}

static clf_status prepare(struct split *split)
{
    struct clf__call *call = split->call;
    CLF__TRY(clf__allocate(&split->results, (size_t)split->count, sizeof *split->results));
    CLF__TRY(find_parts(split));
    const struct clf__request request = {.lines = split->sources,
                                         .count = split->parts.count,
                                         .emit = join_lines,
                                         .user = split,
                                         .call = call};
    CLF__TRY(clf__work_begin(&call->work, call->translator, call->translator->settings, &request));
    call->job = &call->work.job;
    return CLF_OK;
}

static clf_status begin(struct clf__call *call)
{
    struct split *split;
    if (call->others != NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "sentence splitting cannot be combined with a target prefix; turn one of them off");
    }
    CLF__TRY(clf__translator_check_lines(call->lines, call->count));
    CLF__TRY(clf__allocate(&split, 1, sizeof *split));
    *split = (struct split){
        .call = call, .translator = call->translator, .lines = call->lines, .count = call->count};
    call->state = split;
    return prepare(split);
}

static clf_status advance(struct clf__call *call)
{
    struct split *split = call->state;
    int parts = split->parts.count;
    struct clf_translation *results = clf__work_take(&call->work);
    clf_status status = join_lines(split, results, 0, parts); /* emits lines without parts */
    const struct clf_stage_times times = {.lines = split->count - parts};
    clf__engine_add_times(split->translator->engine, &times);
    clf_translations_free(results, parts);
    CLF__TRY(status);
    call->translations = split->results;
    split->results = NULL;
    call->job = NULL;
    return CLF_OK;
}

static void free_split(struct clf__call *call)
{
    struct split *split = call->state;
    if (split == NULL) {
        return;
    }
    clf__part_list_free(&split->parts);
    clf__free(split->first);
    clf__free(split->sources);
    clf_translations_free(split->results, split->count);
    clf__free(split);
}

const struct clf__call_kind clf__call_split = {begin, advance, free_split};
