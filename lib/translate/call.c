/* Calls: clf_translate(), and the jobs of any call, run on the calling thread. */
#include "base/memory.h"
#include "translate/internal.h"

const struct clf__call_kind *clf__call_kind_of(const struct clf_translator *translator)
{
    return translator->settings->starts != NULL            ? &clf__call_alternatives
           : translator->settings->options.split_sentences ? &clf__call_split
                                                           : &clf__call_lines;
}

clf_status clf__call_run(struct clf__call *call)
{
    call->is_here = 1;
    CLF__TRY(call->kind->begin(call));
    while (call->job != NULL) {
        CLF__TRY(clf__translator_run(call->translator, call->job));
        CLF__TRY(call->kind->advance(call));
    }
    return CLF_OK;
}

void clf__call_free(struct clf__call *call)
{
    if (call->kind->free != NULL) {
        call->kind->free(call);
    }
    clf__work_free(&call->work);
    clf_translations_free(call->translations, call->count);
}

clf_status clf_translate_prefixed(struct clf_translation **out, struct clf_translator *translator,
                                  const struct clf_line *lines, const struct clf_line *prefixes, int count)
{
    *out = NULL;
    CLF__TRY(clf__translator_begin(translator));
    struct clf__call call = {.kind = clf__call_kind_of(translator),
                             .translator = translator,
                             .options = &translator->settings->options,
                             .lines = lines,
                             .others = prefixes,
                             .count = count};
    clf_status status = clf__call_run(&call);
    if (status == CLF_OK) {
        *out = call.translations;
        call.translations = NULL;
    }
    clf__call_free(&call);
    clf__translator_end(translator);
    return status;
}

clf_status clf_translate(struct clf_translation **out, struct clf_translator *translator,
                         const struct clf_line *lines, int count)
{
    return clf_translate_prefixed(out, translator, lines, NULL, count);
}
