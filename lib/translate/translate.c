/* text -> ids -> encoder -> search over decoder steps -> ids -> text */
#include <string.h>

#include "base/memory.h"
#include "translate/internal.h"

/* The lines of one call while they are worked on. */
struct work {
    struct clf_translator *translator;
    struct clf__source *sources; /* (count) */
    struct clf_translation *results;
    int count;
};

static clf_status make_session(struct clf_translator *translator)
{
    if (translator->session != NULL) {
        return CLF_OK;
    }
    const struct clf__search_options *search = &translator->search;
    int longest = translator->model->info.max_source_length, budget = translator->options.batch_tokens;
    int slots = translator->max_lines * search->beams;
    struct clf__session_limits limits = {
        .sources = translator->max_lines,
        .source_tokens = budget > longest ? budget : longest,
        .source_length = longest,
        .slots = slots,
        .positions = search->max_length,
        .candidates = 2 * search->beams,
        .banned = slots * translator->max_banned,
    };
    return clf__session_create(&translator->session, translator->model->transformer, &limits);
}

static clf_status step(void *context, struct clf__step *step)
{
    struct clf_translator *translator = context;
    CLF__TRY(clf__translator_go_on(translator));
    double start = clf__seconds();
    clf_status status = clf__session_step(translator->session, step);
    translator->times.decode += clf__seconds() - start;
    translator->times.steps++;
    return status;
}

/* The pieces of generated ids between single spaces; start, end and pad left out. */
static clf_status join_pieces(char **text, const struct clf_model *model, const int32_t *ids, int count)
{
    const struct clf__config *config = &model->transformer->config;
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(clf_target_piece(model, ids[i])) + 1;
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        if (ids[i] != config->pad_id && ids[i] != config->start_id && ids[i] != config->end_id) {
            if (end != *text) {
                *end++ = ' ';
            }
            const char *piece = clf_target_piece(model, ids[i]);
            size_t length = strlen(piece);
            memcpy(end, piece, length);
            end += length;
        }
    }
    return CLF_OK;
}

static clf_status to_text(char **text, const struct clf_translator *translator,
                          const struct clf__hypothesis *hypothesis)
{
    const struct clf_model *model = translator->model;
    return translator->options.pieces
               ? join_pieces(text, model, hypothesis->ids, hypothesis->length)
               : clf__tokenizer_decode(model->tokenizer, text, hypothesis->ids, hypothesis->length);
}

static clf_status keep_hypotheses(struct clf_translator *translator, struct clf_translation *result,
                                  const struct clf__hypothesis *hypotheses, int n_best)
{
    CLF__TRY(clf__allocate(&result->hypotheses, (size_t)n_best, sizeof *result->hypotheses));
    result->count = n_best;
    for (int i = 0; i < n_best; i++) {
        struct clf_hypothesis *kept = &result->hypotheses[i];
        size_t length = (size_t)hypotheses[i].length;
        CLF__TRY(to_text(&kept->text, translator, &hypotheses[i]));
        CLF__TRY(clf__allocate(&kept->ids, length, sizeof *kept->ids));
        if (length > 0) {
            memcpy(kept->ids, hypotheses[i].ids, length * sizeof *kept->ids);
        }
        kept->count = hypotheses[i].length;
        kept->score = hypotheses[i].score;
        kept->log_probability = hypotheses[i].log_probability;
    }
    translator->times.target_tokens += hypotheses[0].length;
    return CLF_OK;
}

static clf_status translate_batch(struct work *work, const int *order, int count)
{
    struct clf_translator *translator = work->translator;
    struct clf_stage_times *times = &translator->times;
    struct clf__joined joined;
    CLF__TRY(clf__sources_join(&joined, work->sources, order, count, translator->model->info.feature_size));
    double start = clf__seconds();
    clf_status status = clf__session_encode(translator->session, &joined.sequences);
    times->source_tokens += joined.first[count];
    clf__joined_free(&joined);
    double encoded = clf__seconds(), decode_before = times->decode;
    times->encode += encoded - start;
    struct clf__search_result found = {.hypotheses = NULL};
    if (status == CLF_OK) {
        status = clf__search_run(&found, &translator->search, count, step, translator);
    }
    double searched = clf__seconds();
    times->search += searched - encoded - (times->decode - decode_before);
    for (int i = 0; i < count && status == CLF_OK; i++) {
        status = keep_hypotheses(translator, &work->results[order[i]], &found.hypotheses[i * found.n_best],
                                 found.n_best);
    }
    clf__search_result_free(&found);
    times->detokenize += clf__seconds() - searched;
    times->batches++;
    times->lines += count;
    return status;
}

static clf_status read_sources(struct work *work, const struct clf_line *lines)
{
    double start = clf__seconds();
    for (int i = 0; i < work->count; i++) {
        struct clf_translation *result = &work->results[i];
        struct clf__source *source = &work->sources[i];
        CLF__TRY(clf__source_read(source, &result->status, &result->problem, work->translator, &lines[i]));
        result->cut_from = source->cut_from;
        result->source_count = source->length;
        work->translator->times.lines += source->length == 0; /* the others count when they are done */
    }
    work->translator->times.tokenize += clf__seconds() - start;
    return CLF_OK;
}

static clf_status plan(struct clf__batches *batches, const struct work *work)
{
    int *lengths;
    CLF__TRY(clf__allocate(&lengths, (size_t)work->count, sizeof *lengths));
    for (int i = 0; i < work->count; i++) {
        lengths[i] = work->sources[i].length;
    }
    clf_status status = clf__batches_plan(
        batches, lengths, work->count, work->translator->options.batch_tokens, work->translator->max_lines);
    clf__free(lengths);
    return status;
}

static clf_status run(struct work *work, const struct clf_line *lines)
{
    CLF__TRY(read_sources(work, lines));
    struct clf__batches batches;
    CLF__TRY(plan(&batches, work));
    clf_status status = batches.count > 0 ? make_session(work->translator) : CLF_OK;
    for (int b = 0; b < batches.count && status == CLF_OK; b++) {
        int first = batches.first[b];
        status = translate_batch(work, batches.order + first, batches.first[b + 1] - first);
    }
    clf__batches_free(&batches);
    return status;
}

clf_status clf_translate(struct clf_translation **out, struct clf_translator *translator,
                         const struct clf_line *lines, int count)
{
    struct work work = {.translator = translator, .count = count};
    clf_status status = clf__allocate(&work.results, (size_t)count, sizeof *work.results);
    if (status == CLF_OK) {
        status = clf__allocate(&work.sources, (size_t)count, sizeof *work.sources);
    }
    if (status == CLF_OK) {
        status = run(&work, lines);
    }
    for (int i = 0; work.sources != NULL && i < count; i++) {
        clf__source_free(&work.sources[i]);
    }
    clf__free(work.sources);
    if (status != CLF_OK) {
        clf_translations_free(work.results, count);
        return status;
    }
    *out = work.results;
    return CLF_OK;
}

void clf_translations_free(struct clf_translation *translations, int count)
{
    if (translations == NULL) {
        return;
    }
    for (int i = 0; i < count; i++) {
        struct clf_translation *translation = &translations[i];
        for (int h = 0; h < translation->count; h++) {
            clf__free(translation->hypotheses[h].text);
            clf__free(translation->hypotheses[h].ids);
        }
        clf__free(translation->hypotheses);
        clf__free(translation->problem);
    }
    clf__free(translations);
}
