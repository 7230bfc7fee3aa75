/* Unknown tokens of a translation become the source's tokens that they look at most (Luong et al. 2015). */
#include "base/memory.h"
#include "text/pieces.h"
#include "translate/internal.h"

/* The alignments' own layer where they are wanted; else the model's, or the one that often aligns best. */
static struct clf__gaze choose_gaze(const struct clf_translator *translator)
{
    const struct clf__config *config = &translator->model->transformer->config;
    if (translator->options.alignment_layer > 0) {
        return (struct clf__gaze){translator->options.alignment_layer, 0};
    }
    if (config->alignment_layer > 0) {
        return (struct clf__gaze){config->alignment_layer, config->alignment_heads};
    }
    int layers = config->decoder_layers;
    return (struct clf__gaze){layers > 1 ? layers - 1 : layers, 0};
}

/* Which of the whole source's tokens it is that the model took as number `link`: of one that was cut the last
 * one is kept. */
static int place_in_whole(const struct clf__source *source, int link)
{
    return source->cut_from > 0 && link == source->length - 1 ? source->cut_from - 1 : link;
}

static clf_status write_text(struct clf_hypothesis *hypothesis, const struct clf_translator *translator,
                             const struct clf__source *source, const struct clf__pieces *tokens,
                             const int *links)
{
    const struct clf__tokenizer *tokenizer = translator->model->tokenizer;
    const char **given;
    char *text = NULL;
    CLF__TRY(clf__allocate(&given, (size_t)hypothesis->count, sizeof *given));
    for (int i = 0; i < hypothesis->count; i++) {
        int is_unknown = hypothesis->ids[i] == clf__tokenizer_unknown(tokenizer);
        given[i] = is_unknown ? clf__pieces_at(tokens, place_in_whole(source, links[i])) : NULL;
    }
    clf_status status = clf__tokenizer_decode_given(tokenizer, &text, hypothesis->ids, hypothesis->count,
                                                    given, translator->options.pieces);
    clf__free(given);
    CLF__TRY(status);
    clf__free(hypothesis->text);
    hypothesis->text = text;
    return CLF_OK;
}

/* What the source's own tokens are as they are written; a task's prefix is among them. */
static clf_status read_tokens(struct clf__pieces *tokens, const struct clf_translator *translator,
                              const struct clf_line *line)
{
    struct clf_line whole;
    char *made;
    CLF__TRY(clf__source_text(&whole, &made, translator, line));
    clf_status status =
        clf__tokenizer_source_tokens(translator->model->tokenizer, &translator->framing, tokens, whole.text,
                                     whole.size, translator->options.pieces);
    clf__free(made);
    return status;
}

static int has_unknown(const struct clf_hypothesis *hypothesis, const struct clf_translator *translator)
{
    int32_t unknown = clf__tokenizer_unknown(translator->model->tokenizer);
    int found = 0;
    for (int i = 0; i < hypothesis->count; i++) {
        found |= hypothesis->ids[i] == unknown;
    }
    return found;
}

clf_status clf__unknown_replace(struct clf_hypothesis *hypothesis, struct clf_translator *translator,
                                const struct clf__source *source, const struct clf_line *line)
{
    struct clf__pieces tokens = {0};
    int *links = NULL;
    if (!has_unknown(hypothesis, translator)) {
        return CLF_OK;
    }
    clf_status status = clf__links_find(&links, translator, source, hypothesis, choose_gaze(translator));
    if (status == CLF_OK) {
        status = read_tokens(&tokens, translator, line);
    }
    if (status == CLF_OK) {
        status = write_text(hypothesis, translator, source, &tokens, links);
    }
    clf__pieces_free(&tokens);
    clf__free(links);
    return status;
}
