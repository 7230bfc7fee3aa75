/* Describes the results of tuning in sentences. */
#include "tune/tune.h"

#include <stdio.h>
#include <string.h>

/* Appends to a text. TUNE_GAINS_TEXT is large enough for every text of this file. */
static void add(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

void tune_describe_gains(char *text, size_t size, const double ratios[CLF__TUNABLE_COUNT])
{
    int faster = 0, others = 0;
    *text = '\0';
    for (int tunable = 0; tunable < CLF__TUNABLE_COUNT; tunable++) {
        if (ratios[tunable] > 0 && ratios[tunable] < 1) {
            char gain[32];
            snprintf(gain, sizeof gain, " %.2f×", 1 / ratios[tunable]);
            add(text, size, faster++ == 0 ? "Speed-up: " : ", ");
            add(text, size, clf__tunables[tunable].name);
            add(text, size, gain);
        }
    }
    add(text, size, faster > 0 ? " (each for the work that it affects)." : "");
    for (int tunable = 0; tunable < CLF__TUNABLE_COUNT; tunable++) {
        if (ratios[tunable] >= 1) {
            const char *begin = faster > 0 ? " No speed-up: " : "No speed-up: ";
            add(text, size, others++ == 0 ? begin : ", ");
            add(text, size, clf__tunables[tunable].name);
        }
    }
    add(text, size, others > 0 ? " (the default is the fastest)." : "");
}

void tune_describe_total(char *text, size_t size, const struct tune_result results[2])
{
    const struct tune_result *untuned = &results[0], *tuned = &results[1];
    const char *what = "encoding and decoding, one line and many";
    double gain = 1 - tuned->ratio;
    if (tuned->is_slow) {
        snprintf(text, size, "Total: %s takes more than three times as long as untuned.", what);
    } else if (gain > tuned->spread || -gain > tuned->spread) {
        snprintf(text, size, "Total: %s is %.2f times as %s as untuned, %.3g ms instead of %.3g ms.", what,
                 gain > 0 ? 1 / tuned->ratio : tuned->ratio, gain > 0 ? "fast" : "slow", 1e3 * tuned->seconds,
                 1e3 * untuned->seconds);
    } else {
        snprintf(
            text, size,
            "Total: %s takes %.2f of the untuned time, which is within the variation of the times (%.2f).",
            what, tuned->ratio, tuned->spread / 2);
    }
}
