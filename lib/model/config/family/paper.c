/* "Attention is all you need" (Vaswani 2017): the defaults of the configuration. */
#include "model/config/family/family.h"

const struct clf__family clf__family_paper = {
    .initial = clf__initial_paper,
    .names = &clf__names_canonical,
    .specials = CLF__BART_SPECIALS,
};
