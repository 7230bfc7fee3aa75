/* Small models with expected logits: tests/fixtures/models/README.md. */
#ifndef CLF_TESTS_MODEL_FIXTURE_H
#define CLF_TESTS_MODEL_FIXTURE_H

#include "model/infer/session.h"

/* One ragged batch of a fixture. */
struct fixture_case {
    struct clf__sequences sources;
    struct clf__sequences targets; /* decoder inputs */
    int longest_source, longest_target;
    const float *logits; /* (target rows, V) */
};

struct model_fixture {
    char folder[512];
    int vocabulary; /* V */
    struct fixture_case *cases;
    int count;
};

/* Loads a fixture; its memory is freed by support_free_all(). `columns` is the width of a frame, 0 for
   tokens. */
struct model_fixture model_fixture_load(const char *name, int columns);

/* Returns the session limits for a case. */
struct clf__session_limits fixture_limits(const struct fixture_case *fixture_case);

#endif
