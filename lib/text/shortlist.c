#include "text/shortlist.h"

#include <string.h>

#include "base/file.h"
#include "base/larger.h"
#include "base/memory.h"

/* The file: six numbers, then for each source word where its list begins, then the lists. */
enum { MAGIC, CHECKSUM, FIRST, BEST, OFFSETS, LISTED, HEAD_NUMBERS };
static const uint64_t magic = 0xF11A48D5013417F5u;
enum { QUICKSAND = 1234567890, MOST_BYTES = 1 << 30, MULTIPLE = 8 };

struct clf__shortlist {
    char *bytes; /* of the file, owned */
    uint64_t head[HEAD_NUMBERS];
    struct clf__shortlist_words words;
    uint8_t *is_in; /* (target words) while a line's are collected; zeros between */
};

/* Little-endian; any address. */
static uint64_t number_at(const char *bytes, int width)
{
    uint64_t value = 0;
    for (int i = width; i-- > 0;) {
        value = value << 8 | (uint8_t)bytes[i];
    }
    return value;
}

static uint64_t offset_at(const struct clf__shortlist *shortlist, uint64_t word)
{
    return number_at(shortlist->bytes + 8 * (HEAD_NUMBERS + word), 8);
}

static uint64_t listed_at(const struct clf__shortlist *shortlist, uint64_t place)
{
    uint64_t lists = 8 * (HEAD_NUMBERS + shortlist->head[OFFSETS]);
    return number_at(shortlist->bytes + lists + 4 * place, 4);
}

static clf_status damaged(const char *path, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: is no shortlist or is damaged (%s); download it again, or leave it out",
                     path, what);
}

/* Over whole numbers of 64 bits from the third on; what is left over is not counted. */
static uint64_t checksum(const char *bytes, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 16; at + 8 <= size; at += 8) {
        hash ^= number_at(bytes + at, 8) + 0x9e3779b9u + (hash << 6) + (hash >> 2);
    }
    return hash;
}

static clf_status check_head(const struct clf__shortlist *shortlist, size_t size, const char *path)
{
    const uint64_t *head = shortlist->head;
    uint64_t rest = size - 8 * HEAD_NUMBERS;
    if (head[OFFSETS] > rest / 8 || head[LISTED] > rest / 4 || 8 * head[OFFSETS] + 4 * head[LISTED] != rest) {
        return damaged(path, "its length");
    }
    if (checksum(shortlist->bytes, size) != head[CHECKSUM]) {
        return damaged(path, "its checksum");
    }
    if (head[OFFSETS] != (uint64_t)shortlist->words.source + 1) {
        return clf__fail(CLF_FORMAT,
                         "%s: lists the candidates of %llu source words, and the model has %d; take the "
                         "shortlist that belongs to it, or none",
                         path, (unsigned long long)(head[OFFSETS] - 1), shortlist->words.source);
    }
    return head[FIRST] <= (uint64_t)shortlist->words.target && head[BEST] <= INT32_MAX
               ? CLF_OK
               : damaged(path, "its head");
}

/* Lists follow each other, hold at most `best` words, and those are the model's. */
static clf_status check_lists(const struct clf__shortlist *shortlist, const char *path)
{
    const uint64_t *head = shortlist->head;
    uint64_t before = offset_at(shortlist, 0);
    for (uint64_t word = 1; word < head[OFFSETS]; word++) {
        uint64_t next = offset_at(shortlist, word);
        if (next < before || next > head[LISTED] || next - before > head[BEST]) {
            return damaged(path, "where its lists are");
        }
        before = next;
    }
    for (uint64_t i = 0; i < head[LISTED]; i++) {
        if (listed_at(shortlist, i) >= (uint64_t)shortlist->words.target) {
            return damaged(path, "it lists a word that the model does not have");
        }
    }
    return CLF_OK;
}

static clf_status read(struct clf__shortlist *shortlist, const char *path)
{
    size_t size;
    CLF__TRY(clf__file_read(&shortlist->bytes, &size, path, MOST_BYTES));
    if (size >= 4 && number_at(shortlist->bytes, 4) == QUICKSAND) {
        return clf__fail(CLF_UNSUPPORTED, "%s: is a shortlist of Microsoft's Quicksand, which is not read",
                         path);
    }
    if (size < 8 * HEAD_NUMBERS || number_at(shortlist->bytes, 8) != magic) {
        return damaged(path, "its first bytes");
    }
    for (size_t i = 0; i < HEAD_NUMBERS; i++) {
        shortlist->head[i] = number_at(shortlist->bytes + 8 * i, 8);
    }
    CLF__TRY(check_head(shortlist, size, path));
    CLF__TRY(check_lists(shortlist, path));
    return clf__allocate(&shortlist->is_in, (size_t)shortlist->words.target, 1);
}

clf_status clf__shortlist_open(struct clf__shortlist **out, const char *path,
                               const struct clf__shortlist_words *words)
{
    struct clf__shortlist *shortlist;
    *out = NULL;
    CLF__TRY(clf__allocate(&shortlist, 1, sizeof *shortlist));
    shortlist->words = *words;
    clf_status status = read(shortlist, path);
    if (status != CLF_OK) {
        clf__shortlist_free(shortlist);
        return status;
    }
    *out = shortlist;
    return CLF_OK;
}

void clf__shortlist_free(struct clf__shortlist *shortlist)
{
    if (shortlist != NULL) {
        clf__free(shortlist->bytes);
        clf__free(shortlist->is_in);
        clf__free(shortlist);
    }
}

void clf__shortlist_most(const struct clf__shortlist *shortlist, int *base, int *each)
{
    *base = clf__smaller((int)shortlist->head[FIRST] + MULTIPLE, shortlist->words.target);
    *each = clf__smaller((int)shortlist->head[BEST], shortlist->words.target) + 1;
}

/* Counts a word in, once. */
static void take(struct clf__shortlist *shortlist, int *count, uint64_t word)
{
    *count += !shortlist->is_in[word];
    shortlist->is_in[word] = 1;
}

int clf__shortlist_candidates(struct clf__shortlist *shortlist, int32_t *ids, const int32_t *line, int count)
{
    int target = shortlist->words.target, taken = 0, listed = 0;
    for (uint64_t word = 0; word < shortlist->head[FIRST]; word++) {
        take(shortlist, &taken, word);
    }
    for (int i = 0; i < count; i++) {
        if (line[i] < 0 || line[i] >= shortlist->words.source) {
            continue;
        }
        uint64_t word = (uint64_t)line[i];
        for (uint64_t at = offset_at(shortlist, word); at < offset_at(shortlist, word + 1); at++) {
            take(shortlist, &taken, listed_at(shortlist, at));
        }
        if (shortlist->words.is_shared && line[i] < target) {
            take(shortlist, &taken, word);
        }
    }
    for (uint64_t word = shortlist->head[FIRST]; taken % MULTIPLE != 0 && word < (uint64_t)target; word++) {
        take(shortlist, &taken, word);
    }
    for (int32_t word = 0; word < target && listed < taken; word++) {
        if (shortlist->is_in[word]) {
            ids[listed++] = word;
            shortlist->is_in[word] = 0;
        }
    }
    return taken;
}
