/* The timestamp rules (openai/whisper, decoding.py, ApplyTimestampRules). */
#include <math.h>

#include "search/whisper.h"

static void set_range(int32_t *ranges, int which, int32_t first, int32_t end)
{
    ranges[2 * which] = first;
    ranges[2 * which + 1] = end;
}

/* Returns the lowest allowed timestamp: timestamps do not decrease, and only the end of a segment may equal
 * its start. */
static int32_t lowest_time(const struct clf__whisper_rules *rules, const int32_t *ids, int count,
                           int closes_pair)
{
    for (int i = count - 1; i >= 0; i--) {
        if (ids[i] >= rules->timestamp_begin) {
            return ids[i] + !closes_pair;
        }
    }
    return rules->timestamp_begin;
}

/* Returns whether the timestamp rules apply to the id after `count` generated ids. */
static int applies(const struct clf__whisper_rules *rules, int count)
{
    return rules->has_timestamps && (count > 0 || rules->prefix_count == 0);
}

void clf__timestamps_ranges(int32_t *ranges, const struct clf__whisper_rules *rules, const int32_t *ids,
                            int count)
{
    int32_t begin = rules->timestamp_begin;
    set_range(ranges, CLF__RANGE_NO_SPEECH, rules->no_speech_id, rules->no_speech_id + 1);
    set_range(ranges, CLF__RANGE_TEXT, 0, rules->end_id);
    set_range(ranges, CLF__RANGE_SPECIAL, rules->end_id, begin);
    set_range(ranges, CLF__RANGE_TIMES, begin, rules->vocabulary);
    if (rules->languages > 0) {
        set_range(ranges, CLF__RANGE_TEXT, rules->start_id + 1, rules->start_id + 1 + rules->languages);
        set_range(ranges, CLF__RANGE_SPECIAL, 0, 0);
        set_range(ranges, CLF__RANGE_TIMES, 0, 0);
        return;
    }
    if (!rules->has_timestamps && rules->text_only) {
        set_range(ranges, CLF__RANGE_SPECIAL, 0, 0);
        set_range(ranges, CLF__RANGE_TIMES, 0, 0);
    }
    if (!applies(rules, count)) {
        return;
    }
    if (count == 0) {
        int32_t end = begin + rules->first_timestamps;
        set_range(ranges, CLF__RANGE_TEXT, 0, 0);
        set_range(ranges, CLF__RANGE_SPECIAL, 0, 0);
        set_range(ranges, CLF__RANGE_TIMES, begin,
                  rules->first_timestamps > 0 && end < rules->vocabulary ? end : rules->vocabulary);
        return;
    }
    int is_time = ids[count - 1] >= begin, is_behind_time = count < 2 || ids[count - 2] >= begin;
    int32_t lowest = lowest_time(rules, ids, count, is_time && !is_behind_time);
    set_range(ranges, CLF__RANGE_TIMES, lowest, rules->vocabulary);
    if (is_time && is_behind_time) {
        set_range(ranges, CLF__RANGE_TIMES, 0, 0);
    } else if (is_time) {
        set_range(ranges, CLF__RANGE_TEXT, 0, 0);
    }
}

/* log(exp(a) + exp(b)) */
static double add_logs(double a, double b)
{
    double larger = fmax(a, b);
    return larger == -INFINITY ? larger : larger + log1p(exp(fmin(a, b) - larger));
}

struct clf__allowed clf__timestamps_allowed(const struct clf__whisper_rules *rules, int count,
                                            const float *values, const int32_t *range_ids,
                                            const float *statistics, int k)
{
    struct clf__allowed allowed = {CLF__RANGE_TEXT, -INFINITY};
    double sums[CLF__WHISPER_RANGES], best_other = -INFINITY;
    for (int r = CLF__RANGE_TEXT; r < CLF__WHISPER_RANGES; r++) {
        int is_empty = range_ids[r * k] < 0;
        sums[r] = is_empty ? -INFINITY : (double)statistics[2 * r] + (double)statistics[2 * r + 1];
        if (r != CLF__RANGE_TIMES && !is_empty) {
            best_other = fmax(best_other, (double)values[r * k]);
        }
    }
    if (applies(rules, count) && sums[CLF__RANGE_TIMES] > best_other) {
        allowed.first = CLF__RANGE_TIMES; /* all timestamps together are more probable than any other token */
    }
    for (int r = allowed.first; r < CLF__WHISPER_RANGES; r++) {
        allowed.normaliser = add_logs(allowed.normaliser, sums[r]);
    }
    return allowed;
}

int clf__timestamps_candidates(int32_t *ids, double *log_probabilities,
                               const struct clf__whisper_rules *rules, int count, const float *values,
                               const int32_t *range_ids, const float *statistics, int k)
{
    struct clf__allowed allowed = clf__timestamps_allowed(rules, count, values, range_ids, statistics, k);
    int next[CLF__WHISPER_RANGES] = {0}, found = 0;
    while (found < k) {
        int from = -1;
        for (int r = allowed.first; r < CLF__WHISPER_RANGES; r++) {
            int is_left = next[r] < k && range_ids[r * k + next[r]] >= 0;
            if (is_left && (from < 0 || values[r * k + next[r]] > values[from * k + next[from]])) {
                from = r;
            }
        }
        if (from < 0) {
            break;
        }
        ids[found] = range_ids[from * k + next[from]];
        log_probabilities[found++] = (double)values[from * k + next[from]++] - allowed.normaliser;
    }
    return found;
}
