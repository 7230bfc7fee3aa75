#include "text/tokenizer.h"

#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

enum { MAX_SHOWN_WORD = 80 };

/* One language: how its text is cut and which ids its pieces have. */
struct side {
    const struct clf__segmenter *segmenter;
    void *state;                              /* the segmenter's */
    const struct clf__vocabulary *vocabulary; /* NULL: this side is not text, and has no segmenter */
    int32_t unknown_id;                       /* or -1 */
};

struct clf__tokenizer {
    struct clf__tokenizer_options options;
    struct clf__vocabulary vocabulary, target_vocabulary; /* the second where they are separate */
    struct side source, target;
    int max_length;
};

void clf__ids_free(struct clf__ids *ids)
{
    clf__free(ids->data);
    *ids = (struct clf__ids){0};
}

clf_status clf__ids_append(struct clf__ids *ids, int32_t id)
{
    if (ids->count == ids->capacity) {
        if (ids->capacity > INT_MAX / 2) {
            return clf__fail(CLF_TEXT, "a line of more than %d tokens cannot be held", ids->count);
        }
        int capacity = ids->capacity ? 2 * ids->capacity : 64;
        CLF__TRY(clf__resize(&ids->data, (size_t)capacity, sizeof *ids->data));
        ids->capacity = capacity;
    }
    ids->data[ids->count++] = id;
    return CLF_OK;
}

/* Adds to the sentence what to do about a file that the model needs. */
static clf_status needed(clf_status status)
{
    if (status == CLF_FILE) {
        clf__fail(CLF_FILE, "%s; download it again, or save the model with its tokenizer", clf_last_error());
    }
    return status;
}

static clf_status load_vocabulary(struct clf__vocabulary *out, const char *folder, const char *name, int size)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__vocabulary_load(out, path, size);
    clf__free(path);
    return needed(status);
}

/* What tokenizer_config.json says: *unknown_token and what the folder gets are borrowed from it. */
static clf_status read_config(struct clf__tokenizer *tokenizer, struct clf__segmenter_folder *folder,
                              const char **unknown_token, const struct clf__json *config)
{
    /* transformers writes 10^30 where there is no limit. */
    double max_length = 0;
    CLF__TRY(clf__json_double(config, "model_max_length", 1, 1e300, &max_length));
    tokenizer->max_length = max_length < INT_MAX ? (int)max_length : 0;
    CLF__TRY(clf__segmenter_read_config(folder, config));
    /* A token is a string, or an object in files of transformers 4. */
    const json_t *token = json_object_get(json_object_get(config->root, "unk_token"), "content");
    if (json_is_string(token)) {
        *unknown_token = json_string_value(token);
        return CLF_OK;
    }
    return clf__json_string(config, "unk_token", unknown_token);
}

static clf_status find_unknown(struct side *side, const char *token)
{
    if (!side->vocabulary) {
        return CLF_OK;
    }
    side->unknown_id = clf__vocabulary_id(side->vocabulary, token, strlen(token));
    if (side->unknown_id < 0 && side->segmenter->has_model) {
        return clf__fail(CLF_FORMAT, "%s: has no \"%s\", which stands for unknown pieces",
                         side->vocabulary->path, token);
    }
    return CLF_OK;
}

static clf_status load_vocabularies(struct clf__tokenizer *tokenizer, const char *folder)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    tokenizer->target.vocabulary = &tokenizer->vocabulary;
    if (options->separate) {
        CLF__TRY(load_vocabulary(&tokenizer->target_vocabulary, folder, "target_vocab.json",
                                 options->target_vocabulary));
        tokenizer->target.vocabulary = &tokenizer->target_vocabulary;
    }
    if (options->source_vocabulary > 0) {
        tokenizer->source.vocabulary = &tokenizer->vocabulary;
        CLF__TRY(load_vocabulary(&tokenizer->vocabulary, folder, "vocab.json", options->source_vocabulary));
    } else if (!options->separate) {
        CLF__TRY(load_vocabulary(&tokenizer->vocabulary, folder, "vocab.json", options->target_vocabulary));
    }
    if (tokenizer->target.vocabulary->size != options->target_vocabulary) {
        return clf__fail(CLF_FORMAT,
                         "%s: has %d pieces, the model's configuration says %d for the target; download or "
                         "save both again",
                         tokenizer->target.vocabulary->path, tokenizer->target.vocabulary->size,
                         options->target_vocabulary);
    }
    return CLF_OK;
}

static clf_status open_segmenter(struct side *side, const struct clf__segmenter *segmenter,
                                 const struct clf__segmenter_folder *folder, int target)
{
    if (side->vocabulary) {
        CLF__TRY(needed(segmenter->open(&side->state, folder, target)));
        side->segmenter = segmenter;
    }
    return CLF_OK;
}

static clf_status load_sides(struct clf__tokenizer *tokenizer, const struct clf__segmenter_folder *folder,
                             const char *unknown_token)
{
    struct side *source = &tokenizer->source, *target = &tokenizer->target;
    const struct clf__segmenter *segmenter;
    CLF__TRY(clf__segmenter_choose(&segmenter, folder, target->vocabulary));
    CLF__TRY(open_segmenter(source, segmenter, folder, 0));
    CLF__TRY(open_segmenter(target, segmenter, folder, 1));
    CLF__TRY(find_unknown(source, unknown_token));
    return find_unknown(target, unknown_token);
}

static clf_status load(struct clf__tokenizer *tokenizer, const char *path)
{
    CLF__TRY(load_vocabularies(tokenizer, path));
    struct clf__segmenter_folder folder = {.path = path};
    const char *unknown_token = "<unk>";
    struct clf__json config;
    clf_status status = clf__json_find_in(&config, path, "tokenizer_config.json");
    if (status == CLF_OK && config.root) {
        status = read_config(tokenizer, &folder, &unknown_token, &config);
    }
    if (status == CLF_OK) {
        status = load_sides(tokenizer, &folder, unknown_token);
    }
    clf__json_free(&config);
    return status;
}

clf_status clf__tokenizer_load(struct clf__tokenizer **out, const char *folder,
                               const struct clf__tokenizer_options *options)
{
    *out = NULL;
    struct clf__tokenizer *tokenizer = NULL;
    CLF__TRY(clf__allocate(&tokenizer, 1, sizeof *tokenizer));
    tokenizer->options = *options;
    tokenizer->source.unknown_id = tokenizer->target.unknown_id = -1;
    clf_status status = load(tokenizer, folder);
    if (status != CLF_OK) {
        clf__tokenizer_free(tokenizer);
        return status;
    }
    *out = tokenizer;
    return CLF_OK;
}

static void close_segmenter(struct side *side)
{
    if (side->segmenter) {
        side->segmenter->free(side->state);
    }
}

void clf__tokenizer_free(struct clf__tokenizer *tokenizer)
{
    if (tokenizer) {
        close_segmenter(&tokenizer->source);
        close_segmenter(&tokenizer->target);
        clf__vocabulary_free(&tokenizer->vocabulary);
        clf__vocabulary_free(&tokenizer->target_vocabulary);
        clf__free(tokenizer);
    }
}

int clf__tokenizer_max_length(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->max_length;
}

const struct clf__segmenter *clf__tokenizer_segmenter(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->target.segmenter;
}

/* Where the pieces of a text go. */
struct sink {
    const struct side *side;
    struct clf__ids *ids;
};

static clf_status add_piece(void *user, const char *piece, size_t length)
{
    const struct sink *sink = user;
    int32_t id = clf__vocabulary_id(sink->side->vocabulary, piece, length);
    if (id < 0) {
        id = sink->side->unknown_id;
    }
    if (id < 0) {
        size_t shown = length <= MAX_SHOWN_WORD ? length : clf__utf8_cut(piece, MAX_SHOWN_WORD);
        return clf__fail(CLF_TEXT, "\"%.*s\" is not in %s, which has no entry for unknown words", (int)shown,
                         piece, sink->side->vocabulary->path);
    }
    return clf__ids_append(sink->ids, id);
}

/* start_id and end_id stand before and after the ids of a text, -1 for nothing. */
static clf_status add_framed(struct sink *sink, int32_t start_id, int32_t end_id, const char *text,
                             size_t size, int pieces)
{
    const struct side *side = sink->side;
    size_t valid = clf__utf8_valid_prefix(text, size);
    if (valid != size) {
        return clf__fail(CLF_TEXT, "the line's byte at offset %zu is not UTF-8", valid);
    }
    if (!side->vocabulary) {
        return clf__fail(CLF_UNSUPPORTED, "this model's source is not text");
    }
    if (start_id >= 0) {
        CLF__TRY(clf__ids_append(sink->ids, start_id));
    }
    CLF__TRY(pieces ? clf__segmenter_words.segment(NULL, text, size, add_piece, sink)
                    : side->segmenter->segment(side->state, text, size, add_piece, sink));
    return end_id >= 0 ? clf__ids_append(sink->ids, end_id) : CLF_OK;
}

clf_status clf__tokenizer_encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                 const char *text, size_t size, int target, int pieces)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    struct sink sink = {target ? &tokenizer->target : &tokenizer->source, ids};
    int32_t start_id = target ? -1 : options->source_start_id;
    int32_t end_id = target ? options->end_id : options->source_end_id;
    ids->count = 0;
    clf_status status = add_framed(&sink, start_id, end_id, text, size, pieces);
    if (status != CLF_OK) {
        ids->count = 0;
    }
    return status;
}

/* transformers' special tokens, which a text of a model's pieces leaves out, hold the unknown one too. */
static int is_left_out(const struct clf__tokenizer *tokenizer, int32_t id)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    return id == options->pad_id || id == options->start_id || id == options->end_id ||
           (tokenizer->target.segmenter->has_model && id == tokenizer->target.unknown_id);
}

/* Fills pieces (count) with those of a text and says how many they are. */
static clf_status choose_pieces(const struct clf__tokenizer *tokenizer, const char **pieces, int *chosen,
                                const int32_t *ids, int count)
{
    *chosen = 0;
    for (int i = 0; i < count; i++) {
        const char *piece = clf__tokenizer_target_piece(tokenizer, ids[i]);
        if (!piece) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s: has no piece with the id %d",
                             tokenizer->target.vocabulary->path, (int)ids[i]);
        }
        if (!is_left_out(tokenizer, ids[i])) {
            pieces[(*chosen)++] = piece;
        }
    }
    return CLF_OK;
}

clf_status clf__tokenizer_decode(const struct clf__tokenizer *tokenizer, char **text, const int32_t *ids,
                                 int count)
{
    *text = NULL;
    const char **pieces = NULL;
    int chosen;
    CLF__TRY(clf__allocate(&pieces, (size_t)count, sizeof *pieces));
    clf_status status = choose_pieces(tokenizer, pieces, &chosen, ids, count);
    if (status == CLF_OK) {
        const struct side *target = &tokenizer->target;
        status = target->segmenter->join(target->state, text, pieces, chosen);
    }
    clf__free(pieces);
    return status;
}

static const char *piece_of(const struct clf__vocabulary *vocabulary, int32_t id)
{
    return vocabulary && id >= 0 && id < vocabulary->size ? vocabulary->pieces[id] : NULL;
}

const char *clf__tokenizer_source_piece(const struct clf__tokenizer *tokenizer, int32_t id)
{
    return piece_of(tokenizer->source.vocabulary, id);
}

const char *clf__tokenizer_target_piece(const struct clf__tokenizer *tokenizer, int32_t id)
{
    return piece_of(tokenizer->target.vocabulary, id);
}

int32_t clf__tokenizer_target_id(const struct clf__tokenizer *tokenizer, const char *piece)
{
    return clf__vocabulary_id(tokenizer->target.vocabulary, piece, strlen(piece));
}
