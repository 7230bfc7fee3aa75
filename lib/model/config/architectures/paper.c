/* "Attention is all you need" (Vaswani et al. 2017): all values are the defaults. */
#include "model/config/architectures/architecture.h"

const struct clf__architecture clf__architecture_paper = {
    .initial = clf__initial_paper,
    .names = &clf__names_canonical,
    .specials = CLF__BART_SPECIALS,
};
