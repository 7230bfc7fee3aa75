/* Writes subtitles. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "translate/documents/subtitles/layout.h"
#include "translate/documents/subtitles/subtitles.h"

/* Subtitles to warn about: their number, and the line of the first. */
struct finding {
    int count, line;
};

struct writer {
    struct clf__output *out;
    struct clf_document *document;
    const struct clf__subtitles *subtitles;
    struct clf__layout layout;
    struct finding long_cues, fast_cues, empty_cues;
};

static void find(struct finding *finding, const struct clf__cue *cue)
{
    finding->line = finding->count == 0 ? cue->line : finding->line;
    finding->count++;
}

static int is_changed(const struct writer *writer, const struct clf__cue *cue)
{
    for (int i = 0; i < cue->slot_count; i++) {
        const struct clf__slot *slot = &writer->subtitles->slots[cue->first_slot + i];
        for (int k = 0; k < slot->part_count; k++) {
            const struct clf__slot_part *part = &writer->subtitles->parts[slot->first_part + k];
            if (clf__segment_is_changed(clf__part_segment(writer->document, part))) {
                return 1;
            }
        }
    }
    return 0;
}

/* @param follows_text 1: a space may be needed before the part. */
static clf_status add_part(struct writer *writer, const struct clf__slot_part *part, int follows_text)
{
    const struct clf__segment *segment = clf__part_segment(writer->document, part);
    const char *text = segment->translation != NULL ? segment->translation : segment->text;
    const struct clf__segment_writer to = {writer->document->bytes, clf__layout_add_text, clf__layout_add_tag,
                                           &writer->layout};
    if (follows_text) {
        clf__layout_add_space(&writer->layout, text + part->from, part->to - part->from);
    }
    return clf__segment_write(&to, segment, part->from, part->to);
}

static clf_status add_slot(struct writer *writer, const struct clf__slot *slot)
{
    struct clf__layout *layout = &writer->layout;
    const char *plain = writer->subtitles->plain.bytes;
    if (slot->begins_line) {
        clf__layout_end_line(layout);
    } else if (slot->follows_space) {
        clf__layout_add_text(layout, " ", 1);
    }
    clf__layout_add_tag(layout, writer->document->bytes + slot->tag, slot->tag_end - slot->tag);
    clf__layout_add_text(layout, plain + slot->lead, slot->start - slot->lead);
    for (int i = 0; i < slot->part_count; i++) {
        CLF__TRY(add_part(writer, &writer->subtitles->parts[slot->first_part + i],
                          i > 0 || slot->lead == slot->start));
    }
    clf__layout_add_text(layout, plain + slot->end, slot->tail - slot->end);
    return CLF_OK;
}

/* Records a subtitle that is difficult to read. */
static void check(struct writer *writer, const struct clf__cue *cue)
{
    const struct clf_document_options *options = &writer->document->options;
    const struct clf__layout *layout = &writer->layout;
    double seconds = cue->to - cue->from,
           points = (double)clf__utf8_count(layout->text.bytes, layout->text.size);
    if (layout->text.size == 0) {
        find(&writer->empty_cues, cue);
        return;
    }
    if (options->subtitle_width > 0 && clf__layout_columns(layout) > (size_t)options->subtitle_width) {
        find(&writer->long_cues, cue);
    }
    if (options->reading_speed > 0 && seconds > 0 && points > options->reading_speed * seconds) {
        find(&writer->fast_cues, cue);
    }
}

/* Returns the line break before the text of a cue. */
static const char *newline_of(const struct writer *writer, const struct clf__cue *cue)
{
    const char *text = writer->document->bytes + cue->start;
    if (cue->start >= 2 && text[-2] == '\r' && text[-1] == '\n') {
        return "\r\n";
    }
    return cue->start >= 1 && text[-1] == '\r' ? "\r" : "\n";
}

static clf_status write_cue(struct writer *writer, const struct clf__cue *cue)
{
    struct clf__layout *layout = &writer->layout;
    const char *bytes = writer->document->bytes;
    clf__layout_clear(layout);
    clf__output_add(&layout->text, "", 0);
    for (int i = 0; i < cue->slot_count; i++) {
        CLF__TRY(add_slot(writer, &writer->subtitles->slots[cue->first_slot + i]));
    }
    CLF__TRY(layout->status);
    CLF__TRY(layout->text.status);
    CLF__TRY(clf__layout_break(layout, writer->document->options.subtitle_width));
    clf__output_add(writer->out, bytes + cue->start, cue->prefix - cue->start);
    const struct clf__cue_syntax *syntax = writer->subtitles->syntax;
    clf__layout_write(writer->out, layout,
                      syntax->line_break != NULL ? syntax->line_break : newline_of(writer, cue),
                      syntax->add_text);
    clf__output_add(writer->out, bytes + cue->suffix, cue->end - cue->suffix);
    check(writer, cue);
    return CLF_OK;
}

static clf_status write_cues(struct writer *writer)
{
    size_t at = 0;
    for (int i = 0; i < writer->subtitles->cue_count; i++) {
        const struct clf__cue *cue = &writer->subtitles->cues[i];
        if (is_changed(writer, cue)) {
            clf__output_add(writer->out, writer->document->bytes + at, cue->start - at);
            CLF__TRY(write_cue(writer, cue));
            at = cue->end;
        }
    }
    clf__output_add(writer->out, writer->document->bytes + at, writer->document->size - at);
    return CLF_OK;
}

static clf_status warn(struct clf_document *document, const struct finding *finding, const char *what)
{
    return finding->count == 0
               ? CLF_OK
               : clf__document_warn(document, "%d subtitle%s %s; the first is at line %d", finding->count,
                                    finding->count == 1 ? "" : "s", what, finding->line);
}

static clf_status warn_all(const struct writer *writer)
{
    const struct clf_document_options *options = &writer->document->options;
    char text[128];
    snprintf(text, sizeof text, "longer than two lines of %d characters", options->subtitle_width);
    CLF__TRY(warn(writer->document, &writer->long_cues, text));
    snprintf(text, sizeof text, "to be read faster than %g characters per second", options->reading_speed);
    CLF__TRY(warn(writer->document, &writer->fast_cues, text));
    return warn(writer->document, &writer->empty_cues,
                "without text, because the translation has too few words");
}

clf_status clf__subtitles_write(struct clf__output *out, struct clf_document *document)
{
    struct writer writer = {.out = out, .document = document, .subtitles = document->state};
    CLF__TRY(clf__subtitles_divide(document));
    clf_status status = write_cues(&writer);
    clf__layout_free(&writer.layout);
    return status == CLF_OK ? warn_all(&writer) : status;
}
