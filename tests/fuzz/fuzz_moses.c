/* Any bytes as bpe.model, as a list of abbreviations and as a text: a failure that names the file, or pieces
 * that are words without white space in UTF-8 and join to a text in UTF-8. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/pieces.h"
#include "text/segmenters/segmenter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char list[] = "nonbreaking_prefix.en", pairs[] = "bpe.model";

static clf_status keep(void *user, const char *piece, size_t length)
{
    if (length == 0 || memchr(piece, ' ', length) != NULL || memchr(piece, '\0', length) != NULL ||
        clf__utf8_valid_prefix(piece, length) != length) {
        abort();
    }
    return clf__pieces_add(user, piece, length, 0);
}

static void join(const void *state, const struct clf__pieces *pieces)
{
    const char **items, *piece = pieces->text;
    char *text;
    if (clf__allocate(&items, (size_t)pieces->count, sizeof *items) != CLF_OK) {
        abort();
    }
    for (int i = 0; i < pieces->count; i++) {
        items[i] = piece;
        piece += strlen(piece) + 1;
    }
    if (clf__segmenter_moses.join(state, &text, items, pieces->count) != CLF_OK ||
        clf__utf8_valid_prefix(text, strlen(text)) != strlen(text)) {
        abort();
    }
    clf__free(text);
    clf__free(items);
}

static void cut_and_join(const void *state, const char *text, size_t size)
{
    struct clf__pieces pieces = {.count = 0};
    if (clf__segmenter_moses.segment(state, text, size, keep, &pieces) != CLF_OK) {
        abort();
    }
    join(state, &pieces);
    clf__pieces_free(&pieces);
}

static void write_file(char *path, size_t room, const char *folder, const char *name, const void *data,
                       size_t size)
{
    snprintf(path, room, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        abort();
    }
}

/* With the bytes as one of the two files. */
static void run(const char *folder, const char *language, const char *file, const uint8_t *data, size_t size)
{
    static const char text[] =
        "  Je suis l\u00e0... \"aab abab.\" Dr. ab's 12 \u65e5\u672c x\u0301 \xF0\x9F\x98\x80x No. 5";
    const struct clf__segmenter_folder settings = {
        .path = folder, .model = pairs, .source_language = language, .target_language = language};
    int is_list = file == list;
    char path[96], other[96];
    void *state;
    write_file(other, sizeof other, folder, is_list ? pairs : list, "a b\n", 4);
    write_file(path, sizeof path, folder, file, data, size);
    clf_status status = clf__segmenter_moses.open(&state, &settings, 0);
    if (status == CLF_OK) {
        cut_and_join(state, text, sizeof text - 1);
        if (clf__utf8_valid_prefix((const char *)data, size) == size) {
            cut_and_join(state, (const char *)data, size);
        }
        clf__segmenter_moses.free(state);
    } else if ((status != CLF_FORMAT && (is_list || status != CLF_UNSUPPORTED)) ||
               strstr(clf_last_error(), path) == NULL) {
        abort();
    }
    unlink(other);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const languages[] = {"en", "de", "fr", "cs", "ko", "pt"};
    char folder[] = "/tmp/fuzz_moses.XXXXXX";
    if (!mkdtemp(folder)) {
        abort();
    }
    const char *language = languages[size % (sizeof languages / sizeof *languages)];
    run(folder, language, pairs, data, size);
    run(folder, "en", list, data, size);
    rmdir(folder);
    return 0;
}
