/* Sections of tokenizer.json that transformers 5.23 builds for a class instead of reading them from the file
 * (the class's tokenization_NAME.py in transformers/models). */
#ifndef CLF_TEXT_CLASSES_PIPELINE_H
#define CLF_TEXT_CLASSES_PIPELINE_H

struct clf__class_pipeline {
    const char *model; /* kind of the model */
    int takes_table;   /* inserts the file's Precompiled normalizer before the members below */
    const char *with_table, *without_table; /* members of the normalizer with and without Precompiled */
    const char *pre_tokenizer;              /* %s is replaced by add_prefix_space */
    const char *decoder;
    const char *options; /* options of the model */
    int finds_unknown;   /* the unknown token is the folder's unk_token; for Unigram, the entry with score
                            0 */
    int takes_template;  /* keeps the file's post-processor; otherwise the class frames sources */
};

#define CLF__METASPACE                                                                                       \
    "{\"type\": \"Metaspace\", \"replacement\": \"\u2581\", \"prepend_scheme\": \"always\"}"
#define CLF__WORDS_AND_METASPACE                                                                             \
    "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"WhitespaceSplit\"}, " CLF__METASPACE "]}"
#define CLF__ONE_SPACE "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, \"content\": \" \"}"
#define CLF__NO_LINES  "{\"type\": \"Replace\", \"pattern\": {\"String\": \"\\n\"}, \"content\": \" \"}, "
#define CLF__PLAIN_PAIRS                                                                                     \
    "\"dropout\": null, \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "                 \
    "\"byte_fallback\": false, \"ignore_merges\": false, "
#define CLF__BYTE_LEVEL_PIPELINE                                                                             \
    .model = "BPE", .without_table = "",                                                                     \
    .pre_tokenizer = "{\"type\": \"ByteLevel\", \"add_prefix_space\": %s}",                                  \
    .decoder = "{\"type\": \"ByteLevel\"}",                                                                  \
    .options = "{" CLF__PLAIN_PAIRS "\"fuse_unk\": false, \"unk_token\": null}"

#endif
