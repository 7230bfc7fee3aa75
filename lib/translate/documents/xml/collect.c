#include "translate/documents/xml/collect.h"

#include <string.h>

#include "base/memory.h"
#include "translate/documents/html/elements.h"
#include "translate/documents/html/tokens.h"

/* Flags of an element, which are found before sentences are collected. They are in the order of start tags.
 */
enum { HAS_TEXT = 1, HAS_CHILD = 2, HAS_CHILDREN = 4, HAS_BLOCK = 8 };

/* An open element. */
struct open {
    enum clf__xml_role role;
    int index; /* of its start tag */
    int is_in_text, is_in_lines;
};

/* A sentence that an element of the role CLF__XML_NESTED interrupts. */
struct sentence {
    struct clf__inlines inlines;
    int line;        /* of its first mark or text */
    int is_overfull; /* it has too many marks */
    size_t start;    /* start of the nested element in it */
    /* Marks without content after the last text; they are not part of the segment: */
    int trailing; /* the text has (1) such marks */
    int count;    /* marks before them */
    size_t end;   /* end of the bytes before them */
};

struct reader {
    struct clf__xml_collector *collector;
    const char *bytes;
    unsigned char *facts; /* (fact_count) */
    int fact_count, fact_capacity;
    struct open *open; /* (depth) */
    int depth, open_capacity;
    struct sentence **sentences; /* (sentence_count) the last one is the current one */
    int sentence_count, sentence_capacity;
    int index; /* of the next start tag */
};

static struct sentence *current(const struct reader *reader)
{
    return reader->sentences[reader->sentence_count - 1];
}

static const struct open *parent_of(const struct reader *reader)
{
    return &reader->open[reader->depth - 1];
}

static clf_status push(struct reader *reader, struct open open)
{
    CLF__TRY(clf__grow(&reader->open, reader->depth, &reader->open_capacity, sizeof *reader->open));
    reader->open[reader->depth++] = open;
    return CLF_OK;
}

/* --- The facts about elements. --- */

static int has_text(const char *bytes, const struct clf__xml_token *token)
{
    size_t at = token->start;
    while (at < token->end && clf__html_is_space(bytes[at])) {
        at++;
    }
    return at < token->end;
}

static clf_status find_facts(struct reader *reader, struct clf__xml_tokens tokens)
{
    struct clf__xml_token token;
    reader->depth = 0;
    CLF__TRY(push(reader, (struct open){.index = 0}));
    CLF__TRY(clf__grow(&reader->facts, 0, &reader->fact_capacity, 1));
    reader->facts[reader->fact_count++] = 0; /* of the document */
    while (clf__xml_next(&token, &tokens)) {
        unsigned char *parent = &reader->facts[parent_of(reader)->index];
        if (token.kind == CLF__XML_END) {
            reader->depth -= reader->depth > 1;
        } else if (token.kind == CLF__XML_START || token.kind == CLF__XML_EMPTY) {
            *parent |= *parent & HAS_CHILD ? HAS_CHILDREN : HAS_CHILD;
            CLF__TRY(clf__grow(&reader->facts, reader->fact_count, &reader->fact_capacity, 1));
            reader->facts[reader->fact_count++] = 0;
            if (token.kind == CLF__XML_START) {
                CLF__TRY(push(reader, (struct open){.index = reader->fact_count - 1}));
            }
        } else if (token.kind != CLF__XML_OTHER && has_text(reader->bytes, &token)) {
            *parent |= HAS_TEXT;
        }
    }
    return CLF_OK;
}

/* Returns the role of the next start tag. */
static enum clf__xml_role find_role(const struct reader *reader, const struct clf__xml_token *tag)
{
    const struct open *parent = parent_of(reader);
    unsigned facts = reader->facts[parent->index];
    const struct clf__xml_element element = {.tag = tag,
                                             .is_in_text = parent->is_in_text,
                                             .is_beside_text = (facts & HAS_TEXT) != 0,
                                             .is_only_child = !(facts & HAS_CHILDREN),
                                             .parent = parent->role};
    enum clf__xml_role role = reader->collector->role(reader->collector->user, reader->bytes, &element);
    int is_divided = reader->facts[reader->index] & HAS_BLOCK || parent->is_in_lines;
    return role == CLF__XML_INLINE && is_divided ? CLF__XML_BLOCK : role;
}

/* Passes over the content of an element, and counts its start tags. */
static size_t pass_over(struct reader *reader, struct clf__xml_tokens *tokens,
                        const struct clf__xml_token *start)
{
    struct clf__xml_token token = *start;
    int depth = token.kind == CLF__XML_START;
    while (depth > 0 && clf__xml_next(&token, tokens)) {
        reader->index += token.kind == CLF__XML_START || token.kind == CLF__XML_EMPTY;
        depth += token.kind == CLF__XML_START;
        depth -= token.kind == CLF__XML_END;
    }
    return token.end;
}

static int is_passed_over(enum clf__xml_role role)
{
    return role == CLF__XML_SEPARATOR || role == CLF__XML_KEPT || role == CLF__XML_ORDERED ||
           role == CLF__XML_APART;
}

static int is_outside(enum clf__xml_role role)
{
    return role == CLF__XML_OUTER || role == CLF__XML_BLOCK || role == CLF__XML_LINES ||
           role == CLF__XML_APART;
}

static struct open open_as(const struct reader *reader, enum clf__xml_role role)
{
    const struct open *parent = parent_of(reader);
    struct open open = {role, reader->index, parent->is_in_text, parent->is_in_lines};
    if (role == CLF__XML_OUTER || role == CLF__XML_NESTED) {
        open.is_in_text = open.is_in_lines = 0;
    } else if (role == CLF__XML_BLOCK || role == CLF__XML_LINES) {
        open.is_in_text = 1;
        open.is_in_lines |= role == CLF__XML_LINES;
    }
    return open;
}

/* Marks the open inline elements: they contain a block. */
static void mark_block(struct reader *reader)
{
    for (int i = reader->depth - 1; i > 0 && reader->open[i].role == CLF__XML_INLINE; i--) {
        reader->facts[reader->open[i].index] |= HAS_BLOCK;
    }
}

/* Begins a pass over the elements. */
static clf_status begin_pass(struct reader *reader)
{
    reader->depth = 0;
    reader->index = 1;
    return push(reader, (struct open){.role = reader->collector->is_in_text ? CLF__XML_BLOCK : CLF__XML_OUTER,
                                      .is_in_text = reader->collector->is_in_text});
}

/* Finds the inline elements that contain blocks, which divide their sentence. */
static clf_status find_blocks(struct reader *reader, struct clf__xml_tokens tokens)
{
    struct clf__xml_token token;
    CLF__TRY(begin_pass(reader));
    while (clf__xml_next(&token, &tokens)) {
        if (token.kind == CLF__XML_START || token.kind == CLF__XML_EMPTY) {
            enum clf__xml_role role = find_role(reader, &token);
            if (is_outside(role)) {
                mark_block(reader);
            }
            if (token.kind == CLF__XML_START && !is_passed_over(role)) {
                CLF__TRY(push(reader, open_as(reader, role)));
            }
            reader->index++;
            if (is_passed_over(role)) {
                pass_over(reader, &tokens, &token);
            }
        } else if (token.kind == CLF__XML_END) {
            reader->depth -= reader->depth > 1;
        } else if (token.kind == CLF__XML_CDATA) {
            mark_block(reader);
        }
    }
    return CLF_OK;
}

/* --- Sentences. --- */

static clf_status begin_sentence(struct reader *reader)
{
    CLF__TRY(clf__grow(&reader->sentences, reader->sentence_count, &reader->sentence_capacity,
                       sizeof *reader->sentences));
    CLF__TRY(clf__allocate(&reader->sentences[reader->sentence_count], 1, sizeof **reader->sentences));
    reader->sentence_count++;
    return CLF_OK;
}

static void free_sentence(struct reader *reader)
{
    struct sentence *sentence = reader->sentences[--reader->sentence_count];
    clf__free(sentence->inlines.text.bytes);
    clf__free(sentence);
}

static clf_status end_sentence(struct reader *reader)
{
    struct sentence *sentence = current(reader);
    struct clf__xml_collector *collector = reader->collector;
    if (sentence->trailing) {
        sentence->inlines.count = sentence->count;
        sentence->inlines.end = sentence->end;
        sentence->trailing = 0;
    }
    if (sentence->is_overfull) {
        collector->skipped++;
        sentence->is_overfull = 0;
        clf__inlines_clear(&sentence->inlines);
        return CLF_OK;
    }
    return clf__inlines_end(&sentence->inlines, collector->document,
                            collector->counts_paragraphs ? collector->document->segments.count + 1
                                                         : sentence->line);
}

/* Makes space for a mark: ends a long sentence between two elements; inside an element, a sentence with too
 * many marks is not translated. Returns whether the mark fits. */
static clf_status make_space(int *fits, struct reader *reader, int line)
{
    struct sentence *sentence = current(reader);
    if (sentence->inlines.depth == 0 && sentence->inlines.count >= CLF__MOST_INLINES / 2) {
        CLF__TRY(end_sentence(reader));
    }
    sentence->is_overfull |= clf__inlines_are_full(&sentence->inlines);
    sentence->line = sentence->inlines.start == sentence->inlines.end ? line : sentence->line;
    *fits = !sentence->is_overfull;
    return CLF_OK;
}

/* Returns whether a mark without content is before the text, and so not part of the segment; notes whether it
 * is after the last text. */
static int is_before_text(struct sentence *sentence)
{
    const struct clf__inlines *inlines = &sentence->inlines;
    if (inlines->depth == 0 && !sentence->trailing) {
        sentence->trailing = 1;
        sentence->count = inlines->count;
        sentence->end = inlines->end;
    }
    return inlines->depth == 0 && inlines->start == inlines->end;
}

static clf_status add_mark(struct reader *reader, const struct clf__xml_token *token, size_t end,
                           enum clf__xml_role role)
{
    int fits;
    CLF__TRY(make_space(&fits, reader, token->line));
    struct clf__inlines *inlines = &current(reader)->inlines;
    if (!fits || (role != CLF__XML_INLINE && is_before_text(current(reader)))) {
        return CLF_OK;
    }
    current(reader)->trailing &= role != CLF__XML_INLINE;
    if (role == CLF__XML_INLINE) {
        unsigned name = clf__html_hash(reader->bytes + token->name, token->name_size);
        clf__inlines_open(inlines, reader->bytes, name, token->start, end);
    } else if (role == CLF__XML_SEPARATOR) {
        clf__inlines_separator(inlines, reader->bytes, token->start, end);
    } else {
        clf__inlines_single(inlines, reader->bytes, token->start, end);
        inlines->tags[inlines->count - 1].spaces |= role == CLF__XML_ORDERED ? CLF__TAG_ORDERED : 0;
    }
    return CLF_OK;
}

/* Returns the end of the placeholder at a position; the position if there is none. */
static size_t placeholder_end(const struct reader *reader, size_t at, size_t end)
{
    size_t size =
        reader->collector->has_placeholders ? clf__placeholder_size(reader->bytes + at, end - at) : 0;
    return at + size;
}

/* Returns the end of the text at `at` up to a line break or a placeholder, at least `at + 1`. */
static size_t plain_end(const struct reader *reader, size_t at, size_t end, int is_in_lines)
{
    const char *bytes = reader->bytes;
    for (at++; at < end; at++) {
        if ((is_in_lines && bytes[at] == '\n') || placeholder_end(reader, at, end) > at) {
            break;
        }
    }
    return at;
}

static clf_status add_text(struct reader *reader, const struct clf__xml_token *token)
{
    int is_in_lines = parent_of(reader)->is_in_lines;
    struct clf__xml_token part = *token;
    for (size_t at = token->start, next; at < token->end; at = next) {
        struct sentence *sentence = current(reader);
        part.start = at;
        next = placeholder_end(reader, at, token->end);
        if (next > at) {
            CLF__TRY(add_mark(reader, &part, next, CLF__XML_KEPT));
            continue;
        }
        next = plain_end(reader, at, token->end, is_in_lines);
        if (is_in_lines && reader->bytes[at] == '\n' && sentence->inlines.depth == 0) {
            CLF__TRY(end_sentence(reader));
        }
        for (; at < next && clf__html_is_space(reader->bytes[at]); at++) {
            part.line += reader->bytes[at] == '\n';
        }
        if (sentence->inlines.start == sentence->inlines.end) {
            sentence->line = part.line;
        }
        size_t end = sentence->inlines.end;
        clf__xml_add_text(&sentence->inlines, reader->bytes, part.start, next);
        sentence->trailing &= sentence->inlines.end == end;
        for (; at < next; at++) {
            part.line += reader->bytes[at] == '\n';
        }
    }
    return CLF_OK;
}

/* Adds the text of a CDATA section, in which placeholders and HTML tags are marks. */
static clf_status add_cdata(struct reader *reader, const struct clf__xml_token *token)
{
    CLF__TRY(end_sentence(reader));
    struct sentence *sentence = current(reader);
    struct clf__inlines *inlines = &sentence->inlines;
    struct clf__xml_range inner = clf__xml_cdata(token);
    sentence->line = token->line;
    inlines->kind = CLF__XML_IN_CDATA;
    for (size_t at = inner.start; at < inner.end;) {
        if (clf__inlines_are_full(inlines)) {
            CLF__TRY(end_sentence(reader));
        }
        size_t size = clf__inlines_markup(inlines, reader->bytes, at, inner.end);
        if (size == 0) {
            clf__inlines_text(inlines, reader->bytes + at, 1, at, at + 1);
            size = 1;
        }
        at += size;
    }
    clf_status status = end_sentence(reader);
    inlines->kind = 0;
    return status;
}

static clf_status add_entity(struct reader *reader, const struct clf__xml_token *token)
{
    char *text = NULL;
    if (reader->collector->entity != NULL) {
        CLF__TRY(reader->collector->entity(&text, reader->bytes, token));
    }
    if (text == NULL) {
        return add_mark(reader, token, token->end, CLF__XML_KEPT);
    }
    struct sentence *sentence = current(reader);
    size_t end = sentence->inlines.end;
    clf__inlines_text(&sentence->inlines, text, strlen(text), token->start, token->end);
    sentence->trailing &= sentence->inlines.end == end;
    clf__free(text);
    return CLF_OK;
}

static clf_status take_start(struct reader *reader, struct clf__xml_tokens *tokens,
                             const struct clf__xml_token *tag)
{
    enum clf__xml_role role = find_role(reader, tag);
    int is_in_text = parent_of(reader)->is_in_text;
    size_t end = tag->end;
    if (tag->kind == CLF__XML_START && !is_passed_over(role)) {
        CLF__TRY(push(reader, open_as(reader, role)));
    }
    reader->index++;
    if (is_passed_over(role)) {
        end = pass_over(reader, tokens, tag);
    }
    if (role == CLF__XML_NESTED && tag->kind == CLF__XML_START) {
        current(reader)->start = tag->start;
        return begin_sentence(reader);
    }
    if (is_outside(role)) {
        return end_sentence(reader);
    }
    role = tag->kind == CLF__XML_EMPTY && role == CLF__XML_INLINE ? CLF__XML_KEPT : role;
    return is_in_text ? add_mark(reader, tag, end, role) : CLF_OK;
}

static clf_status take_end(struct reader *reader, const struct clf__xml_token *tag)
{
    const struct open *open = parent_of(reader);
    enum clf__xml_role role = open->role;
    struct sentence *sentence = current(reader);
    if (reader->depth == 1) {
        return CLF_OK; /* not well-formed */
    }
    reader->depth--;
    if (role == CLF__XML_INLINE) {
        if (open->is_in_text && !sentence->is_overfull) {
            unsigned name = clf__html_hash(reader->bytes + tag->name, tag->name_size);
            clf__inlines_close(&sentence->inlines, reader->bytes, name, tag->start, tag->end);
        }
        return CLF_OK;
    }
    CLF__TRY(end_sentence(reader));
    if (role == CLF__XML_NESTED) {
        free_sentence(reader);
        struct clf__xml_token nested = *tag;
        nested.start = current(reader)->start;
        return parent_of(reader)->is_in_text ? add_mark(reader, &nested, tag->end, CLF__XML_KEPT) : CLF_OK;
    }
    return CLF_OK;
}

static clf_status take_token(struct reader *reader, struct clf__xml_tokens *tokens,
                             const struct clf__xml_token *token)
{
    int is_in_text = parent_of(reader)->is_in_text;
    switch (token->kind) {
    case CLF__XML_START:
    case CLF__XML_EMPTY:
        return take_start(reader, tokens, token);
    case CLF__XML_END:
        return take_end(reader, token);
    case CLF__XML_TEXT:
        return is_in_text ? add_text(reader, token) : CLF_OK;
    case CLF__XML_CDATA:
        return is_in_text ? add_cdata(reader, token) : CLF_OK;
    case CLF__XML_REFERENCE:
        return is_in_text ? add_entity(reader, token) : CLF_OK;
    default:
        return is_in_text ? add_mark(reader, token, token->end, CLF__XML_KEPT) : CLF_OK;
    }
}

static clf_status collect(struct reader *reader, struct clf__xml_tokens tokens)
{
    struct clf__xml_token token;
    CLF__TRY(find_facts(reader, tokens));
    CLF__TRY(find_blocks(reader, tokens));
    CLF__TRY(begin_pass(reader));
    CLF__TRY(begin_sentence(reader));
    while (clf__xml_next(&token, &tokens)) {
        CLF__TRY(take_token(reader, &tokens, &token));
    }
    return end_sentence(reader);
}

clf_status clf__xml_collect(struct clf__xml_collector *collector, struct clf__xml_tokens tokens)
{
    struct reader reader = {.collector = collector, .bytes = tokens.bytes};
    clf_status status = collect(&reader, tokens);
    while (reader.sentence_count > 0) {
        free_sentence(&reader);
    }
    clf__free((void *)reader.sentences);
    clf__free(reader.open);
    clf__free(reader.facts);
    return status;
}
