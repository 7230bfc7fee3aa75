/* Reads options as marian-dev (src/models/transformer.h, src/common/config_parser.cpp) and
 * browsermt/marian-dev do. */
#include "model/config/architectures/marian_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "math/ops/average.h"
#include "model/config/architectures/architecture.h"
#include "model/config/build.h"
#include "model/config/config.h"
#include "model/config/keys.h"

/* The options and the path of the file that contains them, for messages. */
struct source {
    const json_t *options;
    const char *path;
};

static const char *word_of(const json_t *object, const char *key, const char *fallback)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word != NULL ? word : fallback;
}

static int is_true(const json_t *object, const char *key)
{
    const char *word = word_of(object, key, "false");
    return strcmp(word, "true") == 0 || strcmp(word, "1") == 0;
}

static clf_status read_int(int *out, const struct source *source, const char *key, int low, int high)
{
    const char *word = word_of(source->options, key, NULL);
    char *end = NULL;
    long value = word != NULL ? strtol(word, &end, 10) : *out;
    if (word != NULL && (end == word || *end != '\0' || value < low || value > high)) {
        return clf__fail(CLF_FORMAT, "%s: option \"%s\" is \"%.40s\", not a number from %d to %d; correct it",
                         source->path, key, word, low, high);
    }
    *out = (int)value;
    return CLF_OK;
}

static clf_status refuse(const struct source *source, const char *key, const char *word)
{
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: option \"%s\" is \"%.60s\", which is not supported; use another model",
                     source->path, key, word);
}

/* Options that change the computation, with the supported values. */
static const struct plain {
    const char *key, *values[4];
} plains[] = {
    {"type", {"transformer"}},
    {"transformer-no-projection", {"false"}},
    {"transformer-rnn-projection", {"false"}},
    {"transformer-disable-position-embeddings", {"false"}},
    {"transformer-train-positions", {"false"}},
    {"transformer-attention-mask", {"default", ""}},
    {"transformer-alibi-decoder", {"false"}},
    {"transformer-alibi-shift", {"false"}},
    {"transformer-alibi-trainable", {"false"}},
    {"transformer-no-bias", {"false"}},
    {"transformer-no-affine", {"false"}},
    {"transformer-pool", {"false"}},
    {"transformer-ffn-depth", {"2"}},
    {"transformer-decoder-ffn-depth", {"0", "2"}},
    {"ulr", {"false"}},
    {"right-left", {"false"}},
    {"lemma-dim-emb", {"0"}},
    {"lemma-dependency", {""}},
    {"factors-dim-emb", {"0"}},
    {"factors-combine", {"sum", ""}},
};

static clf_status check_plain(const struct source *source, const struct plain *plain)
{
    const json_t *value = json_object_get(source->options, plain->key);
    const char *word = json_string_value(value);
    if (value == NULL || json_array_size(value) > 0) {
        return value == NULL ? CLF_OK : refuse(source, plain->key, "a list");
    }
    for (int i = 0; word != NULL && i < 4 && plain->values[i] != NULL; i++) {
        if (strcmp(word, plain->values[i]) == 0) {
            return CLF_OK;
        }
    }
    return word != NULL ? refuse(source, plain->key, word) : CLF_OK;
}

static clf_status check_lists(const struct source *source)
{
    static const char *const keys[] = {"input-types", "transformer-tied-layers"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (json_array_size(json_object_get(source->options, keys[i])) > 0) {
            return refuse(source, keys[i], "a list with values");
        }
    }
    return CLF_OK;
}

static clf_status read_vocabularies(struct clf__config *config, const struct source *source)
{
    int *sizes[] = {&config->source_vocabulary, &config->target_vocabulary};
    const json_t *list = json_object_get(source->options, "dim-vocabs");
    if (json_array_size(list) != 2) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "%s: option \"dim-vocabs\" is not a list of two sizes, one for the source and one for the "
            "target; use another model",
            source->path);
    }
    for (size_t i = 0; i < 2; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        char *end = NULL;
        long size = word != NULL ? strtol(word, &end, 10) : 0;
        if (size < 1 || size > CLF__MAX_VOCABULARY || *end != '\0') {
            return clf__fail(
                CLF_FORMAT,
                "%s: option \"dim-vocabs\" contains \"%.40s\", which is not a vocabulary size; correct it",
                source->path, word != NULL ? word : "");
        }
        *sizes[i] = (int)size;
    }
    return CLF_OK;
}

static clf_status read_sizes(struct clf__config *config, const struct source *source)
{
    int ffn = 2048, heads = 8, decoder_ffn = 0;
    config->d_model = 512;
    CLF__TRY(read_int(&config->d_model, source, "dim-emb", 2, CLF__CONFIG_MOST_WIDTH));
    CLF__TRY(read_int(&config->encoder_layers, source, "enc-depth", 1, 1024));
    CLF__TRY(read_int(&config->decoder_layers, source, "dec-depth", 1, 1024));
    CLF__TRY(read_int(&heads, source, "transformer-heads", 1, 1024));
    CLF__TRY(read_int(&ffn, source, "transformer-dim-ffn", 1, CLF__CONFIG_MOST_WIDTH));
    CLF__TRY(read_int(&decoder_ffn, source, "transformer-decoder-dim-ffn", 0, CLF__CONFIG_MOST_WIDTH));
    config->encoder_heads = config->decoder_heads = heads;
    config->encoder_ffn = ffn;
    config->decoder_ffn = decoder_ffn > 0 ? decoder_ffn : ffn;
    if (config->d_model % heads != 0) {
        return clf__fail(
            CLF_FORMAT,
            "%s: option \"dim-emb\" %d is not a multiple of \"transformer-heads\" %d; correct one of them",
            source->path, config->d_model, heads);
    }
    return read_vocabularies(config, source);
}

/* Returns 1 if an option consists of the layer operations `wanted`, ignoring dropout. */
static int has_operations(const struct source *source, const char *key, const char *fallback,
                          const char *wanted)
{
    char word[8] = "";
    size_t used = 0;
    for (const char *c = word_of(source->options, key, fallback); *c != '\0' && used + 1 < sizeof word; c++) {
        if (*c != 'd') {
            word[used++] = *c;
        }
    }
    return strcmp(word, wanted) == 0;
}

/* Returns 1 if Marian's version ("v1.11.0 ...") is 1.`minor`.`patch` or later. */
static int is_since(const struct source *source, int minor, int patch)
{
    const char *version = word_of(source->options, "version", "");
    char *end;
    if (strncmp(version, "v1.", 3) != 0) {
        return 0;
    }
    long own = strtol(version + 3, &end, 10), own_patch = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    /* The browsermt fork numbers the patches of 1.9 differently. */
    return own > minor || (own == minor && own_patch >= patch);
}

static clf_status read_norms(struct clf__config *config, const struct source *source)
{
    static const char before[] = "transformer-preprocess", after[] = "transformer-postprocess",
                      embedding[] = "transformer-postprocess-emb", top[] = "transformer-postprocess-top";
    int is_first = has_operations(source, before, "", "n") && has_operations(source, after, "dan", "a");
    int is_last = has_operations(source, before, "", "") && has_operations(source, after, "dan", "an");
    if (!is_first && !is_last) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: options \"%s\" and \"%s\" are \"%.20s\" and \"%.20s\"; only norms before the "
                         "sub-layers (\"n\" and \"da\") or after them (none and \"dan\") are supported",
                         source->path, before, after, word_of(source->options, before, ""),
                         word_of(source->options, after, "dan"));
    }
    config->norm_first = is_first;
    config->norm_embedding = has_operations(source, embedding, "d", "n");
    config->norm_final = has_operations(source, top, "", "n");
    if (!config->norm_embedding && !has_operations(source, embedding, "d", "")) {
        return refuse(source, embedding, word_of(source->options, embedding, "d"));
    }
    return config->norm_final || has_operations(source, top, "", "")
               ? CLF_OK
               : refuse(source, top, word_of(source->options, top, ""));
}

static clf_status read_recurrence(struct clf__config *config, const struct source *source)
{
    const char *cell = word_of(source->options, "dec-cell", "gru");
    if (strcmp(cell, "ssru") != 0) {
        return refuse(source, "dec-cell", cell);
    }
    if (is_true(source->options, "layer-normalization")) {
        return refuse(source, "layer-normalization", "true");
    }
    config->decoder_mixer = CLF__MIXER_SSRU;
    return CLF_OK;
}

/* Reads an activation. Marian's GELU is exact since version 1.12.3. */
static clf_status read_activation(enum clf__activation *out, const struct source *source, const char *key)
{
    const char *word = word_of(source->options, key, "swish");
    if (strcmp(word, "relu") == 0) {
        *out = CLF__RELU;
    } else if (strcmp(word, "swish") == 0) {
        *out = CLF__SILU;
    } else if (strcmp(word, "gelu") == 0 && is_since(source, 12, 3)) {
        *out = CLF__GELU_ERF;
    } else {
        return refuse(source, key, word);
    }
    return CLF_OK;
}

/* Reads average attention. Depth n means n - 1 matrix multiplications with activation and, if the inner width
 * differs from the model width, a final one back to the model width. Depth 1 has none. */
static clf_status read_average(struct clf__config *config, const struct source *source)
{
    int depth = 2, width = 2048;
    CLF__TRY(read_int(&depth, source, "transformer-aan-depth", 1, CLF__AVERAGE_MOST_FILTERS));
    CLF__TRY(read_int(&width, source, "transformer-dim-aan", 1, CLF__CONFIG_MOST_WIDTH));
    CLF__TRY(read_activation(&config->average_activation, source, "transformer-aan-activation"));
    config->decoder_mixer = CLF__MIXER_AVERAGE;
    config->average_width = width;
    config->average_filters = depth > 1 && width != config->d_model ? depth : depth - 1;
    config->average_gated = !is_true(source->options, "transformer-aan-nogate");
    return CLF_OK;
}

static clf_status read_decoder(struct clf__config *config, const struct source *source)
{
    static const char key[] = "transformer-decoder-autoreg";
    const char *kind = word_of(source->options, key, "self-attention");
    if (strcmp(kind, "self-attention") == 0) {
        config->decoder_mixer = CLF__MIXER_SELF_ATTENTION;
        return CLF_OK;
    }
    if (strcmp(kind, "average-attention") == 0) {
        return read_average(config, source);
    }
    return strcmp(kind, "rnn") == 0 ? read_recurrence(config, source) : refuse(source, key, kind);
}

static void read_sharing(struct clf__config *config, const json_t *options)
{
    int all = is_true(options, "tied-embeddings-all");
    config->share_source_target = all || is_true(options, "tied-embeddings-src");
    config->share_target_output = all || is_true(options, "tied-embeddings");
    config->logits_bias = !is_true(options, "output-omit-bias");
}

/* Reads a number from the folder's configuration; *out is unchanged if the key is missing. */
static clf_status read_number(double *out, const json_t *decoding, const char *key, double low, double high,
                              const struct source *source)
{
    const json_t *value = json_object_get(decoding, key);
    const char *word = json_string_value(value);
    char *end = NULL;
    double number = word != NULL ? strtod(word, &end) : 0;
    if (value == NULL) {
        return CLF_OK;
    }
    if (word == NULL || end == word || *end != '\0' || !(number >= low && number <= high)) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"%s\" in the folder's configuration is \"%.40s\", not a number from %g to %g; "
                         "correct or remove it",
                         source->path, key, word != NULL ? word : "a list", low, high);
    }
    *out = number;
    return CLF_OK;
}

/* Reads the decoding options. Defaults are Marian's, or Firefox's if there is no configuration file. */
static clf_status read_decoding(struct clf__config *config, const json_t *decoding,
                                const struct clf__marian_ids *ids, const struct source *source)
{
    enum { MOST = 1000000 };
    struct clf__search_options *search = &config->generation;
    int has_one = decoding != NULL;
    double beams = has_one ? 12 : 1, word_penalty = 0;
    search->length_penalty = has_one ? 0 : 1;
    search->max_length_factor = has_one ? 3 : 2;
    CLF__TRY(read_number(&beams, decoding, "beam-size", 1, CLF__SEARCH_BEAMS_LIMIT, source));
    CLF__TRY(read_number(&search->length_penalty, decoding, "normalize", -MOST, MOST, source));
    CLF__TRY(read_number(&search->max_length_factor, decoding, "max-length-factor", 0, MOST, source));
    CLF__TRY(read_number(&word_penalty, decoding, "word-penalty", -MOST, MOST, source));
    search->beams = (int)beams;
    search->length_rule = CLF__LENGTH_HUGGINGFACE;
    search->divides_greedy = 1;
    search->early_stopping = CLF__STOP_SHRINK;
    if (word_penalty != 0) {
        clf__log(CLF_LOG_WARNING,
                 "\"word-penalty\" in the folder's configuration is not supported and is ignored; remove it");
    }
    if (ids->target_unknown >= 0 && !is_true(decoding, "allow-unk")) {
        int32_t *unknown;
        CLF__TRY(clf__allocate(&unknown, 1, sizeof *unknown));
        *unknown = ids->target_unknown;
        search->suppressed = unknown;
        search->suppressed_count = 1;
    }
    return CLF_OK;
}

/* Rejects norms before self-attention in decoders, and in encoders before version 1.11: Marian then computes
 * keys and values from unnormalised rows. */
static clf_status check_norm_first(const struct clf__config *config, const struct source *source)
{
    int is_ours = config->decoder_mixer != CLF__MIXER_SELF_ATTENTION && is_since(source, 11, 0);
    return !config->norm_first || is_ours
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: norms before self-attention are not supported in a decoder, or in an encoder "
                           "of Marian before 1.11 (\"version\": %.40s); use another model",
                           source->path, word_of(source->options, "version", "unknown"));
}

static clf_status read(struct clf__config *config, const struct source *source, const json_t *decoding,
                       const struct clf__marian_ids *ids)
{
    struct clf__config_choices choices;
    clf__config_preset_start(config, &choices, CLF__MARIAN_NMT);
    for (size_t i = 0; i < sizeof plains / sizeof *plains; i++) {
        CLF__TRY(check_plain(source, &plains[i]));
    }
    CLF__TRY(check_lists(source));
    CLF__TRY(read_sizes(config, source));
    CLF__TRY(read_norms(config, source));
    CLF__TRY(read_decoder(config, source));
    CLF__TRY(check_norm_first(config, source));
    CLF__TRY(read_activation(&config->activation, source, "transformer-ffn-activation"));
    read_sharing(config, source->options);
    if (config->share_source_target && config->source_vocabulary != config->target_vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: one embedding is shared by vocabularies of %d and %d tokens, which is not "
                         "supported; use another model",
                         source->path, config->source_vocabulary, config->target_vocabulary);
    }
    config->end_id = ids->target_end;
    CLF__TRY(read_decoding(config, decoding, ids, source));
    clf__config_derive(config, &choices);
    config->source_end_id = ids->source_end;
    return CLF_OK;
}

clf_status clf__config_from_marian(struct clf__config *out, const json_t *options, const json_t *decoding,
                                   const struct clf__marian_ids *ids, const char *path)
{
    struct source source = {options, path};
    *out = (struct clf__config){0};
    clf_status status = read(out, &source, decoding, ids);
    if (status != CLF_OK) {
        clf__config_free(out);
    }
    return status;
}
