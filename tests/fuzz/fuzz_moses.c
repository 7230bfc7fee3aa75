/* Any bytes as bpe.model and as a list of abbreviations: a failure that names the file, or pairs whose pieces
 * are the words, and full stops that part no text. And as a text, in languages of all kinds: words without
 * white space, which join to a text; all of it in UTF-8. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/moses/cutter.h"
#include "text/pieces.h"
#include "text/segmenters/pairs.h"
#include "text/segmenters/segmenter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char list[] = "nonbreaking_prefix.en", pairs[] = "bpe.model";

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static void write_file(char *path, size_t room, const char *folder, const char *name, const void *data,
                       size_t size)
{
    snprintf(path, room, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    require(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static clf_status keep(void *user, const char *piece, size_t length)
{
    require(length > 0 && memchr(piece, ' ', length) == NULL && memchr(piece, '\0', length) == NULL);
    require(clf__utf8_valid_prefix(piece, length) == length);
    return clf__pieces_add(user, piece, length, 0);
}

/* --- Texts --- */

/* Opened once, as it takes much longer than a text. */
static const void *open_language(const char *folder, size_t number)
{
    static const char *const codes[] = {"en", "de", "fr", "cs", "ko", "pt"};
    static void *states[sizeof codes / sizeof *codes];
    const size_t count = sizeof codes / sizeof *codes;
    const char *code = codes[number % count];
    const struct clf__segmenter_folder settings = {
        .path = folder, .model = pairs, .source_language = code, .target_language = code};
    if (states[number % count] == NULL) {
        char path[96];
        write_file(path, sizeof path, folder, pairs, "a b\nab c</w>\n", 13);
        require(clf__segmenter_moses.open(&states[number % count], &settings, 1) == CLF_OK);
        unlink(path);
    }
    return states[number % count];
}

static void join(const void *state, const struct clf__pieces *pieces)
{
    const char **items = NULL, *piece = pieces->text;
    char *text;
    require(clf__allocate(&items, (size_t)pieces->count, sizeof *items) == CLF_OK);
    for (int i = 0; i < pieces->count; i++) {
        items[i] = piece;
        piece += strlen(piece) + 1;
    }
    require(clf__segmenter_moses.join(state, &text, items, pieces->count) == CLF_OK);
    require(clf__utf8_valid_prefix(text, strlen(text)) == strlen(text));
    clf__free(text);
    clf__free(items);
}

/* The text's own words are joined, too, as a model may make anything. */
static void use_text(const void *state, const char *text, size_t size)
{
    struct clf__pieces cut = {.count = 0}, words = {.count = 0};
    require(clf__segmenter_moses.segment(state, text, size, keep, &cut) == CLF_OK);
    require(clf__segmenter_words.segment(NULL, text, size, keep, &words) == CLF_OK);
    join(state, &cut);
    join(state, &words);
    clf__pieces_free(&cut);
    clf__pieces_free(&words);
}

/* --- Files --- */

static void check_failure(clf_status status, const char *path)
{
    require((status == CLF_FORMAT || status == CLF_UNSUPPORTED) && strstr(clf_last_error(), path) != NULL);
}

/* The pieces, without the @@ of all but the last, are the word. */
static void cut_word(const struct clf__pairs *read, struct clf__pairs_work *work, const char *word)
{
    struct clf__pieces pieces = {.count = 0};
    require(clf__pairs_cut(read, work, word, strlen(word), keep, &pieces) == CLF_OK && pieces.count > 0);
    const char *piece = pieces.text, *rest = word;
    for (int i = 0; i < pieces.count; i++) {
        size_t size = strlen(piece), own = size - (i + 1 < pieces.count ? 2 : 0);
        require(own <= size && strncmp(rest, piece, own) == 0 &&
                (own == size || strcmp(piece + own, "@@") == 0));
        rest += own;
        piece += size + 1;
    }
    require(*rest == '\0');
    clf__pieces_free(&pieces);
}

static void use_pairs(const char *folder, const uint8_t *data, size_t size)
{
    static const char *const words[] = {"aaaaaaaaaaaab", "abcabcab", "a", "\u65e5\u672cab",
                                        "x\u0301\xF0\x9F\x98\x80x"};
    char path[96];
    struct clf__pairs read;
    write_file(path, sizeof path, folder, pairs, data, size);
    clf_status status = clf__pairs_read(&read, path, CLF__PAIRS_SUBWORD_NMT);
    if (status == CLF_OK) {
        struct clf__pairs_work work = {.room = 0};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            cut_word(&read, &work, words[i]);
        }
        clf__pairs_work_free(&work);
        clf__pairs_free(&read);
    } else {
        check_failure(status, path);
    }
    unlink(path);
}

static void use_list(const char *folder, const uint8_t *data, size_t size)
{
    static const char text[] = " Dr. A. No. 5 Art. b a.b. .. x.";
    static struct clf__moses_sets sets;
    char path[96];
    struct clf__moses_abbreviations read;
    require(sets.items[0] != NULL || clf__moses_sets_open(&sets, clf__moses_language("en")) == CLF_OK);
    write_file(path, sizeof path, folder, list, data, size);
    clf_status status = clf__moses_abbreviations_open(&read, folder, clf__moses_language("en"), 1);
    if (status == CLF_OK) {
        struct clf__moses_work work;
        require(clf__moses_work_begin(&work, text, sizeof text - 1) == CLF_OK);
        require(clf__moses_part_full_stops(&work, &read, &sets) == CLF_OK);
        require(work.text.size >= sizeof text - 2 && work.text.size < 2 * sizeof text);
        clf__moses_work_end(&work);
        clf__moses_abbreviations_close(&read);
    } else {
        check_failure(status, path);
    }
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/fuzz_moses.XXXXXX";
    require(mkdtemp(folder) != NULL);
    use_pairs(folder, data, size);
    use_list(folder, data, size);
    const void *state = open_language(folder, size);
    if (clf__utf8_valid_prefix((const char *)data, size) == size) {
        use_text(state, (const char *)data, size);
    }
    rmdir(folder);
    return 0;
}
