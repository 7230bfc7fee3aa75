#include "math/layers/layer.h"

#include "math/layers/linear_pair.h"
#include "math/layers/persistent.h"

static int has_cross_attention(const struct clf__layer *layer)
{
    return layer->cross_attention.input.weight != NULL;
}

static clf_status begin_mixer(struct clf__sublayer *sublayer, const struct clf__layer *layer,
                              const struct clf__workspace *workspace)
{
    if (layer->norm_first && layer->mixer.kind->norms_itself) {
        *sublayer = (struct clf__sublayer){
            .norm = &layer->mixer_norm, .norm_first = 1, .x = workspace->x, .y = workspace->x};
        return CLF_OK;
    }
    return clf__sublayer_begin(sublayer, &layer->mixer_norm, layer->norm_first, workspace);
}

/* Runs the mixer, with the layer's relative bias if it has one. */
static clf_status mix(const struct clf__sublayer *sublayer, const struct clf__layer *layer,
                      const struct clf__workspace *workspace, const struct clf__layer_call *call)
{
    const struct clf__mixer *mixer = &layer->mixer;
    if (call->step != NULL) {
        const struct clf__mixer_step step = clf__layer_step(layer, call);
        return mixer->kind->step(sublayer->y, sublayer->x, workspace->x, mixer, workspace, &step,
                                 call->state);
    }
    struct clf__tensor own = layer->relative.table;
    struct clf__attention_call self = *call->self_call;
    self.mask.relative = own.buffer != NULL ? own : self.mask.relative;
    return mixer->kind->forward(sublayer->y, sublayer->x, workspace->x, mixer, workspace, &self);
}

clf_status clf__layer_forward(const struct clf__layer *layer, const struct clf__workspace *workspace,
                              const struct clf__layer_call *call)
{
    struct clf__sublayer sublayer;
    CLF__TRY(begin_mixer(&sublayer, layer, workspace));
    CLF__TRY(mix(&sublayer, layer, workspace, call));
    CLF__TRY(clf__sublayer_end(&sublayer, workspace));

    if (has_cross_attention(layer)) {
        CLF__TRY(clf__sublayer_begin(&sublayer, &layer->cross_attention_norm, layer->norm_first, workspace));
        CLF__TRY(clf__cross_attention_forward(sublayer.y, sublayer.x, workspace->x, &layer->cross_attention,
                                              call->memory, workspace, call->cross_call));
        CLF__TRY(clf__sublayer_end(&sublayer, workspace));
    }

    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->feed_forward_norm, layer->norm_first, workspace));
    CLF__TRY(
        clf__feed_forward_forward(sublayer.y, sublayer.x, workspace->x, &layer->feed_forward, workspace));
    return clf__sublayer_end(&sublayer, workspace);
}

clf_status clf__decoder_layers_forward(const struct clf__layer *layers, int count,
                                       const struct clf__workspace *workspace,
                                       const struct clf__layer_call *calls)
{
    int is_rounded = layers->norm_first; /* with post-norm, the norms round x for the next layer */
    for (int done = 0, together; done < count; done += together) {
        const struct clf__layer *layer = &layers[done];
        const struct clf__layer_call *call = &calls[done];
        together = clf__decoder_layers_together(layer, count - done, workspace->x.rows, call);
        if (together > 0) {
            CLF__TRY(clf__decoder_layers_single(layer, together, workspace, call));
            is_rounded = layers->norm_first;
            continue;
        }
        together = clf__persistent_begin(layer, count - done, workspace, call);
        if (together > 0) {
            CLF__TRY(clf__persistent_launch(layer, together, workspace, call));
        } else {
            CLF__TRY(is_rounded ? CLF_OK : clf__workspace_round(workspace));
            together = clf__linear_pairs_begin(layer, count - done, workspace, call);
            CLF__TRY(together > 0 ? clf__decoder_layers_pairs(layer, together, workspace, call)
                                  : clf__layer_forward(layer, workspace, call));
            together = together > 0 ? together : 1;
        }
        is_rounded = 1;
    }
    return CLF_OK;
}

clf_status clf__layer_record_reserve(struct clf__layer_record *record, struct clf__arena *arena,
                                     const struct clf__layer *layer, int rows, int source_rows)
{
    int d_model = layer->feed_forward_norm.gamma.columns;
    CLF__TRY(layer->mixer.kind->reserve_record(&record->mixer, arena, &layer->mixer, rows));
    CLF__TRY(clf__sublayer_record_reserve(&record->mixer_sums, arena, rows, d_model));
    if (has_cross_attention(layer)) {
        CLF__TRY(clf__attention_record_reserve(&record->cross_attention, arena, &layer->cross_attention, rows,
                                               source_rows));
        CLF__TRY(clf__sublayer_record_reserve(&record->cross_attention_sums, arena, rows, d_model));
    }
    CLF__TRY(clf__arena_reserve(arena, &record->hidden, CLF__F32, rows,
                                clf__weight_outputs(layer->feed_forward.up.weight), "the feed-forward rows"));
    return clf__sublayer_record_reserve(&record->feed_forward_sums, arena, rows, d_model);
}

struct clf__layer_record clf__layer_record_rows(const struct clf__layer *layer,
                                                const struct clf__layer_record *record, int rows,
                                                int source_rows)
{
    struct clf__layer_record out = {
        .mixer = layer->mixer.kind->record_rows(&record->mixer, rows),
        .mixer_sums = clf__sublayer_record_rows(&record->mixer_sums, rows),
        .hidden = clf__tensor_rows(record->hidden, 0, rows),
        .feed_forward_sums = clf__sublayer_record_rows(&record->feed_forward_sums, rows),
    };
    if (has_cross_attention(layer)) {
        out.cross_attention = clf__attention_record_rows(&record->cross_attention, rows, source_rows);
        out.cross_attention_sums = clf__sublayer_record_rows(&record->cross_attention_sums, rows);
    }
    return out;
}

clf_status clf__layer_record(const struct clf__layer *layer, struct clf__tensor x,
                             const struct clf__layer_record *record,
                             const struct clf__gradient_workspace *workspace,
                             const struct clf__layer_training *training)
{
    const struct clf__sublayer_record *sums = &record->mixer_sums;
    struct clf__sublayer sublayer;
    CLF__TRY(clf__sublayer_record_begin(&sublayer, &layer->mixer_norm, layer->norm_first, x, sums));
    CLF__TRY(layer->mixer.kind->record(sublayer.y, sublayer.x, x, &layer->mixer, &record->mixer,
                                       &training->mixer));
    CLF__TRY(clf__sublayer_record_end(&sublayer, sums));

    if (has_cross_attention(layer)) {
        x = sums->y;
        sums = &record->cross_attention_sums;
        CLF__TRY(
            clf__sublayer_record_begin(&sublayer, &layer->cross_attention_norm, layer->norm_first, x, sums));
        CLF__TRY(clf__cross_attention_record(sublayer.y, sublayer.x, x, &training->encoded,
                                             &layer->cross_attention, &record->cross_attention,
                                             &training->cross_attention));
        CLF__TRY(clf__sublayer_record_end(&sublayer, sums));
    }

    x = sums->y;
    sums = &record->feed_forward_sums;
    CLF__TRY(clf__sublayer_record_begin(&sublayer, &layer->feed_forward_norm, layer->norm_first, x, sums));
    CLF__TRY(clf__feed_forward_record(sublayer.y, sublayer.x, x, &layer->feed_forward, record->hidden,
                                      workspace, &training->feed_forward));
    return clf__sublayer_record_end(&sublayer, sums);
}

clf_status clf__layer_backward(const struct clf__layer *gradient, const struct clf__layer *layer,
                               struct clf__tensor x, const struct clf__layer_record *record,
                               const struct clf__gradient_workspace *workspace,
                               const struct clf__layer_training *training)
{
    int norm_first = layer->norm_first, is_crossed = has_cross_attention(layer);
    struct clf__branch branch;
    const struct clf__sublayer_record *sums = &record->feed_forward_sums;
    struct clf__tensor input = is_crossed ? record->cross_attention_sums.y : record->mixer_sums.y;
    CLF__TRY(clf__sublayer_backward_begin(&branch, &gradient->feed_forward_norm, &layer->feed_forward_norm,
                                          norm_first, sums, workspace));
    CLF__TRY(clf__feed_forward_backward(&branch, &gradient->feed_forward, norm_first ? sums->inner : input,
                                        &layer->feed_forward, record->hidden, workspace,
                                        &training->feed_forward));
    CLF__TRY(clf__sublayer_backward_end(&gradient->feed_forward_norm, &layer->feed_forward_norm, norm_first,
                                        input, workspace));

    if (is_crossed) {
        sums = &record->cross_attention_sums;
        input = record->mixer_sums.y;
        CLF__TRY(clf__sublayer_backward_begin(&branch, &gradient->cross_attention_norm,
                                              &layer->cross_attention_norm, norm_first, sums, workspace));
        CLF__TRY(clf__cross_attention_backward(
            &branch, &training->encoded, &gradient->cross_attention, norm_first ? sums->inner : input,
            &layer->cross_attention, &record->cross_attention, workspace, &training->cross_attention));
        CLF__TRY(clf__sublayer_backward_end(&gradient->cross_attention_norm, &layer->cross_attention_norm,
                                            norm_first, input, workspace));
    }

    sums = &record->mixer_sums;
    CLF__TRY(clf__sublayer_backward_begin(&branch, &gradient->mixer_norm, &layer->mixer_norm, norm_first,
                                          sums, workspace));
    CLF__TRY(layer->mixer.kind->backward(&branch, &gradient->mixer, norm_first ? sums->inner : x,
                                         &layer->mixer, &record->mixer, workspace, &training->mixer));
    return clf__sublayer_backward_end(&gradient->mixer_norm, &layer->mixer_norm, norm_first, x, workspace);
}
