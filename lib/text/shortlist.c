#include "text/shortlist.h"

#include <pthread.h>
#include <string.h>

#include "base/file.h"
#include "base/gzip.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "text/shortlist_lists.h"
#include "text/tokenizers/tokenizer.h"

enum { MOST_BYTES = 1 << 30, MULTIPLE = 8 };

struct clf__shortlist {
    struct clf__shortlist_words words;
    struct clf__shortlist_lists lists;
    uint8_t *is_in;       /* (target words) flags for collecting the candidates of a line; otherwise zero */
    pthread_mutex_t lock; /* protects is_in */
};

static int32_t token_id(const void *tokenizer, int is_target, const char *token, size_t length)
{
    return clf__tokenizer_token_id(tokenizer, is_target, token, length);
}

struct clf__shortlist_words clf__shortlist_words_of(const struct clf__tokenizer *tokenizer)
{
    int source, target;
    clf__tokenizer_sizes(tokenizer, &source, &target);
    return (struct clf__shortlist_words){.source = source,
                                         .target = target,
                                         .is_shared = clf__tokenizer_shares_words(tokenizer),
                                         .id_of = token_id,
                                         .user = tokenizer};
}

/* The second number of every binary shortlist contains NUL bytes; text contains none. */
static int is_binary(const char *bytes, size_t size)
{
    enum { HEAD = 48 };
    return size == 0 || memchr(bytes, '\0', clf__min_size(size, HEAD)) != NULL;
}

static clf_status read_lists(struct clf__shortlist *shortlist, const char *bytes, size_t size,
                             const char *path, const struct clf__shortlist_cut *cut)
{
    struct clf__shortlist_lists *lists = &shortlist->lists;
    return is_binary(bytes, size)
               ? clf__shortlist_read_binary(lists, bytes, size, path, &shortlist->words)
               : clf__shortlist_read_text(lists, bytes, size, path, &shortlist->words, cut);
}

static clf_status read(struct clf__shortlist *shortlist, const char *path,
                       const struct clf__shortlist_cut *cut)
{
    char *bytes, *unpacked = NULL;
    size_t size;
    CLF__TRY(clf__file_read(&bytes, &size, path, MOST_BYTES));
    clf_status status = CLF_OK;
    if (clf__gzip_is(bytes, size)) {
        status = clf__gzip_unpack(&unpacked, &size, bytes, size, path, MOST_BYTES);
    }
    if (status == CLF_OK) {
        status = read_lists(shortlist, unpacked != NULL ? unpacked : bytes, size, path, cut);
    }
    clf__free(unpacked);
    clf__free(bytes);
    CLF__TRY(status);
    return clf__allocate(&shortlist->is_in, (size_t)shortlist->words.target, 1);
}

clf_status clf__shortlist_open(struct clf__shortlist **out, const char *path,
                               const struct clf__shortlist_words *words, const struct clf__shortlist_cut *cut)
{
    struct clf__shortlist *shortlist;
    *out = NULL;
    CLF__TRY(clf__allocate(&shortlist, 1, sizeof *shortlist));
    shortlist->words = *words;
    pthread_mutex_init(&shortlist->lock, NULL);
    clf_status status = read(shortlist, path, cut);
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
        clf__free(shortlist->lists.starts);
        clf__free(shortlist->lists.listed);
        clf__free(shortlist->is_in);
        pthread_mutex_destroy(&shortlist->lock);
        clf__free(shortlist);
    }
}

void clf__shortlist_most(const struct clf__shortlist *shortlist, int *base, int *each)
{
    *base = clf__min_int(shortlist->lists.first + MULTIPLE, shortlist->words.target);
    *each = clf__min_int(shortlist->lists.best, shortlist->words.target) + 1;
}

/* Adds a word to the candidates, once. */
static void take(struct clf__shortlist *shortlist, int *count, int32_t word)
{
    *count += !shortlist->is_in[word];
    shortlist->is_in[word] = 1;
}

int clf__shortlist_candidates(struct clf__shortlist *shortlist, int32_t *ids, const int32_t *line, int count)
{
    const struct clf__shortlist_lists *lists = &shortlist->lists;
    int target = shortlist->words.target, taken = 0, listed = 0;
    pthread_mutex_lock(&shortlist->lock);
    for (int32_t word = 0; word < lists->first; word++) {
        take(shortlist, &taken, word);
    }
    for (int i = 0; i < count; i++) {
        if (line[i] < 0 || line[i] >= shortlist->words.source) {
            continue;
        }
        for (uint32_t at = lists->starts[line[i]]; at < lists->starts[line[i] + 1]; at++) {
            take(shortlist, &taken, lists->listed[at]);
        }
        if (shortlist->words.is_shared && line[i] < target) {
            take(shortlist, &taken, line[i]);
        }
    }
    for (int32_t word = lists->first; taken % MULTIPLE != 0 && word < target; word++) {
        take(shortlist, &taken, word);
    }
    for (int32_t word = 0; word < target && listed < taken; word++) {
        if (shortlist->is_in[word]) {
            ids[listed++] = word;
            shortlist->is_in[word] = 0;
        }
    }
    pthread_mutex_unlock(&shortlist->lock);
    return taken;
}
