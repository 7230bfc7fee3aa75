/* Vocabularies and tokens of CTranslate2 folders (see models/model_reader.cc and vocabulary.cc in
 * CTranslate2). Ids are looked up by token text; ids of SentencePiece models are never used. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "model/formats/ctranslate2.h"
#include "text/tokenizers/token_list.h"
#include "text/tokenizers/tokenizer_make.h"

enum { MAX_VOCABULARY_BYTES = 1 << 28, MAX_TOKEN_BYTES = 4096 };

/* --- Tokens --- */

/* Reads a string variable of the root scope, stored as int8. */
static clf_status read_text(char **out, const struct clf__weights *weights, const char *name,
                            const char *fallback)
{
    const struct clf__stored_tensor *stored = clf__weights_find(weights, name);
    if (stored == NULL) {
        return clf__copy_string(out, fallback);
    }
    if (stored->type != CLF__STORED_I8 || stored->dimensions != 1 || stored->size > MAX_TOKEN_BYTES) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is not a string; download the file again", stored->file,
                         name);
    }
    CLF__TRY(clf__allocate(out, stored->size + 1, 1));
    clf_status status = clf__file_read_at(stored->source, stored->offset, *out, stored->size);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

static clf_status read_switch(int *out, const struct clf__weights *weights, const char *name, int fallback)
{
    const struct clf__stored_tensor *stored = clf__weights_find(weights, name);
    float value = (float)fallback;
    if (stored != NULL && stored->dimensions == 0) {
        CLF__TRY(clf__stored_tensor_read(stored, &value));
    }
    *out = value != 0.0f;
    return CLF_OK;
}

/* Reads the tokens from a model.bin before version 6. */
static clf_status read_old_tokens(struct clf__ctranslate2_tokens *out, const struct clf__weights *weights)
{
    int starts, chooses;
    CLF__TRY(read_text(&out->unknown, weights, "unk_token", "<unk>"));
    CLF__TRY(read_text(&out->start, weights, "bos_token", "<s>"));
    CLF__TRY(read_text(&out->end, weights, "eos_token", "</s>"));
    CLF__TRY(read_switch(&out->adds_start, weights, "with_source_bos", 0));
    CLF__TRY(read_switch(&out->adds_end, weights, "with_source_eos", 0));
    CLF__TRY(read_switch(&starts, weights, "with_target_bos", 1));
    CLF__TRY(read_switch(&chooses, weights, "user_decoder_start_tokens", 0));
    return chooses ? CLF_OK : clf__copy_string(&out->decoder_start, starts ? out->start : out->end);
}

static clf_status keep_token(char **out, const struct clf__json *json, const char *key)
{
    const char *token = NULL;
    CLF__TRY(clf__json_string(json, key, &token));
    return token != NULL ? clf__copy_string(out, token) : CLF_OK;
}

static clf_status read_new_tokens(struct clf__ctranslate2_tokens *out, const struct clf__json *json)
{
    double epsilon = 0.0;
    CLF__TRY(keep_token(&out->unknown, json, "unk_token"));
    CLF__TRY(keep_token(&out->start, json, "bos_token"));
    CLF__TRY(keep_token(&out->end, json, "eos_token"));
    CLF__TRY(keep_token(&out->decoder_start, json, "decoder_start_token"));
    CLF__TRY(clf__json_bool(json, "add_source_bos", &out->adds_start));
    CLF__TRY(clf__json_bool(json, "add_source_eos", &out->adds_end));
    CLF__TRY(clf__json_double(json, "layer_norm_epsilon", 0, 1, &epsilon));
    out->norm_epsilon = (float)epsilon;
    return CLF_OK;
}

static clf_status read_tokens(struct clf__ctranslate2_tokens *out, const char *folder,
                              const struct clf__weights *weights)
{
    if (clf__ctranslate2_specification(weights).version < 6) {
        return read_old_tokens(out, weights);
    }
    struct clf__json json;
    CLF__TRY(clf__json_load_in(&json, folder, "config.json"));
    clf_status status = read_new_tokens(out, &json);
    clf__json_free(&json);
    return status;
}

clf_status clf__ctranslate2_read_tokens(struct clf__ctranslate2_tokens *out, const char *folder,
                                        const struct clf__weights *weights)
{
    *out = (struct clf__ctranslate2_tokens){.adds_start = 0};
    clf_status status = read_tokens(out, folder, weights);
    if (status != CLF_OK) {
        clf__ctranslate2_free_tokens(out);
    }
    return status;
}

void clf__ctranslate2_free_tokens(struct clf__ctranslate2_tokens *tokens)
{
    clf__free(tokens->unknown);
    clf__free(tokens->start);
    clf__free(tokens->end);
    clf__free(tokens->decoder_start);
    *tokens = (struct clf__ctranslate2_tokens){.adds_start = 0};
}

/* --- Vocabularies --- */

static clf_status add_listed(struct clf__token_list *tokens, const char *text, size_t size, const char *path)
{
    json_t *root;
    struct clf__json_limits limits = {MAX_VOCABULARY_BYTES, CLF__MAX_VOCABULARY};
    CLF__TRY(clf__json_parse(&root, text, size, path, limits));
    clf_status status =
        json_is_array(root)
            ? CLF_OK
            : clf__fail(CLF_FORMAT, "%s: not a list of tokens; download the file again", path);
    for (size_t i = 0; status == CLF_OK && i < json_array_size(root); i++) {
        const json_t *token = json_array_get(root, i);
        status =
            json_is_string(token)
                ? clf__token_list_add(tokens, json_string_value(token), json_string_length(token), 0)
                : clf__fail(CLF_FORMAT, "%s: token %zu is not a string; download the file again", path, i);
    }
    json_decref(root);
    return status;
}

/* Reads one token per line. A carriage return before each newline is part of the line ending only if every
 * line has one. */
static clf_status add_lines(struct clf__token_list *tokens, const char *text, size_t size)
{
    size_t returns = 0, lines = 0;
    const char *end = text + size, *next;
    for (const char *line = text; line < end; line = next + 1, lines++) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next : end;
        returns += next > line && next[-1] == '\r';
    }
    for (const char *line = text; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next : end;
        size_t length = (size_t)(next - line) - (returns == lines);
        CLF__TRY(clf__token_list_add(tokens, line, length, 0));
    }
    return CLF_OK;
}

/* Adds the unknown token if the file lacks it, as CTranslate2 does. */
static clf_status finish_vocabulary(struct clf__vocabulary *out, struct clf__token_list *tokens,
                                    const char *path, const char *unknown)
{
    const char *token = tokens->text;
    int i = 0;
    for (; i < tokens->count && strcmp(token, unknown) != 0; i++) {
        token += strlen(token) + 1;
    }
    if (i == tokens->count) {
        CLF__TRY(clf__token_list_add(tokens, unknown, strlen(unknown), 0));
    }
    return clf__vocabulary_take(out, tokens, path);
}

static clf_status load_file(struct clf__vocabulary *out, const char *path, int is_json, const char *unknown)
{
    char *text;
    size_t size;
    struct clf__token_list tokens = {.text = NULL};
    CLF__TRY(clf__file_read(&text, &size, path, MAX_VOCABULARY_BYTES));
    clf_status status = CLF_OK;
    if (!is_json && memchr(text, '\0', size) != NULL) {
        status = clf__fail(CLF_FORMAT, "%s: the file contains a NUL byte; download the file again", path);
    } else {
        status = is_json ? add_listed(&tokens, text, size, path) : add_lines(&tokens, text, size);
    }
    clf__free(text);
    if (status == CLF_OK) {
        status = finish_vocabulary(out, &tokens, path, unknown);
    }
    clf__token_list_free(&tokens);
    return status;
}

/* Loads <name>.json or else <name>.txt; *found is 0 if neither exists. */
static clf_status load_named(struct clf__vocabulary *out, int *found, const char *folder, const char *name,
                             const char *unknown)
{
    static const char *const endings[] = {"json", "txt"};
    *found = 0;
    for (int i = 0; i < 2 && !*found; i++) {
        char *file, *path = NULL;
        CLF__TRY(clf__format(&file, "%s.%s", name, endings[i]));
        clf_status status = clf__file_find(found, folder, file);
        if (status == CLF_OK && *found) {
            status = clf__path_join(&path, folder, file);
        }
        if (status == CLF_OK && *found) {
            status = load_file(out, path, i == 0, unknown);
        }
        clf__free(path);
        clf__free(file);
        CLF__TRY(status);
    }
    return CLF_OK;
}

clf_status clf__ctranslate2_load_vocabulary(struct clf__ctranslate2_vocabulary *out, const char *folder,
                                            const char *unknown)
{
    int found;
    *out = (struct clf__ctranslate2_vocabulary){.source = {.size = 0}};
    unknown = unknown != NULL ? unknown : "<unk>";
    CLF__TRY(load_named(&out->source, &found, folder, "shared_vocabulary", unknown));
    if (found) {
        return CLF_OK;
    }
    CLF__TRY(load_named(&out->source, &found, folder, "vocabulary", unknown));
    if (found) {
        return CLF_OK;
    }
    clf_status status = load_named(&out->source, &found, folder, "source_vocabulary", unknown);
    if (status == CLF_OK && found) {
        status = load_named(&out->target, &found, folder, "target_vocabulary", unknown);
    }
    if (status == CLF_OK && !found) {
        status = clf__fail(CLF_FILE,
                           "%s: neither shared_vocabulary.json nor source_vocabulary.json and "
                           "target_vocabulary.json (or .txt) in the folder; download them",
                           folder);
    }
    if (status != CLF_OK) {
        clf__ctranslate2_free_vocabulary(out);
    }
    return status;
}

void clf__ctranslate2_free_vocabulary(struct clf__ctranslate2_vocabulary *vocabulary)
{
    clf__vocabulary_free(&vocabulary->source);
    clf__vocabulary_free(&vocabulary->target);
}

/* --- The tokenizer --- */

/* Finds a segmentation model in the folder. Without a model, tokens are words separated by white space,
 * unless the vocabulary shows that a model is missing. */
static clf_status find_model(struct clf__tokenizer_material *material)
{
    static const char *const whole[] = {"sentencepiece.model", "spm.model", "sentencepiece.bpe.model",
                                        "spiece.model", "source.spm"};
    int found = 0;
    const char *folder = material->folder.path;
    CLF__TRY(clf__file_find(&found, folder, "target.spm"));
    if (found) {
        material->segmenter = &clf__segmenter_sentencepiece;
        return CLF_OK;
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole && !found; i++) {
        CLF__TRY(clf__file_find(&found, folder, whole[i]));
        material->folder.model = found ? whole[i] : NULL;
    }
    int has_marks = clf__segmenter_has_sentencepiece(&material->source);
    int has_bytes = clf__segmenter_has_byte_level(&material->source);
    material->segmenter = found                    ? &clf__segmenter_sentencepiece
                          : has_marks || has_bytes ? &clf__segmenter_missing
                                                   : &clf__segmenter_words;
    if (!found && (has_marks || has_bytes)) {
        material->folder.model = has_marks
                                     ? "the original model's SentencePiece models (source.spm and "
                                       "target.spm, or sentencepiece.bpe.model or spiece.model with "
                                       "tokenizer_config.json) into the folder, or pass tokens (--tokens)"
                                     : "the original model's tokenizer.json and tokenizer_config.json into "
                                       "the folder, or pass tokens (--tokens)";
    }
    return CLF_OK;
}

/* Adds the end token to sources of models with two SentencePiece files. Models converted from Hugging Face do
 * not record that sources have an end token. */
static void frame_source(struct clf__tokenizer_material *material)
{
    struct clf__tokenizer_options *options = &material->options;
    int is_apart = material->segmenter == &clf__segmenter_sentencepiece && material->folder.model == NULL;
    if (is_apart && options->source_end_id < 0) {
        const struct clf__vocabulary *target =
            material->target.size > 0 ? &material->target : &material->source;
        const char *end = target->tokens[options->end_id];
        options->source_end_id = clf__vocabulary_id(&material->source, end, strlen(end));
    }
}

/* Omits a token from text; --tokens still shows the token. */
static void hide(const struct clf__tokenizer_material *material, int32_t id)
{
    const struct clf__vocabulary *target = material->target.size > 0 ? &material->target : &material->source;
    if (id >= 0 && material->segmenter->has_model) {
        target->marks[id] |= CLF__TOKEN_SPECIAL;
    }
}

static clf_status check_size(const struct clf__vocabulary *vocabulary, int rows)
{
    return vocabulary->size == rows ? CLF_OK
                                    : clf__fail(CLF_FORMAT,
                                                "%s: %d tokens, but model.bin has %d rows of embeddings; "
                                                "download or convert both files again",
                                                vocabulary->path, vocabulary->size, rows);
}

/* Determines whether the folder has Hugging Face tokenizer files, which define more than a segmentation
 * model. */
static clf_status has_own_tokenizer(int *out, const struct clf__tokenizer_material *material)
{
    static const char *const files[] = {"tokenizer.json", "sentencepiece.bpe.model", "spiece.model",
                                        "merges.txt"};
    const char *folder = material->folder.path;
    int found = 0;
    *out = 0;
    if (material->options.source_vocabulary == 0) { /* models with frame input have no other tokenizer file */
        return clf__file_find(out, folder, "tokenizer.json");
    }
    CLF__TRY(clf__file_find(&found, folder, "tokenizer_config.json"));
    for (size_t i = 0; i < sizeof files / sizeof *files && found && !*out; i++) {
        CLF__TRY(clf__file_find(out, folder, files[i]));
    }
    *out = *out && material->target.size == 0;
    return CLF_OK;
}

/* Checks that the tokenizer and the vocabulary assign the same ids. Fillers (<unused_, madeupword) may
 * differ. */
static clf_status check_tokens(const struct clf__tokenizer *tokenizer,
                               const struct clf__vocabulary *vocabulary)
{
    for (int32_t id = 0; id < vocabulary->size; id++) {
        const char *token = clf__tokenizer_target_token(tokenizer, id), *own = vocabulary->tokens[id];
        if (strcmp(token, own) != 0 && strncmp(token, "<unused_", 8) != 0 &&
            strncmp(own, "madeupword", 10) != 0) {
            return clf__fail(CLF_FORMAT,
                             "%s: token %d is \"%.80s\", but \"%.80s\" in the tokenizer files of the folder; "
                             "use files of one model",
                             vocabulary->path, (int)id, own, token);
        }
    }
    return CLF_OK;
}

/* Loads a Hugging Face tokenizer. The tokenizer class frames sources because the converted model does not
 * record the framing. */
static clf_status load_own_tokenizer(struct clf__tokenizer **out,
                                     const struct clf__tokenizer_material *material)
{
    struct clf__tokenizer_options options = material->options;
    options.source_end_id = CLF__FRAMED_BY_CLASS;
    CLF__TRY(clf__tokenizer_load(out, material->folder.path, &options));
    clf_status status = check_tokens(*out, &material->source);
    if (status != CLF_OK) {
        clf__tokenizer_free(*out);
        *out = NULL;
    }
    return status;
}

/* Loads a Whisper folder without tokenizer.json. Encoding text requires that the vocabulary contains all
 * tokens in order of rank. */
static clf_status load_ranked(struct clf__tokenizer **out, struct clf__tokenizer_material *material)
{
    clf_status status =
        clf__tokenizer_load_ranked(out, material->folder.path, &material->source, &material->options);
    if (status == CLF_FORMAT) {
        material->segmenter = &clf__segmenter_missing;
        material->folder.model = "the original model's tokenizer.json into the folder";
        return CLF_OK;
    }
    return status;
}

static clf_status make_tokenizer(struct clf__tokenizer **out, struct clf__tokenizer_material *material,
                                 int32_t hidden)
{
    const struct clf__vocabulary *target = material->target.size > 0 ? &material->target : &material->source;
    int source_rows = material->options.source_vocabulary;
    CLF__TRY(
        check_size(&material->source, source_rows > 0 ? source_rows : material->options.target_vocabulary));
    CLF__TRY(check_size(target, material->options.target_vocabulary));
    if (material->segmenter == NULL) {
        int has_own;
        CLF__TRY(has_own_tokenizer(&has_own, material));
        if (has_own) {
            return load_own_tokenizer(out, material);
        }
        CLF__TRY(material->options.source_vocabulary == 0 ? load_ranked(out, material)
                                                          : find_model(material));
        if (*out != NULL) {
            return CLF_OK;
        }
    }
    hide(material, material->options.start_id);
    hide(material, hidden);
    material->options.start_id = -1;
    frame_source(material);
    return clf__tokenizer_make(out, material);
}

static clf_status read_unknown(char **out, const char *folder)
{
    struct clf__weights *weights;
    struct clf__ctranslate2_tokens tokens;
    CLF__TRY(clf__ctranslate2_open_model(&weights, folder, CLF__CTRANSLATE2_ALL));
    clf_status status = clf__ctranslate2_read_tokens(&tokens, folder, weights);
    clf__weights_close(weights);
    CLF__TRY(status);
    status = clf__copy_string(out, tokens.unknown != NULL ? tokens.unknown : "<unk>");
    clf__ctranslate2_free_tokens(&tokens);
    return status;
}

clf_status clf__ctranslate2_find_target(int32_t *out, const char *folder, const char *token)
{
    char *unknown;
    struct clf__ctranslate2_vocabulary vocabulary;
    CLF__TRY(read_unknown(&unknown, folder));
    clf_status status = clf__ctranslate2_load_vocabulary(&vocabulary, folder, unknown);
    clf__free(unknown);
    CLF__TRY(status);
    *out = clf__vocabulary_id(vocabulary.target.size > 0 ? &vocabulary.target : &vocabulary.source, token,
                              strlen(token));
    clf__ctranslate2_free_vocabulary(&vocabulary);
    return CLF_OK;
}

clf_status clf__ctranslate2_load_tokenizer(struct clf__tokenizer **out,
                                           const struct clf__ctranslate2_text *text,
                                           const struct clf__config *config)
{
    char *unknown;
    struct clf__ctranslate2_vocabulary vocabulary;
    *out = NULL;
    CLF__TRY(config->convolves_frames ? clf__copy_string(&unknown, CLF__CTRANSLATE2_FRAMES_END)
                                      : read_unknown(&unknown, text->vocabulary_folder));
    clf_status status = clf__ctranslate2_load_vocabulary(&vocabulary, text->vocabulary_folder, unknown);
    if (status == CLF_OK) {
        struct clf__tokenizer_material material = {.options = clf__tokenizer_options_of(config),
                                                   .folder = {.path = text->model_folder,
                                                              .model = text->model,
                                                              .source_language = text->language,
                                                              .target_language = text->target_language},
                                                   .segmenter = text->segmenter,
                                                   .source = vocabulary.source,
                                                   .target = vocabulary.target,
                                                   .unknown = unknown,
                                                   .source_language = text->language,
                                                   .target_language = text->target_language};
        status = make_tokenizer(out, &material, text->hidden);
        clf__vocabulary_free(&material.source);
        clf__vocabulary_free(&material.target);
    }
    clf__free(unknown);
    return status;
}
