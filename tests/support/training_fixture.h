/* Small models with their gradients and what Adam makes of them: tests/fixtures/training/README.md. */
#ifndef CLF_TESTS_TRAINING_FIXTURE_H
#define CLF_TESTS_TRAINING_FIXTURE_H

#include "backprop/training.h"
#include "support/support.h"

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

/* Adam at a step, counted from 1. */
struct clf__adam training_fixture_adam(const struct training_fixture *fixture, int step);

/* One update: a batch forward and backward, and Adam. */
void training_fixture_step(struct clf__training *training, const struct training_fixture *fixture, int step);

/* Pairs of random digits, the target being the source: labels are the digits and the end. */
enum { COPIES_PAIRS = 16, COPIES_DIGITS = 4, COPIES_LENGTH = COPIES_DIGITS + 1 };
enum { COPIES_ROWS = COPIES_PAIRS * COPIES_LENGTH };

struct training_copies {
    int first[COPIES_PAIRS + 1];
    int32_t sources[COPIES_ROWS], inputs[COPIES_ROWS], labels[COPIES_ROWS];
};

/* Draws them; the batch lies in `copies`. */
struct clf__training_batch training_copies_make(struct training_copies *copies,
                                                const struct clf__config *config,
                                                struct support_random *random);

#endif
