#include "transcribe/cues.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/speech.h"

/* The defaults of openai/whisper. */
enum { DEFAULT_WIDTH = 1000, DEFAULT_WORDS = 1000 };

static const double LONG_PAUSE = 3.0; /* seconds from the start of a word to the start of the next */

/* A word, preceded by a space, a newline or nothing. */
struct placed {
    char *text; /* owned */
    long long start, end;
    int begins_cue;
};

/* Words in layout order. */
struct layout {
    const struct clf_transcript_options *options;
    struct placed *words;
    int count;
    int in_cue;      /* number of words in the last cue */
    int lines;       /* number of lines in the last cue */
    int line_length; /* length of the last line in characters */
    double last;     /* start of the last word */
};

void clf__line_breaks_remove(char *text)
{
    static const char *const breaks[] = {"\n",   "\r",   "\v",       "\f",           "\x1c",
                                         "\x1d", "\x1e", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t length = 0;
        for (size_t i = 0; i < sizeof breaks / sizeof *breaks && length == 0; i++) {
            length = strncmp(from, breaks[i], strlen(breaks[i])) == 0 ? strlen(breaks[i]) : 0;
        }
        *to++ = length > 0 ? ' ' : *from;
        from += length > 0 ? length : 1;
    }
    *to = '\0';
}

static int count_characters(const char *text)
{
    return (int)clf__utf8_count(text, strlen(text));
}

/* Begins a line with a word; begins a cue if the cue is full or `breaks` is set. */
static clf_status begin_line(struct layout *layout, struct placed *placed, const struct clf_word *word,
                             int is_paused, int breaks)
{
    int most = layout->options->max_line_count;
    size_t size;
    const char *stripped = clf__speech_strip(&size, word->text);
    int is_full = layout->in_cue > 0 && most > 0 && (is_paused || layout->lines >= most);
    int is_below = !is_full && !breaks && layout->line_length > 0;
    CLF__TRY(clf__format(&placed->text, "%s%.*s", is_below ? "\n" : "", (int)size, stripped));
    clf__line_breaks_remove(placed->text + is_below);
    if (is_full || breaks) {
        placed->begins_cue = 1;
        layout->in_cue = 0;
        layout->lines = 1;
    }
    layout->lines += is_below;
    layout->line_length = count_characters(placed->text) - is_below;
    return CLF_OK;
}

/* `is_first`: the word is the first of a segment, or of a chunk of a segment. */
static clf_status place_word(struct layout *layout, const struct clf_word *word, int is_first)
{
    const struct clf_transcript_options *options = layout->options;
    int keeps_segments = options->max_line_count == 0 || options->max_line_width == 0;
    int width = options->max_line_width > 0 ? options->max_line_width : DEFAULT_WIDTH;
    int length = count_characters(word->text);
    int is_paused = !keeps_segments && word->start - layout->last > LONG_PAUSE;
    int breaks = is_first && layout->in_cue > 0 && keeps_segments;
    struct placed *placed = &layout->words[layout->count];
    *placed = (struct placed){.start = clf__milliseconds(word->start),
                              .end = clf__milliseconds(word->end),
                              .begins_cue = layout->count == 0};
    if (layout->line_length > 0 && layout->line_length + length <= width && !is_paused && !breaks) {
        CLF__TRY(clf__copy_string(&placed->text, word->text));
        clf__line_breaks_remove(placed->text);
        layout->line_length += length;
    } else {
        CLF__TRY(begin_line(layout, placed, word, is_paused, breaks));
    }
    layout->count++;
    layout->in_cue++;
    layout->last = word->start;
    return CLF_OK;
}

static clf_status place_words(struct layout *layout, const struct clf_transcript *transcript)
{
    int most = layout->options->max_words_per_line > 0 ? layout->options->max_words_per_line : DEFAULT_WORDS;
    size_t total = 0;
    for (int i = transcript->count - 1; i >= 0; i--) {
        const struct clf_segment *segment = &transcript->segments[i];
        total += (size_t)segment->word_count;
        layout->last = segment->word_count > 0 ? segment->words[0].start : layout->last;
    }
    CLF__TRY(clf__allocate(&layout->words, total, sizeof *layout->words));
    for (int i = 0; i < transcript->count; i++) {
        const struct clf_segment *segment = &transcript->segments[i];
        for (int k = 0; k < segment->word_count; k++) {
            CLF__TRY(place_word(layout, &segment->words[k], k % most == 0));
        }
    }
    return CLF_OK;
}

/* Replaces arrows such as "-->", with any number of hyphens, with "->", which subtitle parsers do not take
 * for cue times. */
static void remove_arrows(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        size_t hyphens = strspn(from, "-");
        if (hyphens > 1 && from[hyphens] == '>') {
            from += hyphens - 1;
        }
        *to++ = *from;
    }
    *to = '\0';
}

/* Takes ownership of `text`. Only the layout may add line breaks, because a blank line would end the cue. */
static clf_status add_cue(struct clf__cues *cues, long long start, long long end, char *text)
{
    remove_arrows(text);
    clf_status status = clf__grow(&cues->data, cues->count, &cues->capacity, sizeof *cues->data);
    if (status != CLF_OK) {
        clf__free(text);
        return status;
    }
    cues->data[cues->count++] = (struct clf__cue){start, end, text};
    return CLF_OK;
}

/* Appends a word between <u> and </u>, after its leading space; a word with a line break is not underlined.
 */
static clf_status append_underlined(char **text, const char *word)
{
    size_t size, space = 0, all = strlen(word);
    const char *start = clf__speech_strip(&size, word);
    space = size > 0 ? (size_t)(start - word) : all;
    const char *newline = strchr(word + space, '\n');
    size_t end = newline != NULL ? (size_t)(newline - word) : all;
    return end + 1 < all ? clf__append(text, "%s", word)
                         : clf__append(text, "%.*s<u>%.*s</u>%s", (int)space, word, (int)(end - space),
                                       word + space, word + end);
}

/* Builds the text of a cue with word `underlined` underlined, or none if it is -1. */
static clf_status join_words(char **text, const struct placed *words, int count, int underlined)
{
    *text = NULL;
    CLF__TRY(clf__copy_string(text, ""));
    for (int i = 0; i < count; i++) {
        clf_status status =
            i == underlined ? append_underlined(text, words[i].text) : clf__append(text, "%s", words[i].text);
        if (status != CLF_OK) {
            clf__free(*text);
            return status;
        }
    }
    return CLF_OK;
}

static clf_status add_words(struct clf__cues *cues, const struct placed *words, int count, int underlined,
                            long long start, long long end)
{
    char *text;
    CLF__TRY(join_words(&text, words, count, underlined));
    return add_cue(cues, start, end, text);
}

/* Adds one cue for each word, and one for each gap before a word. */
static clf_status add_highlighted(struct clf__cues *cues, const struct placed *words, int count)
{
    long long last = words[0].start;
    for (int i = 0; i < count; i++) {
        if (words[i].start != last) {
            CLF__TRY(add_words(cues, words, count, -1, last, words[i].start));
        }
        CLF__TRY(add_words(cues, words, count, i, words[i].start, words[i].end));
        last = words[i].end;
    }
    return CLF_OK;
}

static clf_status add_placed(struct clf__cues *cues, const struct layout *layout)
{
    for (int first = 0, end; first < layout->count; first = end) {
        const struct placed *words = layout->words + first;
        end = first + 1;
        while (end < layout->count && !layout->words[end].begins_cue) {
            end++;
        }
        int count = end - first;
        CLF__TRY(layout->options->highlight_words
                     ? add_highlighted(cues, words, count)
                     : add_words(cues, words, count, -1, words[0].start, words[count - 1].end));
    }
    return CLF_OK;
}

static clf_status make_of_words(struct clf__cues *cues, const struct clf_transcript *transcript,
                                const struct clf_transcript_options *options)
{
    struct layout layout = {.options = options, .lines = 1};
    clf_status status = place_words(&layout, transcript);
    status = status == CLF_OK ? add_placed(cues, &layout) : status;
    for (int i = 0; i < layout.count; i++) {
        clf__free(layout.words[i].text);
    }
    clf__free(layout.words);
    return status;
}

static clf_status make_of_segment(struct clf__cues *cues, const struct clf_segment *segment)
{
    size_t size;
    const char *stripped = clf__speech_strip(&size, segment->text);
    char *text;
    CLF__TRY(clf__copy_bytes(&text, stripped, size));
    clf__line_breaks_remove(text);
    return add_cue(cues, clf__milliseconds(segment->start), clf__milliseconds(segment->end), text);
}

clf_status clf__cues_make(struct clf__cues *out, const struct clf_transcript *transcript,
                          const struct clf_transcript_options *options)
{
    *out = (struct clf__cues){0};
    if (transcript->has_words) {
        return make_of_words(out, transcript, options);
    }
    for (int i = 0; i < transcript->count; i++) {
        CLF__TRY(make_of_segment(out, &transcript->segments[i]));
    }
    return CLF_OK;
}

void clf__cues_free(struct clf__cues *cues)
{
    for (int i = 0; i < cues->count; i++) {
        clf__free(cues->data[i].text);
    }
    clf__free(cues->data);
    *cues = (struct clf__cues){0};
}
