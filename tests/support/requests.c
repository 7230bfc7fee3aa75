#include "support/requests.h"

#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { WORDS = 12 };

int support_request_count(void)
{
    return support_small() ? 64 : 400;
}

/* Chooses beams, lengths, sampling, penalties and n-best at random. */
static struct clf_translate_options choose_options(struct support_random *random,
                                                   const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = 1 + support_integer(random, 4);
    options.n_best = 1 + support_integer(random, options.beam);
    options.max_length = 3 + support_integer(random, 12);
    options.min_length = support_integer(random, 3);
    options.length_penalty = 0.5 * support_integer(random, 4);
    options.repetition_penalty = support_integer(random, 4) == 0 ? 1.3 : 1.0;
    options.no_repeat_ngram_size = support_integer(random, 4) == 0 ? 2 : 0;
    if (support_integer(random, 4) == 0) {
        options.sample = 1;
        options.temperature = 0.7;
        options.top_k = 5;
        options.seed = (uint64_t)support_integer(random, 1000);
    }
    if (support_integer(random, 8) == 0) {
        options.beam = options.n_best = 1;
        options.sample = 0;
        options.alternatives = 2;
    }
    if (support_integer(random, 8) == 0) {
        options.alignment_layer = 1;
    }
    if (support_integer(random, 6) == 0 && options.alternatives == 0) {
        options.coverage_penalty = 0.3;
    }
    options.renormalize = support_integer(random, 6) == 0;
    return options;
}

static void choose_words(char *text, size_t size, struct support_random *random, int words)
{
    *text = '\0';
    for (int i = 0; i < words; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%sw%d", i > 0 ? " " : "", 2 + support_integer(random, 12));
    }
}

clf_status support_request_translate(struct clf_translation **out, struct clf_translator *translator,
                                     const struct support_request *request)
{
    const struct clf_line line = {request->text, strlen(request->text)};
    const struct clf_line prefix = {request->prefix, strlen(request->prefix)};
    return clf_translate_prefixed(out, translator, &line, prefix.size > 0 ? &prefix : NULL, 1);
}

struct support_request *support_requests(struct clf_model *model)
{
    struct support_random random = {11};
    struct support_request *requests = support_array((size_t)support_request_count(), sizeof *requests);
    for (int i = 0; i < support_request_count(); i++) {
        struct support_request *request = &requests[i];
        struct clf_translator *alone;
        request->options = choose_options(&random, model);
        choose_words(request->text, sizeof request->text, &random, support_integer(&random, WORDS));
        choose_words(request->prefix, sizeof request->prefix, &random,
                     request->options.alternatives == 0 && support_integer(&random, 4) == 0 ? 2 : 0);
        assert_ok(clf_translator_create(&alone, model, &request->options));
        assert_ok(support_request_translate(&request->expected, alone, request));
        clf_translator_free(alone);
    }
    return requests;
}

int support_translations_equal(const struct clf_translation *a, const struct clf_translation *b)
{
    int equal = a->status == b->status && a->count == b->count && a->source_count == b->source_count;
    for (int i = 0; equal && i < a->count; i++) {
        const struct clf_hypothesis *x = &a->hypotheses[i], *y = &b->hypotheses[i];
        equal = strcmp(x->text, y->text) == 0 && x->count == y->count &&
                memcmp(x->ids, y->ids, (size_t)x->count * sizeof *x->ids) == 0 &&
                memcmp(&x->score, &y->score, sizeof x->score) == 0 &&
                (x->alignment == NULL) == (y->alignment == NULL) &&
                (x->alignment == NULL ||
                 memcmp(x->alignment, y->alignment, (size_t)x->count * sizeof *x->alignment) == 0);
    }
    return equal;
}

void support_requests_free(struct support_request *requests)
{
    for (int i = 0; i < support_request_count(); i++) {
        clf_translations_free(requests[i].expected, 1);
    }
}
