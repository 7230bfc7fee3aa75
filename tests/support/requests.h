/* Lines with options at random, and the translation of each line alone, for tests of the engine. The model is
 * models/marian. */
#ifndef CLF_TESTS_SUPPORT_REQUESTS_H
#define CLF_TESTS_SUPPORT_REQUESTS_H

#include <clformer/translator.h>

/* A line with its options, and the expected result. */
struct support_request {
    char text[128], prefix[32];
    struct clf_translate_options options;
    struct clf_translation *expected;
};

/* Returns the number of requests, which depends on support_small(). */
int support_request_count(void);
/* Returns requests, each translated alone; freed by support_requests_free(), the array itself at the end of
 * the test. */
struct support_request *support_requests(struct clf_model *model);
void support_requests_free(struct support_request *requests);

/* Translates a request. */
clf_status support_request_translate(struct clf_translation **out, struct clf_translator *translator,
                                     const struct support_request *request);

/* Returns whether two translations have the same texts, ids, alignments and bits of scores. */
int support_translations_equal(const struct clf_translation *a, const struct clf_translation *b);

#endif
