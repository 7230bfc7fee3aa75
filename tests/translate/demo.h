/* The demo model and some lines for it. */
#ifndef CLF_TESTS_TRANSLATE_DEMO_H
#define CLF_TESTS_TRANSLATE_DEMO_H

#include <string.h>

#include <clformer/clformer.h>

#include "support/support.h"

static const char *const texts[] = {"Je suis étudiant.", "Où est la gare ?", "J'ai perdu mes clés.",
                                    "Il pleut.", "Elle a acheté un livre hier."};
enum { LINES = sizeof texts / sizeof *texts, SAMPLES = 5 };

static inline struct clf_model *load_in(clf_precision precision, struct clf_device *device)
{
    struct clf_model *model;
    struct clf_model_options options;
    clf_model_options_init(&options);
    options.precision = precision;
    assert_ok(clf_model_load(&model, device, CLF_SOURCE_FOLDER "/tools/models/fr-en-small", &options));
    return model;
}

static inline struct clf_model *load_model(struct clf_device *device)
{
    return load_in(CLF_PRECISION_AUTO, device);
}

/* Texts order[0 .. count - 1]. */
static inline struct clf_translation *
translate(struct clf_model *model, const struct clf_translate_options *options, const int *order, int count)
{
    struct clf_line lines[LINES];
    for (int i = 0; i < count; i++) {
        lines[i] = (struct clf_line){texts[order[i]], strlen(texts[order[i]])};
    }
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create(&translator, model, options));
    assert_ok(clf_translate(&translations, translator, lines, count));
    clf_translator_free(translator);
    return translations;
}

static inline void assert_same(const struct clf_translation *a, const struct clf_translation *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        const struct clf_hypothesis *one = &a->hypotheses[i], *other = &b->hypotheses[i];
        assert_int_equal(one->count, other->count);
        assert_memory_equal(one->ids, other->ids, (size_t)one->count * sizeof *one->ids);
        assert_memory_equal(&one->score, &other->score, sizeof one->score);
    }
}

#endif
