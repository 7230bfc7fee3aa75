#include "translate/documents/office/archive.h"

#ifdef CLF_HAS_LIBZIP

#include <string.h>

#include <zip.h>

#include "base/memory.h"
#include "translate/documents/format.h"

struct clf__archive {
    zip_t *archive;
    zip_uint64_t read; /* bytes of all entries that were read */
};

static clf_status fail(const char *what, zip_error_t *error)
{
    clf_status status = zip_error_code_zip(error) == ZIP_ER_MEMORY
                            ? clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for a zip archive")
                            : clf__fail(CLF_FORMAT, "%s: %s; save or download the file again", what,
                                        zip_error_strerror(error));
    zip_error_fini(error);
    return status;
}

static clf_status fail_in(const char *what, zip_t *archive)
{
    zip_error_t error;
    zip_error_init_with_code(&error, zip_error_code_zip(zip_get_error(archive)));
    return fail(what, &error);
}

/* Opens an archive.
 *
 * @param source receives the source, which the caller releases with zip_source_free(); NULL: not needed. */
static clf_status open_archive(zip_t **out, zip_source_t **source, const char *bytes, size_t size)
{
    static const char old_office[] = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
    zip_error_t error;
    if (size == 0) {
        return clf__fail(CLF_FORMAT, "is empty; save or download the file again");
    }
    if (size >= 8 && memcmp(bytes, old_office, 8) == 0) {
        return clf__fail(CLF_FORMAT,
                         "is protected by a password, or is of Office 97 (.doc, .ppt); save it without "
                         "a password in a current format");
    }
    char *copy; /* owned by the source: libzip 1.7 frees the bytes of a changed archive even if it does not
                   own them */
    CLF__TRY(clf__copy_bytes(&copy, bytes, size));
    zip_error_init(&error);
    zip_source_t *made = zip_source_buffer_create(copy, size, 1, &error);
    if (made == NULL) {
        clf__free(copy);
        return fail("the zip archive cannot be opened", &error);
    }
    if (source != NULL) {
        zip_source_keep(made);
        *source = made;
    }
    *out = zip_open_from_source(made, 0, &error);
    if (*out == NULL) {
        zip_source_free(made);
        return fail("is not a zip archive, or is damaged", &error);
    }
    zip_error_fini(&error);
    return CLF_OK;
}

/* Checks the number of entries, and that they do not overlap in the `size` bytes of the archive, so that
 * copying them takes linear time. */
static clf_status check_entries(zip_t *archive, size_t size)
{
    zip_int64_t count = zip_get_num_entries(archive, 0);
    zip_uint64_t sum = 0;
    if (count > CLF__ARCHIVE_MOST_ENTRIES) {
        return clf__fail(CLF_UNSUPPORTED, "the zip archive has more than %d entries",
                         CLF__ARCHIVE_MOST_ENTRIES);
    }
    for (zip_int64_t i = 0; i < count; i++) {
        zip_stat_t entry;
        int has_size =
            zip_stat_index(archive, (zip_uint64_t)i, 0, &entry) == 0 && entry.valid & ZIP_STAT_COMP_SIZE;
        if (!has_size || entry.comp_size > size - sum) {
            return clf__fail(CLF_FORMAT,
                             "the zip archive is damaged: entries overlap; save or download the file again");
        }
        sum += entry.comp_size;
    }
    return CLF_OK;
}

clf_status clf__archive_open(struct clf__archive **out, const char *bytes, size_t size)
{
    struct clf__archive *zip;
    *out = NULL;
    CLF__TRY(clf__allocate(&zip, 1, sizeof *zip));
    clf_status status = open_archive(&zip->archive, NULL, bytes, size);
    status = status == CLF_OK ? check_entries(zip->archive, size) : status;
    if (status != CLF_OK) {
        clf__archive_close(zip);
        return status;
    }
    *out = zip;
    return CLF_OK;
}

void clf__archive_close(struct clf__archive *zip)
{
    if (zip != NULL && zip->archive != NULL) {
        zip_discard(zip->archive);
    }
    clf__free(zip);
}

int clf__archive_has(const struct clf__archive *zip, const char *name)
{
    return zip_name_locate(zip->archive, name, 0) >= 0;
}

/* Checks the limits of an entry. */
static clf_status check_entry(const struct clf__archive *zip, const char *name, const zip_stat_t *entry)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_ENCRYPTION_METHOD;
    if ((entry->valid & needed) != needed) {
        return clf__fail(CLF_FORMAT, "%s: has no size; save or download the file again", name);
    }
    if (entry->encryption_method != ZIP_EM_NONE) {
        return clf__fail(CLF_FORMAT, "%s: is encrypted; save the file without a password", name);
    }
    if (zip->read + entry->size > CLF__DOCUMENT_MOST_BYTES || entry->size > CLF__DOCUMENT_MOST_BYTES) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the texts of the zip archive have more than %d MiB; divide the file", name,
                         CLF__DOCUMENT_MOST_BYTES >> 20);
    }
    if (entry->size > CLF__ARCHIVE_FREE_BYTES && entry->size / CLF__ARCHIVE_MOST_RATIO > entry->comp_size) {
        return clf__fail(CLF_UNSUPPORTED, "%s: is more than %d times larger than in the zip archive", name,
                         CLF__ARCHIVE_MOST_RATIO);
    }
    return CLF_OK;
}

static clf_status read_entry(struct clf__output *out, struct clf__archive *zip, const zip_stat_t *entry)
{
    char buffer[1 << 14];
    zip_file_t *file = zip_fopen_index(zip->archive, entry->index, 0);
    zip_uint64_t size = 0;
    zip_int64_t count = 0;
    if (file == NULL) {
        return fail_in("cannot be read", zip->archive);
    }
    while (size < entry->size && (count = zip_fread(file, buffer, sizeof buffer)) > 0) {
        clf__output_add(out, buffer, (size_t)count);
        size += (zip_uint64_t)count;
    }
    count = count > 0 ? zip_fread(file, buffer, 1) : count; /* the end, where libzip compares the checksum */
    zip_fclose(file);
    zip->read += size;
    if (count != 0 || size != entry->size) {
        return clf__fail(CLF_FORMAT, "is damaged; save or download the file again");
    }
    return out->status;
}

clf_status clf__archive_read(struct clf__output *out, struct clf__archive *zip, const char *name)
{
    zip_stat_t entry;
    zip_int64_t index = zip_name_locate(zip->archive, name, 0);
    if (index < 0 || zip_stat_index(zip->archive, (zip_uint64_t)index, 0, &entry) != 0) {
        return clf__fail(CLF_FORMAT, "%s: is missing in the zip archive", name);
    }
    entry.index = (zip_uint64_t)index;
    CLF__TRY(check_entry(zip, name, &entry));
    clf_status status = read_entry(out, zip, &entry);
    return status == CLF_OK ? CLF_OK : clf__fail_in(status, "%s", name);
}

static clf_status replace(zip_t *archive, const struct clf__archive_change *change)
{
    zip_stat_t entry;
    zip_int64_t index = zip_name_locate(archive, change->name, 0);
    if (index < 0 || zip_stat_index(archive, (zip_uint64_t)index, 0, &entry) != 0) {
        return clf__fail(CLF_FORMAT, "%s: is missing in the zip archive", change->name);
    }
    zip_uint64_t at = (zip_uint64_t)index;
    zip_source_t *source = zip_source_buffer(archive, change->bytes, change->size, 0);
    if (source == NULL) {
        return fail_in("cannot be written", archive);
    }
    if (zip_file_replace(archive, at, source, 0) != 0) {
        zip_source_free(source);
        return fail_in("cannot be written", archive);
    }
    int is_set =
        zip_set_file_compression(
            archive, at, entry.valid & ZIP_STAT_COMP_METHOD ? entry.comp_method : ZIP_CM_DEFAULT, 0) == 0 &&
        (!(entry.valid & ZIP_STAT_MTIME) || zip_file_set_mtime(archive, at, entry.mtime, 0) == 0);
    return is_set ? CLF_OK : fail_in("cannot be written", archive);
}

/* Adds the bytes of a written archive. */
static clf_status read_source(struct clf__output *out, zip_source_t *source)
{
    char buffer[1 << 14];
    zip_int64_t count;
    if (zip_source_open(source) != 0) {
        return clf__fail(CLF_OUT_OF_MEMORY, "the zip archive cannot be written");
    }
    while ((count = zip_source_read(source, buffer, sizeof buffer)) > 0) {
        clf__output_add(out, buffer, (size_t)count);
    }
    zip_source_close(source);
    return count == 0 ? out->status : clf__fail(CLF_OUT_OF_MEMORY, "the zip archive cannot be written");
}

clf_status clf__archive_rewrite(struct clf__output *out, const char *bytes, size_t size,
                                const struct clf__archive_change *changes, int count)
{
    zip_t *archive;
    zip_source_t *source = NULL;
    clf_status status = open_archive(&archive, &source, bytes, size);
    if (status != CLF_OK) {
        zip_source_free(source);
        return status;
    }
    for (int i = 0; i < count && status == CLF_OK; i++) {
        status = replace(archive, &changes[i]);
    }
    if (status == CLF_OK && zip_close(archive) != 0) {
        status = fail_in("the zip archive cannot be written", archive);
        zip_discard(archive);
    } else if (status != CLF_OK) {
        zip_discard(archive);
    }
    if (status == CLF_OK) {
        status = read_source(out, source);
    }
    zip_source_free(source);
    return status;
}

#endif
