/* Binary shortlists in the format of marian-dev's src/data/shortlist.cpp. */
#include "base/little_endian.h"
#include "base/memory.h"
#include "text/shortlist_lists.h"

/* Layout: six numbers, then the start of each source word's list, then the lists. */
enum { MAGIC, CHECKSUM, FIRST, BEST, OFFSETS, LISTED, HEAD_NUMBERS };
static const uint64_t magic = 0xF11A48D5013417F5u;
enum { QUICKSAND = 1234567890 };

struct file {
    const uint8_t *bytes;
    const char *path;
    size_t size;
    uint64_t head[HEAD_NUMBERS];
};

static uint64_t offset_at(const struct file *file, uint64_t word)
{
    return clf__read_64(file->bytes + 8 * (HEAD_NUMBERS + word));
}

static uint64_t listed_at(const struct file *file, uint64_t place)
{
    uint64_t lists = 8 * (HEAD_NUMBERS + file->head[OFFSETS]);
    return clf__read_32(file->bytes + lists + 4 * place);
}

static clf_status damaged(const struct file *file, const char *what)
{
    return clf__fail(CLF_FORMAT,
                     "%s: not a shortlist, or damaged (%s); download the file again, or use no shortlist",
                     file->path, what);
}

/* Hashes 64-bit words, starting with the third; remaining bytes are ignored. */
static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 16; at + 8 <= size; at += 8) {
        hash ^= clf__read_64(bytes + at) + 0x9e3779b9u + (hash << 6) + (hash >> 2);
    }
    return hash;
}

static clf_status check_head(const struct file *file, const struct clf__shortlist_words *words)
{
    const uint64_t *head = file->head;
    uint64_t rest = file->size - 8 * HEAD_NUMBERS;
    if (head[OFFSETS] > rest / 8 || head[LISTED] > rest / 4 || 8 * head[OFFSETS] + 4 * head[LISTED] != rest) {
        return damaged(file, "wrong length");
    }
    if (checksum(file->bytes, file->size) != head[CHECKSUM]) {
        return damaged(file, "wrong checksum");
    }
    if (head[OFFSETS] != (uint64_t)words->source + 1) {
        return clf__fail(CLF_FORMAT,
                         "%s: candidates for %llu source words, but the model has %d; use the shortlist of "
                         "this model, or none",
                         file->path, (unsigned long long)(head[OFFSETS] - 1), words->source);
    }
    return head[FIRST] <= (uint64_t)words->target && head[BEST] <= INT32_MAX
               ? CLF_OK
               : damaged(file, "the header is invalid");
}

/* Checks that lists are contiguous, hold at most `best` words, and contain only words of the model. */
static clf_status check_lists(const struct file *file, const struct clf__shortlist_words *words)
{
    const uint64_t *head = file->head;
    uint64_t before = offset_at(file, 0);
    for (uint64_t word = 1; word < head[OFFSETS]; word++) {
        uint64_t next = offset_at(file, word);
        if (next < before || next > head[LISTED] || next - before > head[BEST]) {
            return damaged(file, "the positions of the lists are invalid");
        }
        before = next;
    }
    for (uint64_t i = 0; i < head[LISTED]; i++) {
        if (listed_at(file, i) >= (uint64_t)words->target) {
            return damaged(file, "a listed word is not in the model's vocabulary");
        }
    }
    return CLF_OK;
}

static clf_status check(struct file *file, const struct clf__shortlist_words *words)
{
    if (file->size >= 4 && clf__read_32(file->bytes) == QUICKSAND) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: is a Microsoft Quicksand shortlist, which is not supported; use no shortlist",
                         file->path);
    }
    if (file->size < 8 * HEAD_NUMBERS || clf__read_64(file->bytes) != magic) {
        return damaged(file, "the file header is invalid");
    }
    for (size_t i = 0; i < HEAD_NUMBERS; i++) {
        file->head[i] = clf__read_64(file->bytes + 8 * i);
    }
    CLF__TRY(check_head(file, words));
    return check_lists(file, words);
}

clf_status clf__shortlist_read_binary(struct clf__shortlist_lists *out, const char *bytes, size_t size,
                                      const char *path, const struct clf__shortlist_words *words)
{
    struct file file = {.bytes = (const uint8_t *)bytes, .path = path, .size = size};
    CLF__TRY(check(&file, words));
    CLF__TRY(clf__allocate(&out->starts, (size_t)file.head[OFFSETS], sizeof *out->starts));
    CLF__TRY(clf__allocate(&out->listed, (size_t)file.head[LISTED] + 1, sizeof *out->listed));
    out->first = (int)file.head[FIRST];
    out->best = (int)file.head[BEST];
    for (uint64_t word = 0; word < file.head[OFFSETS]; word++) {
        out->starts[word] = (uint32_t)offset_at(&file, word);
    }
    for (uint64_t i = 0; i < file.head[LISTED]; i++) {
        out->listed[i] = (int32_t)listed_at(&file, i);
    }
    return CLF_OK;
}
