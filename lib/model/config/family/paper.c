/* "Attention is all you need" (Vaswani et al. 2017): all values are the defaults. */
#include "model/config/family/family.h"

const struct clf__family clf__family_paper = {
    .initial = clf__initial_paper,
    .names = &clf__names_canonical,
    .specials = CLF__BART_SPECIALS,
};
