/* Live transcription: the buffer is transcribed as a recording. */
#include <clformer/live.h>

#include <math.h>

#include "base/memory.h"
#include "base/options.h"
#include "transcribe/live_buffer.h"
#include "transcribe/plan.h"

enum { SILENCE_MS = 500 }; /* default silence that ends speech (whisper_streaming) */

struct clf_live {
    struct clf_transcriber *given; /* the caller's */
    struct clf_transcriber *own;   /* with the options for the buffer; shares the caller's engine */
    struct clf__live_buffer buffer;
    int is_over; /* finished or failed */
};

void clf_live_options_init_sized(struct clf_live_options *options, size_t size)
{
    const struct clf_live_options defaults = {.size = sizeof defaults, .step = 1};
    clf__options_init(options, size, &defaults);
}

/* Sets the prompt: the final text before the samples, or the initial prompt. */
static clf_status set_prompt(struct clf_live *live, const char *before)
{
    const struct clf_transcribe_options *given = &live->given->options;
    const char *initial = given->initial_prompt;
    char *joined;
    if (*before == '\0' || !given->condition_on_previous) {
        return clf__transcriber_set_prompt(live->own, initial);
    }
    CLF__TRY(
        clf__format(&joined, "%s%s", given->carry_initial_prompt && initial != NULL ? initial : "", before));
    clf_status status = clf__transcriber_set_prompt(live->own, joined);
    if (status == CLF_TEXT) { /* the model generated the name of a special token */
        status = clf__transcriber_set_prompt(live->own, initial);
    }
    clf__free(joined);
    return status;
}

/* Once words are final, the language of the last hypothesis is that of the stream. */
static void settle_language(struct clf_live *live)
{
    struct clf_transcriber *own = live->own;
    if (own->is_multilingual && !own->options.multilingual && own->language < 0) {
        own->language = clf__speech_language_id(&own->tokens, own->model->tokenizer, live->buffer.language);
    }
}

static clf_status transcribe(struct clf_transcript **out, const struct clf__live_request *request,
                             void *context)
{
    struct clf_live *live = context;
    struct clf_audio *audio;
    if (request->has_final) {
        settle_language(live);
    }
    CLF__TRY(set_prompt(live, request->before));
    CLF__TRY(clf_audio_open_samples(&audio, request->samples, (size_t)request->count));
    clf_status status = clf_transcribe(out, live->own, audio);
    clf_audio_free(audio);
    return status;
}

static clf_status check_options(const struct clf_transcribe_options *given,
                                const struct clf_live_options *options)
{
    const char *useless = given->clip_count > 0      ? "clips"
                          : given->batch_windows > 0 ? "batch_windows"
                          : given->prefix != NULL    ? "prefix"
                          : !given->timestamps       ? "timestamps 0"
                                                     : NULL;
    if (useless != NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: cannot be used for live audio; use the default", useless);
    }
    return clf__check_range("live step in seconds", options->step, 0.1, 10);
}

/* Creates the transcriber of the buffer. */
static clf_status create_transcriber(struct clf_live *live)
{
    struct clf_transcribe_options options = live->given->options;
    options.word_timestamps = 1;
    options.vad = 0;
    options.vad_model = NULL;
    options.batch = 1;
    options.carry_initial_prompt = 0; /* set_prompt() adds it */
    options.segment = NULL;
    options.progress = NULL;
    return clf_transcriber_create_shared(&live->own, live->given->engine, &options);
}

static clf_status begin(struct clf_live *live, const struct clf_live_options *options)
{
    const struct clf_transcriber *given = live->given;
    struct clf__live_buffer *buffer = &live->buffer;
    buffer->transcribe = transcribe;
    buffer->context = live;
    buffer->step = (int)lrint(options->step * CLF_AUDIO_RATE);
    buffer->emits_unstable = options->unstable != 0;
    CLF__TRY(create_transcriber(live));
    if (given->options.vad) {
        struct clf__speech_rules rules = clf__plan_speech_rules(&given->options, SILENCE_MS);
        buffer->pad = (int)rules.speech_pad;
        CLF__TRY(clf__speech_stream_create(&buffer->speech, given->vad_network, &rules));
    }
    return clf__live_buffer_begin(buffer);
}

clf_status clf_live_open(struct clf_live **out, struct clf_transcriber *transcriber,
                         const struct clf_live_options *options)
{
    struct clf_live_options own;
    struct clf_live *live;
    *out = NULL;
    if (transcriber == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "transcriber: is NULL; create one with clf_transcriber_create()");
    }
    clf_live_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_live_options"));
    CLF__TRY(check_options(&transcriber->options, &own));
    CLF__TRY(clf__allocate(&live, 1, sizeof *live));
    live->given = transcriber;
    atomic_fetch_add(&transcriber->calls, 1);
    clf_status status = begin(live, &own);
    if (status != CLF_OK) {
        clf_live_free(live);
        return status;
    }
    *out = live;
    return CLF_OK;
}

void clf_live_free(struct clf_live *live)
{
    if (live != NULL) {
        clf_transcriber_free(live->own);
        clf__live_buffer_free(&live->buffer);
        atomic_fetch_sub(&live->given->calls, 1);
        clf__free(live);
    }
}

static clf_status check_call(const struct clf_live *live)
{
    return live == NULL    ? clf__fail(CLF_BAD_ARGUMENT, "live: is NULL; open one with clf_live_open()")
           : live->is_over ? clf__fail(CLF_BAD_ARGUMENT,
                                       "the live transcription is finished or has failed; open another one")
                           : CLF_OK;
}

clf_status clf_live_feed(struct clf_live *live, const float *samples, size_t count, size_t waiting)
{
    CLF__TRY(check_call(live));
    if (samples == NULL && count > 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "samples: is NULL; pass the samples to transcribe");
    }
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(samples[i])) {
            double time = clf__live_buffer_received(&live->buffer) + (double)i / CLF_AUDIO_RATE;
            return clf__fail(CLF_FORMAT, "the sample at %.2f s is NaN or infinite; record the audio again",
                             time);
        }
    }
    clf_status status = clf__live_buffer_feed(&live->buffer, samples, count, waiting);
    live->is_over = status != CLF_OK;
    return status;
}

clf_status clf_live_finish(struct clf_live *live)
{
    CLF__TRY(check_call(live));
    live->is_over = 1;
    return clf__live_buffer_finish(&live->buffer);
}

const struct clf_live_event *clf_live_take(struct clf_live *live)
{
    return live != NULL ? clf__live_events_take(&live->buffer.events) : NULL;
}
