#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "model/config/build.h"
#include "model/config/keys.h"

enum { MAX_TOKENS = CLF__CONFIG_MOST_TOKENS, MAX_IDS = 1 << 20, MAX_ENDS = 64 };

clf_status clf__config_read_end_id(const struct clf__json *json, int *id)
{
    const json_t *value = json_object_get(json->root, "eos_token_id");
    if (!json_is_array(value)) {
        return clf__json_int(json, "eos_token_id", 0, CLF__MAX_VOCABULARY - 1, id);
    }
    const json_t *first = json_array_get(value, 0);
    if (!json_is_integer(first) || json_integer_value(first) < 0 ||
        json_integer_value(first) >= CLF__MAX_VOCABULARY) {
        return clf__fail(CLF_FORMAT, "%s: \"eos_token_id\" is not a list of ids; correct it", json->path);
    }
    *id = (int)json_integer_value(first);
    return CLF_OK;
}

static clf_status read_element(const struct clf__json *json, const char *key, const json_t *value,
                               int vocabulary, int32_t *id)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"%s\" contains an entry that is not an id in the vocabulary of %d; correct it",
                         json->path, key, vocabulary);
    }
    *id = (int32_t)json_integer_value(value);
    return CLF_OK;
}

/* Reads the additional end ids: all but the first if "eos_token_id" is a list. */
static clf_status read_other_ends(struct clf__search_options *options, const struct clf__json *json)
{
    const json_t *array = json_object_get(json->root, "eos_token_id");
    size_t count = json_is_array(array) ? json_array_size(array) : 1;
    int32_t *ids = NULL;
    if (count > MAX_ENDS) {
        return clf__fail(CLF_FORMAT, "%s: \"eos_token_id\" lists more than %d ids; use fewer", json->path,
                         MAX_ENDS);
    }
    if (count < 2) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&ids, count - 1, sizeof *ids));
    options->other_end_ids = ids;
    options->other_end_count = (int)count - 1;
    for (size_t i = 1; i < count; i++) {
        CLF__TRY(
            read_element(json, "eos_token_id", json_array_get(array, i), options->vocabulary, &ids[i - 1]));
    }
    return CLF_OK;
}

/* Returns the array of a key; *array is NULL if the key is missing or null. */
static clf_status get_array(const struct clf__json *json, const char *key, const json_t **array)
{
    const json_t *value = json_object_get(json->root, key);
    *array = NULL;
    if (!value || json_is_null(value)) {
        return CLF_OK;
    }
    if (!json_is_array(value) || json_array_size(value) > MAX_IDS) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is not a list of at most %d entries; correct it", json->path,
                         key, MAX_IDS);
    }
    *array = value;
    return CLF_OK;
}

static clf_status read_forced(const struct clf__json *json, const char *key, int vocabulary, int *id)
{
    const json_t *value = json_object_get(json->root, key);
    if (json_is_array(value) && json_array_size(value) > 1) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"%s\" lists several ids, but only one is supported; remove the others",
                         json->path, key);
    }
    if (!value || json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0)) {
        return CLF_OK;
    }
    int32_t one = 0;
    CLF__TRY(
        read_element(json, key, json_is_array(value) ? json_array_get(value, 0) : value, vocabulary, &one));
    *id = one;
    return CLF_OK;
}

/* Reads a list of ids; the options own it even on failure. */
static clf_status read_id_list(const int32_t **out, int *out_count, const struct clf__json *json,
                               const char *key, int vocabulary)
{
    const json_t *array;
    CLF__TRY(get_array(json, key, &array));
    size_t count = json_array_size(array);
    if (count == 0) {
        return CLF_OK;
    }
    int32_t *ids = NULL;
    CLF__TRY(clf__allocate(&ids, count, sizeof *ids));
    *out = ids;
    *out_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        CLF__TRY(read_element(json, key, json_array_get(array, i), vocabulary, &ids[i]));
    }
    return CLF_OK;
}

static clf_status check_forced(const struct clf__search_options *options, const struct clf__json *json,
                               const char *key, int id)
{
    for (int i = 0; id >= 0 && i < options->suppressed_count; i++) {
        if (options->suppressed[i] == id) {
            return clf__fail(CLF_FORMAT, "%s: \"%s\" %d is also in \"suppress_tokens\"; remove one of them",
                             json->path, key, id);
        }
    }
    return CLF_OK;
}

/* Lists of ids, concatenated as in struct clf__search_options. */
struct sequences {
    const char *key;
    size_t count, total; /* number of lists; number of ids in all lists */
    int32_t *ids, *offsets;
};

/* A function that returns the ids of array entry i. */
typedef const json_t *ids_of(const json_t *array, size_t i);

static const json_t *bad_word(const json_t *array, size_t i)
{
    return json_array_get(array, i);
}

static const json_t *biased(const json_t *array, size_t i)
{
    return json_array_get(json_array_get(array, i), 0);
}

static clf_status count_sequences(struct sequences *out, const struct clf__json *json, const json_t *array,
                                  ids_of *ids_of_entry)
{
    out->count = json_array_size(array);
    for (size_t i = 0; i < out->count; i++) {
        size_t length = json_array_size(ids_of_entry(array, i));
        if (length == 0 || length > MAX_IDS) {
            return clf__fail(CLF_FORMAT, "%s: \"%s\" contains an entry that is not a list of ids; correct it",
                             json->path, out->key);
        }
        out->total += length;
    }
    if (out->total > MAX_IDS) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" contains more than %d ids; use fewer", json->path, out->key,
                         MAX_IDS);
    }
    return CLF_OK;
}

static clf_status fill_sequences(struct sequences *out, const struct clf__json *json, const json_t *array,
                                 ids_of *ids_of_entry, int vocabulary)
{
    int32_t used = 0;
    for (size_t i = 0; i < out->count; i++) {
        const json_t *ids = ids_of_entry(array, i);
        for (size_t k = 0; k < json_array_size(ids); k++) {
            CLF__TRY(read_element(json, out->key, json_array_get(ids, k), vocabulary, &out->ids[used++]));
        }
        out->offsets[i + 1] = used;
    }
    return CLF_OK;
}

/* Reads lists of ids; the caller frees both arrays of *out, even on failure. */
static clf_status read_sequences(struct sequences *out, const struct clf__json *json, const json_t *array,
                                 ids_of *ids_of_entry, int vocabulary)
{
    CLF__TRY(count_sequences(out, json, array, ids_of_entry));
    if (out->count == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&out->ids, out->total, sizeof *out->ids));
    CLF__TRY(clf__allocate(&out->offsets, out->count + 1, sizeof *out->offsets));
    return fill_sequences(out, json, array, ids_of_entry, vocabulary);
}

static int sequence_length(const struct sequences *sequences, size_t i)
{
    return sequences->offsets[i + 1] - sequences->offsets[i];
}

static int is_same(const struct sequences *sequences, size_t a, size_t b)
{
    int length = sequence_length(sequences, a);
    return length == sequence_length(sequences, b) &&
           memcmp(sequences->ids + sequences->offsets[a], sequences->ids + sequences->offsets[b],
                  (size_t)length * sizeof *sequences->ids) == 0;
}

/* Removes sequence i. */
static void drop_sequence(struct sequences *sequences, size_t i)
{
    int length = sequence_length(sequences, i), total = sequences->offsets[sequences->count];
    int32_t *ids = sequences->ids + sequences->offsets[i];
    memmove(ids, ids + length, (size_t)(total - sequences->offsets[i + 1]) * sizeof *ids);
    for (size_t k = i; k < sequences->count; k++) {
        sequences->offsets[k] = sequences->offsets[k + 1] - length;
    }
    sequences->count--;
}

static clf_status read_bad_words(struct clf__search_options *options, const struct clf__json *json)
{
    const json_t *array;
    struct sequences words = {.key = "bad_words_ids"};
    CLF__TRY(get_array(json, words.key, &array));
    clf_status status = read_sequences(&words, json, array, bad_word, options->vocabulary);
    options->bad_words = words.ids;
    options->bad_word_offsets = words.offsets;
    CLF__TRY(status);
    for (size_t i = 0; i < words.count;) { /* transformers never bans the end token on its own */
        if (sequence_length(&words, i) == 1 && clf__is_end(options, words.ids[words.offsets[i]])) {
            drop_sequence(&words, i);
        } else {
            i++;
        }
    }
    options->bad_word_count = (int)words.count;
    return CLF_OK;
}

static clf_status read_biases(float *biases, struct sequences *sequences, const struct clf__json *json,
                              const json_t *array)
{
    for (size_t i = 0; i < sequences->count; i++) {
        const json_t *pair = json_array_get(array, i), *bias = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_number(bias) ||
            !(json_number_value(bias) >= -CLF__MOST_BIAS && json_number_value(bias) <= CLF__MOST_BIAS)) {
            return clf__fail(CLF_FORMAT,
                             "%s: \"sequence_bias\" contains an entry that is not a pair of a list of ids "
                             "and a number from %g to %g; correct it",
                             json->path, -CLF__MOST_BIAS, CLF__MOST_BIAS);
        }
        biases[i] = (float)json_number_value(bias);
    }
    return CLF_OK;
}

/* Merges equal sequences: the last bias applies, at the position of the first. */
static void keep_last_biases(float *biases, struct sequences *sequences)
{
    for (size_t i = 1; i < sequences->count;) {
        size_t first = 0;
        while (first < i && !is_same(sequences, first, i)) {
            first++;
        }
        if (first == i) {
            i++;
            continue;
        }
        biases[first] = biases[i];
        memmove(biases + i, biases + i + 1, (sequences->count - i - 1) * sizeof *biases);
        drop_sequence(sequences, i);
    }
}

static clf_status read_sequence_bias(struct clf__search_options *options, const struct clf__json *json)
{
    enum { MOST = 4096 }; /* limits the time per step, because each step compares all sequences */
    const json_t *array;
    float *biases = NULL;
    struct sequences sequences = {.key = "sequence_bias"};
    CLF__TRY(get_array(json, sequences.key, &array));
    if (json_array_size(array) > MOST) {
        return clf__fail(CLF_FORMAT, "%s: \"sequence_bias\" has %zu sequences; use at most %d", json->path,
                         json_array_size(array), (int)MOST);
    }
    clf_status status = read_sequences(&sequences, json, array, biased, options->vocabulary);
    options->biased = sequences.ids;
    options->biased_offsets = sequences.offsets;
    if (status == CLF_OK && sequences.count > 0) {
        status = clf__allocate(&biases, sequences.count, sizeof *biases);
        options->biases = biases;
    }
    CLF__TRY(status);
    CLF__TRY(read_biases(biases, &sequences, json, array));
    keep_last_biases(biases, &sequences);
    options->biased_count = (int)sequences.count;
    return CLF_OK;
}

/* Reads the pair [start, factor]. */
static clf_status read_decay(struct clf__search_options *options, const struct clf__json *json)
{
    const json_t *pair = json_object_get(json->root, "exponential_decay_length_penalty");
    if (!pair || json_is_null(pair)) {
        return CLF_OK;
    }
    const json_t *start = json_array_get(pair, 0), *factor = json_array_get(pair, 1);
    int is_pair = json_array_size(pair) == 2 && json_is_integer(start) && json_is_number(factor);
    if (!is_pair || json_integer_value(start) < 0 || json_integer_value(start) > MAX_TOKENS ||
        !(json_number_value(factor) >= CLF__LEAST_DECAY && json_number_value(factor) <= CLF__MOST_DECAY)) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"exponential_decay_length_penalty\" is not a list of a token count and a "
                         "factor from %g to %g; correct it",
                         json->path, CLF__LEAST_DECAY, CLF__MOST_DECAY);
    }
    options->decay_start = (int)json_integer_value(start);
    options->decay_factor = (float)json_number_value(factor);
    return CLF_OK;
}

static clf_status read_early_stopping(struct clf__search_options *options, const struct clf__json *json)
{
    const json_t *value = json_object_get(json->root, "early_stopping");
    if (!value || json_is_null(value)) {
        return CLF_OK;
    }
    if (json_is_boolean(value)) {
        options->early_stopping = json_is_true(value) ? CLF__STOP_TRUE : CLF__STOP_FALSE;
        return CLF_OK;
    }
    static const struct {
        const char *word;
        enum clf__early_stopping rule;
    } words[] = {{"never", CLF__STOP_NEVER},
                 {"all", CLF__STOP_ALL},
                 {"shrink", CLF__STOP_SHRINK},
                 {"ctranslate2", CLF__STOP_CTRANSLATE2}};
    const char *word = json_is_string(value) ? json_string_value(value) : "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) == 0) {
            options->early_stopping = words[i].rule;
            return CLF_OK;
        }
    }
    return clf__fail(CLF_FORMAT,
                     "%s: \"early_stopping\" is not true, false, \"never\", \"all\", \"shrink\" or "
                     "\"ctranslate2\"; correct it",
                     json->path);
}

static clf_status read_length_penalty(struct clf__search_options *options, const struct clf__json *json)
{
    double penalty = options->length_penalty;
    CLF__TRY(clf__json_double(json, "length_penalty", -CLF__LENGTH_PENALTY_LIMIT, CLF__LENGTH_PENALTY_LIMIT,
                              &penalty));
    options->length_penalty = (float)penalty;
    return CLF_OK;
}

/* In transformers, max_length includes the start token, min_length counts all generated tokens, and
 * min_new_tokens excludes the end token. */
static clf_status read_lengths(struct clf__search_options *options, const struct clf__json *json,
                               int max_positions)
{
    int given = options->max_length + 1,
        is_default = !clf__json_has(json, "max_length") && !clf__json_has(json, "max_new_tokens");
    CLF__TRY(clf__json_int(json, "max_length", 2, MAX_TOKENS, &given));
    options->max_length = given - 1;
    CLF__TRY(clf__json_int(json, "max_new_tokens", 1, MAX_TOKENS, &options->max_length));
    if (options->max_length > max_positions) {
        clf__log(CLF_LOG_WARNING,
                 "%s: the maximum output length, %d tokens, exceeds the model's %d positions and is reduced",
                 json->path, options->max_length, max_positions);
        options->max_length = max_positions;
    }
    int before_end = 0;
    CLF__TRY(clf__json_int(json, "min_new_tokens", 0, MAX_TOKENS, &before_end));
    if (before_end > 0) {
        options->min_length = before_end + 1;
    }
    if (is_default && options->min_length > options->max_length) {
        options->min_length = options->max_length;
    }
    if (options->min_length > options->max_length) {
        return clf__fail(
            CLF_FORMAT,
            "%s: the minimum output length, %d tokens, exceeds the maximum, %d; correct one of them",
            json->path, options->min_length, options->max_length);
    }
    return CLF_OK;
}

/* Checks values that only sampling uses. */
static clf_status check_sampling(const struct clf__sampling *sampling, const struct clf__json *json)
{
    if (sampling->is_on && (sampling->temperature <= 0.0f || sampling->typical_p <= 0.0f)) {
        int is_temperature = sampling->temperature <= 0.0f;
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is 0, but \"do_sample\" is true; set it above 0", json->path,
                         is_temperature ? "temperature" : "typical_p");
    }
    return CLF_OK;
}

/* Warns about unsupported keys of transformers that would change the output. */
static void warn_of_others(const struct clf__json *json)
{
    static const struct {
        const char *key;
        double neutral;
    } others[] = {
        {"penalty_alpha", 0}, {"guidance_scale", 1},        {"force_words_ids", 0},     {"stop_strings", 0},
        {"top_h", 0},         {"remove_invalid_values", 0}, {"watermarking_config", 0}, {"max_time", 0},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const json_t *value = json_object_get(json->root, others[i].key);
        int is_neutral = !value || json_is_null(value) || json_is_false(value) ||
                         (json_is_number(value) && json_number_value(value) == others[i].neutral) ||
                         ((json_is_array(value) || json_is_object(value)) && json_array_size(value) == 0 &&
                          json_object_size(value) == 0);
        if (!is_neutral) {
            clf__log(CLF_LOG_WARNING, "%s: \"%s\" is not supported and is ignored", json->path,
                     others[i].key);
        }
    }
}

clf_status clf__config_read_word_heads(struct clf__config *config, const struct clf__json *json)
{
    const json_t *array;
    CLF__TRY(get_array(json, "alignment_heads", &array));
    size_t count = json_array_size(array);
    if (count == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&config->word_heads, count, sizeof *config->word_heads));
    config->word_head_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(array, i), *layer = json_array_get(pair, 0);
        const json_t *head = json_array_get(pair, 1);
        int is_pair = json_array_size(pair) == 2 && json_is_integer(layer) && json_is_integer(head);
        if (!is_pair || json_integer_value(layer) < 0 || json_integer_value(head) < 0 ||
            json_integer_value(layer) >= config->decoder_layers ||
            json_integer_value(head) >= config->decoder_heads) {
            return clf__fail(CLF_FORMAT,
                             "%s: \"alignment_heads\" contains an entry that is not a pair of a layer and a "
                             "head (the decoder has %d layers of %d heads); correct it",
                             json->path, config->decoder_layers, config->decoder_heads);
        }
        config->word_heads[i].layer = (int)json_integer_value(layer);
        config->word_heads[i].head = (int)json_integer_value(head);
    }
    return CLF_OK;
}

clf_status clf__config_read_suppressed(struct clf__config *config, const struct clf__json *json,
                                       const char *key, const char *begin_key)
{
    struct clf__search_options *options = &config->generation;
    int vocabulary = config->target_vocabulary;
    CLF__TRY(read_id_list(&options->suppressed, &options->suppressed_count, json, key, vocabulary));
    return read_id_list(&options->begin_suppressed, &options->begin_suppressed_count, json, begin_key,
                        vocabulary);
}

clf_status clf__config_read_generation(struct clf__config *config, const struct clf__json *json)
{
    struct clf__search_options *options = &config->generation;
    int vocabulary = config->target_vocabulary;
    CLF__TRY(clf__json_int(json, "decoder_start_token_id", 0, vocabulary - 1, &options->start_id));
    CLF__TRY(clf__config_read_end_id(json, &options->end_id));
    if (options->end_id >= vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"eos_token_id\" is %d, outside the vocabulary of %d ids; correct it",
                         json->path, options->end_id, vocabulary);
    }
    CLF__TRY(read_other_ends(options, json));
    CLF__TRY(clf__config_read_stage(config, json, CLF__KEY_DECODING, NULL));
    CLF__TRY(check_sampling(&options->sampling, json));
    int samples = options->sampling.is_on && options->beams == 1;
    if (options->n_best > options->beams && !samples) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"num_return_sequences\" %d exceeds \"num_beams\" %d; correct one of them",
                         json->path, options->n_best, options->beams);
    }
    CLF__TRY(read_length_penalty(options, json));
    CLF__TRY(read_early_stopping(options, json));
    CLF__TRY(read_decay(options, json));
    CLF__TRY(read_forced(json, "forced_bos_token_id", vocabulary, &config->forced_first));
    CLF__TRY(read_forced(json, "forced_eos_token_id", vocabulary, &options->forced_last));
    CLF__TRY(clf__config_read_suppressed(config, json, "suppress_tokens", "begin_suppress_tokens"));
    CLF__TRY(check_forced(options, json, "forced_bos_token_id", config->forced_first));
    CLF__TRY(check_forced(options, json, "forced_eos_token_id", options->forced_last));
    CLF__TRY(read_bad_words(options, json));
    CLF__TRY(read_sequence_bias(options, json));
    warn_of_others(json);
    CLF__TRY(config->convolves_frames ? clf__config_read_word_heads(config, json) : CLF_OK);
    return read_lengths(options, json, config->decoder_max_positions);
}
