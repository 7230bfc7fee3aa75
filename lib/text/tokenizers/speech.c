#include "text/tokenizers/speech.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/byte_level.h"

enum { MOST_LANGUAGES = 256, LONGEST_CODE = 16 };

static clf_status find(int32_t *id, const struct clf__tokenizer *tokenizer, const char *token,
                       const char *folder)
{
    *id = clf__tokenizer_target_id(tokenizer, token);
    return *id >= 0 ? CLF_OK
                    : clf__fail(CLF_UNSUPPORTED,
                                "%s: not a Whisper tokenizer, because the token %s is missing; use `clformer "
                                "translate` for models from `clformer train`",
                                folder, token);
}

clf_status clf__speech_tokens_find(struct clf__speech_tokens *out, const struct clf__tokenizer *tokenizer,
                                   const char *folder)
{
    struct clf__speech_tokens tokens;
    const struct {
        int32_t *id;
        const char *token;
    } wanted[] = {
        {&tokens.end, "<|endoftext|>"},
        {&tokens.start, "<|startoftranscript|>"},
        {&tokens.translate, "<|translate|>"},
        {&tokens.transcribe, "<|transcribe|>"},
        {&tokens.start_of_lm, "<|startoflm|>"},
        {&tokens.start_of_previous, "<|startofprev|>"},
        {&tokens.no_timestamps, "<|notimestamps|>"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CLF__TRY(find(wanted[i].id, tokenizer, wanted[i].token, folder));
    }
    tokens.no_speech = clf__tokenizer_target_id(tokenizer, "<|nospeech|>");
    if (tokens.no_speech < 0) { /* name in older folders of transformers */
        CLF__TRY(find(&tokens.no_speech, tokenizer, "<|nocaptions|>", folder));
    }
    tokens.timestamp_begin = clf__tokenizer_target_id(tokenizer, "<|0.00|>");
    if (tokens.timestamp_begin < 0) { /* some tokenizer files end before the timestamps */
        tokens.timestamp_begin = tokens.no_timestamps + 1;
    }
    int32_t behind = tokens.translate < tokens.transcribe ? tokens.translate : tokens.transcribe;
    tokens.languages = behind - tokens.start - 1;
    if (tokens.end > tokens.start || tokens.languages < 0 || tokens.languages > MOST_LANGUAGES ||
        tokens.timestamp_begin < tokens.no_timestamps || tokens.no_timestamps < behind) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the special tokens are not in the order of Whisper; download the file again",
                         folder);
    }
    *out = tokens;
    return CLF_OK;
}

clf_status clf__speech_language_code(char **out, const struct clf__tokenizer *tokenizer, int32_t id)
{
    const char *token = clf__tokenizer_target_token(tokenizer, id);
    size_t size = token != NULL ? strlen(token) : 0;
    int is_code = size > 4 && strncmp(token, "<|", 2) == 0 && strcmp(token + size - 2, "|>") == 0;
    return is_code ? clf__copy_bytes(out, token + 2, size - 4) : clf__copy_string(out, "");
}

int32_t clf__speech_language_id(const struct clf__speech_tokens *tokens,
                                const struct clf__tokenizer *tokenizer, const char *code)
{
    char token[LONGEST_CODE + 5] = "<|";
    size_t size = strlen(code);
    if (size > LONGEST_CODE) {
        return -1;
    }
    memcpy(token + 2, code, size);
    memcpy(token + 2 + size, "|>", 3);
    int32_t id = clf__tokenizer_target_id(tokenizer, token);
    int is_own = id > tokens->start && id <= tokens->start + tokens->languages;
    int is_added = id > tokens->no_timestamps && *code >= 'a' && *code <= 'z';
    return is_own || is_added ? id : -1;
}

clf_status clf__speech_text(char **out, const struct clf__speech_tokens *tokens,
                            const struct clf__tokenizer *tokenizer, const int32_t *ids, int count)
{
    size_t most = 0, size = 0;
    char *bytes = NULL, *text = NULL;
    for (int i = 0; i < count; i++) {
        const char *token = ids[i] < tokens->end ? clf__tokenizer_target_token(tokenizer, ids[i]) : NULL;
        most += token != NULL ? strlen(token) : 0;
    }
    CLF__TRY(clf__allocate(&bytes, most + 1, 1));
    clf_status status = clf__allocate(&text, 3 * most + 1, 1);
    if (status != CLF_OK) {
        clf__free(bytes);
        return status;
    }
    for (int i = 0; i < count; i++) {
        const char *token = ids[i] < tokens->end ? clf__tokenizer_target_token(tokenizer, ids[i]) : NULL;
        size += token != NULL ? clf__byte_level_bytes(bytes + size, token, strlen(token)) : 0;
    }
    text[clf__byte_level_repair(text, bytes, size)] = '\0';
    clf__free(bytes);
    *out = text;
    return CLF_OK;
}

clf_status clf__speech_encode(struct clf__ids *ids, const struct clf__tokenizer *tokenizer, const char *text)
{
    struct clf__ids own = {0};
    clf_status status = clf__tokenizer_encode(tokenizer, &own, text, strlen(text), 1, 0);
    for (int i = 0; i + 1 < own.count && status == CLF_OK; i++) { /* skips the end token */
        status = clf__ids_append(ids, own.data[i]);
    }
    clf__ids_free(&own);
    return status;
}

/* Adds the token of a symbol, with or without a space before it, if the symbol is a single token; with
 * takes_first, adds the first token in any case. */
static clf_status add_sign(struct clf__ids *ids, const struct clf__tokenizer *tokenizer, const char *space,
                           const char *sign, int takes_first)
{
    struct clf__ids own = {0};
    char *text = NULL;
    CLF__TRY(clf__format(&text, "%s%s", space, sign));
    clf_status status = clf__speech_encode(&own, tokenizer, text);
    if (status == CLF_OK && own.count > 0 && (own.count == 1 || takes_first)) {
        status = clf__ids_append(ids, own.data[0]);
    }
    clf__ids_free(&own);
    clf__free(text);
    return status;
}

clf_status clf__speech_unspoken(struct clf__ids *ids, const struct clf__tokenizer *tokenizer)
{
    static const char *const signs[] = {
        "\"",  "#",  "(",  ")",  "*",   "+",  "/",  ":",   ";",   "<",  "=",  ">",  "@",  "[",   "\\",  "]",
        "^",   "_",  "`",  "{",  "|",   "}",  "~",  "「",  "」",  "『", "』", "<<", ">>", "<<<", ">>>", "--",
        "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))", "[[", "]]", "{{", "}}", "♪♪",  "♪♪♪", NULL};
    static const char *const notes[] = {"♩", "♪", "♫", "♬", "♭", "♮", "♯", NULL};
    CLF__TRY(add_sign(ids, tokenizer, " ", "-", 1));
    CLF__TRY(add_sign(ids, tokenizer, " ", "'", 1));
    for (int i = 0; signs[i] != NULL; i++) {
        CLF__TRY(add_sign(ids, tokenizer, "", signs[i], 0));
        CLF__TRY(add_sign(ids, tokenizer, " ", signs[i], 0));
    }
    for (int i = 0; notes[i] != NULL; i++) {
        CLF__TRY(add_sign(ids, tokenizer, "", notes[i], 1));
        CLF__TRY(add_sign(ids, tokenizer, " ", notes[i], 1));
    }
    return CLF_OK;
}

static int is_space(UChar32 character)
{
    return u_isUWhiteSpace(character) || (character >= 0x1c && character <= 0x1f);
}

const char *clf__speech_strip(size_t *size, const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    int32_t start = 0, end = (int32_t)strlen(text);
    while (start < end) {
        int32_t next = start;
        UChar32 character;
        U8_NEXT(bytes, next, end, character);
        if (!is_space(character)) {
            break;
        }
        start = next;
    }
    while (end > start) {
        int32_t before = end;
        UChar32 character;
        U8_PREV(bytes, start, before, character);
        if (!is_space(character)) {
            break;
        }
        end = before;
    }
    *size = (size_t)(end - start);
    return text + start;
}
