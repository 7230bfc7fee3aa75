#include "engine/source.h"

#include <string.h>

#include "audio/frames.h"
#include "base/memory.h"
#include "model/config/sides.h"

void clf__source_free(struct clf__source *source)
{
    clf__ids_free(&source->ids);
    clf__free(source->frames);
    *source = (struct clf__source){.length = 0};
}

int clf__ids_cut(struct clf__ids *ids, int limit)
{
    if (ids->count <= limit) {
        return 0;
    }
    int before = ids->count;
    ids->data[limit - 1] = ids->data[before - 1];
    ids->count = limit;
    return before;
}

clf_status clf__line_problem(clf_status status, clf_status *line_status, char **problem)
{
    if (status != CLF_TEXT && status != CLF_FILE && status != CLF_FORMAT) {
        return status;
    }
    *line_status = status;
    return clf__copy_string(problem, clf_last_error());
}

static int is_blank(const struct clf_line *line)
{
    for (size_t i = 0; i < line->size; i++) {
        if (strchr(" \t\r\n\v\f", line->text[i]) == NULL) {
            return 0; /* the NUL at the string's end counts as blank */
        }
    }
    return 1;
}

/* Adds to the error that a speech model expects recordings, as the user may have passed text. */
static clf_status say_what_is_heard(clf_status status, const struct clf__config *config)
{
    struct clf__failure failure = clf__failure_keep(status);
    return status != CLF_FILE ? status
                              : clf__fail(status,
                                          "%s; this model reads recordings: each line must be the path of a "
                                          "recording or of frames in an .npy file%s",
                                          failure.sentence,
                                          clf__config_hears_windows(config)
                                              ? "; use `clformer transcribe` for recordings of any length"
                                              : "");
}

static clf_status read_frames(struct clf__source *out, const struct clf__settings *settings,
                              struct clf__frame_maker *frame_maker, const struct clf_line *line)
{
    char *path;
    int whole = 0;
    CLF__TRY(clf__copy_bytes(&path, line->text, line->size));
    clf_status status = clf__frames_read(&out->frames, &out->length, &whole, frame_maker, path,
                                         settings->model->info.max_source_length);
    clf__free(path);
    out->cut_from = whole > out->length ? whole : 0;
    return status == CLF_OK ? CLF_OK : say_what_is_heard(status, &settings->model->transformer->config);
}

clf_status clf__source_text(struct clf_line *out, char **made, const struct clf__settings *settings,
                            const struct clf_line *line)
{
    const char *prefix = settings->source_prefix != NULL ? settings->source_prefix : "";
    size_t length = strlen(prefix);
    *out = *line;
    *made = NULL;
    if (length > 0) {
        CLF__TRY(clf__allocate(made, length + line->size + 1, 1));
        memcpy(*made, prefix, length);
        memcpy(*made + length, line->text, line->size);
        *out = (struct clf_line){*made, length + line->size};
    }
    return CLF_OK;
}

static clf_status encode(struct clf__source *out, const struct clf__settings *settings,
                         const struct clf_line *line)
{
    struct clf_line whole;
    char *made;
    CLF__TRY(clf__source_text(&whole, &made, settings, line));
    clf_status status =
        clf__tokenizer_encode_source(settings->model->tokenizer, &settings->framing, &out->ids, whole.text,
                                     whole.size, settings->options.subwords);
    clf__free(made);
    return status;
}

static clf_status read_tokens(struct clf__source *out, const struct clf__settings *settings,
                              const struct clf_line *line)
{
    const struct clf_model *model = settings->model;
    CLF__TRY(encode(out, settings, line));
    if (out->ids.count <= clf__framing_count(&settings->framing)) {
        return CLF_OK; /* Unicode white space: also blank */
    }
    out->cut_from = clf__ids_cut(&out->ids, model->info.max_source_length);
    out->length = out->ids.count;
    return CLF_OK;
}

clf_status clf__source_read(struct clf__source *out, const struct clf__settings *settings,
                            struct clf__frame_maker *frame_maker, const struct clf_line *line)
{
    *out = (struct clf__source){.length = 0};
    if (is_blank(line)) {
        return CLF_OK;
    }
    int takes_frames = settings->model->info.feature_size > 0;
    clf_status status =
        takes_frames ? read_frames(out, settings, frame_maker, line) : read_tokens(out, settings, line);
    if (status != CLF_OK) {
        clf__source_free(out);
    }
    return status;
}

/* Inserts an id before all others. */
static clf_status prepend(struct clf__ids *ids, int32_t id)
{
    CLF__TRY(clf__ids_append(ids, -1)); /* grows the array by one */
    memmove(ids->data + 1, ids->data, (size_t)(ids->count - 1) * sizeof *ids->data);
    ids->data[0] = id;
    return CLF_OK;
}

/* Encodes a target and appends the end token. */
static clf_status encode_target(struct clf__ids *out, const struct clf__settings *settings,
                                const struct clf_line *line)
{
    return clf__tokenizer_encode(settings->model->tokenizer, out, line->text, line->size, 1,
                                 settings->options.subwords);
}

static void drop_end(struct clf__ids *ids, const struct clf__settings *settings)
{
    ids->count -= ids->count > 0 && ids->data[ids->count - 1] == settings->model->transformer->config.end_id;
}

static int adds_first(const struct clf__settings *settings)
{
    return settings->options.forced_first >= 0 && !settings->options.exact_tokens;
}

clf_status clf__prefix_read(struct clf__ids *out, const struct clf__settings *settings,
                            const struct clf_line *line)
{
    const struct clf_model *model = settings->model;
    const struct clf__search_options *search = &settings->search;
    if (is_blank(line)) {
        return CLF_OK;
    }
    CLF__TRY(encode_target(out, settings, line));
    drop_end(out, settings);
    for (int i = settings->takes_start; i < out->count; i++) {
        if (clf__is_end(search, out->data[i])) {
            return clf__fail(CLF_TEXT,
                             "the target prefix contains \"%s\", which ends a translation; remove it",
                             clf__tokenizer_target_token(model->tokenizer, out->data[i]));
        }
    }
    if (out->count > 0 && adds_first(settings)) {
        CLF__TRY(prepend(out, settings->options.forced_first));
    }
    return out->count < search->max_length
               ? CLF_OK
               : clf__fail(CLF_TEXT,
                           "the target prefix has %d tokens, more than the maximum length of %d; shorten it",
                           out->count, search->max_length);
}

clf_status clf__target_read(struct clf__ids *out, int *cut_from, const struct clf__settings *settings,
                            const struct clf_line *line)
{
    const struct clf_model *model = settings->model;
    CLF__TRY(encode_target(out, settings, line));
    if (settings->options.exact_tokens) {
        drop_end(out, settings);
    }
    if (out->count == 0) {
        return clf__fail(CLF_TEXT,
                         "the target has no tokens; with exact tokens it needs at least one, such as "
                         "the end token");
    }
    if (adds_first(settings)) {
        CLF__TRY(prepend(out, settings->options.forced_first));
    }
    *cut_from = clf__ids_cut(out, model->info.max_target_length);
    return CLF_OK;
}

clf_status clf__sources_join(struct clf__joined *out, const struct clf__source *const *sources, int count,
                             int feature_size)
{
    *out = (struct clf__joined){.first = NULL};
    CLF__TRY(clf__allocate(&out->first, (size_t)count + 1, sizeof *out->first));
    for (int i = 0; i < count; i++) {
        out->first[i + 1] = out->first[i] + sources[i]->length;
    }
    size_t rows = (size_t)out->first[count];
    clf_status status = feature_size > 0
                            ? clf__allocate(&out->frames, rows * (size_t)feature_size, sizeof *out->frames)
                            : clf__allocate(&out->ids, rows, sizeof *out->ids);
    if (status != CLF_OK) {
        clf__joined_free(out);
        return status;
    }
    for (int i = 0; i < count; i++) {
        const struct clf__source *source = sources[i];
        size_t first = (size_t)out->first[i], length = (size_t)source->length;
        if (feature_size > 0) {
            size_t width = (size_t)feature_size;
            memcpy(out->frames + first * width, source->frames, length * width * sizeof *out->frames);
        } else {
            memcpy(out->ids + first, source->ids.data, length * sizeof *out->ids);
        }
    }
    out->sequences = (struct clf__sequences){count, out->first, out->ids, out->frames};
    return CLF_OK;
}

void clf__joined_free(struct clf__joined *joined)
{
    clf__free(joined->first);
    clf__free(joined->ids);
    clf__free(joined->frames);
    *joined = (struct clf__joined){.first = NULL};
}
