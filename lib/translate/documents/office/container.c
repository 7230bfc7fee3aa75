#include "translate/documents/office/container.h"

#ifdef CLF_HAS_LIBZIP

#include <string.h>

#include "base/memory.h"

void clf__container_close(struct clf_document *document)
{
    struct clf__container *container = document->state;
    for (int i = 0; container != NULL && i < container->count; i++) {
        clf__free(container->parts[i].name);
    }
    if (container != NULL) {
        clf__free(container->parts);
        clf__free(container->text.bytes);
        clf__free(container->more);
    }
    clf__free(container);
    document->state = NULL;
}

/* Checks that bytes of an entry are text and XML. */
static clf_status check(const char *bytes, size_t size, const char *name)
{
    clf_status status = clf__xml_check(bytes, size, 0);
    return status == CLF_OK ? CLF_OK : clf__fail_in(status, "%s", name);
}

clf_status clf__container_read(struct clf__output *out, struct clf__archive *archive, const char *name)
{
    size_t start = out->size;
    clf__output_add(out, "", 0);
    CLF__TRY(clf__archive_read(out, archive, name));
    return check(out->bytes + start, out->size - start, name);
}

clf_status clf__container_add(struct clf__container *container, struct clf__archive *archive,
                              const char *name)
{
    struct clf__container_part part = {.start = container->text.size};
    CLF__TRY(clf__container_read(&container->text, archive, name));
    part.end = container->text.size;
    CLF__TRY(clf__grow(&container->parts, container->count, &container->capacity, sizeof *container->parts));
    CLF__TRY(clf__copy_string(&part.name, name));
    container->parts[container->count++] = part;
    return CLF_OK;
}

/* Checks that the archive can be written, after all parts were added. */
static clf_status check_archive(const struct clf_document *document, const struct clf__container *container)
{
    const struct clf__container_part *part = container->parts;
    struct clf__output out = {.bytes = NULL};
    if (container->count == 0) {
        return CLF_OK;
    }
    const struct clf__archive_change change = {part->name, container->text.bytes + part->start,
                                               part->end - part->start};
    clf_status status = clf__archive_rewrite(&out, document->bytes, document->size, &change, 1);
    clf__free(out.bytes);
    return status;
}

clf_status clf__container_read_document(
    struct clf_document *document,
    clf_status (*add_parts)(struct clf__container *container, struct clf__archive *archive, const void *user),
    clf_status (*collect)(struct clf_document *document, struct clf__container *container, const void *user),
    const void *user)
{
    struct clf__container *container;
    struct clf__archive *archive;
    CLF__TRY(clf__allocate(&container, 1, sizeof *container));
    document->state = container;
    CLF__TRY(clf__archive_open(&archive, document->bytes, document->size));
    clf_status status = add_parts(container, archive, user);
    clf__archive_close(archive);
    status = status == CLF_OK ? check_archive(document, container) : status;
    return status == CLF_OK ? collect(document, container, user) : status;
}

struct clf__xml_tokens clf__container_begin(const struct clf__container *container, int part)
{
    const struct clf__container_part *found = &container->parts[part];
    const char *bytes = container->text.bytes;
    size_t mark = clf__utf8_mark(bytes + found->start, found->end - found->start);
    return (struct clf__xml_tokens){.bytes = bytes, .size = found->end, .at = found->start + mark, .line = 1};
}

/* The texts of the changed parts, one after another. */
struct changes {
    struct clf__output text;
    struct clf__archive_change *items; /* (count) their bytes are set at the end */
    int count;
};

static clf_status write_parts(struct changes *changes, const struct clf_document *document,
                              clf_status (*write)(struct clf__output *, const struct clf_document *,
                                                  const char *, size_t, size_t))
{
    const struct clf__container *container = document->state;
    for (int i = 0; i < container->count; i++) {
        const struct clf__container_part *part = &container->parts[i];
        size_t start = changes->text.size;
        CLF__TRY(write(&changes->text, document, container->text.bytes, part->start, part->end));
        size_t size = changes->text.size - start;
        if (size == part->end - part->start &&
            memcmp(changes->text.bytes + start, container->text.bytes + part->start, size) == 0) {
            changes->text.size = start;
        } else {
            changes->items[changes->count++] = (struct clf__archive_change){.name = part->name, .size = size};
        }
    }
    size_t at = 0;
    for (int i = 0; i < changes->count; i++) {
        changes->items[i].bytes = changes->text.bytes + at;
        at += changes->items[i].size;
    }
    return CLF_OK;
}

clf_status clf__container_write(struct clf__output *out, struct clf_document *document,
                                clf_status (*write)(struct clf__output *out,
                                                    const struct clf_document *document, const char *bytes,
                                                    size_t from, size_t to))
{
    const struct clf__container *container = document->state;
    struct changes changes = {.count = 0};
    CLF__TRY(clf__allocate(&changes.items, (size_t)container->count, sizeof *changes.items));
    clf_status status = write_parts(&changes, document, write);
    if (status == CLF_OK && changes.count > 0) {
        status = clf__archive_rewrite(out, document->bytes, document->size, changes.items, changes.count);
    } else if (status == CLF_OK) {
        clf__output_add(out, document->bytes, document->size);
    }
    clf__free(changes.items);
    clf__free(changes.text.bytes);
    if (status == CLF_OK && container->divided > 0) {
        status = clf__document_warn(document,
                                    "%d text%s not translated, because a run also contains a part of a field",
                                    container->divided, container->divided == 1 ? "" : "s");
    }
    return status == CLF_OK ? clf__xml_warn_skipped(document, container->skipped) : status;
}

clf_status clf__container_write_xml(struct clf__output *out, struct clf_document *document)
{
    return clf__container_write(out, document, clf__xml_write);
}

int clf__container_contains(const char *bytes, size_t size, const char *word)
{
    return size > 4 && memcmp(bytes, "PK\3\4", 4) == 0 && clf__text_contains(bytes, size, word);
}

#endif
