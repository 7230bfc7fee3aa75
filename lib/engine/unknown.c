/* Replaces unknown tokens of a translation with the source tokens with the most attention (Luong et al.
   2015). */
#include "base/memory.h"
#include "engine/lane.h"
#include "text/tokenizers/token_list.h"

/* Returns the alignment layer of the options or, if not set, of the model; otherwise the second-to-last
 * layer, which usually aligns best. */
static struct clf__attention_heads choose_heads(const struct clf__settings *settings)
{
    const struct clf__config *config = &settings->model->transformer->config;
    if (settings->options.alignment_layer > 0) {
        return (struct clf__attention_heads){settings->options.alignment_layer, 0};
    }
    if (config->alignment_layer > 0) {
        return (struct clf__attention_heads){config->alignment_layer, config->alignment_heads};
    }
    int layers = config->decoder_layers;
    return (struct clf__attention_heads){layers > 1 ? layers - 1 : layers, 0};
}

/* Maps token `link` of the truncated source to the whole source. Truncation keeps the last token, which
 * belongs to the text if no end token frames it. */
static int place_in_whole(const struct clf__settings *settings, const struct clf__source *source, int link)
{
    const struct clf__framing *framing = &settings->framing;
    int before = 0;
    for (int i = 0; i < CLF__MOST_FRAMING; i++) {
        before += framing->before[i] >= 0;
    }
    int is_last = framing->behind[0] < 0 && link == source->length - 1 - before;
    return source->cut_from > 0 && is_last ? source->cut_from - 1 - before : link;
}

static clf_status write_text(struct clf_hypothesis *hypothesis, const struct clf__settings *settings,
                             const struct clf__source *source, const struct clf__token_list *tokens,
                             const int *links)
{
    const struct clf__tokenizer *tokenizer = settings->model->tokenizer;
    const char **given;
    char *text = NULL;
    CLF__TRY(clf__allocate(&given, (size_t)hypothesis->count, sizeof *given));
    for (int i = 0; i < hypothesis->count; i++) {
        int is_unknown = hypothesis->ids[i] == clf__tokenizer_unknown(tokenizer);
        given[i] = is_unknown ? clf__token_list_at(tokens, place_in_whole(settings, source, links[i])) : NULL;
    }
    clf_status status = clf__tokenizer_decode_given(tokenizer, &text, hypothesis->ids, hypothesis->count,
                                                    given, settings->options.subwords);
    clf__free(given);
    CLF__TRY(status);
    clf__free(hypothesis->text);
    hypothesis->text = text;
    return CLF_OK;
}

/* Reads the source's own tokens as written, including the task prefix. */
static clf_status read_tokens(struct clf__token_list *tokens, const struct clf__settings *settings,
                              const struct clf_line *line)
{
    struct clf_line whole;
    char *made;
    CLF__TRY(clf__source_text(&whole, &made, settings, line));
    clf_status status = clf__tokenizer_source_tokens(settings->model->tokenizer, &settings->framing, tokens,
                                                     whole.text, whole.size, settings->options.subwords);
    clf__free(made);
    return status;
}

static int has_unknown(const struct clf_hypothesis *hypothesis, const struct clf__settings *settings)
{
    int32_t unknown = clf__tokenizer_unknown(settings->model->tokenizer);
    int found = 0;
    for (int i = 0; i < hypothesis->count; i++) {
        found |= hypothesis->ids[i] == unknown;
    }
    return found;
}

clf_status clf__unknown_replace(struct clf_hypothesis *hypothesis, struct clf__lane *lane,
                                const struct clf__settings *settings, const struct clf__source *source,
                                const struct clf_line *line)
{
    struct clf__token_list tokens = {0};
    int *links = NULL;
    if (!has_unknown(hypothesis, settings)) {
        return CLF_OK;
    }
    clf_status status = clf__links_find(&links, lane, settings, source, hypothesis, choose_heads(settings));
    if (status == CLF_OK) {
        status = read_tokens(&tokens, settings, line);
    }
    if (status == CLF_OK) {
        status = write_text(hypothesis, settings, source, &tokens, links);
    }
    clf__token_list_free(&tokens);
    clf__free(links);
    return status;
}
