/* Makes sentences of the atoms of a paragraph. */
#include "translate/documents/office/runs.h"

#ifdef CLF_HAS_LIBZIP

#include <stdlib.h>

#include "base/memory.h"
#include "translate/documents/html/tokens.h"

enum { MOST_FIELD = 4096 /* atoms */, MOST_PASSES = 16, MOST_COUNTED = 256 /* atoms */ };

static int is_same_run(const struct clf__atom *one, const struct clf__atom *other)
{
    return one->run.start == other->run.start;
}

/* Returns whether an atom is text other than white space. */
static int is_text(const struct clf__atom *atom)
{
    return atom->kind == CLF__ATOM_TEXT && atom->has_text;
}

/* --- Fields. --- */

static void divide(struct clf__atom *atom)
{
    atom->kind = CLF__ATOM_DIVIDER;
}

/* Returns whether all groups that begin or end between two atoms are completely between them. */
static int is_balanced(const struct clf__atoms *atoms, int from, int to)
{
    for (int i = from; i <= to; i++) {
        int partner = atoms->items[i].partner;
        if (partner >= 0 && (partner < from || partner > to)) {
            return 0;
        }
    }
    return 1;
}

/* Returns whether the code of a field, between its begin and its separator, has nothing else. */
static int is_code(const struct clf__atoms *atoms, int begin, int separator)
{
    for (int i = begin + 1; i < separator; i++) {
        if (atoms->items[i].kind != CLF__ATOM_FIELD) {
            return 0;
        }
    }
    return 1;
}

static void clear(struct clf__atoms *atoms, int from, int to)
{
    for (int i = from; i <= to; i++) {
        atoms->items[i].kind = CLF__ATOM_NOTHING;
    }
}

/* Turns a field into a group with its result, or into a mark if it has no separate result. Its runs have no
 * other content. */
static void fold_field(struct clf__atoms *atoms, int begin, int separator, int end)
{
    struct clf__atom *first = &atoms->items[begin], *last = &atoms->items[end];
    int has_other = (begin > 0 && is_same_run(first - 1, first)) ||
                    (end + 1 < atoms->count && is_same_run(last, last + 1));
    if (end - begin > MOST_FIELD || has_other || !is_balanced(atoms, begin, end)) {
        divide(first);
        divide(last);
        if (separator >= 0) {
            divide(&atoms->items[separator]);
        }
        return;
    }
    const struct clf__atom *middle = separator >= 0 ? &atoms->items[separator] : NULL;
    int has_result = middle != NULL && is_code(atoms, begin, separator) && !is_same_run(middle, middle + 1) &&
                     !is_same_run(last - 1, last);
    first->start = first->run.start;
    first->mark = (struct clf__run_mark){.kind = has_result ? CLF__RUN_IS_GROUP : CLF__RUN_IS_BESIDE};
    if (!has_result) {
        first->kind = CLF__ATOM_MARK;
        first->end = first->run.end = last->run.end;
        clear(atoms, begin + 1, end);
        return;
    }
    first->kind = CLF__ATOM_OPEN;
    first->end = first->run.end = middle->run.end;
    first->partner = end;
    clear(atoms, begin + 1, separator);
    last->kind = CLF__ATOM_CLOSE;
    last->start = last->run.start;
    last->end = last->run.end;
    last->partner = begin;
}

/* Folds the complete fields; all other parts of fields are dividers. */
static void fold_fields(struct clf__atoms *atoms)
{
    enum { MOST_OPEN = 16 };
    int begins[MOST_OPEN], separators[MOST_OPEN], depth = 0;
    for (int i = 0; i < atoms->count; i++) {
        const struct clf__atom *atom = &atoms->items[i];
        if (atom->kind != CLF__ATOM_FIELD) {
            continue;
        }
        if (atom->field == 'b' && depth < MOST_OPEN) {
            begins[depth] = i;
            separators[depth++] = -1;
        } else if (atom->field == 's' && depth > 0) {
            separators[depth - 1] = i;
        } else if (atom->field == 'e' && depth > 0) {
            depth--;
            fold_field(atoms, begins[depth], separators[depth], i);
        }
    }
    for (int i = 0; i < atoms->count; i++) {
        if (atoms->items[i].kind == CLF__ATOM_FIELD) {
            divide(&atoms->items[i]);
        }
    }
}

/* Turns the tags of groups that a divider divides into dividers. Returns whether there were any. */
static int divide_groups(struct clf__atoms *atoms)
{
    int dividers = 0, has_changed = 0;
    for (int i = 0; i < atoms->count; i++) { /* counts the dividers before each group, in its end */
        struct clf__atom *atom = &atoms->items[i];
        if (atom->kind == CLF__ATOM_OPEN && atom->partner >= 0) {
            atoms->items[atom->partner].dividers = dividers;
        } else if (atom->kind == CLF__ATOM_CLOSE && atom->partner >= 0 && atom->dividers != dividers) {
            divide(&atoms->items[atom->partner]);
            divide(atom);
            has_changed = 1;
        }
        dividers += atom->kind == CLF__ATOM_DIVIDER;
    }
    return has_changed;
}

int clf__atoms_fold(struct clf__atoms *atoms)
{
    int passes = 0;
    fold_fields(atoms);
    while (passes < MOST_PASSES && divide_groups(atoms)) {
        passes++;
    }
    return passes < MOST_PASSES;
}

/* --- Sentences. --- */

/* A sentence that is being read. */
struct sentence {
    const struct clf__atoms *atoms;
    const char *bytes;
    struct clf__inlines inlines;
    struct clf__run_mark base, marks[CLF__MOST_INLINES];
    struct clf__run_mark
        levels[CLF__MOST_INLINES + 1]; /* (depth + 1) properties of the text and the open groups */
    int depth;
    const struct clf__run_mark *run; /* the open run with other properties; NULL: none */
    int is_overfull;
};

/* Names of tags in clf__inlines. */
enum { RUN = 1, GROUP = 2 };

static void close_run(struct sentence *sentence, size_t at)
{
    if (sentence->run != NULL) {
        clf__inlines_close(&sentence->inlines, sentence->bytes, RUN, at, at);
        sentence->run = NULL;
    }
}

/* Adds a mark to the list; returns its place, or NULL if there are too many. */
static struct clf__run_mark *add_mark(struct sentence *sentence, const struct clf__run_mark *mark)
{
    if (clf__inlines_are_full(&sentence->inlines)) {
        sentence->is_overfull = 1;
        return NULL;
    }
    struct clf__run_mark *place = &sentence->marks[sentence->inlines.count];
    *place = *mark;
    return place;
}

static void take_mark(struct sentence *sentence, const struct clf__atom *atom)
{
    if (add_mark(sentence, &atom->mark) == NULL) {
        return;
    }
    struct clf__inlines *inlines = &sentence->inlines;
    if (atom->mark.is_separator) {
        clf__inlines_text(inlines, " ", 1, atom->start, atom->start);
    }
    size_t size = inlines->text.size;
    int has_space = size > 0 && inlines->text.bytes[size - 1] == ' ';
    clf__inlines_single(inlines, sentence->bytes, atom->start, atom->end);
    inlines->tags[inlines->count - 1].spaces = atom->mark.is_ordered                   ? CLF__TAG_ORDERED
                                               : has_space && !atom->mark.is_separator ? CLF__SPACE_BEFORE
                                                                                       : 0;
}

/* Notes for the marks at the end of the text that a space follows. */
static void add_space_after(struct sentence *sentence)
{
    struct clf__inlines *inlines = &sentence->inlines;
    for (int i = inlines->count - 1; i >= 0 && inlines->marks[i].start == inlines->text.size; i--) {
        const struct clf__run_mark *mark = &sentence->marks[i];
        int is_shown = mark->kind == CLF__RUN_IS_IN_RUN || mark->kind == CLF__RUN_IS_BESIDE;
        if (is_shown && !mark->is_ordered && !mark->is_separator) {
            inlines->tags[i].spaces |= CLF__SPACE_AFTER;
        }
    }
}

static void take_text(struct sentence *sentence, const struct clf__atom *atom)
{
    const struct clf__run_mark *current =
        sentence->run != NULL ? sentence->run : &sentence->levels[sentence->depth];
    if (atom->has_text && atom->mark.look != current->look) {
        close_run(sentence, atom->run.start);
        if (atom->mark.look != sentence->levels[sentence->depth].look) {
            struct clf__run_mark *mark = add_mark(sentence, &atom->mark);
            if (mark == NULL) {
                return;
            }
            mark->kind = CLF__RUN_IS_RUN;
            clf__inlines_open(&sentence->inlines, sentence->bytes, RUN, atom->run.start, atom->run.start);
            sentence->run = mark;
        }
    }
    if (clf__html_is_space(sentence->bytes[atom->start])) {
        add_space_after(sentence);
    }
    clf__xml_add_text(&sentence->inlines, sentence->bytes, atom->start, atom->end);
}

/* Returns the first text of a group; the properties of the text around it if it has none. */
static struct clf__run_mark group_properties(const struct sentence *sentence, int open)
{
    const struct clf__atom *items = sentence->atoms->items;
    for (int i = open + 1; i < items[open].partner; i++) {
        if (is_text(&items[i])) {
            return items[i].mark;
        }
    }
    return sentence->levels[sentence->depth];
}

static void take_open(struct sentence *sentence, int index)
{
    const struct clf__atom *atom = &sentence->atoms->items[index];
    struct clf__run_mark mark = group_properties(sentence, index);
    mark.kind = CLF__RUN_IS_GROUP;
    close_run(sentence, atom->start);
    if (add_mark(sentence, &mark) != NULL) {
        clf__inlines_open(&sentence->inlines, sentence->bytes, GROUP, atom->start, atom->end);
        sentence->levels[++sentence->depth] = mark;
    }
}

static void take_close(struct sentence *sentence, const struct clf__atom *atom)
{
    close_run(sentence, atom->start);
    clf__inlines_close(&sentence->inlines, sentence->bytes, GROUP, atom->start, atom->end);
    sentence->depth--;
}

/* Counts the bytes of text with the properties of atoms[index], from it on. */
static size_t count_bytes(const struct clf__atoms *atoms, int index, int last)
{
    const struct clf__atom *atom = &atoms->items[index];
    size_t size = 0;
    for (int i = index; i <= last && i < index + MOST_COUNTED; i++) {
        const struct clf__atom *other = &atoms->items[i];
        size += is_text(other) && other->mark.look == atom->mark.look ? other->end - other->start : 0;
    }
    return size;
}

/* Returns the text whose properties most of the text has, in bytes; NULL if there is none.
 *
 * @param is_outside only text outside groups counts. */
static const struct clf__atom *find_usual(const struct clf__atoms *atoms, int first, int last, int is_outside)
{
    const struct clf__atom *best = NULL;
    size_t most = 0;
    int depth = 0, counted = 0;
    for (int i = first; i <= last && counted < MOST_COUNTED; i++) {
        const struct clf__atom *atom = &atoms->items[i];
        depth += atom->kind == CLF__ATOM_OPEN;
        depth -= atom->kind == CLF__ATOM_CLOSE;
        if (is_text(atom) && (depth == 0 || !is_outside)) {
            size_t size = count_bytes(atoms, i, last);
            best = size > most ? atom : best;
            most = size > most ? size : most;
            counted++;
        }
    }
    return best;
}

/* Returns the properties of the text of a sentence, which has text. */
static struct clf__run_mark usual_properties(const struct clf__atoms *atoms, int first, int last)
{
    const struct clf__atom *found = find_usual(atoms, first, last, 1);
    found = found != NULL ? found : find_usual(atoms, first, last, 0);
    struct clf__run_mark base = found->mark;
    base.kind = CLF__RUN_IS_RUN;
    base.run = found->run_name;
    base.text = found->text_name;
    return base;
}

/* Notes the white space at the ends of a sentence, which its text does not contain. */
static void find_spaces(struct clf__run_mark *base, const struct sentence *sentence, int first, int last)
{
    const struct clf__atom *items = sentence->atoms->items;
    while (items[first].kind != CLF__ATOM_TEXT) {
        first++;
    }
    while (items[last].kind != CLF__ATOM_TEXT) {
        last--;
    }
    base->has_space_before = clf__html_is_space(sentence->bytes[items[first].start]);
    base->has_space_after = clf__html_is_space(sentence->bytes[items[last].end - 1]);
}

static clf_status keep_marks(struct clf_document *document, const struct sentence *sentence, int *first)
{
    const struct clf__container *container = document->state;
    struct clf__runs *runs = container->more;
    *first = runs->count;
    for (int i = -1; i < sentence->inlines.count; i++) {
        CLF__TRY(clf__grow(&runs->marks, runs->count, &runs->capacity, sizeof *runs->marks));
        runs->marks[runs->count++] = i < 0 ? sentence->base : sentence->marks[i];
    }
    return CLF_OK;
}

static void take_atoms(struct sentence *sentence, int first, int last)
{
    for (int i = first; i <= last && !sentence->is_overfull; i++) {
        const struct clf__atom *atom = &sentence->atoms->items[i];
        if (atom->kind == CLF__ATOM_TEXT) {
            take_text(sentence, atom);
        } else if (atom->kind == CLF__ATOM_MARK) {
            take_mark(sentence, atom);
        } else if (atom->kind == CLF__ATOM_OPEN) {
            take_open(sentence, i);
        } else if (atom->kind == CLF__ATOM_CLOSE) {
            take_close(sentence, atom);
        }
    }
    close_run(sentence, sentence->atoms->items[last].run.end);
}

static clf_status add_sentence(struct clf_document *document, struct sentence *sentence, int first, int last)
{
    const struct clf__atoms *atoms = sentence->atoms;
    int kind;
    sentence->base = sentence->levels[0] = usual_properties(atoms, first, last);
    find_spaces(&sentence->base, sentence, first, last);
    take_atoms(sentence, first, last);
    if (sentence->is_overfull) {
        return CLF_OK;
    }
    CLF__TRY(keep_marks(document, sentence, &kind));
    sentence->inlines.kind = kind;
    return clf__inlines_end_at(&sentence->inlines, document, atoms->line, atoms->items[first].run.start,
                               atoms->items[last].run.end);
}

/* Adds the sentence in atoms [from, to): from the run of the first text to the run of the last one, with the
 * groups that begin or end there.
 *
 * @param is_overfull receives 1 if it has too many marks. */
static clf_status add_piece(int *is_overfull, struct clf_document *document, const struct clf__atoms *atoms,
                            int from, int to)
{
    const struct clf__atom *items = atoms->items;
    const struct clf__container *container = document->state;
    int first = from, last = to - 1;
    *is_overfull = 0;
    while (first < to && !is_text(&items[first])) {
        first++;
    }
    while (last > first && !is_text(&items[last])) {
        last--;
    }
    if (first >= to) {
        return CLF_OK;
    }
    while (first > from && is_same_run(&items[first - 1], &items[first])) {
        first--;
    }
    while (last + 1 < to && is_same_run(&items[last], &items[last + 1])) {
        last++;
    }
    int start = first, end = last;
    for (int i = start; i <= end; i++) {
        int partner =
            items[i].kind == CLF__ATOM_OPEN || items[i].kind == CLF__ATOM_CLOSE ? items[i].partner : -1;
        first = partner >= 0 && partner < first ? partner : first;
        last = partner > last ? partner : last;
    }
    struct sentence *sentence;
    CLF__TRY(clf__allocate(&sentence, 1, sizeof *sentence));
    sentence->atoms = atoms;
    sentence->bytes = container->text.bytes;
    clf_status status = add_sentence(document, sentence, first, last);
    *is_overfull = sentence->is_overfull;
    clf__free(sentence->inlines.text.bytes);
    clf__free(sentence);
    return status;
}

/* Returns the atom nearest to the middle of [from, to) before which a sentence can be divided: between two
 * runs, outside groups. 0: there is none. */
static int find_middle(const struct clf__atoms *atoms, int from, int to)
{
    int best = 0, middle = from + (to - from) / 2, depth = 0;
    for (int i = from + 1; i < to; i++) {
        depth += atoms->items[i - 1].kind == CLF__ATOM_OPEN;
        depth -= atoms->items[i - 1].kind == CLF__ATOM_CLOSE;
        int is_nearer = best == 0 || abs(i - middle) < abs(best - middle);
        if (depth == 0 && is_nearer && !is_same_run(&atoms->items[i - 1], &atoms->items[i])) {
            best = i;
        }
    }
    return best;
}

/* Adds the sentence in atoms [from, to), in parts if it has too many marks. */
static clf_status add_pieces(struct clf_document *document, const struct clf__atoms *atoms, int from, int to)
{
    struct clf__container *container = document->state;
    int is_overfull;
    CLF__TRY(add_piece(&is_overfull, document, atoms, from, to));
    int middle = is_overfull ? find_middle(atoms, from, to) : 0;
    if (middle > 0) {
        CLF__TRY(add_pieces(document, atoms, from, middle));
        return add_pieces(document, atoms, middle, to);
    }
    container->skipped += is_overfull;
    return CLF_OK;
}

/* Excludes the runs that a divider at the ends of [from, to) divides: a run is replaced as a whole. Returns
 * the number of texts in them. */
static int exclude_divided(const struct clf__atoms *atoms, int *from, int *to)
{
    const struct clf__atom *items = atoms->items;
    int before = 0, after = 0;
    while (*from<*to && * from> 0 && is_same_run(&items[*from - 1], &items[*from])) {
        before |= is_text(&items[*from]);
        ++*from;
    }
    while (*from < *to && *to < atoms->count && is_same_run(&items[*to - 1], &items[*to])) {
        --*to;
        after |= is_text(&items[*to]);
    }
    return before + after;
}

clf_status clf__atoms_add(struct clf_document *document, const struct clf__atoms *atoms)
{
    struct clf__container *container = document->state;
    int from = 0;
    for (int i = 0; i <= atoms->count; i++) {
        if (i == atoms->count || atoms->items[i].kind == CLF__ATOM_DIVIDER) {
            int to = i;
            container->divided += exclude_divided(atoms, &from, &to);
            CLF__TRY(add_pieces(document, atoms, from, to));
            from = i + 1;
        }
    }
    return CLF_OK;
}

#endif
