/* clf_document_translate(): hooks, marks by the alignment, and interrupts, with the demo model. */
#include "support/support.h"

#include <string.h>

#include <clformer/clformer.h>

#include "support/documents.h"
#include "support/process.h"

#define CUE(n) #n "\n00:00:0" #n ",000 --> 00:00:0" #n ",900\n"

static struct clf_model *model;
static struct clf_engine *engine;

static int set_up(void **state)
{
    (void)state;
    struct clf_device *device = support_device((clf_variant)support_first_variant());
    assert_ok(clf_model_load(&model, device, DEMO_MODEL, NULL));
    assert_ok(clf_engine_create(&engine, &model, 1, NULL));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clf_engine_free(engine);
    clf_model_free(model);
    return 0;
}

/* What the hooks were called with. */
struct seen {
    char lines[64], sentences[64]; /* a digit for each call: the index of the segment */
    int polls, stops;
};

static void take_translation(int line, const struct clf_translation *translation, void *payload)
{
    struct seen *seen = payload;
    assert_int_equal(translation->status, CLF_OK);
    seen->lines[strlen(seen->lines)] = (char)('0' + line);
}

static void take_sentence(int line, const struct clf_sentence *sentence, void *payload)
{
    struct seen *seen = payload;
    assert_true(sentence->source_size > 0);
    seen->sentences[strlen(seen->sentences)] = (char)('0' + line);
}

static void count_poll(void *payload)
{
    ((struct seen *)payload)->polls++;
}

static int is_interrupted(void *payload)
{
    return ((struct seen *)payload)->stops;
}

static struct clf_translate_options hooked(struct seen *seen)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.translated = take_translation;
    options.sentence_translated = take_sentence;
    options.poll = count_poll;
    options.interrupted = is_interrupted;
    options.payload = seen;
    return options;
}

static const char subtitles[] =
    CUE(1) "Je pense que nous\n\n" CUE(2) "devrions aller. Oui.\n\n" CUE(3) "- Tu viens <i>demain</i> ?\n";

static void test_hooks(void **state)
{
    (void)state;
    struct seen seen = {.polls = 0};
    struct clf_translate_options options = hooked(&seen);
    struct clf_document *document = document_open("a.srt", subtitles);
    assert_string_equal(document_texts(document), "Je pense que nous devrions aller.|Oui.|Tu viens demain ?");
    assert_ok(clf_document_translate(document, engine, &options));
    assert_string_equal(seen.lines, "012"); /* segments with marks follow the others */
    assert_string_equal(seen.sentences, "012");
    assert_true(seen.polls > 0);
    assert_non_null(strstr(document_written(document), "\n- Are you coming <i>tomorrow</i>?\n"));
    const char *first = document_written(document);
    assert_ok(clf_document_translate(document, engine, NULL)); /* again, without hooks */
    assert_string_equal(document_written(document), first);
    clf_document_free(document);
    document = document_open("a.txt", "\n12\n");
    assert_ok(clf_document_translate(document, engine, &options)); /* there is nothing to translate */
    assert_string_equal(document_written(document), "\n12\n");
    clf_document_free(document);
}

#ifdef CLF_HAS_LIBXML2
/* The languages of TMX and of a translation memory need not be settings of the model. */
static void test_languages(void **state)
{
    (void)state;
    static const char tmx[] = "<tmx><body><tu><tuv xml:lang='fr'><seg>Merci.</seg></tuv></tu></body></tmx>";
    struct clf_document_options options;
    struct clf_memory_options memory_options;
    struct clf_translate_options pair;
    struct clf_memory *memory;
    clf_document_options_init(&options);
    clf_memory_options_init(&memory_options);
    clf_translate_options_init(&pair, model);
    options.name = "a.tmx";
    options.source_language = memory_options.source_language = pair.source_language = "fr";
    options.target_language = memory_options.target_language = pair.target_language = "en";
    struct clf_document *document = document_open_with(&options, tmx, strlen(tmx));
    assert_ok(clf_document_translate(document, engine, &pair));
    assert_non_null(strstr(document_written(document), "<tuv xml:lang=\"en\"><seg>Thanks.</seg></tuv>"));
    clf_document_free(document);
    document = document_open("a.txt", "Merci.\n");
    assert_fails(clf_document_translate(document, engine, &pair), CLF_BAD_ARGUMENT, "language");
    assert_ok(clf_memory_open(&memory, tmx, strlen(tmx), &memory_options));
    assert_ok(clf_document_recall(document, memory, NULL));
    assert_ok(clf_document_translate(document, engine, &pair));
    assert_string_equal(document_written(document), "Thanks.\n");
    clf_memory_free(memory);
    clf_document_free(document);
}
#endif

static void test_refusals(void **state)
{
    (void)state;
    struct seen seen = {.stops = 1};
    struct clf_translate_options options = hooked(&seen);
    struct clf_document *document = document_open("a.srt", subtitles);
    assert_int_equal(clf_document_translate(document, engine, &options), CLF_INTERRUPTED);
    assert_string_equal(document_written(document), subtitles);
    seen.stops = 0;
    options.n_best = options.beam = 2;
    assert_fails(clf_document_translate(document, engine, &options), CLF_BAD_ARGUMENT, "sentence");
    assert_fails(clf_document_translate(NULL, engine, NULL), CLF_BAD_ARGUMENT, "a document");
    assert_string_equal(document_written(document), subtitles);
    clf_document_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_hooks, support_teardown),
#ifdef CLF_HAS_LIBXML2
        cmocka_unit_test_teardown(test_languages, support_teardown),
#endif
        cmocka_unit_test_teardown(test_refusals, support_teardown),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
