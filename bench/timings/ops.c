#include "timings/ops.h"

#include "timings/internal.h"

clf_status ops_measure(struct clf_device *device, const struct op_choice *choice, op_report *report,
                       void *user)
{
    struct op_bench bench = {.device = device, .choice = *choice, .report = report, .user = user};
    op_products(&bench);
    if (!choice->only_products) {
        op_attentions(&bench);
        op_rows(&bench);
    }
    return bench.stopped ? CLF_INTERRUPTED : CLF_OK;
}
