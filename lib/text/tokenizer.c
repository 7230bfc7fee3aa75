/* With SentencePiece this follows transformers' MarianTokenizer (5.23). Text is not changed before its pieces
 * are cut: MarianTokenizer holds a punctuation normaliser of sacremoses, but encoding never calls it, and the
 * recorded ids of tests/fixtures/fr-en-small agree. A text that begins with >>something<< has that taken off
 * as one token. One difference is meant: a "</s>" or "<pad>" written in a text is text. */
#include "text/tokenizer.h"

#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/clean_up.h"
#include "text/segmenters/sentencepiece_library.h"
#include "text/vocabulary.h"

enum { MAX_SPM_BYTES = 1 << 28, MAX_SHOWN_WORD = 80, MAX_PART = 1 << 15 };

/* One language: how its text is cut and which ids its pieces have. */
struct side {
    struct clf__sentencepiece *model; /* NULL: words between white space */
    const struct clf__vocabulary *vocabulary;
    int32_t unknown_id; /* or -1 */
};

struct clf__tokenizer {
    struct clf__tokenizer_options options;
    struct clf__vocabulary vocabulary, target_vocabulary; /* the second where they are separate */
    struct side source, target;
    int max_length;
    int cleans_up;    /* clean_up_tokenization_spaces */
    int splits_words; /* pre_tokenizer is WhitespaceSplit: no models are missing, whatever the words */
    char *delimiter;  /* word_delimiter_token: text without models is characters, with this for a space */
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
static void fail_unreadable(void)
{
    clf__fail(CLF_FILE, "%s; download it again, or save the model with its tokenizer", clf_last_error());
}

static clf_status load_model(struct clf__sentencepiece **out, const char *folder, const char *name)
{
    char *path = NULL, *bytes = NULL;
    size_t size = 0;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__file_read(&bytes, &size, path, MAX_SPM_BYTES);
    if (status == CLF_OK) {
        status = clf__sentencepiece_load(out, bytes, size, path);
    } else if (status == CLF_FILE) {
        fail_unreadable();
    }
    clf__free(bytes);
    clf__free(path);
    return status;
}

static clf_status load_vocabulary(struct clf__vocabulary *out, const char *folder, const char *name, int size)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__vocabulary_load(out, path, size);
    clf__free(path);
    if (status == CLF_FILE) {
        fail_unreadable();
    }
    return status;
}

/* What tokenizer_config.json says: *unknown_token is borrowed from it. */
static clf_status read_config(struct clf__tokenizer *tokenizer, const struct clf__json *config,
                              const char **unknown_token)
{
    /* transformers writes 10^30 where there is no limit. */
    double max_length = 0;
    CLF__TRY(clf__json_double(config, "model_max_length", 1, 1e300, &max_length));
    tokenizer->max_length = max_length < INT_MAX ? (int)max_length : 0;
    CLF__TRY(clf__json_bool(config, "clean_up_tokenization_spaces", &tokenizer->cleans_up));
    const char *delimiter = NULL, *cut = NULL;
    CLF__TRY(clf__json_string(config, "pre_tokenizer", &cut));
    tokenizer->splits_words = cut && strcmp(cut, "WhitespaceSplit") == 0;
    CLF__TRY(clf__json_string(config, "word_delimiter_token", &delimiter));
    if (delimiter) {
        CLF__TRY(clf__copy_string(&tokenizer->delimiter, delimiter));
    }
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
    if (side->unknown_id < 0 && side->model) {
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

/* Either model calls for the other, so that one that is missing is named. */
static clf_status load_models(struct clf__tokenizer *tokenizer, const char *folder)
{
    int has_source, has_target;
    CLF__TRY(clf__file_find(&has_source, folder, "source.spm"));
    CLF__TRY(clf__file_find(&has_target, folder, "target.spm"));
    if (!has_source && !has_target && (tokenizer->splits_words || tokenizer->delimiter)) {
        return CLF_OK;
    }
    if (!has_source && !has_target) {
        /* Pieces with the mark that SentencePiece puts before a word say that the models are missing. */
        const char *mark = "\u2581";
        for (int id = 0; id < tokenizer->target.vocabulary->size; id++) {
            if (strncmp(tokenizer->target.vocabulary->pieces[id], mark, strlen(mark)) == 0) {
                return clf__fail(
                    CLF_FILE,
                    "%s/source.spm: is missing, and the vocabulary holds SentencePiece's pieces; download "
                    "it too",
                    folder);
            }
        }
        return CLF_OK;
    }
    if (tokenizer->options.source_vocabulary > 0) {
        CLF__TRY(load_model(&tokenizer->source.model, folder, "source.spm"));
    }
    return load_model(&tokenizer->target.model, folder, "target.spm");
}

static clf_status load(struct clf__tokenizer *tokenizer, const char *folder)
{
    CLF__TRY(load_vocabularies(tokenizer, folder));
    const char *unknown_token = "<unk>";
    struct clf__json config;
    clf_status status = clf__json_find_in(&config, folder, "tokenizer_config.json");
    if (status == CLF_OK && config.root) {
        status = read_config(tokenizer, &config, &unknown_token);
    }
    if (status == CLF_OK) {
        status = load_models(tokenizer, folder);
    }
    if (status == CLF_OK) {
        status = find_unknown(&tokenizer->source, unknown_token);
    }
    if (status == CLF_OK) {
        status = find_unknown(&tokenizer->target, unknown_token);
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

void clf__tokenizer_free(struct clf__tokenizer *tokenizer)
{
    if (tokenizer) {
        clf__sentencepiece_free(tokenizer->source.model);
        clf__sentencepiece_free(tokenizer->target.model);
        clf__vocabulary_free(&tokenizer->vocabulary);
        clf__vocabulary_free(&tokenizer->target_vocabulary);
        clf__free(tokenizer->delimiter);
        clf__free(tokenizer);
    }
}

int clf__tokenizer_max_length(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->max_length;
}

int clf__tokenizer_has_pieces(const struct clf__tokenizer *tokenizer)
{
    return tokenizer->target.model != NULL;
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

/* The length of a >>code<< that a text begins with, or 0. */
static size_t code_length(const char *text, size_t size)
{
    if (size < 4 || memcmp(text, ">>", 2) != 0) {
        return 0;
    }
    for (size_t i = 2; i + 2 <= size; i++) {
        if (memcmp(text + i, "<<", 2) == 0) {
            return i + 2;
        }
    }
    return 0;
}

/* Where to cut a text of which SentencePiece takes `most` bytes: at a space, or between two characters of a
 * stretch without any. */
static size_t part_length(const char *text, size_t size, size_t most)
{
    if (size <= most) {
        return size;
    }
    for (size_t i = most; i > most / 2; i--) {
        if (text[i] == ' ') {
            return i;
        }
    }
    return clf__utf8_cut(text, most);
}

/* SentencePiece's time grows with the square of a run of unknown characters (half a minute for a megabyte),
 * so it gets long texts in parts. It puts the space at which they were cut before each part again. A model
 * whose normaliser makes pages of every letter would take as long: it gets smaller parts, and an end. */
static clf_status add_parts(struct sink *sink, const char *text, size_t size)
{
    const struct clf__sentencepiece *model = sink->side->model;
    while (size > 0) {
        size_t most = size < MAX_PART ? size : MAX_PART;
        size_t fit;
        CLF__TRY(clf__sentencepiece_fit(model, &fit, text, most));
        size_t part = part_length(text, size, fit);
        CLF__TRY(clf__sentencepiece_encode(model, text, part, add_piece, sink));
        part += part < size && text[part] == ' ';
        text += part;
        size -= part;
    }
    return CLF_OK;
}

static clf_status add_text(struct sink *sink, const char *text, size_t size)
{
    size_t code = code_length(text, size);
    if (code > 0) {
        CLF__TRY(add_piece(sink, text, code));
    }
    text += code;
    size -= code;
    if (!memchr(text, '\0', size)) {
        return add_parts(sink, text, size);
    }
    char *spaced = NULL;
    CLF__TRY(clf__copy_bytes(&spaced, text, size));
    for (size_t i = 0; i < size; i++) {
        spaced[i] = spaced[i] == '\0' ? ' ' : spaced[i];
    }
    clf_status status = add_parts(sink, spaced, size);
    clf__free(spaced);
    return status;
}

/* What stands before and after the ids of a text, -1 for nothing. */
struct frame {
    int32_t start_id, end_id;
};

/* `delimiter` is not NULL where the text is to be cut into characters. */
static clf_status add_plain(struct sink *sink, const char *delimiter, const char *text, size_t size)
{
    return delimiter ? clf__split_characters(text, size, delimiter, add_piece, sink)
                     : clf__split_words(text, size, add_piece, sink);
}

static clf_status add_framed(struct sink *sink, struct frame frame, const char *delimiter, const char *text,
                             size_t size, int pieces)
{
    size_t valid = clf__utf8_valid_prefix(text, size);
    if (valid != size) {
        return clf__fail(CLF_TEXT, "the line's byte at offset %zu is not UTF-8", valid);
    }
    if (!sink->side->vocabulary) {
        return clf__fail(CLF_UNSUPPORTED, "this model's source is not text");
    }
    if (frame.start_id >= 0) {
        CLF__TRY(clf__ids_append(sink->ids, frame.start_id));
    }
    if (sink->side->model && !pieces) {
        CLF__TRY(add_text(sink, text, size));
    } else {
        CLF__TRY(add_plain(sink, pieces ? NULL : delimiter, text, size));
    }
    return frame.end_id >= 0 ? clf__ids_append(sink->ids, frame.end_id) : CLF_OK;
}

static clf_status encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids, const char *text,
                         size_t size, int target, int pieces)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    struct sink sink = {target ? &tokenizer->target : &tokenizer->source, ids};
    struct frame frame = {target ? -1 : options->source_start_id,
                          target ? options->end_id : options->source_end_id};
    ids->count = 0;
    clf_status status = add_framed(&sink, frame, tokenizer->delimiter, text, size, pieces);
    if (status != CLF_OK) {
        ids->count = 0;
    }
    return status;
}

clf_status clf__tokenizer_encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                 const char *text, size_t size)
{
    return encode(tokenizer, ids, text, size, 0, 0);
}

clf_status clf__tokenizer_encode_target(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                        const char *text, size_t size)
{
    return encode(tokenizer, ids, text, size, 1, 0);
}

clf_status clf__tokenizer_encode_pieces(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                        const char *text, size_t size, int target)
{
    return encode(tokenizer, ids, text, size, target, 1);
}

/* transformers' special tokens, which a text of SentencePiece leaves out, hold the unknown one too. */
static int is_left_out(const struct clf__tokenizer *tokenizer, int32_t id)
{
    const struct clf__tokenizer_options *options = &tokenizer->options;
    return id == options->pad_id || id == options->start_id || id == options->end_id ||
           (tokenizer->target.model && id == tokenizer->target.unknown_id);
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

/* With a space between words, or between characters where the delimiter stands. */
static clf_status join_words(char **text, const char *const *words, int count, const char *delimiter)
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(words[i]) + 1;
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        int is_space = delimiter && strcmp(words[i], delimiter) == 0;
        if (is_space || (i > 0 && !delimiter)) {
            *end++ = ' ';
        }
        memcpy(end, words[i], is_space ? 0 : length);
        end += is_space ? 0 : length;
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
    if (status == CLF_OK && !tokenizer->target.model) {
        status = join_words(text, pieces, chosen, tokenizer->delimiter);
    } else if (status == CLF_OK) {
        status = clf__sentencepiece_decode(tokenizer->target.model, text, pieces, chosen);
        if (status == CLF_OK) {
            clf__text_strip(*text);
            if (tokenizer->cleans_up) {
                clf__text_clean_up(*text);
            }
        }
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
