/* BlenderbotSmallTokenizer: lower-case subwords, with the ids in vocab.json. */
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/segmenters/segmenter.h"

const struct clf__tokenizer_class clf__class_blenderbot_small = {
    .name = "BlenderbotSmallTokenizer",
    .segmenter = &clf__segmenter_subwords,
    .model = "merges.txt",
    .has_vocabulary = 1,
    .specials = {"__null__", "__start__", "__end__", "__unk__"},
    .unknown = "__unk__",
};
