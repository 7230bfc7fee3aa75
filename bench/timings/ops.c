#include "timings/ops.h"

#include "timings/internal.h"

clf_status ops_measure(struct clf_device *device, const struct op_choice *choice, op_report *report,
                       void *user)
{
    struct op_bench bench = {.device = device, .choice = *choice, .report = report, .user = user};
    if (choice->group != OP_ATTENTION) {
        op_gemm(&bench);
    }
    if (choice->group != OP_GEMM) {
        op_attentions(&bench);
    }
    if (choice->group == OP_ALL) {
        op_rows(&bench);
    }
    return bench.stopped ? CLF_INTERRUPTED : CLF_OK;
}
