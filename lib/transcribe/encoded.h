/* Windows that are encoded once and read by several calls. */
#ifndef CLF_TRANSCRIBE_ENCODED_H
#define CLF_TRANSCRIBE_ENCODED_H

#include <clformer/windows.h>

#include "engine/engine.h"
#include "model/model.h"
#include "text/tokenizers/speech.h"

struct clf_windows {
    struct clf_engine *engine;
    struct clf_model *model;
    struct clf__speech_tokens tokens;
    struct clf__encoding *encodings; /* (count) */
    int count, positions, width;
};

enum { CLF__MOST_WINDOW_BEAMS = 64 };

static inline const struct clf__config *clf__windows_config(const struct clf_windows *windows)
{
    return &windows->model->transformer->config;
}

/* Returns the capacity that the usual calls need, so that calls with different options share a session. */
struct clf__window_capacity clf__windows_usual_capacity(const struct clf__config *config);

/* Returns CLF_BAD_ARGUMENT if an id is outside the vocabulary or the list is NULL; `what` and `index` name
 * the list.
 */
clf_status clf__windows_check_ids(const struct clf_windows *windows, const int32_t *ids, int count,
                                  const char *what, int index);

/* Runs the searches or other work of all windows in one job, with the context contexts + i * size for
 * window i. */
clf_status clf__windows_run_all(struct clf_windows *windows, const struct clf__window_kind *kind,
                                const struct clf__window_capacity *capacity, int frames, void *contexts,
                                size_t size);

#endif
