#include "support/tokenizer_fixture.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/token_list.h"

const struct clf__tokenizer_options tokenizer_word_options = {
    .source_vocabulary = 7,
    .target_vocabulary = 7,
    .source_start_id = 2,
    .source_end_id = 3,
    .pad_id = 0,
    .start_id = 2,
    .end_id = 3,
};
const char tokenizer_word_file[] =
    "{\"<pad>\": 0, \"<unk>\": 1, \"<s>\": 2, \"</s>\": 3, \"a\": 4, \"b\u00e9\": 5, \">>a<<\": 6}";

const struct clf__tokenizer_options tokenizer_subword_options = {
    .source_vocabulary = 151,
    .target_vocabulary = 151,
    .source_start_id = -1,
    .source_end_id = 0,
    .pad_id = 150,
    .start_id = 150,
    .end_id = 0,
};

void tokenizer_write(const char *folder, const char *name, const char *text)
{
    char *path;
    assert_ok(clf__path_join(&path, folder, name));
    assert_ok(clf__file_write(path, text, strlen(text)));
    clf__free(path);
}

struct clf__tokenizer *tokenizer_load(const char *folder, const struct clf__tokenizer_options *options)
{
    struct clf__tokenizer *tokenizer;
    assert_ok(clf__tokenizer_load(&tokenizer, folder, options));
    return tokenizer;
}

struct clf__tokenizer *tokenizer_load_words(const struct clf__tokenizer_options *options)
{
    const char *folder = support_temporary_folder();
    tokenizer_write(folder, "vocab.json", tokenizer_word_file);
    return tokenizer_load(folder, options);
}

clf_status tokenizer_add_token(void *user, const char *token, size_t length)
{
    char *text = user;
    size_t used = strlen(text);
    memcpy(text + used, token, length);
    strcpy(text + used + length, "/");
    return CLF_OK;
}

char *tokenizer_restore(const struct clf__tokenizer *tokenizer, const char *text, int *unknown)
{
    struct clf__framing framing;
    struct clf__ids ids = {0};
    struct clf__token_list tokens = {0};
    const char *given[64] = {NULL};
    int before = 0, found = 0;
    char *restored;
    assert_ok(clf__tokenizer_frame(&framing, tokenizer, NULL, NULL));
    assert_ok(clf__tokenizer_encode_source(tokenizer, &framing, &ids, text, strlen(text), 0));
    assert_ok(clf__tokenizer_source_tokens(tokenizer, &framing, &tokens, text, strlen(text), 0));
    assert_int_equal(tokens.count, ids.count - clf__framing_count(&framing));
    assert_true(tokens.count <= 64);
    while (before < CLF__MOST_FRAMING && framing.before[before] >= 0) {
        before++;
    }
    for (int i = 0; i < tokens.count; i++) {
        int32_t id = ids.data[before + i];
        const char *token = clf__token_list_at(&tokens, i);
        if (id == clf__tokenizer_unknown(tokenizer)) {
            given[i] = token;
            found++;
        } else {
            assert_string_equal(token, clf__tokenizer_source_token(tokenizer, id));
        }
    }
    assert_null(clf__token_list_at(&tokens, tokens.count));
    assert_ok(clf__tokenizer_decode_given(tokenizer, &restored, ids.data + before, tokens.count, given, 0));
    clf__ids_free(&ids);
    clf__token_list_free(&tokens);
    *unknown = found;
    return restored;
}
