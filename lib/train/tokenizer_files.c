#include "train/tokenizer_files.h"

#include <limits.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/config/architectures/architecture.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/segmenters/sentencepiece_library.h"
#include "text/tokenizers/segmenters/train_sentencepiece.h"
#include "text/tokenizers/vocabulary.h"
#include "train/corpus.h"

/* SentencePiece keeps all sentences in memory, and more sentences hardly improve the model. */
enum { DEFAULT_SIZE = 8000, MAX_SENTENCES = 1000000 };
static const char *const word_delimiter = "|";

struct making {
    const struct clf__settings *settings;
    const struct clf__architecture *architecture;
    const char *source_path, *target_path; /* target_path NULL: one file holds both sides */
    const char *folder;
    struct clf__specials specials;
    int (*interrupted)(void *user);
    void *user;
};

/* A vocabulary: the sides of the text that it covers, and its file. */
struct side {
    int source, target;
    const char *given; /* a vocabulary file of the recipe, or NULL */
    const char *file;
};

/* Size and special ids of a vocabulary. */
struct made {
    int size, pad_id, start_id, end_id;
};

/* Returns whether the tokens are the characters of transcripts. */
static int has_characters(const struct making *making)
{
    return making->architecture->takes_frames && !making->settings->tokens;
}

/* The words "source", "target", or "source and target", for a format "%s%s%s". */
struct names {
    const char *first, *and, *second;
};

static struct names find_names(const struct making *making, const struct side *side)
{
    if (!making->target_path || !side->target) {
        return (struct names){making->source_path, "", ""};
    }
    if (!side->source) {
        return (struct names){making->target_path, "", ""};
    }
    return (struct names){making->source_path, " and ", making->target_path};
}

static int count_specials(const struct clf__specials *specials)
{
    int count = specials->last != NULL;
    for (int i = 0; specials->first[i]; i++) {
        count++;
    }
    return count;
}

static int is_special(const struct clf__specials *specials, const char *token)
{
    for (int i = 0; specials->first[i]; i++) {
        if (strcmp(specials->first[i], token) == 0) {
            return 1;
        }
    }
    return specials->last && strcmp(specials->last, token) == 0;
}

static clf_status count_line(const struct making *making, struct clf__token_counts *counts,
                             struct clf__corpus_text line)
{
    if (clf__utf8_valid_prefix(line.text, line.size) != line.size ||
        (line.size > 0 && memchr(line.text, '\0', line.size))) {
        return CLF_OK; /* loading the dataset reports the error */
    }
    return has_characters(making)
               ? clf__segmenter_characters.segment(word_delimiter, line.text, line.size,
                                                   clf__token_counts_add, counts)
               : clf__segmenter_words.segment(NULL, line.text, line.size, clf__token_counts_add, counts);
}

/* Counts words, or the characters of transcripts. */
static clf_status count_text(const struct making *making, struct clf__token_counts *counts,
                             const struct side *side)
{
    struct clf__corpus corpus;
    struct clf__corpus_pair pair;
    CLF__TRY(clf__corpus_open(&corpus, making->source_path, making->target_path));
    clf_status status = CLF_OK;
    while (status == CLF_OK && clf__corpus_next(&status, &corpus, &pair)) {
        if (side->source && !pair.is_torn) {
            status = count_line(making, counts, pair.source);
        }
        if (status == CLF_OK && side->target && !pair.is_torn) {
            status = count_line(making, counts, pair.target);
        }
    }
    clf__corpus_close(&corpus);
    clf__token_counts_sort(counts);
    return status;
}

/* Reads the first word of each line, as in fairseq's dictionaries. */
static clf_status read_words(struct clf__token_counts *counts, const char *path)
{
    struct clf__corpus corpus;
    struct clf__corpus_pair pair;
    CLF__TRY(clf__corpus_open(&corpus, path, NULL));
    clf_status status = CLF_OK;
    while (status == CLF_OK && clf__corpus_next(&status, &corpus, &pair)) {
        const char *text = pair.source.text, *end = text + pair.source.size;
        const char *word_end = text;
        while (word_end < end && *word_end != ' ' && *word_end != '\t') {
            word_end++;
        }
        size_t length = (size_t)(word_end - text);
        if (memchr(text, '\0', length)) {
            status = clf__fail(CLF_FORMAT, "%s: line %d: contains a NUL byte", path, pair.line);
        } else if (clf__utf8_check(text, length) != CLF_OK) {
            status = clf__fail_in(CLF_FORMAT, "%s: line %d", path, pair.line);
        } else if (length > 0) {
            status = clf__token_counts_add(counts, text, length);
        }
    }
    clf__corpus_close(&corpus);
    return status;
}

static int find_token(const char *const *tokens, int count, const char *token)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(tokens[i], token) == 0) {
            return i;
        }
    }
    return -1;
}

static clf_status write_tokens(struct made *made, const struct making *making, const char *file,
                               const char *const *tokens, int count)
{
    *made = (struct made){count, find_token(tokens, count, "<pad>"), find_token(tokens, count, "<s>"),
                          find_token(tokens, count, "</s>")};
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, making->folder, file));
    clf_status status = clf__vocabulary_write(path, tokens, count);
    clf__free(path);
    return status;
}

static clf_status fail_empty(const struct making *making, const struct side *side)
{
    struct names names = find_names(making, side);
    return side->given ? clf__fail(CLF_TEXT, "%s: has no tokens for a vocabulary", side->given)
                       : clf__fail(CLF_TEXT, "%s%s%s: has no text for a vocabulary", names.first, names.and,
                                   names.second);
}

/* Writes special tokens and the most frequent counted tokens, up to the vocabulary size. */
static clf_status write_counted(struct made *made, const struct making *making, const struct side *side,
                                const struct clf__token_counts *counts)
{
    const struct clf__specials *specials = &making->specials;
    int special = count_specials(specials), limit = (int)making->settings->vocabulary;
    int size = 0, room = limit > 0 ? limit - (specials->last != NULL) : INT_MAX;
    const char **tokens = NULL;
    CLF__TRY(clf__allocate(&tokens, (size_t)counts->count + (size_t)special, sizeof *tokens));
    for (int i = 0; specials->first[i]; i++) {
        tokens[size++] = specials->first[i];
    }
    for (int i = 0; i < counts->count && size < room; i++) {
        if (!is_special(specials, counts->items[i].token)) {
            tokens[size++] = counts->items[i].token;
        }
    }
    if (specials->last) {
        tokens[size++] = specials->last;
    }
    clf_status status =
        size > special ? write_tokens(made, making, side->file, tokens, size) : fail_empty(making, side);
    clf__free(tokens);
    return status;
}

/* Copies a vocab.json without changing its ids. */
static clf_status copy_vocabulary(struct made *made, const struct making *making, const char *file,
                                  const char *path)
{
    struct clf__vocabulary vocabulary;
    CLF__TRY(clf__vocabulary_load(&vocabulary, path, 0));
    clf_status status = write_tokens(made, making, file, vocabulary.tokens, vocabulary.size);
    clf__vocabulary_free(&vocabulary);
    return status;
}

static int is_json(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

/* Every `stride`-th sentence of one or both sides, for SentencePiece. */
struct sentences {
    struct clf__corpus corpus;
    const struct side *side;
    struct clf__corpus_pair pair;
    int has_target; /* the target of the current pair was not returned yet */
    int stride;
    struct clf__failure reading;
};

static int next_sentence(void *user, const char **text, size_t *size)
{
    struct sentences *sentences = user;
    if (!sentences->has_target) {
        int read = 0;
        clf_status status = CLF_OK;
        do {
            if (!clf__corpus_next(&status, &sentences->corpus, &sentences->pair)) {
                sentences->reading = clf__failure_keep(status);
                return 0;
            }
            read = (sentences->pair.line - 1) % sentences->stride == 0 && !sentences->pair.is_torn;
        } while (!read);
    }
    const struct clf__corpus_text *given = &sentences->pair.source;
    if (sentences->has_target || !sentences->side->source) {
        given = &sentences->pair.target;
    }
    sentences->has_target = given == &sentences->pair.source && sentences->side->target;
    *text = given->text;
    *size = given->size;
    return 1;
}

static void rewind_sentences(void *user)
{
    struct sentences *sentences = user;
    clf__corpus_rewind(&sentences->corpus);
    sentences->has_target = 0;
}

/* Adds to the message the text on which SentencePiece failed and, as a possible cause, the first line that
 * was skipped because it is not UTF-8. */
static clf_status explain_text(clf_status status, struct sentences *sentences, const struct names *names)
{
    struct clf__failure failure = clf__failure_keep(status);
    const char *text;
    size_t size;
    rewind_sentences(sentences);
    while (next_sentence(sentences, &text, &size)) {
        if (clf__utf8_check(text, size) != CLF_OK) {
            const struct clf__corpus *corpus = &sentences->corpus;
            int is_target = text == sentences->pair.target.text && corpus->target_path != NULL;
            return clf__fail_in(status, "%s%s%s: %s: %s, line %d", names->first, names->and, names->second,
                                failure.sentence, is_target ? corpus->target_path : corpus->source_path,
                                sentences->pair.line);
        }
    }
    status = clf__failure_again(&failure);
    return clf__fail_in(status, "%s%s%s", names->first, names->and, names->second);
}

static clf_status train_model(const struct making *making, const struct side *side, const char *path)
{
    int special = count_specials(&making->specials), asked = (int)making->settings->vocabulary;
    int size = asked > 0 ? asked : DEFAULT_SIZE;
    struct sentences sentences = {.side = side};
    CLF__TRY(clf__corpus_open(&sentences.corpus, making->source_path, making->target_path));
    int64_t count = (int64_t)sentences.corpus.lines * (side->source + side->target);
    sentences.stride = (int)((count + MAX_SENTENCES - 1) / MAX_SENTENCES);
    sentences.stride = sentences.stride < 1 ? 1 : sentences.stride;
    struct names names = find_names(making, side);
    clf__log(CLF_LOG_NOTICE, "%s%s%s: learning a vocabulary of %d tokens", names.first, names.and,
             names.second, size);
    if (sentences.stride > 1) {
        clf__log(CLF_LOG_NOTICE, "%s%s%s: SentencePiece learns from every %dth of %d lines", names.first,
                 names.and, names.second, sentences.stride, sentences.corpus.lines);
    }
    /* The model's unknown token is one of the special tokens. */
    struct clf__sentencepiece_training training = {
        .next = next_sentence,
        .rewind = rewind_sentences,
        .user = &sentences,
        .pieces = size - special + 1,
        .others = special - 1,
        .output = path,
        .interrupted = making->interrupted,
        .interrupted_user = making->user,
    };
    clf_status status = clf__sentencepiece_train(&training);
    if (status != CLF_INTERRUPTED && sentences.reading.status != CLF_OK) {
        status = clf__failure_again(
            &sentences.reading); /* after a failed read, the model covers only part of the text */
    } else if (status == CLF_TEXT) {
        status = explain_text(status, &sentences, &names);
    }
    clf__corpus_close(&sentences.corpus);
    return status;
}

static clf_status read_model(struct clf__token_counts *counts, const char *path)
{
    struct clf__sentencepiece *model;
    CLF__TRY(clf__sentencepiece_read(&model, path));
    clf_status status = clf__sentencepiece_pieces(model, clf__token_counts_add, counts);
    clf__sentencepiece_free(model);
    return status;
}

/* Trains a SentencePiece model, writes it under each of its names and adds its tokens, best first. */
static clf_status learn_subwords(const struct making *making, struct clf__token_counts *counts,
                                 const struct side *side)
{
    char *path = NULL, *other = NULL;
    CLF__TRY(clf__path_join(&path, making->folder, side->source ? "source.spm" : "target.spm"));
    clf_status status = clf__path_join(&other, making->folder, "target.spm");
    if (status == CLF_OK) {
        status = train_model(making, side, path);
    }
    if (status == CLF_OK && side->source && side->target) {
        status = clf__file_copy(other, path);
    }
    if (status == CLF_OK) {
        status = read_model(counts, path);
    }
    clf__free(other);
    clf__free(path);
    return status;
}

/* Collects the tokens of a vocabulary besides special tokens. */
static clf_status collect(const struct making *making, struct clf__token_counts *counts,
                          const struct side *side)
{
    if (side->given) {
        return read_words(counts, side->given);
    }
    if (making->settings->tokens || making->architecture->takes_frames) {
        return count_text(making, counts, side);
    }
    return learn_subwords(making, counts, side);
}

static clf_status make_vocabulary(struct made *made, const struct making *making, const struct side *side)
{
    if (side->given && is_json(side->given)) {
        return copy_vocabulary(made, making, side->file, side->given);
    }
    struct clf__token_counts counts = {0};
    clf_status status = collect(making, &counts, side);
    if (status == CLF_OK) {
        status = write_counted(made, making, side, &counts);
    }
    clf__token_counts_free(&counts);
    return status;
}

/* Checks that a given vocabulary has the special tokens that the architecture needs. */
static clf_status check_ids(const struct making *making, const struct side *side, const struct made *made)
{
    int needs_start = !making->architecture->has_no_start_token;
    const char *missing = made->end_id < 0                    ? "</s>"
                          : made->pad_id < 0                  ? "<pad>"
                          : needs_start && made->start_id < 0 ? "<s>"
                                                              : NULL;
    return missing ? clf__fail(CLF_FORMAT, "%s: the token \"%s\" is missing; add it",
                               side->given ? side->given : side->file, missing)
                   : CLF_OK;
}

static clf_status make_side(struct made *made, const struct making *making, const struct side *side)
{
    CLF__TRY(make_vocabulary(made, making, side));
    return check_ids(making, side, made);
}

static clf_status make_vocabularies(struct clf__model_description *out, const struct making *making)
{
    const struct clf__settings *settings = making->settings;
    const char *source_given = settings->source_vocabulary, *target_given = settings->target_vocabulary;
    int separate = settings->separate_vocabularies, frames = making->architecture->takes_frames;
    struct side first = {1, !separate, source_given, "vocab.json"};
    struct side second = {0, 1, target_given, "target_vocab.json"};
    struct made source, target;
    if (frames) {
        first = (struct side){0, 1, target_given ? target_given : source_given, "vocab.json"};
    }
    CLF__TRY(make_side(&source, making, &first));
    target = source;
    if (separate) {
        CLF__TRY(make_side(&target, making, &second));
        if (source.end_id != target.end_id || source.pad_id != target.pad_id ||
            source.start_id != target.start_id) {
            return clf__fail(
                CLF_FORMAT,
                "%s and %s: have different ids for <s>, </s> or <pad>; give these tokens the same ids",
                first.given ? first.given : first.file, second.given ? second.given : second.file);
        }
    }
    out->source_vocabulary = frames ? 0 : source.size;
    out->target_vocabulary = target.size;
    out->separate_vocabularies = separate;
    out->pad_id = source.pad_id;
    out->start_id = making->architecture->has_no_start_token ? -1 : source.start_id;
    out->end_id = source.end_id;
    return CLF_OK;
}

static clf_status write_config(const struct making *making)
{
    const struct clf__settings *settings = making->settings;
    const char *class = settings->tokens ? NULL : making->architecture->tokenizer_class;
    int characters = has_characters(making);
    json_t *root = json_pack("{ss ss ss ss* so* ss* ss* ss* ss* ss* ss*}", "unk_token", "<unk>", "eos_token",
                             "</s>", "pad_token", "<pad>", "tokenizer_class", class, "separate_vocabs",
                             class ? json_boolean(settings->separate_vocabularies) : NULL, "pre_tokenizer",
                             settings->tokens ? "WhitespaceSplit" : NULL, "bos_token",
                             making->architecture->has_no_start_token ? NULL : "<s>", "tokenizer_class",
                             characters ? "Wav2Vec2CTCTokenizer" : NULL, "word_delimiter_token",
                             characters ? word_delimiter : NULL, "source_lang", settings->source_language,
                             "target_lang", settings->target_language);
    char *path = NULL;
    clf_status status = clf__path_join(&path, making->folder, "tokenizer_config.json");
    if (status == CLF_OK) {
        status = clf__json_write(path, root, 0);
    }
    clf__free(path);
    json_decref(root);
    return status;
}

static clf_status check(const struct making *making)
{
    const struct clf__settings *settings = making->settings;
    int special = count_specials(&making->specials);
    if (settings->vocabulary > 0 && settings->vocabulary <= special) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "vocabulary: %d has no room for text in addition to %d special tokens; use a larger one",
            (int)settings->vocabulary, special);
    }
    if (making->architecture->takes_frames && settings->separate_vocabularies) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "separate-vocabularies: cannot be used with a speech model; remove it");
    }
    int is_given = settings->source_vocabulary || settings->target_vocabulary;
    if (is_given && !settings->tokens && !making->architecture->takes_frames) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "source-vocabulary and target-vocabulary: require tokens or a speech model; remove them");
    }
    return CLF_OK;
}

clf_status clf__tokenizer_files_make(struct clf__model_description *out, const char *folder,
                                     const struct clf__settings *settings, int (*interrupted)(void *user),
                                     void *user)
{
    const struct clf__texts *train = &settings->train;
    struct making making = {.settings = settings,
                            .architecture = clf__architecture_of((enum clf__architecture_id)settings->preset),
                            .source_path = train->items[0],
                            .target_path = train->count > 1 ? train->items[1] : NULL,
                            .folder = folder,
                            .interrupted = interrupted,
                            .user = user};
    const struct clf__specials *other = making.architecture->separate_specials;
    int is_other = other && settings->separate_vocabularies && settings->tokens;
    making.specials = is_other ? *other : making.architecture->specials;
    CLF__TRY(check(&making));
    CLF__TRY(make_vocabularies(out, &making));
    return write_config(&making);
}
