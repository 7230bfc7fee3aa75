/* An output file while it is not whole: OUTPUT.part holds the lines that are finished, and OUTPUT.part.json,
 * the record, says how many they are and what they are made of, so that a later run can continue there. */
#ifndef CLF_TOOLS_PART_H
#define CLF_TOOLS_PART_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/status.h"

enum { PART_INPUTS = 2 };

/* How far an output is. */
struct part_state {
    long long lines;              /* of each input that are finished */
    long long failed, cut;        /* of these lines */
    uint64_t inputs[PART_INPUTS]; /* hashes of these lines; CLF__FNV_BEGIN at the start */
};

/* Ended by part_close(), also after a failure. One that is zeroed is closed. */
struct part {
    const char *output;       /* borrowed */
    char *path, *record_path; /* OUTPUT.part, OUTPUT.part.json */
    FILE *file;               /* to print to; NULL before part_begin() */
    json_t *made_of;
    int inputs;
    long long recorded; /* lines that the record says are finished */
    long long bytes;    /* of these lines */
    double record_at;   /* when the next record is due, in seconds */
};

/* Whether the output can be made, as far as that is known without changing anything. */
clf_status part_open(struct part *out, const char *output);

/* Makes the two files, or continues them.
 *
 * made_of: of made_of_describe(), which the part takes in any case. inputs: how many inputs the lines come
 * from, 1 or 2. resumes: to continue where both files exist. *state: where this run begins.
 *
 * CLF_BAD_ARGUMENT, with nothing changed, where the files are another run's that still goes on or are not
 * clformer's; and with `resumes` where the record says that the lines are made of something else. */
clf_status part_begin(struct part *part, json_t *made_of, int inputs, int resumes, struct part_state *state);

/* Takes up where `state`, of part_begin(), says that the earlier run was, once its inputs are known to be the
 * same: what was written after that is cut off. */
clf_status part_continue(struct part *part, const struct part_state *state);

/* `state` is how far the output is with what was printed to the file until now. It is recorded now and then.
 */
clf_status part_advance(struct part *part, const struct part_state *state);

/* Where `status` is CLF_OK the output is whole: it gets its name. Otherwise what is finished is recorded and
 * kept, or both files are removed where nothing is; `status` is returned. *kept (may be NULL): how many lines
 * are there to continue from. Closing it again does nothing. */
clf_status part_close(struct part *part, const struct part_state *state, clf_status status, long long *kept);

#endif
