/* Writes translated paragraphs of runs. */
#include "translate/documents/office/runs.h"

#ifdef CLF_HAS_LIBZIP

#include <string.h>

#include "base/memory.h"
#include "text/markup/markup.h"

struct writer {
    const struct clf__splice *splice;
    const struct clf__segment *segment;
    const struct clf__run_language *language;
    const struct clf__run_mark *base, *marks;                 /* marks: by clf__tags.index */
    const struct clf__run_mark *stack[CLF__MOST_INLINES + 1]; /* (depth + 1) the properties of text */
    int depth;
    const struct clf__run_mark *run; /* the open run; NULL: none */
    struct clf__output text;         /* of the run, not written yet */
    int has_space;                   /* a space follows it */
    clf_status status;               /* the first failure */
    int skips_space;                 /* a space that follows is not written: a separator is there */
    int is_after_term;               /* the last text is a term */
};

static void add_range(const struct writer *writer, struct clf__xml_range range)
{
    clf__output_add(writer->splice->out, writer->splice->bytes + range.start, range.end - range.start);
}

static void add_tag(const struct writer *writer, const char *before, struct clf__xml_range name,
                    const char *after)
{
    clf__output_add_string(writer->splice->out, before);
    add_range(writer, name);
    clf__output_add_string(writer->splice->out, after);
}

static void close_run(struct writer *writer)
{
    if (writer->run != NULL) {
        add_tag(writer, "</", writer->base->run, ">");
        writer->run = NULL;
    }
}

/* Opens a run with the properties of a mark. */
static void open_run(struct writer *writer, const struct clf__run_mark *mark)
{
    if (writer->run != NULL && writer->run->look == mark->look) {
        return;
    }
    close_run(writer);
    add_tag(writer, "<", writer->base->run, ">");
    add_range(writer, mark->properties);
    writer->run = mark;
}

/* Writes the text so far.
 *
 * @param keeps_space also writes the space after it. */
static void flush_text(struct writer *writer, int keeps_space)
{
    struct clf__output *text = &writer->text;
    if (writer->has_space && keeps_space) {
        clf__output_add(text, " ", 1);
    }
    writer->has_space = 0;
    if (text->size == 0) {
        return;
    }
    int has_spaces = text->bytes[0] == ' ' || text->bytes[text->size - 1] == ' ';
    open_run(writer, writer->stack[writer->depth]);
    add_tag(writer, "<", writer->base->text,
            has_spaces && writer->language->keeps_spaces ? " xml:space=\"preserve\">" : ">");
    clf__xml_escape(writer->splice->out, text->bytes, text->size);
    add_tag(writer, "</", writer->base->text, ">");
    text->size = 0;
}

static void add_text(struct writer *writer, const char *text, size_t size)
{
    if (size > 0 && writer->skips_space && *text == ' ') {
        text++;
        size--;
    }
    if (size == 0) {
        return;
    }
    writer->skips_space = 0;
    if (writer->has_space) {
        clf__output_add(&writer->text, " ", 1);
    }
    writer->is_after_term = 0;
    writer->has_space = text[size - 1] == ' ';
    clf__output_add(&writer->text, text, size - (size_t)writer->has_space);
}

static clf_status write_bytes(const struct writer *writer, size_t start, size_t end)
{
    return clf__splice_range(writer->splice, start, end);
}

static int has_space_at(const struct writer *writer, size_t at)
{
    return writer->segment->translation[at] == ' ';
}

/* Writes the content of a mark without other marks in it. */
static clf_status write_content(struct writer *writer, const struct clf__tags *tags)
{
    if (tags->is_term) {
        add_text(writer, writer->segment->kept + tags->start, tags->start_end - tags->start);
        writer->is_after_term = 1;
        return CLF_OK;
    }
    const struct clf__run_mark *mark = &writer->marks[tags->index];
    flush_text(writer, !mark->is_separator);
    if (mark->kind == CLF__RUN_IS_IN_RUN) {
        open_run(writer, mark);
    } else {
        close_run(writer);
    }
    writer->skips_space |= mark->is_separator;
    return write_bytes(writer, tags->start, tags->start_end);
}

/* Writes a mark without content, with the spaces that it had around it. */
static clf_status write_single(struct writer *writer, int index)
{
    const struct clf__tags *tags = &writer->segment->tags[index];
    size_t at = writer->segment->moved[index].start, size = writer->segment->translation_size;
    int is_after_word = at > 0 && !has_space_at(writer, at - 1);
    if (tags->spaces & CLF__SPACE_BEFORE && (is_after_word || writer->is_after_term)) {
        add_text(writer, " ", 1);
    }
    CLF__TRY(write_content(writer, tags));
    int is_apart = tags->spaces & CLF__SPACE_BEFORE || at == 0;
    if (is_apart && tags->spaces & CLF__SPACE_AFTER && at < size && !has_space_at(writer, at)) {
        add_text(writer, " ", 1);
    }
    return CLF_OK;
}

/* Returns whether a mark is a term, or an element that is written as it is. */
static int is_single(const struct writer *writer, const struct clf__tags *tags)
{
    const struct clf__run_mark *mark = &writer->marks[tags->index];
    return tags->is_term || mark->kind == CLF__RUN_IS_IN_RUN || mark->kind == CLF__RUN_IS_BESIDE;
}

static clf_status start_mark(struct writer *writer, int index)
{
    const struct clf__tags *tags = &writer->segment->tags[index];
    if (is_single(writer, tags)) {
        return write_single(writer, index);
    }
    const struct clf__run_mark *mark = &writer->marks[tags->index];
    flush_text(writer, 1);
    writer->stack[++writer->depth] = mark;
    if (mark->kind == CLF__RUN_IS_RUN) {
        return CLF_OK;
    }
    close_run(writer);
    return write_bytes(writer, tags->start, tags->start_end);
}

static clf_status end_mark(struct writer *writer, int index)
{
    const struct clf__tags *tags = &writer->segment->tags[index];
    if (is_single(writer, tags)) {
        return CLF_OK;
    }
    flush_text(writer, 1);
    writer->depth--;
    if (writer->marks[tags->index].kind == CLF__RUN_IS_RUN) {
        return CLF_OK;
    }
    close_run(writer);
    return write_bytes(writer, tags->end, tags->end_end);
}

static int take_event(void *user, enum clf__markup_event event, int mark, size_t start, size_t end)
{
    struct writer *writer = user;
    if (event == CLF__MARKUP_TEXT) {
        add_text(writer, writer->segment->translation + start, end - start);
    } else {
        writer->status = event == CLF__MARKUP_START ? start_mark(writer, mark) : end_mark(writer, mark);
    }
    return writer->status == CLF_OK;
}

static clf_status write_segment(const struct clf__splice *splice, const struct clf__segment *segment)
{
    const struct clf__runs *runs = splice->user;
    struct writer writer = {.splice = splice,
                            .segment = segment,
                            .language = runs->language,
                            .base = &runs->marks[segment->kind],
                            .marks = &runs->marks[segment->kind + 1]};
    writer.stack[0] = writer.base;
    add_text(&writer, " ", (size_t)writer.base->has_space_before);
    clf_status status = clf__markup_write(segment->moved, segment->shown.mark_count,
                                          segment->translation_size, take_event, &writer);
    add_text(&writer, " ", (size_t)writer.base->has_space_after);
    flush_text(&writer, 1);
    close_run(&writer);
    status = writer.status != CLF_OK ? writer.status : status == CLF_OK ? writer.text.status : status;
    clf__free(writer.text.bytes);
    return status == CLF_OK ? splice->out->status : status;
}

clf_status clf__runs_write(struct clf__output *out, const struct clf_document *document, const char *bytes,
                           size_t from, size_t to)
{
    const struct clf__container *container = document->state;
    const struct clf__splice splice = {out, &document->segments, bytes, write_segment, container->more};
    return clf__splice_range(&splice, from, to);
}

#endif
