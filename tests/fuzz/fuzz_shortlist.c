/* Any bytes as a shortlist: an error, or sorted candidates within vocabulary and bound. The first two bytes
 * are the vocabulary sizes; the third has flags: shared (bit 0), fix the checksum, which would hide most
 * damage (bit 1). In text, a token's id is its length. */
#include "fuzz/files.h"
#include "text/shortlist.h"

enum { SETTINGS = 3, LINE = 5 };

static void seal(uint8_t *bytes, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 16; at + 8 <= size; at += 8) {
        uint64_t word = 0;
        for (size_t i = 8; i-- > 0;) {
            word = word << 8 | bytes[at + i];
        }
        hash ^= word + 0x9e3779b9u + (hash << 6) + (hash >> 2);
    }
    for (size_t i = 0; size >= 16 && i < 8; i++) {
        bytes[8 + i] = (uint8_t)(hash >> 8 * i);
    }
}

static int32_t id_of(const void *user, int is_target, const char *token, size_t length)
{
    const int *sizes = user;
    return memchr(token, '?', length) != NULL ? -1 : (int32_t)length % (sizes[is_target] + 1);
}

static void check(struct clf__shortlist *shortlist, const struct clf__shortlist_words *words)
{
    int base, each;
    clf__shortlist_most(shortlist, &base, &each);
    int32_t line[LINE], *ids = calloc((size_t)(base + LINE * each), sizeof *ids);
    if (ids == NULL) {
        abort();
    }
    for (int i = 0; i < LINE; i++) {
        line[i] = i * words->source / LINE;
    }
    int count = clf__shortlist_candidates(shortlist, ids, line, LINE);
    if (count > base + LINE * each) {
        abort();
    }
    for (int i = 0; i < count; i++) {
        if (ids[i] >= words->target || ids[i] < 0 || (i > 0 && ids[i] <= ids[i - 1])) {
            abort();
        }
    }
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < SETTINGS) {
        return 0;
    }
    const int sizes[] = {data[0], data[1] + 1};
    const struct clf__shortlist_words words = {
        .source = sizes[0], .target = sizes[1], .is_shared = data[2] & 1, .id_of = id_of, .user = sizes};
    const struct clf__shortlist_cut cut = {data[2] >> 5, data[2] >> 2 & 7, 0.25f};
    size -= SETTINGS;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL) {
        abort();
    }
    memcpy(bytes, data + SETTINGS, size);
    if (data[2] & 2) {
        seal(bytes, size);
    }
    const char *path = fuzz_file("lex.bin", bytes, size);
    free(bytes);
    struct clf__shortlist *shortlist;
    clf_status status = clf__shortlist_open(&shortlist, path, &words, &cut);
    if (status == CLF_OK) {
        check(shortlist, &words);
        clf__shortlist_free(shortlist);
    } else if ((status != CLF_FORMAT && status != CLF_UNSUPPORTED) ||
               strstr(clf_last_error(), path) == NULL) {
        abort();
    }
    return 0;
}
