#include "support/views.h"

enum { BEFORE = 3, AFTER = 2 };
static const float poison = -12345.0f;

struct support_view support_view(struct clf_device *device, int rows, int columns, const float *values)
{
    int width = BEFORE + columns + AFTER, height = rows + 1;
    float *all = support_array((size_t)height * (size_t)width, sizeof *all);
    for (int i = 0; i < height * width; i++) {
        all[i] = poison;
    }
    struct support_view view;
    view.whole = support_tensor(device, CLF__F32, height, width, all);
    view.tensor = clf__tensor_columns(clf__tensor_rows(view.whole, 1, rows), BEFORE, columns);
    if (values == NULL) {
        values = support_read(support_tensor(device, CLF__F32, rows, columns, NULL));
    }
    assert_ok(clf__tensor_write(view.tensor, values));
    return view;
}

void support_view_check(const struct support_view *view)
{
    const float *all = support_read(view->whole);
    for (int row = 0; row < view->whole.rows; row++) {
        for (int c = 0; c < view->whole.columns; c++) {
            int inside = row >= 1 && c >= BEFORE && c < BEFORE + view->tensor.columns;
            if (!inside && all[row * view->whole.columns + c] != poison) {
                fail_msg("element (%d, %d) outside of the view was overwritten", row - 1, c - BEFORE);
            }
        }
    }
}
