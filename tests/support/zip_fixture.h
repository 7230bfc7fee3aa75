/* Zip archives like those written by torch.save(), and variants of them. */
#ifndef CLF_TESTS_ZIP_FIXTURE_H
#define CLF_TESTS_ZIP_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

struct zip_file {
    const char *name;
    const void *bytes;
    size_t size;
};

/* Returns an archive of uncompressed files; freed by support_free_all(). */
uint8_t *zip_make(size_t *size, const struct zip_file *files, int count);

#endif
