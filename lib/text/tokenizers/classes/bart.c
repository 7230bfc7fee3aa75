/* Byte-level tokenizers of BART, RoBERTa, Blenderbot and Whisper, with the ids in vocab.json. */
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/speech_tokens.h"

static const struct clf__class_pipeline pipeline = {CLF__BYTE_LEVEL_PIPELINE};
static const struct clf__class_pipeline framed_pipeline = {CLF__BYTE_LEVEL_PIPELINE, .takes_template = 1};

#define BYTE_LEVEL(word)                                                                                     \
    .name = (word), .segmenter = &clf__segmenter_byte_level, .model = "merges.txt", .has_vocabulary = 1,     \
    .specials = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}, .never_cleans_up = 1

const struct clf__tokenizer_class clf__class_bart = {BYTE_LEVEL("BartTokenizer"), .starts_source = 1,
                                                     .pipeline = &pipeline};
const struct clf__tokenizer_class clf__class_roberta = {BYTE_LEVEL("RobertaTokenizer"), .starts_source = 1,
                                                        .pipeline = &pipeline};
/* All special tokens of Whisper are added tokens. */
const struct clf__tokenizer_class clf__class_whisper = {
    .name = "WhisperTokenizer",
    .segmenter = &clf__segmenter_byte_level,
    .model = "merges.txt",
    .has_vocabulary = 1,
    .name_spare = clf__speech_name_times,
    .unknown = "<|endoftext|>",
    .never_cleans_up = 1,
    .prefers_json = 1,
};
const struct clf__tokenizer_class clf__class_blenderbot = {
    BYTE_LEVEL("BlenderbotTokenizer"),
    .adds_prefix_space = 1,
    .spaces_before = "<mask>",
    .pipeline = &framed_pipeline,
};
