#include "base/minmax.h"
#include "math/ops/cross_entropy.h"
#include "model/backprop/internal.h"

int clf__training_logits_rows(const struct clf__training *training)
{
    enum { MOST_LOGITS = (128 << 20) / sizeof(float), LEAST_ROWS = 64, MANY_ROWS = 256 };
    int rows = MOST_LOGITS / training->transformer->config.target_vocabulary;
    /* Gradient GEMMs process slices of many rows and, in bf16, pairs of rows. */
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows - rows % (rows < MANY_ROWS ? 2 : MANY_ROWS);
    return rows < training->limits.target_tokens ? rows : training->limits.target_tokens;
}

static clf_status project_chunk(struct clf__training *training, const struct clf__pass *pass, int first,
                                int rows)
{
    const struct clf__linear *projection = &training->transformer->decoder.projection;
    const struct clf__linear *gradient = &training->gradients.decoder.projection;
    struct clf__tensor x = clf__tensor_rows(clf__training_output(training, pass, CLF__DECODER), first, rows);
    struct clf__tensor logits = clf__tensor_rows(training->logits, 0, rows);
    struct clf__tensor losses = clf__tensor_rows(training->losses, first, rows);
    CLF__TRY(clf__linear_forward(logits, x, projection, CLF__IDENTITY, CLF__NO_TENSOR));
    CLF__TRY(clf__cross_entropy(losses, pass->is_training ? logits : CLF__NO_TENSOR, logits,
                                clf__tensor_columns(pass->labels, first, rows), &training->options.smoothing,
                                pass->gradient_scale));
    if (!pass->is_training) {
        return CLF_OK;
    }
    return clf__linear_backward(clf__tensor_rows(training->workspace.x, first, rows), gradient, logits, x,
                                projection, CLF__NO_TENSOR, training->workspace.scratch);
}

clf_status clf__training_project(struct clf__training *training, const struct clf__pass *pass)
{
    int rows = pass->sides[CLF__DECODER].rows;
    for (int first = 0; first < rows; first += training->logits.rows) {
        CLF__TRY(project_chunk(training, pass, first, clf__min_int(rows - first, training->logits.rows)));
    }
    return CLF_OK;
}

clf_status clf__training_read_losses(struct clf__training *training, const struct clf__pass *pass,
                                     struct clf__training_loss *loss)
{
    int rows = pass->sides[CLF__DECODER].rows;
    CLF__TRY(clf__tensor_read(clf__tensor_rows(training->losses, 0, rows), training->host));
    *loss = (struct clf__training_loss){.labels = pass->counted};
    for (int i = 0; i < rows; i++) {
        loss->loss += training->host[2 * i];
        loss->nll += training->host[2 * i + 1];
    }
    return CLF_OK;
}
