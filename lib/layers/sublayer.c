#include "layers/sublayer.h"

clf_status clf__sublayer_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm, int norm_first,
                               const struct clf__workspace *workspace)
{
    sublayer->norm = norm;
    sublayer->norm_first = norm_first;
    sublayer->x = norm_first ? workspace->normed : workspace->x;
    sublayer->y = norm_first ? workspace->x : workspace->normed;
    return norm_first ? clf__norm_forward(workspace->normed, workspace->x, norm) : CLF_OK;
}

clf_status clf__sublayer_end(const struct clf__sublayer *sublayer, const struct clf__workspace *workspace)
{
    return sublayer->norm_first ? CLF_OK : clf__norm_forward(workspace->x, workspace->normed, sublayer->norm);
}
