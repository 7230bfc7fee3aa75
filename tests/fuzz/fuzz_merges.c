/* Any bytes as merges.txt: an error that names the file, or merges whose tokens join to the original text,
 * or, as subwords, to the text without white space. */
#include "base/memory.h"
#include "fuzz/files.h"
#include "text/tokenizers/segmenters/segmenter.h"

enum { MAX_TOKENS = 256 };

struct tokens {
    char *texts[MAX_TOKENS];
    int count;
};

static clf_status keep(void *user, const char *token, size_t length)
{
    struct tokens *tokens = user;
    if (tokens->count == MAX_TOKENS) {
        abort(); /* more than the text has bytes */
    }
    return clf__copy_bytes(&tokens->texts[tokens->count++], token, length);
}

static void cut_and_join(const void *state)
{
    static const char text[] = "  Je suis là... aaaaaaaaaaaab abab\tabc'll 12 日本 \xF0\x9F\x98\x80x";
    const struct clf__segmenter *segmenter = &clf__segmenter_byte_level;
    struct tokens tokens = {.count = 0};
    char *joined;
    if (segmenter->segment(state, text, sizeof text - 1, keep, &tokens) != CLF_OK ||
        segmenter->join(state, &joined, (const char *const *)tokens.texts, tokens.count) != CLF_OK ||
        strcmp(joined, text) != 0) {
        abort();
    }
    clf__free(joined);
    for (int i = 0; i < tokens.count; i++) {
        clf__free(tokens.texts[i]);
    }
}

/* Every token that continues ends with @@. */
static void cut_subwords(const void *state)
{
    static const char text[] = "  Je suis là... aaaaaaaaaaaab abab\tabc'll 12 日本 \xF0\x9F\x98\x80x";
    static const char bare[] = "jesuislà...aaaaaaaaaaaababababc'll12日本\xF0\x9F\x98\x80x";
    struct tokens tokens = {.count = 0};
    char all[sizeof text], *end = all;
    if (clf__segmenter_subwords.segment(state, text, sizeof text - 1, keep, &tokens) != CLF_OK) {
        abort();
    }
    for (int i = 0; i < tokens.count; i++) {
        size_t length = strlen(tokens.texts[i]);
        length -= length > 2 && strcmp(tokens.texts[i] + length - 2, "@@") == 0 ? 2 : 0;
        if (length > (size_t)(all + sizeof all - end)) {
            abort();
        }
        memcpy(end, tokens.texts[i], length);
        end += length;
        clf__free(tokens.texts[i]);
    }
    if ((size_t)(end - all) != strlen(bare) || memcmp(all, bare, strlen(bare)) != 0) {
        abort();
    }
}

static void check_subwords(const struct clf__segmenter_folder *folder, const char *path)
{
    void *state;
    clf_status status = clf__segmenter_subwords.open(&state, folder, 0);
    if (status == CLF_OK) {
        cut_subwords(state);
        clf__segmenter_subwords.free(state);
    } else if (status != CLF_FORMAT || strstr(clf_last_error(), path) == NULL) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("merges.txt", data, size);
    struct clf__segmenter_folder settings = {.path = fuzz_folder(), .model = "merges.txt"};
    void *state;
    clf_status status = clf__segmenter_byte_level.open(&state, &settings, 0);
    if (status == CLF_OK) {
        cut_and_join(state);
        clf__segmenter_byte_level.free(state);
    } else if (status != CLF_FORMAT || strstr(clf_last_error(), path) == NULL) {
        abort();
    }
    check_subwords(&settings, path);
    return 0;
}
