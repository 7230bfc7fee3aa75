/* Parallel text in files: pairs of lines. */
#ifndef CLF_TRAIN_CORPUS_H
#define CLF_TRAIN_CORPUS_H

#include "base/file.h"

/* Lines end with a line feed, optionally after a carriage return; the last line may lack it. A byte order
 * mark at the start of a file is skipped. */
struct clf__corpus {
    const char *source_path,
        *target_path; /* borrowed; target_path NULL: each line has source, tab and target */
    struct clf__corpus_file {
        struct clf__file file;
        uint64_t start; /* offset of the text, after a byte order mark */
        uint64_t at;    /* offset of the next unread byte */
        char *bytes;    /* bytes read from the file */
        size_t capacity, first, end;
    } source, target;
    int lines; /* number of lines in each file */
    int line;  /* number of lines read */
};

/* A part of a file, valid until the next line is read. */
struct clf__corpus_text {
    const char *text;
    size_t size;
};

struct clf__corpus_pair {
    int line;    /* counted from 1 */
    int is_torn; /* the line does not have exactly one tab; `source` is the whole line */
    struct clf__corpus_text source, target;
};

/* Opens a corpus. Returns CLF_FORMAT if the files have different numbers of lines. */
clf_status clf__corpus_open(struct clf__corpus *out, const char *source_path, const char *target_path);
void clf__corpus_close(struct clf__corpus *corpus);

/* Reads the next pair; returns 0 at the end, or after a failure, which *status reports. */
int clf__corpus_next(clf_status *status, struct clf__corpus *corpus, struct clf__corpus_pair *pair);
void clf__corpus_rewind(struct clf__corpus *corpus);

/* Fails if a corpus of one file has lines, but none of them has two texts. */
clf_status clf__corpus_check(struct clf__corpus *corpus);

/* Computes clf__checksum() over the files of the corpus. */
clf_status clf__corpus_checksum(uint64_t *out, const struct clf__corpus *corpus);

/* Resolves a path in a table against the table's folder; the caller frees *out. */
clf_status clf__corpus_path(char **out, const struct clf__corpus *corpus, struct clf__corpus_text text);

#endif
