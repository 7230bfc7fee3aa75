/* Small models with expected gradients and Adam updates: tests/fixtures/training/README.md. */
#ifndef CLF_TESTS_TRAINING_FIXTURE_H
#define CLF_TESTS_TRAINING_FIXTURE_H

#include "model/backprop/training.h"
#include "support/support.h"

enum { TRAINING_BATCHES = 2, TRAINING_STEPS = 10 };

struct training_fixture {
    char folder[512];
    struct clf__smoothing smoothing;
    struct clf__adam adam; /* without step-dependent values */
    struct clf__training_batch batches[TRAINING_BATCHES];
    float scales[TRAINING_BATCHES];                          /* gradient scale of each batch */
    double losses[TRAINING_BATCHES], nlls[TRAINING_BATCHES]; /* per batch, with the stored model */
    double curve[TRAINING_STEPS]; /* loss before each step, alternating between the batches */
};

/* Loads a fixture; its memory is freed by support_free_all(). */
struct training_fixture training_fixture_load(const char *name);

/* Returns limits that fit every batch. */
struct clf__training_limits training_fixture_limits(const struct training_fixture *fixture);

/* Returns Adam's parameters at a step, counted from 1. */
struct clf__adam training_fixture_adam(const struct training_fixture *fixture, int step);

/* Runs one update: forward, backward, and Adam. */
void training_fixture_step(struct clf__training *training, const struct training_fixture *fixture, int step);

/* Pairs of random digits whose target equals the source: labels are the digits and the end token. */
enum { COPIES_PAIRS = 16, COPIES_DIGITS = 4, COPIES_LENGTH = COPIES_DIGITS + 1 };
enum { COPIES_ROWS = COPIES_PAIRS * COPIES_LENGTH };

struct training_copies {
    int first[COPIES_PAIRS + 1];
    int32_t sources[COPIES_ROWS], inputs[COPIES_ROWS], labels[COPIES_ROWS];
};

/* Draws the pairs; the batch points into `copies`. */
struct clf__training_batch training_copies_make(struct training_copies *copies,
                                                const struct clf__config *config,
                                                struct support_random *random);

#endif
