/* Reads paragraphs of runs. */
#include "translate/documents/office/runs.h"

#ifdef CLF_HAS_LIBZIP

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "translate/documents/html/tokens.h"

struct reader {
    struct clf_document *document;
    const char *bytes;
    const struct clf__run_language *language;
    struct clf__xml_range prefix; /* without the colon */
    const char *usual_prefix;     /* if the root does not name one */
    int line;
};

/* --- Names. --- */

/* Returns the name of an element without prefix if it is in the language; *size is 0 otherwise. */
static const char *name_of(size_t *size, const struct reader *reader, const struct clf__xml_token *tag)
{
    const char *name = reader->bytes + tag->name, *colon = memchr(name, ':', tag->name_size);
    const char *prefix =
        reader->usual_prefix != NULL ? reader->usual_prefix : reader->bytes + reader->prefix.start;
    size_t wanted = reader->usual_prefix != NULL ? strlen(prefix) : reader->prefix.end - reader->prefix.start;
    size_t found = colon != NULL ? (size_t)(colon - name) : 0;
    if (found != wanted || memcmp(name, prefix, wanted) != 0) {
        *size = 0;
        return name;
    }
    size_t used = found + (colon != NULL);
    *size = tag->name_size - used;
    return name + used;
}

static int is_element(const struct reader *reader, const struct clf__xml_token *tag, const char *wanted)
{
    size_t size;
    const char *name = name_of(&size, reader, tag);
    return size == strlen(wanted) && memcmp(name, wanted, size) == 0;
}

static enum clf__run_role role_of(const struct reader *reader, const struct clf__xml_token *tag,
                                  int is_in_run)
{
    size_t size;
    const char *name = name_of(&size, reader, tag);
    return size > 0 ? reader->language->role(name, size, is_in_run) : CLF__RUN_KEPT;
}

/* Finds the prefix that the root declares for the language. */
static void find_prefix(struct reader *reader, struct clf__xml_tokens tokens)
{
    struct clf__xml_token root;
    struct clf__xml_range name, value;
    size_t at = 0;
    reader->usual_prefix = reader->language->prefix;
    while (clf__xml_next(&root, &tokens) && !clf__xml_is_tag(&root)) {
    }
    while (clf__xml_is_tag(&root) && clf__xml_next_attribute(&name, &value, reader->bytes, &root, &at)) {
        if (name.end - name.start < 5 || memcmp(reader->bytes + name.start, "xmlns", 5) != 0) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            const char *address = reader->language->addresses[i];
            if (strlen(address) == value.end - value.start &&
                memcmp(address, reader->bytes + value.start, strlen(address)) == 0) {
                reader->prefix = (struct clf__xml_range){name.start + 5, name.end};
                reader->prefix.start += name.end > name.start + 5; /* the colon */
                reader->usual_prefix = NULL;
            }
        }
    }
}

/* --- Properties. --- */

/* Returns whether a list contains a name after a space. */
static int is_listed(const char *list, const char *name, size_t size)
{
    const char *colon = memchr(name, ':', size);
    if (colon != NULL) {
        size -= (size_t)(colon + 1 - name);
        name = colon + 1;
    }
    for (const char *at = list; *at != '\0'; at += strcspn(at, " ")) {
        at++;
        if (strcspn(at, " ") == size && memcmp(at, name, size) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns a hash of the properties that divide a sentence; 0: none. */
static uint64_t find_look(const struct reader *reader, struct clf__xml_range properties)
{
    const char *bytes = reader->bytes, *ignored = reader->language->ignored;
    struct clf__xml_tokens tokens = {bytes, properties.end, properties.start, 1};
    struct clf__xml_token tag;
    uint64_t hash = CLF__FNV_BEGIN;
    int count = 0, depth = 0;
    while (clf__xml_next(&tag, &tokens)) {
        struct clf__xml_range name, value;
        size_t at = 0;
        if (tag.kind != CLF__XML_START && tag.kind != CLF__XML_EMPTY) {
            continue;
        }
        int is_root = depth++ == 0;
        if (!is_root && is_listed(ignored, bytes + tag.name, tag.name_size)) {
            clf__xml_skip(&tokens, &tag);
            continue;
        }
        hash = is_root ? hash : clf__fnv(hash, bytes + tag.name, tag.name_size);
        count += !is_root;
        while (clf__xml_next_attribute(&name, &value, bytes, &tag, &at)) {
            if (!is_root || !is_listed(ignored, bytes + name.start, name.end - name.start)) {
                hash = clf__fnv(hash, bytes + name.start, value.end - name.start);
                count++;
            }
        }
    }
    return count > 0 ? hash | 1 : 0;
}

/* --- Paragraphs. --- */

static clf_status read_paragraphs(struct reader *reader, struct clf__xml_tokens tokens);

static clf_status add_atom(struct clf__atoms *atoms, struct clf__atom atom)
{
    CLF__TRY(clf__grow(&atoms->items, atoms->count, &atoms->capacity, sizeof *atoms->items));
    atom.partner = -1;
    if (atom.run.start == atom.run.end) {
        atom.run = (struct clf__xml_range){atom.start, atom.end};
    }
    atoms->items[atoms->count++] = atom;
    return CLF_OK;
}

/* Adds an element as a mark, and the paragraphs in it. */
static clf_status add_element(struct reader *reader, struct clf__atoms *atoms, struct clf__xml_tokens *tokens,
                              const struct clf__xml_token *tag, enum clf__run_role role,
                              struct clf__atom atom)
{
    atom.kind = CLF__ATOM_MARK;
    atom.start = tag->start;
    atom.end = clf__xml_skip(tokens, tag);
    atom.mark.is_separator = role == CLF__RUN_SEPARATOR;
    atom.mark.is_ordered = role == CLF__RUN_ORDERED;
    if (role == CLF__RUN_KEPT && tag->kind == CLF__XML_START) {
        CLF__TRY(read_paragraphs(reader, (struct clf__xml_tokens){reader->bytes, atom.end, tag->end, 1}));
    }
    return add_atom(atoms, atom);
}

static clf_status read_text(struct reader *reader, struct clf__atoms *atoms, struct clf__xml_tokens *tokens,
                            const struct clf__xml_token *tag, struct clf__atom atom)
{
    struct clf__xml_token token = *tag;
    atom.kind = CLF__ATOM_TEXT;
    atom.text_name = (struct clf__xml_range){tag->name, tag->name + tag->name_size};
    while (tag->kind == CLF__XML_START && clf__xml_next(&token, tokens) && token.kind != CLF__XML_END) {
        int is_text = token.kind == CLF__XML_TEXT; /* no program writes elements or CDATA sections there */
        atom.kind = is_text ? CLF__ATOM_TEXT : CLF__ATOM_DIVIDER;
        atom.has_text = 0;
        token.end = token.kind == CLF__XML_START ? clf__xml_skip(tokens, &token) : token.end;
        atom.start = token.start;
        atom.end = token.end;
        for (size_t i = token.start; i < token.end; i++) {
            atom.has_text |= !clf__html_is_space(reader->bytes[i]);
        }
        CLF__TRY(add_atom(atoms, atom));
    }
    return CLF_OK;
}

/* Returns which part of a field an element is. */
static char field_part(const struct reader *reader, const struct clf__xml_token *tag)
{
    struct clf__xml_range name, value;
    size_t at = 0;
    while (clf__xml_next_attribute(&name, &value, reader->bytes, tag, &at)) {
        size_t size = name.end - name.start;
        if (size >= 11 && memcmp(reader->bytes + name.end - 11, "fldCharType", 11) == 0) {
            char first = reader->bytes[value.start];
            return first == 'b' || first == 's' || first == 'e' ? first : 'c';
        }
    }
    return 'c';
}

static clf_status read_run(struct reader *reader, struct clf__atoms *atoms, struct clf__xml_tokens *tokens,
                           const struct clf__xml_token *run)
{
    struct clf__xml_token token;
    int first = atoms->count;
    struct clf__atom base = {.run_name = {run->name, run->name + run->name_size},
                             .run = {run->start, run->end}};
    base.mark.kind = CLF__RUN_IS_IN_RUN;
    while (run->kind == CLF__XML_START && clf__xml_next(&token, tokens) && token.kind != CLF__XML_END) {
        struct clf__atom atom = base;
        if (token.kind != CLF__XML_START && token.kind != CLF__XML_EMPTY) {
            continue;
        }
        enum clf__run_role role = role_of(reader, &token, 1);
        if (role == CLF__RUN_PROPERTIES) {
            base.mark.properties = (struct clf__xml_range){token.start, clf__xml_skip(tokens, &token)};
            base.mark.look = find_look(reader, base.mark.properties);
        } else if (role == CLF__RUN_TEXT) {
            CLF__TRY(read_text(reader, atoms, tokens, &token, atom));
        } else if (role == CLF__RUN_FIELD) {
            atom.kind = CLF__ATOM_FIELD;
            atom.field = field_part(reader, &token);
            atom.start = token.start;
            atom.end = clf__xml_skip(tokens, &token);
            CLF__TRY(add_atom(atoms, atom));
        } else if (role == CLF__RUN_IGNORED) {
            clf__xml_skip(tokens, &token);
        } else {
            CLF__TRY(add_element(reader, atoms, tokens, &token, role, atom));
        }
    }
    size_t end = run->kind == CLF__XML_START ? token.end : run->end;
    for (int i = first; i < atoms->count; i++) {
        atoms->items[i].run.end = end;
    }
    return CLF_OK;
}

/* The open groups of a paragraph. */
struct groups {
    int *open; /* (depth) atoms */
    int depth, capacity;
};

static clf_status open_group(const struct reader *reader, struct groups *groups, struct clf__atoms *atoms,
                             struct clf__xml_tokens *tokens, const struct clf__xml_token *tag,
                             int has_content)
{
    struct clf__atom atom = {.kind = CLF__ATOM_OPEN, .start = tag->start, .end = tag->end};
    atom.mark.kind = CLF__RUN_IS_GROUP;
    while (has_content) { /* the start tag, the properties and the start tag of the content become one tag */
        struct clf__xml_token token;
        if (!clf__xml_next(&token, tokens) || token.kind == CLF__XML_END) { /* an element without content */
            atom.kind = CLF__ATOM_MARK;
            atom.mark.kind = CLF__RUN_IS_BESIDE;
            atom.end = token.end;
            return add_atom(atoms, atom);
        }
        atom.end = token.end;
        if (token.kind == CLF__XML_START && is_element(reader, &token, reader->language->content)) {
            break;
        }
        atom.end = clf__xml_is_tag(&token) ? clf__xml_skip(tokens, &token) : token.end;
    }
    CLF__TRY(clf__grow(&groups->open, groups->depth, &groups->capacity, sizeof *groups->open));
    groups->open[groups->depth++] = atoms->count;
    return add_atom(atoms, atom);
}

static clf_status close_group(struct reader *reader, struct groups *groups, struct clf__atoms *atoms,
                              struct clf__xml_tokens *tokens, const struct clf__xml_token *tag)
{
    struct clf__atom atom = {.kind = CLF__ATOM_CLOSE, .start = tag->start, .end = tag->end};
    const char *content = reader->language->content;
    struct clf__xml_token token;
    if (content != NULL && is_element(reader, tag, content)) {
        do { /* up to the end tag of the group */
            if (!clf__xml_next(&token, tokens)) {
                break;
            }
            atom.end = token.kind == CLF__XML_START ? clf__xml_skip(tokens, &token) : token.end;
        } while (token.kind != CLF__XML_END);
    }
    int open = groups->open[--groups->depth];
    CLF__TRY(add_atom(atoms, atom));
    atoms->items[open].partner = atoms->count - 1;
    atoms->items[atoms->count - 1].partner = open;
    return CLF_OK;
}

/* Adds the properties of a paragraph or group. */
static clf_status add_outside(struct clf__atoms *atoms, struct clf__xml_tokens *tokens,
                              const struct clf__xml_token *tag)
{
    struct clf__atom *last = atoms->count > 0 ? &atoms->items[atoms->count - 1] : NULL;
    size_t end = clf__xml_skip(tokens, tag);
    if (last != NULL && last->kind == CLF__ATOM_OPEN) {
        last->end = last->run.end = end;
        return CLF_OK;
    }
    return add_atom(atoms, (struct clf__atom){.kind = CLF__ATOM_DIVIDER, .start = tag->start, .end = end});
}

static clf_status take_tag(struct reader *reader, struct groups *groups, struct clf__atoms *atoms,
                           struct clf__xml_tokens *tokens, const struct clf__xml_token *tag)
{
    const struct clf__atom beside = {.mark = {.kind = CLF__RUN_IS_BESIDE}};
    enum clf__run_role role = role_of(reader, tag, 0);
    int is_group = role == CLF__RUN_GROUP || role == CLF__RUN_GROUP_IN;
    if (role == CLF__RUN_RUN) {
        return read_run(reader, atoms, tokens, tag);
    }
    if (is_group && tag->kind == CLF__XML_START) {
        return open_group(reader, groups, atoms, tokens, tag, role == CLF__RUN_GROUP_IN);
    }
    if (role == CLF__RUN_OUTSIDE) {
        return add_outside(atoms, tokens, tag);
    }
    if (role == CLF__RUN_IGNORED) {
        clf__xml_skip(tokens, tag);
        return CLF_OK;
    }
    return add_element(reader, atoms, tokens, tag, is_group ? CLF__RUN_DELETED : role, beside);
}

static clf_status read_atoms(struct reader *reader, struct groups *groups, struct clf__atoms *atoms,
                             struct clf__xml_tokens *tokens)
{
    struct clf__xml_token token;
    while (clf__xml_next(&token, tokens)) {
        if (token.kind == CLF__XML_END && groups->depth == 0) {
            break; /* of the paragraph */
        }
        if (token.kind == CLF__XML_END) {
            CLF__TRY(close_group(reader, groups, atoms, tokens, &token));
        } else if (clf__xml_is_tag(&token)) {
            CLF__TRY(take_tag(reader, groups, atoms, tokens, &token));
        }
    }
    return CLF_OK;
}

static clf_status read_paragraph(struct reader *reader, struct clf__xml_tokens *tokens)
{
    struct groups groups = {.depth = 0};
    struct clf__atoms atoms = {.line = ++reader->line};
    struct clf__container *container = reader->document->state;
    clf_status status = read_atoms(reader, &groups, &atoms, tokens);
    if (status == CLF_OK && clf__atoms_fold(&atoms)) {
        status = clf__atoms_add(reader->document, &atoms);
    } else if (status == CLF_OK) {
        container->skipped++;
    }
    clf__free(groups.open);
    clf__free(atoms.items);
    return status;
}

static clf_status read_paragraphs(struct reader *reader, struct clf__xml_tokens tokens)
{
    struct clf__xml_token token;
    while (clf__xml_next(&token, &tokens)) {
        if (token.kind == CLF__XML_START && is_element(reader, &token, reader->language->paragraph)) {
            CLF__TRY(read_paragraph(reader, &tokens));
        }
    }
    return CLF_OK;
}

clf_status clf__runs_collect(struct clf_document *document, const struct clf__run_language *language)
{
    struct clf__container *container = document->state;
    struct clf__runs *runs;
    CLF__TRY(clf__allocate(&runs, 1, sizeof *runs));
    container->more = runs;
    runs->language = language;
    struct reader reader = {.document = document, .bytes = container->text.bytes, .language = language};
    for (int i = 0; i < container->count; i++) {
        struct clf__xml_tokens tokens = clf__container_begin(container, i);
        find_prefix(&reader, tokens);
        CLF__TRY(read_paragraphs(&reader, tokens));
    }
    clf__segments_sort(&document->segments);
    return CLF_OK;
}

void clf__runs_close(struct clf_document *document)
{
    struct clf__container *container = document->state;
    struct clf__runs *runs = container != NULL ? container->more : NULL;
    if (runs != NULL) {
        clf__free(runs->marks);
    }
    clf__container_close(document);
}

#endif
