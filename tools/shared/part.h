/* An incomplete output file. OUTPUT.part holds the finished lines. OUTPUT.part.json, the record, holds the
 * number of lines and describes how they were made: the version of clformer, the model, the flags and the
 * input. A later run can continue the output. */
#ifndef CLF_TOOLS_PART_H
#define CLF_TOOLS_PART_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/status.h"

enum { PART_INPUTS = 2 };

/* The progress of an output. */
struct part_state {
    long long lines;              /* number of finished lines of each input */
    long long failed, cut;        /* number of finished lines that failed, and that were truncated */
    uint64_t inputs[PART_INPUTS]; /* FNV-1a hash of each input's finished lines */
};

/* Close with part_close(), also after a failure. A zeroed struct is closed. */
struct part {
    const char *output;       /* borrowed */
    const char *unit;         /* what a line holds, for messages: "line" or "text" */
    char *path, *record_path; /* OUTPUT.part, OUTPUT.part.json */
    FILE *file;               /* the file for the lines; NULL before part_begin() */
    json_t *made_of;
    int inputs;
    long long recorded; /* number of lines in the record */
    long long bytes;    /* size of these lines */
    double record_at;   /* time of the next record, in seconds */
};

/* Checks that the output can be created, without changing a file. */
clf_status part_open(struct part *out, const char *output);

/* Creates or opens the two files.
 *
 * made_of: from made_of_describe(); the part takes ownership, also on failure. inputs: number of inputs, 1
 * or 2. resumes: 1 to continue existing files, 0 to replace them. *state: receives the progress of the
 * earlier run.
 *
 * Returns CLF_BAD_ARGUMENT and changes nothing if another run is writing the files or if clformer did not
 * write them; with `resumes`, also if the version, model, flags or input differ from the record. */
clf_status part_begin(struct part *part, json_t *made_of, int inputs, int resumes, struct part_state *state);

/* Continues after the recorded lines and removes the rest of the file. Call this after the inputs were
 * compared with `state` from part_begin(). */
clf_status part_continue(struct part *part, const struct part_state *state);

/* Reports progress: `state` counts the lines printed to the file. Writes the record if it is due. */
clf_status part_advance(struct part *part, const struct part_state *state);

/* Closes the output. With CLF_OK, the file is complete and is renamed to OUTPUT. Any other status is
 * returned; finished lines are recorded and kept, and without finished lines both files are removed. *kept
 * (may be NULL): number of finished lines that are kept. Closing again does nothing. */
clf_status part_close(struct part *part, const struct part_state *state, clf_status status, long long *kept);

#endif
