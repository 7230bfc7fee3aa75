/* EPUB: the XHTML documents of the package in reading order, then the other ones, such as the table of
 * contents, and the labels of the NCX. */
#include "translate/documents/office/container.h"

#ifdef CLF_HAS_LIBZIP

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "translate/documents/xml/xhtml.h"

/* An item of the package's manifest. */
struct item {
    char *id, *name; /* name: of the entry */
    int is_added;
};

struct package {
    struct clf__output text; /* of the package document */
    struct clf__output encryption;
    struct item *items; /* (count) sorted by id */
    int count, capacity;
};

/* --- Names. --- */

static int hex_value(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* Decodes %20 in a relative address, and removes its fragment. */
static void decode_address(char *text)
{
    char *out = text;
    for (const char *at = text; *at != '\0' && *at != '#'; at++) {
        int high = *at == '%' ? hex_value(at[1]) : -1, low = high >= 0 ? hex_value(at[2]) : -1;
        *out++ = (char)(low >= 0 ? 16 * high + low : *at);
        at += low >= 0 ? 2 : 0;
    }
    *out = '\0';
}

/* Removes "." and ".." from a path. */
static void normalize(char *path)
{
    char *out = path;
    for (const char *at = path; *at != '\0';) {
        size_t size = strcspn(at, "/");
        int is_up = size == 2 && memcmp(at, "..", 2) == 0;
        if (is_up && out > path) {
            for (out--; out > path && out[-1] != '/'; out--) {
            }
        } else if (!is_up && size > 0 && !(size == 1 && *at == '.')) {
            memmove(out, at, size + (at[size] == '/'));
            out += size + (at[size] == '/');
        }
        at += size + (at[size] == '/');
    }
    *out = '\0';
}

/* Returns the name of the entry at an address that is relative to the package document. */
static clf_status resolve(char **out, const char *package, const char *address, size_t size)
{
    const char *slash = strrchr(package, '/');
    struct clf__output decoded = {.bytes = NULL};
    clf__xml_decode(&decoded, address, size);
    clf__output_add(&decoded, "", 0);
    if (decoded.status != CLF_OK) {
        clf__free(decoded.bytes);
        return decoded.status;
    }
    decode_address(decoded.bytes);
    clf_status status =
        clf__format(out, "%.*s%s", slash != NULL ? (int)(slash + 1 - package) : 0, package, decoded.bytes);
    clf__free(decoded.bytes);
    if (status == CLF_OK) {
        normalize(*out);
    }
    return status;
}

/* --- The package. --- */

/* Finds the package document in META-INF/container.xml. */
static clf_status find_package(char **name, struct clf__archive *archive)
{
    static const char list[] = "META-INF/container.xml";
    struct clf__output text = {.bytes = NULL};
    struct clf__xml_token token;
    struct clf__xml_range path;
    clf_status status = clf__container_read(&text, archive, list);
    struct clf__xml_tokens tokens = clf__xml_begin(text.bytes, text.size);
    while (status == CLF_OK && *name == NULL && clf__xml_next(&token, &tokens)) {
        if (token.kind != CLF__XML_END && clf__xml_is_tag(&token) &&
            clf__xml_is_named(&token, text.bytes, "rootfile") &&
            clf__xml_attribute(&path, text.bytes, &token, "full-path")) {
            status = resolve(name, "", text.bytes + path.start, path.end - path.start);
        }
    }
    clf__free(text.bytes);
    return status == CLF_OK && *name == NULL ? clf__fail(CLF_FORMAT, "%s: names no package document", list)
                                             : status;
}

static clf_status add_item(struct package *package, const char *name, const struct clf__xml_token *tag)
{
    const char *bytes = package->text.bytes;
    struct clf__xml_range id, address;
    struct item item = {.id = NULL};
    int has_text = clf__xml_has_value(bytes, tag, "media-type", "application/xhtml+xml") ||
                   clf__xml_has_value(bytes, tag, "media-type", "application/x-dtbncx+xml");
    if (!has_text || !clf__xml_attribute(&id, bytes, tag, "id") ||
        !clf__xml_attribute(&address, bytes, tag, "href")) {
        return CLF_OK;
    }
    if (package->count == CLF__ARCHIVE_MOST_ENTRIES) { /* names are compared with those of the entries */
        return clf__fail(CLF_UNSUPPORTED, "%s: lists more than %d documents; divide the book", name,
                         CLF__ARCHIVE_MOST_ENTRIES);
    }
    CLF__TRY(clf__grow(&package->items, package->count, &package->capacity, sizeof *package->items));
    CLF__TRY(resolve(&item.name, name, bytes + address.start, address.end - address.start));
    clf_status status = clf__copy_bytes(&item.id, bytes + id.start, id.end - id.start);
    if (status != CLF_OK) {
        clf__free(item.name);
        return status;
    }
    package->items[package->count++] = item;
    return CLF_OK;
}

static int compare(const void *one, const void *other)
{
    return strcmp(((const struct item *)one)->id, ((const struct item *)other)->id);
}

static clf_status read_manifest(struct package *package, const char *name)
{
    struct clf__xml_tokens tokens = clf__xml_begin(package->text.bytes, package->text.size);
    struct clf__xml_token token;
    while (clf__xml_next(&token, &tokens)) {
        if (token.kind != CLF__XML_END && clf__xml_is_tag(&token) &&
            clf__xml_is_named(&token, package->text.bytes, "item")) {
            CLF__TRY(add_item(package, name, &token));
        }
    }
    if (package->count > 0) {
        qsort(package->items, (size_t)package->count, sizeof *package->items, compare);
    }
    return CLF_OK;
}

static clf_status add_part(struct clf__container *container, struct clf__archive *archive,
                           struct package *package, struct item *item)
{
    const struct clf__output *encryption = &package->encryption;
    if (item->is_added || !clf__archive_has(archive, item->name)) {
        return CLF_OK;
    }
    item->is_added = 1;
    for (int i = 0; i < container->count; i++) {
        if (strcmp(container->parts[i].name, item->name) == 0) {
            return CLF_OK;
        }
    }
    clf_status status = clf__container_add(container, archive, item->name);
    if (status != CLF_OK && clf__text_contains(encryption->bytes, encryption->size, item->name)) {
        return clf__fail(CLF_FORMAT, "%s: is encrypted; books with copy protection cannot be translated",
                         item->name);
    }
    return status;
}

/* Adds the documents of the spine, then the other items. */
static clf_status add_parts(struct clf__container *container, struct clf__archive *archive,
                            struct package *package)
{
    const char *bytes = package->text.bytes;
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, package->text.size);
    struct clf__xml_token token;
    struct clf__xml_range value;
    while (clf__xml_next(&token, &tokens)) {
        if (token.kind == CLF__XML_END || !clf__xml_is_tag(&token) ||
            !clf__xml_is_named(&token, bytes, "itemref") ||
            !clf__xml_attribute(&value, bytes, &token, "idref") || package->count == 0) {
            continue;
        }
        struct item key = {.id = NULL};
        CLF__TRY(clf__copy_bytes(&key.id, bytes + value.start, value.end - value.start));
        struct item *found =
            bsearch(&key, package->items, (size_t)package->count, sizeof *package->items, compare);
        clf__free(key.id);
        if (found != NULL) {
            CLF__TRY(add_part(container, archive, package, found));
        }
    }
    for (int i = 0; i < package->count; i++) {
        CLF__TRY(add_part(container, archive, package, &package->items[i]));
    }
    return CLF_OK;
}

static void free_package(struct package *package)
{
    for (int i = 0; i < package->count; i++) {
        clf__free(package->items[i].id);
        clf__free(package->items[i].name);
    }
    clf__free(package->items);
    clf__free(package->text.bytes);
    clf__free(package->encryption.bytes);
}

static clf_status read_archive(struct clf__container *container, struct clf__archive *archive,
                               const void *user)
{
    (void)user;
    static const char encryption[] = "META-INF/encryption.xml";
    struct package package = {.count = 0};
    char *name = NULL;
    CLF__TRY(find_package(&name, archive));
    clf_status status = clf__container_read(&package.text, archive, name);
    if (status == CLF_OK && clf__archive_has(archive, encryption)) {
        status = clf__archive_read(&package.encryption, archive, encryption);
    }
    if (status == CLF_OK) {
        status = read_manifest(&package, name);
    }
    if (status == CLF_OK) {
        status = add_parts(container, archive, &package);
    }
    free_package(&package);
    clf__free(name);
    return status;
}

/* --- Text. --- */

/* The labels of an NCX. */
static enum clf__xml_role ncx_role(void *user, const char *bytes, const struct clf__xml_element *element)
{
    (void)user;
    return clf__xml_is_named(element->tag, bytes, "text") ? CLF__XML_BLOCK : CLF__XML_OUTER;
}

static int is_ncx(const char *bytes, struct clf__xml_tokens tokens)
{
    struct clf__xml_token root;
    while (clf__xml_next(&root, &tokens) && !clf__xml_is_tag(&root)) {
    }
    return clf__xml_is_tag(&root) && clf__xml_is_named(&root, bytes, "ncx");
}

static clf_status collect(struct clf_document *document, struct clf__container *container, const void *user)
{
    (void)user;
    const char *bytes = container->text.bytes;
    struct clf__xml_collector collector = {
        .document = document, .bytes = bytes, .counts_paragraphs = 1, .entity = clf__xhtml_entity};
    for (int i = 0; i < container->count; i++) {
        struct clf__xml_tokens tokens = clf__container_begin(container, i);
        int is_labels = is_ncx(bytes, tokens);
        collector.role = is_labels ? ncx_role : clf__xhtml_role;
        collector.user = is_labels ? NULL : (void *)document->options.ignored;
        collector.is_in_text = !is_labels;
        CLF__TRY(clf__xml_collect(&collector, tokens));
    }
    container->skipped = collector.skipped;
    clf__segments_sort(&document->segments);
    return CLF_OK;
}

static clf_status read_epub(struct clf_document *document)
{
    return clf__container_read_document(document, read_archive, collect, NULL);
}

static int is_epub(const char *bytes, size_t size)
{
    return clf__container_contains(bytes, size < 200 ? size : 200, "mimetypeapplication/epub+zip");
}

const struct clf__format clf__format_epub = {
    .shown = {sizeof(struct clf_document_format), "epub", ".epub", "application/epub+zip", "EPUB"},
    .is_binary = 1,
    .is = is_epub,
    .read = read_epub,
    .write = clf__container_write_xml,
    .close = clf__container_close,
};

#endif
