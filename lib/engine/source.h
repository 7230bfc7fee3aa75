/* Lines as the inputs of a model. */
#ifndef CLF_ENGINE_SOURCE_H
#define CLF_ENGINE_SOURCE_H

#include "engine/unit.h"
#include "model/transformer.h"
#include "model/upload.h"

struct clf__frame_maker;

void clf__source_free(struct clf__source *source);

/* Reads a line into a source, truncated to the model's limit. `frame_maker` is for recordings; NULL for text.
 */
clf_status clf__source_read(struct clf__source *out, const struct clf__settings *settings,
                            struct clf__frame_maker *frame_maker, const struct clf_line *line);

/* Prepends the task prefix to a line: returns the line itself, or *made, which the caller frees. */
clf_status clf__source_text(struct clf_line *out, char **made, const struct clf__settings *settings,
                            const struct clf_line *line);

/* Reads a given target: the forced first token, the tokens of the line and the end token, truncated to the
 * model's limit. *cut_from: as in struct clf_translation. */
clf_status clf__target_read(struct clf__ids *out, int *cut_from, const struct clf__settings *settings,
                            const struct clf_line *line);

/* Reads a target prefix: the forced first token, then the tokens of the line, without the end token; empty
 * for an empty line. */
clf_status clf__prefix_read(struct clf__ids *out, const struct clf__settings *settings,
                            const struct clf_line *line);

/* Truncates ids to `limit`, keeping the last one (the end token). Returns the count before, or 0 if
 * unchanged. */
int clf__ids_cut(struct clf__ids *ids, int limit);

/* Concatenated sources; freed with clf__joined_free(). */
struct clf__joined {
    struct clf__sequences sequences;
    int *first;
    int32_t *ids;
    float *frames;
};
clf_status clf__sources_join(struct clf__joined *out, const struct clf__source *const *sources, int count,
                             int feature_size);
void clf__joined_free(struct clf__joined *joined);

/* Stores the failure of a single line in the line's fields (the caller frees *problem) and returns CLF_OK, so
 * that other lines continue; returns any other failure. */
clf_status clf__line_problem(clf_status status, clf_status *line_status, char **problem);

#endif
