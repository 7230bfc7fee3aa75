/* Terms as constraints of a search: the ids of a term depend on the text before it, so a term has several
 * forms. */
#include "engine/terms.h"

#include <string.h>

#include <unicode/utf8.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "search/options.h"
#include "search/search.h"

/* --- The ids of a term. --- */

/* Encodes a text without the end token. */
static clf_status encode(struct clf__ids *out, const struct clf__settings *settings, const char *text)
{
    CLF__TRY(clf__tokenizer_encode(settings->model->tokenizer, out, text, strlen(text), 1, 0));
    out->count -= out->count > 0 && out->data[out->count - 1] == settings->model->transformer->config.end_id;
    return CLF_OK;
}

/* Encodes a target after another text. *out receives no ids if the ids of the other text change. */
static clf_status encode_after(struct clf__ids *out, const struct clf__settings *settings, const char *before,
                               const char *space, const char *target)
{
    struct clf__ids head = {.count = 0}, whole = {.count = 0};
    char *text = NULL;
    clf_status status = clf__format(&text, "%s%s%s", before, space, target);
    out->count = 0;
    if (status == CLF_OK) {
        status = encode(&head, settings, before);
    }
    if (status == CLF_OK) {
        status = encode(&whole, settings, text);
    }
    int is_head = status == CLF_OK && head.count <= whole.count &&
                  memcmp(head.data, whole.data, (size_t)head.count * sizeof *head.data) == 0;
    for (int i = head.count; is_head && i < whole.count && status == CLF_OK; i++) {
        status = clf__ids_append(out, whole.data[i]);
    }
    clf__ids_free(&head);
    clf__ids_free(&whole);
    clf__free(text);
    return status;
}

/* Encodes a target directly after a mark. *out receives no ids if the target changes the ids of every mark.
 */
static clf_status encode_joined(struct clf__ids *out, const struct clf__settings *settings,
                                const char *target)
{
    static const char *const marks[] = {"(", "\"", "'", "-", "\xe3\x80\x82"};
    out->count = 0;
    for (size_t i = 0; out->count == 0 && i < sizeof marks / sizeof *marks; i++) {
        CLF__TRY(encode_after(out, settings, marks[i], "", target));
    }
    return CLF_OK;
}

/* Returns whether the search can generate ids. */
static int is_usable(const struct clf__ids *ids, const struct clf__settings *settings)
{
    const struct clf__search_options *search = &settings->search;
    int32_t unknown = clf__tokenizer_unknown(settings->model->tokenizer);
    int is_right = ids->count > 0;
    for (int i = 0; i < ids->count; i++) {
        int32_t id = ids->data[i];
        is_right &= id >= 0 && id < search->vocabulary && id != unknown && !clf__is_end(search, id);
        for (int k = 0; k < search->suppressed_count; k++) {
            is_right &= id != search->suppressed[k];
        }
    }
    return is_right;
}

/* Adds a form, or its places to an equal form of the phrase; takes the ids. */
static void add_form(struct clf__terms *terms, int phrase, struct clf__ids *ids, int places)
{
    for (int i = 0; i < terms->form_count; i++) {
        struct clf__phrase_form *form = &terms->forms[i];
        if (form->phrase == phrase && form->length == ids->count &&
            memcmp(form->ids, ids->data, (size_t)ids->count * sizeof *ids->data) == 0) {
            form->places |= places;
            return;
        }
    }
    terms->ids[terms->form_count] = *ids;
    terms->forms[terms->form_count++] =
        (struct clf__phrase_form){.ids = ids->data, .length = ids->count, .phrase = phrase, .places = places};
    *ids = (struct clf__ids){.count = 0};
}

/* The ids of a target: at the beginning of a text, after a space, and directly after a mark. */
struct encoded {
    struct clf__ids first, spaced, joined;
};

static clf_status encode_forms(struct encoded *out, const struct clf__settings *settings, const char *target)
{
    CLF__TRY(encode(&out->first, settings, target));
    CLF__TRY(encode_after(&out->spaced, settings, "a", " ", target));
    return encode_joined(&out->joined, settings, target);
}

/* Adds the forms of a target as a phrase. In scripts without spaces, a form without a space follows words,
 * too. A target without a usable form adds none. */
static clf_status add_forms(struct clf__terms *terms, int phrase, const struct clf__settings *settings,
                            const char *target)
{
    struct encoded encoded = {.first = {.count = 0}};
    int32_t at = 0, character;
    U8_NEXT(target, at, -1, character);
    clf_status status = encode_forms(&encoded, settings, target);
    int has_joined = status == CLF_OK && is_usable(&encoded.joined, settings);
    int is_unspaced = has_joined && clf__is_unspaced(character);
    int has_spaced = status == CLF_OK && !is_unspaced && is_usable(&encoded.spaced, settings);
    if (has_joined) {
        add_form(terms, phrase, &encoded.joined,
                 is_unspaced ? CLF__AFTER_OTHER | CLF__AFTER_WORD : CLF__AFTER_OTHER);
    }
    if (has_spaced) {
        add_form(terms, phrase, &encoded.spaced, CLF__AFTER_OTHER | CLF__AFTER_WORD);
    }
    if (status == CLF_OK && is_usable(&encoded.first, settings)) {
        add_form(terms, phrase, &encoded.first,
                 has_spaced || is_unspaced ? CLF__AFTER_NO_TEXT : CLF__AFTER_ALL);
    }
    clf__ids_free(&encoded.first);
    clf__ids_free(&encoded.spaced);
    clf__ids_free(&encoded.joined);
    return status;
}

static void drop_forms(struct clf__terms *terms, int phrase)
{
    while (terms->form_count > 0 && terms->forms[terms->form_count - 1].phrase == phrase) {
        clf__ids_free(&terms->ids[--terms->form_count]);
    }
}

/* Makes the targets phrases that the search can require. */
static clf_status add_phrases(struct clf__terms *terms, const struct clf__settings *settings)
{
    size_t most = (size_t)clf__min_int(terms->targets.count, CLF__PHRASES_LIMIT) + 1;
    char **items = terms->targets.items;
    struct clf__constraints *constraints = &terms->constraints;
    CLF__TRY(clf__allocate(&terms->forms, CLF__FORMS_EACH * most, sizeof *terms->forms));
    CLF__TRY(clf__allocate(&terms->ids, CLF__FORMS_EACH * most, sizeof *terms->ids));
    constraints->forms = terms->forms;
    for (int i = 0; i < terms->targets.count && constraints->phrase_count < CLF__PHRASES_LIMIT; i++) {
        int phrase = constraints->phrase_count, before = terms->form_count;
        CLF__TRY(add_forms(terms, phrase, settings, items[i]));
        constraints->form_count = terms->form_count;
        constraints->phrase_count = phrase + 1;
        if (terms->form_count == before || clf__constraints_tokens(constraints) > CLF__PHRASE_TOKENS_LIMIT) {
            drop_forms(terms, phrase);
            constraints->form_count = terms->form_count;
            constraints->phrase_count = phrase;
            continue;
        }
        char *target = items[i];
        items[i] = items[phrase];
        items[phrase] = target;
    }
    return CLF_OK;
}

/* --- The search. --- */

/* Decodes ids for a callback of the search, which has no status. */
static char *decode(struct clf__terms *terms, const int32_t *ids, int count)
{
    char *text = NULL;
    clf_status status = clf__tokenizer_decode(terms->settings->model->tokenizer, &text, ids, count, 0);
    terms->status = status != CLF_OK ? status : terms->status;
    return status == CLF_OK ? text : NULL;
}

static int is_text(const struct clf__terms *terms, int32_t id)
{
    return clf__tokenizer_is_text(terms->settings->model->tokenizer, id, 0);
}

/* Returns 0 after a failure. */
static int find_place(struct clf__terms *terms, int32_t id)
{
    char *text = is_text(terms, id) ? decode(terms, &id, 1) : NULL;
    int32_t end = text != NULL ? (int32_t)strlen(text) : 0, character = -1;
    if (text == NULL) {
        return is_text(terms, id) ? 0 : CLF__AFTER_NO_TEXT;
    }
    if (end > 0) {
        U8_PREV(text, 0, end, character);
    }
    clf__free(text);
    return character >= 0 && clf__is_word_character(character) ? CLF__AFTER_WORD : CLF__AFTER_OTHER;
}

/* A struct clf__constraints.place_of; `user` is the terms. */
static int place_of(void *user, int32_t id)
{
    struct clf__terms *terms = user;
    atomic_uchar *kept = &terms->settings->places[id];
    int known = atomic_load_explicit(kept, memory_order_relaxed);
    if (known == 0) {
        known = find_place(terms, id);
        atomic_fetch_or_explicit(kept, (unsigned char)known, memory_order_relaxed);
    }
    return known;
}

/* A struct clf__constraints.continues_word; `user` is the terms. Returns whether the text of two ids has no
 * space between them, and the second one begins with a letter or a digit of a script with spaces. */
static int continues_word(void *user, int32_t before, int32_t id)
{
    struct clf__terms *terms = user;
    const int32_t ids[] = {before, id};
    char *first = is_text(terms, id) ? decode(terms, ids, 1) : NULL;
    char *both = first != NULL ? decode(terms, ids, 2) : NULL;
    int32_t at = first != NULL ? (int32_t)strlen(first) : 0, character = -1;
    if (both != NULL && strncmp(both, first, (size_t)at) == 0 && both[at] != '\0') {
        U8_NEXT(both, at, -1, character);
    }
    clf__free(first);
    clf__free(both);
    return character >= 0 && clf__is_word_character(character) && !clf__is_unspaced(character);
}

/* Returns the first of some sizes that is at least `wanted`, so that few different sessions are created. */
static int round_up(int wanted, const int *sizes)
{
    while (*sizes > 0 && *sizes < wanted) {
        sizes++;
    }
    return *sizes > 0 ? *sizes : wanted;
}

static struct clf__capacity capacity_of(const struct clf__unit *unit)
{
    static const int beams[] = {8, 16, CLF__TERM_BEAMS, 0},
                     picks[] = {16, 64, 2 * CLF__PHRASES_LIMIT * CLF__FORMS_EACH, 0};
    static const int words[] = {64, 256, CLF__PHRASE_TOKENS_LIMIT * CLF__FORMS_EACH, 0};
    struct clf__capacity capacity = unit->settings->capacity;
    struct clf__search_options widest = unit->search;
    int ids = 0;
    if (unit->search.constraints == NULL) {
        return capacity;
    }
    for (int i = 0; i < unit->terms->form_count; i++) {
        ids += unit->terms->forms[i].length;
    }
    widest.beams = widest.other_end_count == 0 ? round_up(widest.beams, beams) : widest.beams;
    capacity.search = clf__search_limits_for(&widest, 0);
    capacity.search.picks = round_up(capacity.search.picks, picks);
    capacity.candidates = clf__candidates_wanted(&widest);
    if (capacity.shortlist_base + capacity.shortlist_each > 0) {
        capacity.shortlist_base += round_up(ids, words);
    }
    return capacity;
}

/* Returns the beam size for a line: with one beam for each number of phrase tokens, every bank has one. */
static int choose_beams(const struct clf__search_options *search, const struct clf__constraints *constraints)
{
    int wanted = clf__min_int(clf__constraints_tokens(constraints) + 1, CLF__TERM_BEAMS);
    int most = CLF__SEARCH_CANDIDATES_LIMIT / (search->other_end_count + 2);
    return clf__max_int(search->beams, clf__min_int(wanted, most));
}

static clf_status require(struct clf__unit *unit)
{
    struct clf__terms *terms = unit->terms;
    struct clf__search_options *search = &unit->search;
    terms->settings = unit->settings;
    CLF__TRY(add_phrases(terms, unit->settings));
    if (terms->constraints.phrase_count > 0) {
        terms->constraints.place_of = place_of;
        terms->constraints.continues_word = continues_word;
        terms->constraints.user = terms;
        terms->constraints.hypotheses = search->beams;
        search->beams = choose_beams(search, &terms->constraints);
        search->constraints = &terms->constraints;
    }
    terms->capacity = capacity_of(unit);
    return clf__search_check(search);
}

clf_status clf__terms_read(struct clf__unit *unit)
{
    struct clf__targets targets;
    clf_status status =
        clf__glossary_find(&targets, unit->settings->glossary, unit->line->text, unit->line->size);
    if (status == CLF_OK && targets.count > 0) {
        status = clf__allocate(&unit->terms, 1, sizeof *unit->terms);
    }
    if (status != CLF_OK || targets.count == 0) {
        clf__targets_free(&targets);
        return status;
    }
    unit->terms->targets = targets;
    return require(unit);
}

void clf__terms_free(struct clf__terms *terms)
{
    if (terms == NULL) {
        return;
    }
    for (int i = 0; i < terms->form_count; i++) {
        clf__ids_free(&terms->ids[i]);
    }
    clf__free(terms->forms);
    clf__free(terms->ids);
    clf__targets_free(&terms->targets);
    clf__free(terms);
}

int clf__terms_add_ids(int32_t *ids, int count, const struct clf__terms *terms)
{
    struct clf__ids all = {.data = ids, .count = count};
    for (int i = 0; i < terms->form_count; i++) {
        memcpy(ids + all.count, terms->forms[i].ids, (size_t)terms->forms[i].length * sizeof *ids);
        all.count += terms->forms[i].length;
    }
    clf__ids_sort(&all);
    return all.count;
}

/* --- The result. --- */

static void warn_of(const char *term, int is_phrase)
{
    clf__log(CLF_LOG_WARNING, "a translation lacks the glossary term \"%s\": %s", term,
             is_phrase ? "it reached its maximum length (--max-length)"
                       : "the model's vocabulary lacks a part of the term, or the line has too many terms");
}

clf_status clf__terms_report(struct clf_translation *result, const struct clf__unit *unit)
{
    const struct clf__terms *terms = unit->terms;
    const struct clf_hypothesis *best = &result->hypotheses[0];
    int phrases = terms->constraints.phrase_count;
    uint64_t missing = 0;
    if (terms->status != CLF_OK) {
        return clf__fail(terms->status, "not enough host memory for the terms of a line");
    }
    CLF__TRY(phrases > 0 ? clf__constraints_missing(&missing, &terms->constraints, unit->search.start_id,
                                                    best->ids, best->count)
                         : CLF_OK);
    for (int i = 0; i < terms->targets.count; i++) {
        const char *term = terms->targets.items[i];
        int is_phrase = i < phrases;
        if (is_phrase ? (missing >> i & 1) == 0 : strstr(best->text, term) != NULL) {
            continue;
        }
        size_t count = (size_t)result->missing_count;
        CLF__TRY(clf__resize(&result->missing_terms, count + 1, sizeof *result->missing_terms));
        CLF__TRY(clf__copy_string(&result->missing_terms[count], term));
        result->missing_count++;
        warn_of(term, is_phrase);
    }
    return CLF_OK;
}
