/* Detects hallucinated segments (openai/whisper, transcribe.py, hallucination_silence_threshold): words that
 * are too short, too long or improbable, surrounded by silence. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "transcribe/internal.h"

enum { FIRST_WORDS = 8 }; /* number of words that are examined in a segment */

static const double IMPROBABLE = 0.15, SHORT = 0.133,
                    LONG = 2.0; /* probability of a word, and durations in seconds */
static const double SHORT_WEIGHT = 15.0, ANOMALY = 3.0, NEARLY = 0.01;
static const double EDGE = 2.0; /* seconds at either end of a window */
/* Punctuation that is joined to words; a word that is a substring of it is not counted. */
static const char SIGNS[] = CLF__PREPENDED CLF__APPENDED;

static double anomaly_score(const struct clf_word *word)
{
    double length = word->end - word->start;
    return (word->probability < IMPROBABLE ? 1.0 : 0.0) +
           (length < SHORT ? (SHORT - length) * SHORT_WEIGHT : 0.0) + (length > LONG ? length - LONG : 0.0);
}

int clf__segment_is_anomaly(const struct clf_segment *segment)
{
    double score = 0.0;
    int count = 0;
    for (int i = 0; i < segment->word_count && count < FIRST_WORDS; i++) {
        if (strstr(SIGNS, segment->words[i].text) == NULL) {
            score += anomaly_score(&segment->words[i]);
            count++;
        }
    }
    return segment->word_count > 0 && (score >= ANOMALY || score + NEARLY >= count);
}

/* Returns the first segment, `i` or later, that has words, or `count`. */
static int next_spoken(const struct clf_segment *segments, int count, int i)
{
    while (i < count && segments[i].word_count == 0) {
        i++;
    }
    return i;
}

/* Returns 1 if an anomalous segment has silence or another anomaly on both sides. */
static int is_isolated(const struct clf_segment *segments, int count, int i, double spoken,
                       const struct clf__window_times *window)
{
    const struct clf_segment *segment = &segments[i];
    int next = next_spoken(segments, count, i + 1);
    double follows = next < count ? segments[next].words[0].start : window->end;
    int is_before = segment->start - spoken > window->silence || segment->start < window->silence ||
                    segment->start - window->start < EDGE;
    int is_behind = follows - segment->end > window->silence ||
                    (next < count && clf__segment_is_anomaly(&segments[next])) ||
                    window->whole - segment->end < EDGE;
    return is_before && is_behind;
}

int clf__segments_keep(const struct clf_segment *segments, int count, const struct clf__window_times *window,
                       int64_t *seek)
{
    double spoken = window->spoken;
    int first = next_spoken(segments, count, 0);
    if (first < count && clf__segment_is_anomaly(&segments[first])) {
        double gap = segments[first].start - window->start;
        if (gap > window->silence) { /* the window is decoded again without the silence at its start */
            *seek = llrint(window->start * CLF__FRAMES_A_SECOND) + llrint(gap * CLF__FRAMES_A_SECOND);
            return -1;
        }
    }
    for (int i = first; i < count; i = next_spoken(segments, count, i + 1)) {
        const struct clf_segment *segment = &segments[i];
        if (clf__segment_is_anomaly(segment) && is_isolated(segments, count, i, spoken, window)) {
            *seek = llrint(fmax(window->start + 1.0, segment->start) * CLF__FRAMES_A_SECOND);
            if (window->recording - segment->end < window->silence) {
                *seek = llrint(window->recording * CLF__FRAMES_A_SECOND);
            }
            return i;
        }
        spoken = segment->end;
    }
    return count;
}
