/* FSMT in Hugging Face folders: fairseq's WMT models of 2016 and 2019 (Ng et al. 2019, Kasai et al. 2020). */
#include "model/config/architectures/architecture.h"

enum { VOCABULARY = 42024, BEAMS = 5, LONGEST = 200 };

static const struct clf__name_rule rules[] = {
    {"lm_head.weight", "model.decoder.output_projection.weight"},
    {"lm_head.weight", "decoder.output_projection.weight"},
    {"*", "*"},
    {"model.*", "*"},
};

static const char *const frozen[] = {".embed_positions.weight", ".embed_positions._float_tensor",
                                     "coder.version", NULL};

static const struct clf__tensor_names names = {rules, sizeof rules / sizeof *rules, frozen};

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__architecture_start_bart(config, choices);
    choices->scale = CLF__SCALE_EMBEDDING;
    config->source_vocabulary = config->target_vocabulary = VOCABULARY;
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    config->sinusoid_frequency = CLF__SINUSOID_BY_LAST;
    config->position_padding_aware = 1;
    config->activation = CLF__RELU;
    config->logits_bias = 0;
}

/* Reads the vocabulary sizes and whether both embeddings and the projection share one matrix
 * ("tie_word_embeddings"). Each side always has its own vocabulary file. */
static clf_status read(struct clf__config *config, struct clf__config_choices *choices,
                       const struct clf__json *json)
{
    int tie = 0;
    (void)choices;
    config->position_offset =
        config->pad_id + 1; /* the first position uses the row after the pad token's row */
    config->source_vocabulary = config->target_vocabulary = VOCABULARY;
    CLF__TRY(clf__json_int(json, "src_vocab_size", 1, CLF__MAX_VOCABULARY, &config->source_vocabulary));
    CLF__TRY(clf__json_int(json, "tgt_vocab_size", 1, CLF__MAX_VOCABULARY, &config->target_vocabulary));
    CLF__TRY(clf__json_bool(json, "tie_word_embeddings", &tie));
    if (tie && config->source_vocabulary != config->target_vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"tie_word_embeddings\" requires vocabularies of equal size, but "
                         "\"src_vocab_size\" is %d and \"tgt_vocab_size\" %d; download the file again",
                         json->path, config->source_vocabulary, config->target_vocabulary);
    }
    config->share_source_target = config->share_target_output = tie;
    config->separate_vocabularies = 1;
    return CLF_OK;
}

/* Sets the defaults of transformers' FSMTConfig. */
static void decode(struct clf__config *config)
{
    config->generation.beams = BEAMS;
    config->generation.max_length = LONGEST - 1; /* excludes the start token */
    config->generation.forced_last = 2;
}

const struct clf__architecture clf__architecture_fsmt = {
    .hugging_face = "fsmt",
    .start = start,
    .read = read,
    .reads_sharing = 1,
    .decode = decode,
    .names = &names,
    .specials = CLF__BART_SPECIALS,
    .tokenizer_class = "FSMTTokenizer",
    .searches_all_positions = 1,
    .keeps_pad_row = 1,
    .stores_sinusoids = {1, 1},
    .ties_by_file = 1,
};
