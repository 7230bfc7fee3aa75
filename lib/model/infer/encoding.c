/* Encoded sources that outlive their batch. */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "model/infer/internal.h"
#include "runtime/device/buffer.h"
#include "runtime/device/lock.h"

static clf_status allocate(struct clf__encoding *encoding, struct clf_device *device, int rows, int columns)
{
    clf__arena_init(&encoding->arena, device);
    CLF__TRY(
        clf__arena_reserve(&encoding->arena, &encoding->rows, CLF__F32, rows, columns, "an encoded source"));
    return clf__arena_allocate(&encoding->arena);
}

/* Frees the rows if they are incomplete. */
static clf_status keep(struct clf__encoding *encoding, clf_status status)
{
    if (status != CLF_OK) {
        clf__encoding_free(encoding);
    }
    return status;
}

clf_status clf__encoding_save(struct clf__encoding *encoding, struct clf__session *session, int index)
{
    struct clf_device *device = session->transformer->device;
    clf__encoding_free(encoding);
    CLF__LOCK_DEVICE(device);
    struct clf__tensor all = clf__session_encoded_rows(session);
    int first = session->source_first[index], rows = session->source_first[index + 1] - first;
    clf_status status = allocate(encoding, device, rows, all.columns);
    return keep(encoding,
                status == CLF_OK ? clf__tensor_copy_rows(encoding->rows, 0, all, first, rows) : status);
}

clf_status clf__encoding_write(struct clf__encoding *encoding, struct clf_device *device, const float *source,
                               int rows, int columns)
{
    CLF__LOCK_DEVICE(device);
    clf_status status = allocate(encoding, device, rows, columns);
    return keep(encoding, status == CLF_OK ? clf__tensor_write(encoding->rows, source) : status);
}

clf_status clf__encoding_read(const struct clf__encoding *encoding, float *target)
{
    CLF__LOCK_DEVICE(encoding->arena.device);
    return clf__tensor_read(encoding->rows, target);
}

void clf__encoding_free(struct clf__encoding *encoding)
{
    CLF__LOCK_DEVICE(encoding->arena.device);
    clf__arena_free(&encoding->arena);
    encoding->rows = CLF__NO_TENSOR;
}

/* Copies rows to the session. Rows of another device are read first, because holding the locks of two devices
 * could deadlock. */
static clf_status load(struct clf__session *session, int first, const struct clf__encoding *encoding)
{
    struct clf_device *device = session->transformer->device;
    struct clf__tensor to = clf__tensor_rows(session->workspace.x, first, encoding->rows.rows);
    float *host = NULL;
    if (encoding->arena.device == device) {
        CLF__LOCK_DEVICE(device);
        return clf__tensor_copy_rows(to, 0, encoding->rows, 0, to.rows);
    }
    CLF__TRY(clf__allocate(&host, (size_t)to.rows * (size_t)to.columns, sizeof *host));
    clf_status status = clf__encoding_read(encoding, host);
    if (status == CLF_OK) {
        CLF__LOCK_DEVICE(device);
        status = clf__tensor_write(to, host);
    }
    clf__free(host);
    return status;
}

clf_status clf__session_load(struct clf__session *session, struct clf__encoding *const *sources, int count)
{
    int32_t *hidden;
    assert(count <= session->limits.sources);
    session->sources = count;
    for (int b = 0; b < count; b++) {
        int first = session->source_first[b], rows = sources[b]->rows.rows;
        assert(first + rows <= session->source_rows);
        session->source_first[b + 1] = first + rows;
        CLF__TRY(load(session, first, sources[b]));
    }
    CLF__LOCK_DEVICE(session->transformer->device);
    int rows = session->source_first[count];
    session->source.count = 0;
    clf__upload_take(&session->source, rows, &hidden);
    memset(hidden, 0, (size_t)rows * sizeof *hidden); /* frames have no padding */
    session->encoded_hidden = hidden;
    struct clf__workspace workspace = clf__workspace_rows(&session->workspace, rows);
    return clf__workspace_round(&workspace);
}
