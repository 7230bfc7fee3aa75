#include "support/archive.h"

#ifdef CLF_HAS_LIBZIP

#include <string.h>

#include <zip.h>

#include "support/documents.h"
#include "support/support.h"

static zip_t *open_archive(const struct archive *archive)
{
    zip_source_t *source = zip_source_buffer_create(archive->bytes, archive->size, 0, NULL);
    assert_non_null(source);
    zip_t *zip = zip_open_from_source(source, 0, NULL);
    assert_non_null(zip);
    return zip;
}

static void add(zip_t *zip, const struct archive_entry *entry)
{
    zip_source_t *source = zip_source_buffer(zip, entry->content, strlen(entry->content), 0);
    zip_int64_t index = zip_file_add(zip, entry->name, source, ZIP_FL_ENC_UTF_8);
    assert_true(index >= 0);
    assert_int_equal(zip_file_set_mtime(zip, (zip_uint64_t)index, 1000000000, 0), 0);
    if (entry->is_stored) {
        assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0), 0);
    }
}

struct archive archive_make(const struct archive_entry *entries)
{
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_source_keep(source);
    zip_t *zip = zip_open_from_source(source, ZIP_TRUNCATE, NULL);
    zip_stat_t stat;
    assert_non_null(zip);
    for (; entries->name != NULL; entries++) {
        add(zip, entries);
    }
    assert_int_equal(zip_close(zip), 0);
    assert_int_equal(zip_source_open(source), 0);
    assert_int_equal(zip_source_stat(source, &stat), 0);
    struct archive archive = {support_array(stat.size + 1, 1), stat.size};
    assert_int_equal(zip_source_read(source, archive.bytes, archive.size), archive.size);
    zip_source_close(source);
    zip_source_free(source);
    return archive;
}

/* Returns the content of an entry; flags as of zip_fopen(). */
static struct archive read_entry(const struct archive *archive, const char *name, zip_flags_t flags)
{
    zip_t *zip = open_archive(archive);
    zip_stat_t stat;
    struct archive content = {.bytes = NULL};
    if (zip_stat(zip, name, 0, &stat) == 0) {
        content.size = flags & ZIP_FL_COMPRESSED ? stat.comp_size : stat.size;
        content.bytes = support_array(content.size + 1, 1);
        zip_file_t *file = zip_fopen(zip, name, flags);
        assert_non_null(file);
        assert_int_equal(zip_fread(file, content.bytes, content.size), content.size);
        zip_fclose(file);
    }
    zip_discard(zip);
    return content;
}

char *archive_read(const struct archive *archive, const char *name)
{
    return read_entry(archive, name, 0).bytes;
}

struct archive archive_read_raw(const struct archive *archive, const char *name)
{
    return read_entry(archive, name, ZIP_FL_COMPRESSED);
}

const char *archive_names(const struct archive *archive)
{
    zip_t *zip = open_archive(archive);
    char *names = support_array(1 << 16, 1);
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        strcat(names, zip_get_name(zip, (zip_uint64_t)i, 0));
        strcat(names, " ");
    }
    zip_discard(zip);
    return names;
}

struct clf_document *archive_open(const char *name, const struct archive *archive)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    return document_open_with(&options, archive->bytes, archive->size);
}

struct archive archive_written(struct clf_document *document)
{
    char *bytes;
    struct archive archive;
    assert_ok(clf_document_write(&bytes, &archive.size, document));
    archive.bytes = support_array(archive.size + 1, 1);
    memcpy(archive.bytes, bytes, archive.size);
    clf_string_free(bytes);
    return archive;
}

void archive_check_same(const char *name, const struct archive *archive)
{
    struct clf_document *document = archive_open(name, archive);
    document_translate(document, document_same);
    struct archive copy = archive_written(document);
    assert_int_equal(copy.size, archive->size);
    assert_memory_equal(copy.bytes, archive->bytes, copy.size);
    clf_document_free(document);
}

static int is_equal(const struct archive *one, const struct archive *other)
{
    return one->size == other->size && memcmp(one->bytes, other->bytes, one->size) == 0;
}

int archive_check_changed(const struct archive *archive, const struct archive *changed)
{
    zip_t *zip = open_archive(archive);
    int count = 0;
    assert_string_equal(archive_names(archive), archive_names(changed));
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);
        struct archive before = read_entry(archive, name, 0), after = read_entry(changed, name, 0);
        struct archive raw = archive_read_raw(archive, name), raw_after = archive_read_raw(changed, name);
        if (!is_equal(&before, &after)) {
            count++;
        } else if (!is_equal(&raw, &raw_after)) {
            fail_msg("%s: is compressed again", name);
        }
    }
    zip_discard(zip);
    return count;
}

#endif
