/* Datasets of letters. */
#ifndef CLF_TESTS_TRAIN_LETTERS_H
#define CLF_TESTS_TRAIN_LETTERS_H

#include "train/files.h"

#include "model/config/config.h"
#include "train/dataset.h"

/* A vocabulary of letters; the first ids frame a line as in SYSTEM. */
static const char *const letters =
    "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"a\": 4, \"b\": 5, "
    "\"c\": 6, \"d\": 7}";

struct loaded {
    struct clf__config config;
    struct clf__tokenizer *tokenizer;
    struct clf__dataset *dataset;
    struct clf__dataset_report report;
    struct clf__dataset_options options;
};

static inline void load_tokenizer(struct loaded *loaded, enum clf__architecture_id id, const char *folder)
{
    clf__config_preset(&loaded->config, id);
    struct clf__config *config = &loaded->config;
    config->source_vocabulary = config->feature_size > 0 ? 0 : 8;
    config->target_vocabulary = 8;
    struct clf__tokenizer_options options = {
        .source_vocabulary = config->source_vocabulary,
        .target_vocabulary = 8,
        .source_start_id = config->source_start_id,
        .source_end_id = config->source_end_id,
        .pad_id = config->pad_id,
        .start_id = config->start_id,
        .end_id = config->end_id,
    };
    write_text(folder, "vocab.json", letters);
    assert_ok(clf__tokenizer_load(&loaded->tokenizer, folder, &options));
    loaded->options =
        (struct clf__dataset_options){.tokens = 1, .max_source_length = 6, .max_target_length = 6};
}

static inline clf_status load(struct loaded *loaded)
{
    return clf__dataset_load(&loaded->dataset, &loaded->config, loaded->tokenizer, &loaded->options,
                             &loaded->report);
}

static inline void unload(struct loaded *loaded)
{
    clf__dataset_free(loaded->dataset);
    clf__tokenizer_free(loaded->tokenizer);
    clf__config_free(&loaded->config);
}

static const struct clf__batching roomy = {.tokens = 1000, .count_padding = 1};

#define assert_ints(actual, ...)                                                                             \
    do {                                                                                                     \
        const int expected_ints[] = {__VA_ARGS__};                                                           \
        assert_memory_equal((actual), expected_ints, sizeof expected_ints);                                  \
    } while (0)

#endif
