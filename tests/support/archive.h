/* Zip archives in tests, such as office documents. */
#ifndef CLF_TESTS_SUPPORT_ARCHIVE_H
#define CLF_TESTS_SUPPORT_ARCHIVE_H

#include <stddef.h>

#include <clformer/document.h>

/* An entry of an archive. */
struct archive_entry {
    const char *name, *content; /* a name NULL ends a list */
    int is_stored;              /* not compressed */
};

/* An archive in memory; freed by support_free_all(). */
struct archive {
    char *bytes; /* (size) */
    size_t size;
};

/* Makes an archive; all entries have the same time. Fails the test in a build without libzip. */
struct archive archive_make(const struct archive_entry *entries);
/* Returns the content of an entry, followed by a NUL; NULL if there is none. Freed by support_free_all(). */
char *archive_read(const struct archive *archive, const char *name);
/* Returns the compressed content of an entry. */
struct archive archive_read_raw(const struct archive *archive, const char *name);
/* Opens a document whose format the suffix of `name` selects; the test fails if it cannot be opened. */
struct clf_document *archive_open(const char *name, const struct archive *archive);
/* Returns the written document. */
struct archive archive_written(struct clf_document *document);
/* Checks that translations equal to the source leave the document unchanged. */
void archive_check_same(const char *name, const struct archive *archive);
/* Checks that entries have the same order in a changed archive, and the same compressed bytes unless their
 * content has changed. Returns the number of entries that have changed. */
int archive_check_changed(const struct archive *archive, const struct archive *changed);

/* Returns the names of the entries in order, each followed by a space. */
const char *archive_names(const struct archive *archive);

#endif
