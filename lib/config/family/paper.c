/* "Attention is all you need" (Vaswani 2017): the configuration's own defaults. */
#include "config/family/family.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    (void)config;
    (void)choices;
}

const struct clf__family clf__family_paper = {
    .start = start,
    .initial = clf__initial_paper,
    .names = &clf__names_canonical,
    .specials = CLF__BART_SPECIALS,
};
