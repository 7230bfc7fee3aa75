/* The byte-level tokenizers of BART, which are RoBERTa's, and Blenderbot: ids of vocab.json. */
#include "text/classes/class.h"
#include "text/segmenters/segmenter.h"

#define BYTE_LEVEL(word)                                                                                     \
    .name = (word), .segmenter = &clf__segmenter_byte_level, .model = "merges.txt", .has_vocabulary = 1,     \
    .specials = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}, .never_cleans_up = 1

const struct clf__tokenizer_class clf__class_bart = {BYTE_LEVEL("BartTokenizer")};
const struct clf__tokenizer_class clf__class_roberta = {BYTE_LEVEL("RobertaTokenizer")};
const struct clf__tokenizer_class clf__class_blenderbot = {
    BYTE_LEVEL("BlenderbotTokenizer"),
    .adds_prefix_space = 1,
    .spaces_before = "<mask>",
};
