#include "model/formats/format.h"

static const char *const frozen[] = {".embed_positions.weight", NULL};

const struct clf__format clf__format_canonical = {NULL, 0, frozen};
