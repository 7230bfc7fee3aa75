/* Small models with their gradients and what Adam makes of them: tests/fixtures/training/README.md. */
#ifndef CLF_TESTS_TRAINING_FIXTURE_H
#define CLF_TESTS_TRAINING_FIXTURE_H

#include "model/training.h"

enum { TRAINING_BATCHES = 2, TRAINING_STEPS = 10 };

struct training_fixture {
    char folder[512];
    struct clf__smoothing smoothing;
    struct clf__adam adam; /* without what depends on the step */
    struct clf__training_batch batches[TRAINING_BATCHES];
    float scales[TRAINING_BATCHES];                          /* of a batch's gradients */
    double losses[TRAINING_BATCHES], nlls[TRAINING_BATCHES]; /* of the model as it is stored */
    double curve[TRAINING_STEPS];                            /* losses before each step, batch about batch */
};

/* Every folder of tests/fixtures/training; NULL-terminated. */
extern const char *const training_fixtures[];

/* Loads one; its memory is freed by support_free_all(). */
struct training_fixture training_fixture_load(const char *name);

/* Limits that take every batch. */
struct clf__training_limits training_fixture_limits(const struct training_fixture *fixture);

#endif
