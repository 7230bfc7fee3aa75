#include "config/family/family.h"

void clf__config_start_marian(struct clf__config *config, struct clf__config_choices *choices)
{
    clf__config_preset_start(config, choices, CLF__MARIAN_NMT);
}
