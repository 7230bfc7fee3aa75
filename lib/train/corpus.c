#include "train/corpus.h"

#include <limits.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"

static int64_t count_lines(const struct clf__file_map *map)
{
    int64_t lines = 0;
    const uint8_t *next = map->bytes, *end = map->bytes + map->size;
    while (next < end) {
        const uint8_t *feed = memchr(next, '\n', (size_t)(end - next));
        next = feed ? feed + 1 : end;
        lines++;
    }
    return lines;
}

static clf_status open_files(struct clf__corpus *corpus)
{
    CLF__TRY(clf__file_map_open(&corpus->source, corpus->source_path));
    int64_t lines = count_lines(&corpus->source), others = lines;
    if (corpus->target_path) {
        CLF__TRY(clf__file_map_open(&corpus->target, corpus->target_path));
        others = count_lines(&corpus->target);
    }
    if (lines != others) {
        return clf__fail(CLF_FORMAT,
                         "%s has %lld line%s and %s has %lld; line by line they must be translations",
                         corpus->source_path, (long long)lines, lines == 1 ? "" : "s", corpus->target_path,
                         (long long)others);
    }
    if (lines > INT_MAX) {
        return clf__fail(CLF_FORMAT, "%s: has %lld lines, more than the %d that can be counted",
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

void clf__corpus_close(struct clf__corpus *corpus)
{
    clf__file_map_close(&corpus->source);
    clf__file_map_close(&corpus->target);
}

/* Where the first line begins: behind a byte order mark, which is no text. */
static size_t find_text(const struct clf__file_map *map)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t size = sizeof mark - 1;
    return map->size >= size && memcmp(map->bytes, mark, size) == 0 ? size : 0;
}

void clf__corpus_rewind(struct clf__corpus *corpus)
{
    corpus->source_at = find_text(&corpus->source);
    corpus->target_at = find_text(&corpus->target);
    corpus->line = 0;
}

/* The line that begins at *at, which moves behind it. */
static struct clf__corpus_text next_line(const struct clf__file_map *map, size_t *at)
{
    const char *start = (const char *)map->bytes + *at;
    size_t left = map->size - *at;
    const char *feed = memchr(start, '\n', left);
    size_t size = feed ? (size_t)(feed - start) : left;
    *at += size + (feed != NULL);
    size -= size > 0 && start[size - 1] == '\r';
    return (struct clf__corpus_text){start, size};
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

int clf__corpus_next(struct clf__corpus *corpus, struct clf__corpus_pair *pair)
{
    if (corpus->line == corpus->lines) {
        return 0;
    }
    *pair = (struct clf__corpus_pair){.line = ++corpus->line};
    pair->source = next_line(&corpus->source, &corpus->source_at);
    if (corpus->target_path) {
        pair->target = next_line(&corpus->target, &corpus->target_at);
    } else {
        split_at_tab(pair);
    }
    return 1;
}

clf_status clf__corpus_check(struct clf__corpus *corpus)
{
    struct clf__corpus_pair pair;
    size_t tabs = 0; /* of the first line */
    int whole = corpus->lines == 0;
    clf__corpus_rewind(corpus);
    while (!whole && clf__corpus_next(corpus, &pair)) {
        whole = !pair.is_torn;
        for (size_t i = 0; pair.line == 1 && i < pair.source.size; i++) {
            tabs += pair.source.text[i] == '\t';
        }
    }
    clf__corpus_rewind(corpus);
    return whole ? CLF_OK
                 : clf__fail(CLF_FORMAT,
                             "%s: no line has one tab, between source and target (line 1 has %zu); is the "
                             "second file missing?",
                             corpus->source_path, tabs);
}

uint64_t clf__corpus_checksum(const struct clf__corpus *corpus)
{
    const uint64_t sums[] = {clf__checksum(corpus->source.bytes, corpus->source.size),
                             clf__checksum(corpus->target.bytes, corpus->target.size)};
    return clf__checksum(sums, sizeof sums);
}

clf_status clf__corpus_path(char **out, const struct clf__corpus *corpus, struct clf__corpus_text text)
{
    const char *slash = strrchr(corpus->source_path, '/');
    int folder = text.size > 0 && text.text[0] == '/' ? 0
                 : slash                              ? (int)(slash - corpus->source_path) + 1
                                                      : 0;
    return clf__format(out, "%.*s%.*s", folder, corpus->source_path, (int)text.size, text.text);
}
