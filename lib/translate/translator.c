#include <clformer/translator.h>

#include "audio/frames.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/config/sides.h"
#include "translate/internal.h"

clf_status clf__translator_begin(struct clf_translator *translator)
{
    if (translator == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "translator: is NULL; create one with clf_translator_create()");
    }
    if (atomic_exchange(&translator->is_working, 1)) {
        return clf__fail(CLF_BAD_ARGUMENT, "the translator is in use by another thread, or was called from "
                                           "its own callback; create a translator for each thread");
    }
    return CLF_OK;
}

void clf__translator_end(struct clf_translator *translator)
{
    if (translator->next != NULL) {
        clf__translator_sum_times(translator);
    }
    atomic_store(&translator->is_working, 0);
}

clf_status clf__translator_check_lines(const struct clf_line *lines, int count)
{
    if (count < 0 || (count > 0 && lines == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "count: is %d, %s", count,
                         count < 0 ? "but cannot be negative" : "but the list of lines is NULL");
    }
    return CLF_OK;
}

static clf_status take_frames(struct clf_translator *translator)
{
    const struct clf_model *model = translator->model;
    const struct clf__config *config = &model->transformer->config;
    return config->feature_size > 0
               ? clf__frame_maker_create(&translator->frame_maker, model->transformer->device,
                                         clf__frame_layout_of(config))
               : CLF_OK;
}

void clf__translator_free(struct clf_translator *translator)
{
    if (translator == NULL) {
        return;
    }
    clf__translator_free(translator->starts);
    clf__session_free(translator->session);
    clf__session_free(translator->force_session);
    clf__session_free(translator->align_session);
    clf__frame_maker_free(translator->frame_maker);
    clf__free(translator);
}

static clf_status fill(struct clf_translator *translator)
{
    translator->batch_tokens = translator->settings->options.batch_tokens;
    CLF__TRY(clf__translator_choose_batch(translator));
    CLF__TRY(take_frames(translator));
    struct clf__settings *starts = translator->settings->starts;
    return starts != NULL ? clf__translator_create(&translator->starts, translator->model, starts) : CLF_OK;
}

clf_status clf__translator_create(struct clf_translator **out, struct clf_model *model,
                                  struct clf__settings *settings)
{
    struct clf_translator *translator;
    *out = NULL;
    CLF__TRY(clf__allocate(&translator, 1, sizeof *translator));
    translator->model = model;
    translator->settings = settings;
    translator->times.size = translator->all_times.size = sizeof translator->times;
    clf_status status = fill(translator);
    if (status != CLF_OK) {
        clf__translator_free(translator);
        return status;
    }
    *out = translator;
    return CLF_OK;
}

void clf_translator_free(struct clf_translator *translator)
{
    if (translator != NULL && atomic_load(&translator->is_working)) {
        clf__log(CLF_LOG_WARNING,
                 "a translator that is in use is not freed; do not free it in its own callbacks");
        return;
    }
    struct clf__settings *settings = translator != NULL ? translator->settings : NULL;
    while (translator != NULL) {
        struct clf_translator *next = translator->next;
        clf__translator_free(translator);
        translator = next;
    }
    clf__settings_free(settings);
}

const struct clf_stage_times *clf_translator_times(const struct clf_translator *translator)
{
    return translator->next != NULL ? &translator->all_times : &translator->times;
}

const struct clf_translator_device *clf_translator_device_at(struct clf_translator *translator, int index)
{
    struct clf_translator *each = translator;
    for (int i = 0; i < index && each != NULL; i++) {
        each = each->next;
    }
    if (each == NULL || index < 0) {
        return NULL;
    }
    each->described = (struct clf_translator_device){
        .size = sizeof each->described,
        .device = clf_device_describe(each->model->transformer->device),
        .batch_tokens = each->batch_tokens,
        .batch_lines = each->max_lines,
        .is_lost = each->model->is_lost,
        .times = &each->times,
    };
    return &each->described;
}
