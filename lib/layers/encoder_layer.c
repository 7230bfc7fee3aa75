#include "layers/encoder_layer.h"

clf_status clf__encoder_layer_forward(const struct clf__encoder_layer *layer,
                                      const struct clf__workspace *workspace,
                                      const struct clf__attention_call *self_call)
{
    struct clf__sublayer sublayer;
    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->self_attention_norm, layer->norm_first, workspace));
    CLF__TRY(clf__self_attention_forward(sublayer.y, sublayer.x, workspace->x, &layer->self_attention,
                                         workspace, self_call));
    CLF__TRY(clf__sublayer_end(&sublayer, workspace));

    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->feed_forward_norm, layer->norm_first, workspace));
    CLF__TRY(
        clf__feed_forward_forward(sublayer.y, sublayer.x, workspace->x, &layer->feed_forward, workspace));
    return clf__sublayer_end(&sublayer, workspace);
}

clf_status clf__encoder_layer_record_reserve(struct clf__encoder_layer_record *record,
                                             struct clf__arena *arena, const struct clf__encoder_layer *layer,
                                             int rows)
{
    int d_model = layer->feed_forward_norm.gamma.columns;
    CLF__TRY(clf__attention_record_reserve(&record->self_attention, arena, &layer->self_attention, rows, 0));
    CLF__TRY(clf__sublayer_record_reserve(&record->self_attention_sums, arena, rows, d_model));
    CLF__TRY(clf__arena_reserve(arena, &record->hidden, CLF__F32, rows,
                                clf__weight_outputs(layer->feed_forward.up.weight), "the feed-forward rows"));
    return clf__sublayer_record_reserve(&record->feed_forward_sums, arena, rows, d_model);
}

struct clf__encoder_layer_record
clf__encoder_layer_record_rows(const struct clf__encoder_layer_record *record, int rows)
{
    return (struct clf__encoder_layer_record){
        .self_attention = clf__attention_record_rows(&record->self_attention, rows, 0),
        .self_attention_sums = clf__sublayer_record_rows(&record->self_attention_sums, rows),
        .hidden = clf__tensor_rows(record->hidden, 0, rows),
        .feed_forward_sums = clf__sublayer_record_rows(&record->feed_forward_sums, rows),
    };
}

clf_status clf__encoder_layer_record(const struct clf__encoder_layer *layer, struct clf__tensor x,
                                     const struct clf__encoder_layer_record *record,
                                     const struct clf__gradient_workspace *workspace,
                                     const struct clf__encoder_layer_training *training)
{
    const struct clf__sublayer_record *sums = &record->self_attention_sums;
    struct clf__sublayer sublayer;
    CLF__TRY(clf__sublayer_record_begin(&sublayer, &layer->self_attention_norm, layer->norm_first, x, sums));
    CLF__TRY(clf__self_attention_record(sublayer.y, sublayer.x, x, &layer->self_attention,
                                        &record->self_attention, &training->self_attention));
    CLF__TRY(clf__sublayer_record_end(&sublayer, sums));

    x = sums->y;
    sums = &record->feed_forward_sums;
    CLF__TRY(clf__sublayer_record_begin(&sublayer, &layer->feed_forward_norm, layer->norm_first, x, sums));
    CLF__TRY(clf__feed_forward_record(sublayer.y, sublayer.x, x, &layer->feed_forward, record->hidden,
                                      workspace, &training->feed_forward));
    return clf__sublayer_record_end(&sublayer, sums);
}

clf_status clf__encoder_layer_backward(const struct clf__encoder_layer *gradient,
                                       const struct clf__encoder_layer *layer, struct clf__tensor x,
                                       const struct clf__encoder_layer_record *record,
                                       const struct clf__gradient_workspace *workspace,
                                       const struct clf__encoder_layer_training *training)
{
    int norm_first = layer->norm_first;
    struct clf__branch branch;
    const struct clf__sublayer_record *sums = &record->feed_forward_sums;
    struct clf__tensor input = record->self_attention_sums.y;
    CLF__TRY(clf__sublayer_backward_begin(&branch, &gradient->feed_forward_norm, &layer->feed_forward_norm,
                                          norm_first, sums, workspace));
    CLF__TRY(clf__feed_forward_backward(&branch, &gradient->feed_forward, norm_first ? sums->inner : input,
                                        &layer->feed_forward, record->hidden, workspace,
                                        &training->feed_forward));
    CLF__TRY(clf__sublayer_backward_end(&gradient->feed_forward_norm, &layer->feed_forward_norm, norm_first,
                                        input, workspace));

    sums = &record->self_attention_sums;
    CLF__TRY(clf__sublayer_backward_begin(&branch, &gradient->self_attention_norm,
                                          &layer->self_attention_norm, norm_first, sums, workspace));
    CLF__TRY(clf__self_attention_backward(&branch, &gradient->self_attention, norm_first ? sums->inner : x,
                                          &layer->self_attention, &record->self_attention, workspace,
                                          &training->self_attention));
    return clf__sublayer_backward_end(&gradient->self_attention_norm, &layer->self_attention_norm, norm_first,
                                      x, workspace);
}
