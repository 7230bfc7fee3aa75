/* The terms of a glossary that the translation of a line must contain. */
#ifndef CLF_ENGINE_TERMS_H
#define CLF_ENGINE_TERMS_H

#include "engine/unit.h"
#include "text/glossary/glossary.h"

/* Beams of a line whose phrases have many tokens. */
enum { CLF__TERM_BEAMS = 32 };

struct clf__terms {
    const struct clf__settings *settings;
    clf_status status; /* failure of a callback of the search */
    struct clf__constraints constraints;
    struct clf__phrase_form *forms; /* (form_count) */
    struct clf__ids *ids;           /* (form_count) of the forms */
    int form_count;
    /* The first constraints.phrase_count targets are the phrases. The others cannot be required, because the
     * vocabulary lacks a part of them or because there are too many. */
    struct clf__targets targets;
    struct clf__capacity capacity; /* that the line needs */
};

/* Finds the terms in the line of a unit whose source and search options are set. Sets unit->terms, and the
 * constraints and the beam size of its search; without terms, changes nothing. */
clf_status clf__terms_read(struct clf__unit *unit);
void clf__terms_free(struct clf__terms *terms);

/* Adds the ids of the terms to a shortlist of `count` ascending ids; returns the new count. */
int clf__terms_add_ids(int32_t *ids, int count, const struct clf__terms *terms);

/* Lists the terms that the best translation of a unit lacks, and logs a warning if there are any. */
clf_status clf__terms_report(struct clf_translation *result, const struct clf__unit *unit);

/* Returns the capacity that a line needs. */
static inline const struct clf__capacity *clf__unit_capacity(const struct clf__unit *unit)
{
    return unit->terms != NULL ? &unit->terms->capacity : &unit->settings->capacity;
}

#endif
