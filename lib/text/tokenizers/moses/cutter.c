#include "text/tokenizers/moses/cutter.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Maps punctuation to ASCII, then separates non-word characters. */
static const struct clf__moses_rule marks[] = {
    {CLF__MOSES_AS_FSMT, "[。．][{space}]*", ". "},
    {CLF__MOSES_AS_FSMT, "[，、]", ","},
    {CLF__MOSES_AS_FSMT, "[”“《》」「]", "\""},
    {CLF__MOSES_AS_FSMT, "[∶：]", ":"},
    {CLF__MOSES_AS_FSMT, "；", ";"},
    {CLF__MOSES_AS_FSMT, "？", "?"},
    {CLF__MOSES_AS_FSMT, "！", "!"},
    {CLF__MOSES_AS_FSMT, "（", "("},
    {CLF__MOSES_AS_FSMT, "）", ")"},
    {CLF__MOSES_AS_FSMT, "【", "["},
    {CLF__MOSES_AS_FSMT, "】", "]"},
    {CLF__MOSES_AS_FSMT, "〈", "<"},
    {CLF__MOSES_AS_FSMT, "〉", ">"},
    {CLF__MOSES_AS_FSMT, "～", "~"},
    {CLF__MOSES_AS_FSMT, "’", "'"},
    {CLF__MOSES_AS_FSMT, "…", "..."},
    {CLF__MOSES_AS_FSMT, "━", "-"},
    {CLF__MOSES_AS_FSMT, "％", "%"},
    {CLF__MOSES_AS_FSMT, "０", "0"},
    {CLF__MOSES_AS_FSMT, "１", "1"},
    {CLF__MOSES_AS_FSMT, "２", "2"},
    {CLF__MOSES_AS_FSMT, "３", "3"},
    {CLF__MOSES_AS_FSMT, "４", "4"},
    {CLF__MOSES_AS_FSMT, "５", "5"},
    {CLF__MOSES_AS_FSMT, "６", "6"},
    {CLF__MOSES_AS_FSMT, "７", "7"},
    {CLF__MOSES_AS_FSMT, "８", "8"},
    {CLF__MOSES_AS_FSMT, "９", "9"},
    {0, "\\r", ""},
    {0, "\\(", " ("},
    {0, "\\)", ") "},
    {0, " +", " "},
    {0, "\\) ([.!:?;,])", ")$1"},
    {0, "\\( ", "("},
    {0, " \\)", ")"},
    {0, "(\\p{Nd}) %", "$1%"},
    {0, " ([:;])", "$1"},
    {0, "`", "'"},
    {0, "''", " \" "},
    {0, "[„“”]", "\""},
    {0, "–", "-"},
    {0, "—", " - "},
    {0, " +", " "},
    {0, "[´‘’‚]", "'"},
    {0, "''", "\""},
    {0, "…", "..."},
    {0, "\\xa0«\\xa0|«\\xa0?", "\""},
    {0, "\\xa0»\\xa0|\\xa0?»", "\""},
    {0, "\\xa0%", "%"},
    {0, "nº\\xa0", "nº "},
    {0, "\\xa0:", ":"},
    {0, "\\xa0(ºC|cm)", " $1"},
    {0, "\\xa0([?!;])", "$1"},
    {0, ",\\xa0", ", "},
    {0, " +", " "},
    {CLF__MOSES_COMMA_IN_QUOTES, "\"([,.]+)", "$1\""},
    {CLF__MOSES_COMMA_BEHIND_QUOTES, ",\"", "\","},
    {CLF__MOSES_COMMA_BEHIND_QUOTES, "(?:\\G|(?<!\\.))(\\.+)\"([{space}]*[^<])", "\"$1$2"},
    {CLF__MOSES_DECIMAL_COMMA, "(\\p{Nd})\\xa0(\\p{Nd})", "$1,$2"},
    {CLF__MOSES_DECIMAL_POINT, "(\\p{Nd})\\xa0(\\p{Nd})", "$1.$2"},
    {CLF__MOSES_AS_FSMT, "\\p{C}+", ""},
    {0, "[{space}]+", " "},
    {0, "[\\x00-\\x1f]", ""},
    {0, "^ +|(?<! ) +$", ""},
    {0, "([^{alnum}{space}.'`,\\-])", " $1 "},
    {CLF__MOSES_AS_FSMT, "([{alnum}])-(?=[{alnum}])", "$1 @-@ "},
};

/* Separates commas outside numbers, and apostrophes. */
static const struct clf__moses_rule words[] = {
    {0, "([^{number}]),", "$1 , "},
    {0, ",([^{number}])", " , $1"},
    {0, "([{number}]),$", "$1 , "},
    {CLF__MOSES_APOSTROPHE_BEHIND, "([^{alpha}])'([^{alpha}])", "$1 ' $2"},
    {CLF__MOSES_APOSTROPHE_BEHIND, "([^{alpha}{number}])'([{alpha}])", "$1 ' $2"},
    {CLF__MOSES_APOSTROPHE_BEHIND, "([{alpha}])'([^{alpha}])", "$1 ' $2"},
    {CLF__MOSES_APOSTROPHE_BEHIND, "([{alpha}])'([{alpha}])", "$1 '$2"},
    {CLF__MOSES_APOSTROPHE_BEHIND, "([{number}])'s", "$1 's"},
    {CLF__MOSES_APOSTROPHE_BEFORE, "([^{alpha}])'([^{alpha}])", "$1 ' $2"},
    {CLF__MOSES_APOSTROPHE_BEFORE, "([^{alpha}])'([{alpha}])", "$1 ' $2"},
    {CLF__MOSES_APOSTROPHE_BEFORE, "([{alpha}])'([^{alpha}])", "$1 ' $2"},
    {CLF__MOSES_APOSTROPHE_BEFORE, "([{alpha}])'([{alpha}])", "$1' $2"},
    {CLF__MOSES_APOSTROPHE_APART, "'", " ' "},
};

static const struct clf__moses_rule ends[] = {
    {0, "\\.' ?$", " . ' "}, {0, "&", "&amp;"},   {0, "\\|", "&#124;"}, {0, "<", "&lt;"},    {0, ">", "&gt;"},
    {0, "'", "&apos;"},      {0, "\"", "&quot;"}, {0, "\\[", "&#91;"},  {0, "\\]", "&#93;"},
};

static clf_status open_cutter(struct clf__moses_cutter *out, const struct clf__moses_language *language,
                              const char *folder, int warns)
{
    CLF__TRY(clf__moses_sets_open(&out->sets, language));
    CLF__TRY(clf__moses_abbreviations_open(&out->abbreviations, folder, language, warns));
    CLF__TRY(clf__moses_rules_open(&out->marks, marks, COUNT(marks), language, &out->sets));
    CLF__TRY(clf__moses_rules_open(&out->words, words, COUNT(words), language, &out->sets));
    return clf__moses_rules_open(&out->ends, ends, COUNT(ends), language, &out->sets);
}

clf_status clf__moses_cutter_open(struct clf__moses_cutter *out, const char *code, unsigned also,
                                  const char *folder, int warns)
{
    struct clf__moses_language language = *clf__moses_language(code);
    language.does |= also;
    *out = (struct clf__moses_cutter){.sets = {.items = {NULL}}};
    clf_status status = open_cutter(out, &language, folder, warns);
    if (status != CLF_OK) {
        clf__moses_cutter_close(out);
    }
    return status;
}

void clf__moses_cutter_close(struct clf__moses_cutter *cutter)
{
    clf__moses_sets_close(&cutter->sets);
    clf__moses_abbreviations_close(&cutter->abbreviations);
    clf__moses_rules_close(&cutter->marks);
    clf__moses_rules_close(&cutter->words);
    clf__moses_rules_close(&cutter->ends);
}

/* --- Two or more dots are spelled out as a word until all other rules have run --- */

static const char one_dot[] = "DOT", dots_end[] = "MULTI";

/* Adds `count` dots, with spaces around them except at the end of the text. */
static clf_status put_dots(struct clf__moses_text *text, size_t count, int is_end)
{
    if (count < 2) {
        return clf__moses_put(text, ".", count);
    }
    CLF__TRY(clf__moses_put(text, " ", 1));
    for (size_t i = 0; i < count; i++) {
        CLF__TRY(clf__moses_put(text, one_dot, strlen(one_dot)));
    }
    CLF__TRY(clf__moses_put(text, dots_end, strlen(dots_end)));
    return clf__moses_put(text, " ", !is_end);
}

static clf_status spell_dots(struct clf__moses_work *work)
{
    const char *text = work->text.bytes, *end = text + work->text.size;
    while (text < end) {
        const char *dot = memchr(text, '.', (size_t)(end - text));
        dot = dot != NULL ? dot : end;
        CLF__TRY(clf__moses_put(&work->other, text, (size_t)(dot - text)));
        for (text = dot; text < end && *text == '.'; text++) {
        }
        CLF__TRY(put_dots(&work->other, (size_t)(text - dot), text == end));
    }
    clf__moses_work_turn(work);
    return CLF_OK;
}

/* As in sacremoses, the spelled-out word also becomes dots if it was in the original text. */
static clf_status unspell_dots(struct clf__moses_work *work)
{
    const char *text = work->text.bytes, *end = text + work->text.size;
    const size_t dot_size = strlen(one_dot), end_size = strlen(dots_end);
    while (text < end) {
        const char *start = memchr(text, *one_dot, (size_t)(end - text)), *stop;
        start = start != NULL ? start : end;
        CLF__TRY(clf__moses_put(&work->other, text, (size_t)(start - text)));
        text = stop = start;
        while ((size_t)(end - stop) >= dot_size && memcmp(stop, one_dot, dot_size) == 0) {
            stop += dot_size;
        }
        int is_spelt =
            stop > text && (size_t)(end - stop) >= end_size && memcmp(stop, dots_end, end_size) == 0;
        if (is_spelt) {
            for (; text < stop; text += dot_size) {
                CLF__TRY(clf__moses_put(&work->other, ".", 1));
            }
            text += end_size;
        } else {
            stop += stop == text && text < end;
            CLF__TRY(clf__moses_put(&work->other, text, (size_t)(stop - text)));
            text = stop;
        }
    }
    clf__moses_work_turn(work);
    return CLF_OK;
}

clf_status clf__moses_cut(const struct clf__moses_cutter *cutter, struct clf__moses_work *work)
{
    CLF__TRY(clf__moses_rules_run(&cutter->marks, work));
    CLF__TRY(spell_dots(work));
    CLF__TRY(clf__moses_rules_run(&cutter->words, work));
    CLF__TRY(clf__moses_part_full_stops(work, &cutter->abbreviations, &cutter->sets));
    CLF__TRY(clf__moses_rules_run(&cutter->ends, work));
    return unspell_dots(work);
}
