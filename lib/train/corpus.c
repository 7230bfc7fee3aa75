#include "train/corpus.h"

#include <limits.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { FIRST_BYTES = 1 << 18, MAX_LINE_BYTES = 1 << 26 };

struct line_count {
    int64_t lines;
    int is_open; /* the last line read has no line feed yet */
};

/* A clf__file_block callback. */
static clf_status count_block(void *user, const uint8_t *bytes, size_t size)
{
    struct line_count *count = user;
    const uint8_t *next = bytes, *end = bytes + size;
    while (next < end) {
        const uint8_t *feed = memchr(next, '\n', (size_t)(end - next));
        count->lines += !count->is_open;
        count->is_open = feed == NULL;
        next = feed ? feed + 1 : end;
    }
    return CLF_OK;
}

/* Finds the offset of the first line, after a byte order mark. */
static clf_status find_text(uint64_t *start, const struct clf__file *file)
{
    char bytes[CLF__UTF8_START];
    size_t size = file->size < sizeof bytes ? (size_t)file->size : sizeof bytes;
    CLF__TRY(clf__file_read_at(file, 0, bytes, size));
    *start = clf__utf8_mark(bytes, size);
    return clf__utf8_check_start(file->path, bytes, size);
}

static clf_status open_file(struct clf__corpus_file *out, int64_t *lines, const char *path)
{
    struct line_count count = {0};
    CLF__TRY(clf__file_open(&out->file, path));
    CLF__TRY(find_text(&out->start, &out->file));
    CLF__TRY(clf__file_each_block(&out->file, count_block, &count));
    *lines = count.lines;
    return CLF_OK;
}

static clf_status open_files(struct clf__corpus *corpus)
{
    int64_t lines, others;
    CLF__TRY(open_file(&corpus->source, &lines, corpus->source_path));
    others = lines;
    if (corpus->target_path) {
        CLF__TRY(open_file(&corpus->target, &others, corpus->target_path));
    }
    if (lines != others) {
        return clf__fail(CLF_FORMAT,
                         "%s has %lld line%s, but %s has %lld; line N of one file must be the translation of "
                         "line N of the other",
                         corpus->source_path, (long long)lines, lines == 1 ? "" : "s", corpus->target_path,
                         (long long)others);
    }
    if (lines > INT_MAX) {
        return clf__fail(CLF_FORMAT, "%s: has %lld lines, more than the limit of %d; use fewer lines",
                         corpus->source_path, (long long)lines, INT_MAX);
    }
    corpus->lines = (int)lines;
    return CLF_OK;
}

clf_status clf__corpus_open(struct clf__corpus *out, const char *source_path, const char *target_path)
{
    *out = (struct clf__corpus){.source_path = source_path, .target_path = target_path};
    clf_status status = open_files(out);
    if (status != CLF_OK) {
        clf__corpus_close(out);
        return status;
    }
    clf__corpus_rewind(out);
    return CLF_OK;
}

static void close_file(struct clf__corpus_file *file)
{
    clf__file_close(&file->file);
    clf__free(file->bytes);
    *file = (struct clf__corpus_file){.bytes = NULL};
}

void clf__corpus_close(struct clf__corpus *corpus)
{
    close_file(&corpus->source);
    close_file(&corpus->target);
}

static void rewind_file(struct clf__corpus_file *file)
{
    file->at = file->start;
    file->first = file->end = 0;
}

void clf__corpus_rewind(struct clf__corpus *corpus)
{
    rewind_file(&corpus->source);
    rewind_file(&corpus->target);
    corpus->line = 0;
}

/* Reads more of the file: moves the incomplete line to the front of the buffer, which grows to the longest
 * line. */
static clf_status read_more(struct clf__corpus_file *file)
{
    uint64_t left = file->file.size - file->at;
    size_t kept = file->end - file->first;
    if (kept >= MAX_LINE_BYTES) {
        return clf__fail(CLF_FORMAT, "%s: has a line of more than %d bytes; check that it is a text file",
                         file->file.path, (int)MAX_LINE_BYTES);
    }
    if (file->first > 0) {
        memmove(file->bytes, file->bytes + file->first, kept);
        file->first = 0;
        file->end = kept;
    }
    if (kept == file->capacity) {
        size_t more = kept > 0 ? kept : FIRST_BYTES;
        more = more < left ? more : (size_t)left;
        CLF__TRY(clf__resize(&file->bytes, kept + more, 1));
        file->capacity = kept + more;
    }
    size_t room = file->capacity - kept, size = room < left ? room : (size_t)left;
    CLF__TRY(clf__file_read_at(&file->file, file->at, file->bytes + kept, size));
    file->at += size;
    file->end += size;
    return CLF_OK;
}

static clf_status next_line(struct clf__corpus_text *out, struct clf__corpus_file *file)
{
    size_t searched = 0;
    const char *feed = NULL;
    for (;;) {
        size_t there = file->end - file->first;
        if (there > searched) {
            feed = memchr(file->bytes + file->first + searched, '\n', there - searched);
        }
        searched = there;
        if (feed != NULL || file->at == file->file.size) {
            break;
        }
        CLF__TRY(read_more(file));
    }
    const char *start = searched > 0 ? file->bytes + file->first : "";
    size_t size = feed != NULL ? (size_t)(feed - start) : searched;
    file->first += size + (feed != NULL);
    size -= size > 0 && start[size - 1] == '\r';
    *out = (struct clf__corpus_text){start, size};
    return CLF_OK;
}

static void split_at_tab(struct clf__corpus_pair *pair)
{
    const char *text = pair->source.text, *end = text + pair->source.size;
    const char *tab = pair->source.size > 0 ? memchr(text, '\t', pair->source.size) : NULL;
    if (!tab || memchr(tab + 1, '\t', (size_t)(end - tab - 1))) {
        pair->is_torn = 1;
        return;
    }
    pair->source.size = (size_t)(tab - text);
    pair->target = (struct clf__corpus_text){tab + 1, (size_t)(end - tab - 1)};
}

int clf__corpus_next(clf_status *status, struct clf__corpus *corpus, struct clf__corpus_pair *pair)
{
    *status = CLF_OK;
    if (corpus->line == corpus->lines) {
        return 0;
    }
    *pair = (struct clf__corpus_pair){.line = ++corpus->line};
    *status = next_line(&pair->source, &corpus->source);
    if (*status == CLF_OK && corpus->target_path) {
        *status = next_line(&pair->target, &corpus->target);
    } else if (*status == CLF_OK) {
        split_at_tab(pair);
    }
    return *status == CLF_OK;
}

clf_status clf__corpus_check(struct clf__corpus *corpus)
{
    struct clf__corpus_pair pair;
    clf_status status = CLF_OK;
    size_t tabs = 0; /* tabs in the first line */
    int whole = corpus->lines == 0;
    clf__corpus_rewind(corpus);
    while (!whole && clf__corpus_next(&status, corpus, &pair)) {
        whole = !pair.is_torn;
        for (size_t i = 0; pair.line == 1 && i < pair.source.size; i++) {
            tabs += pair.source.text[i] == '\t';
        }
    }
    CLF__TRY(status);
    clf__corpus_rewind(corpus);
    return whole ? CLF_OK
                 : clf__fail(CLF_FORMAT,
                             "%s: no line consists of a source and a target separated by one tab (line 1 has "
                             "%zu tabs); name a second file, or correct this one",
                             corpus->source_path, tabs);
}

clf_status clf__corpus_checksum(uint64_t *out, const struct clf__corpus *corpus)
{
    uint64_t sums[2]; /* a missing file has no bytes */
    CLF__TRY(clf__file_checksum(&sums[0], &corpus->source.file));
    CLF__TRY(clf__file_checksum(&sums[1], &corpus->target.file));
    *out = clf__checksum(sums, sizeof sums);
    return CLF_OK;
}

clf_status clf__corpus_path(char **out, const struct clf__corpus *corpus, struct clf__corpus_text text)
{
    const char *slash = strrchr(corpus->source_path, '/');
    int folder = text.size > 0 && text.text[0] == '/' ? 0
                 : slash                              ? (int)(slash - corpus->source_path) + 1
                                                      : 0;
    return clf__format(out, "%.*s%.*s", folder, corpus->source_path, (int)text.size, text.text);
}
