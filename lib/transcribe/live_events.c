#include "transcribe/live_events.h"

#include <string.h>

#include "base/memory.h"

static void free_event(struct clf_live_event *event)
{
    for (int i = 0; i < event->word_count; i++) {
        clf__free(event->words[i].text);
    }
    clf__free((void *)event->words);
    clf__free((void *)event->text);
    clf__free((void *)event->language);
    *event = (struct clf_live_event){0};
}

/* Copies words into an event, and their texts into its text. */
static clf_status copy_words(struct clf_live_event *event, const struct clf__live_word *words, int count)
{
    struct clf_word *copies;
    char *text;
    CLF__TRY(clf__copy_string(&text, ""));
    event->text = text;
    CLF__TRY(clf__allocate(&copies, (size_t)count, sizeof *copies));
    event->words = copies;
    for (; event->word_count < count; event->word_count++) {
        struct clf_word *copy = &copies[event->word_count];
        *copy = words[event->word_count].word;
        CLF__TRY(clf__copy_string(&copy->text, copy->text));
    }
    for (int i = 0; i < count; i++) {
        clf_status status = clf__append(&text, "%s", copies[i].text);
        event->text = text;
        CLF__TRY(status);
    }
    return CLF_OK;
}

static clf_status add(struct clf__live_events *events, clf_live_kind kind, const struct clf__live_word *words,
                      int count)
{
    char *language;
    CLF__TRY(clf__grow(&events->data, events->count, &events->capacity, sizeof *events->data));
    struct clf_live_event *event = &events->data[events->count];
    *event = (struct clf_live_event){
        .size = sizeof *event,
        .kind = kind,
        .start = count > 0 ? words[0].word.start : events->received,
        .end = count > 0 ? words[count - 1].word.end : events->received,
        .received = events->received,
    };
    clf_status status = copy_words(event, words, count);
    if (status == CLF_OK) {
        status = clf__copy_string(&language, events->language != NULL ? events->language : "");
    }
    if (status != CLF_OK) {
        free_event(event);
        return status;
    }
    event->language = language;
    events->count++;
    return CLF_OK;
}

clf_status clf__live_events_end_segment(struct clf__live_events *events)
{
    struct clf__live_words *segment = &events->segment;
    if (segment->count > 0) {
        CLF__TRY(add(events, CLF_LIVE_SEGMENT, segment->data, segment->count));
        clf__live_words_drop(segment, segment->count);
    }
    return CLF_OK;
}

clf_status clf__live_events_add(struct clf__live_events *events, const struct clf__live_words *words,
                                int first)
{
    for (int end = first; first < words->count; first = end) {
        if (words->data[first].begins_segment) {
            CLF__TRY(clf__live_events_end_segment(events));
        }
        do {
            const struct clf__live_word *word = &words->data[end++];
            CLF__TRY(clf__live_words_add(&events->segment, &word->word, word->begins_segment));
        } while (end < words->count && !words->data[end].begins_segment);
        CLF__TRY(add(events, CLF_LIVE_WORDS, words->data + first, end - first));
    }
    return CLF_OK;
}

clf_status clf__live_events_add_unstable(struct clf__live_events *events, const struct clf__live_words *words)
{
    return add(events, CLF_LIVE_UNSTABLE, words->data, words->count);
}

const struct clf_live_event *clf__live_events_take(struct clf__live_events *events)
{
    free_event(&events->taken);
    if (events->count == 0) {
        return NULL;
    }
    events->taken = events->data[0];
    events->count--;
    memmove(events->data, events->data + 1, (size_t)events->count * sizeof *events->data);
    return &events->taken;
}

void clf__live_events_free(struct clf__live_events *events)
{
    while (clf__live_events_take(events) != NULL) {
    }
    clf__live_words_free(&events->segment);
    clf__free(events->data);
    events->data = NULL;
}
