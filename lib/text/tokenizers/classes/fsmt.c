/* FSMTTokenizer: Moses tokenization by language, BPE, and a file of ids for each side. */
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/segmenters/segmenter.h"

const struct clf__tokenizer_class clf__class_fsmt = {
    .name = "FSMTTokenizer",
    .segmenter = &clf__segmenter_fsmt,
    .model = "merges.txt",
    .has_vocabulary = 1,
    .sides = {"vocab-src.json", "vocab-tgt.json"},
    .specials = {"<s>", "<pad>", "</s>", "<unk>"},
};
