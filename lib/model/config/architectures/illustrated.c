/* The Illustrated Transformer: the paper's model with concatenated sines and cosines, decoded greedily. */
#include "model/config/architectures/architecture.h"

static void start(struct clf__config *config, struct clf__config_choices *choices)
{
    (void)choices;
    config->sinusoid_layout = CLF__SINUSOID_HALVES;
    clf__architecture_greedy(config, 256);
}

const struct clf__architecture clf__architecture_illustrated = {
    .start = start,
    .initial = clf__initial_paper,
    .names = &clf__names_canonical,
    .specials = CLF__BART_SPECIALS,
};
