/* Terms that are not translated. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

static struct clf_document *open_with(const char *name, const char *bytes, const char *terms)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    options.kept_terms = terms;
    assert_ok(clf_document_open(&document, bytes, strlen(bytes), &options));
    return document;
}

static void check(const char *name, const char *bytes, const char *terms, const char *texts,
                  const char *expected)
{
    struct clf_document *document = open_with(name, bytes, terms);
    document_check_open(document, bytes, texts, expected);
    clf_document_free(document);
}

static void test_terms(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *terms, *texts, *expected;
    } cases[] = {
        {"open the clformer now.\n", "clformer", "open the now.", "OPEN THE clformer NOW.\n"},
        {"clformer is free\n", " clformer \n\n", "is free", "clformer IS FREE\n"},
        {"I use clformer.\n", "clformer\r\n", "I use.", "I USE clformer.\n"},
        {"clformers Clformer aclformer\n", "clformer", "clformers Clformer aclformer",
         "CLFORMERS CLFORMER ACLFORMER\n"},
        {"the Big Mac and the Big\n", "Big\nBig Mac", "the and the", "THE Big Mac AND THE Big\n"},
        {"the Big Macs and Big Mac now\n", "Big Mac\nBig Ma\nBig\nBig\nBih\nBif", "the Macs and now",
         "THE Big MACS AND Big Mac NOW\n"},
        {"a b, c\n", "b", "a, c", "A b, C\n"},
        {"clformer\n", "clformer", "", "clformer\n"},
        {"C++ is fast\n", "C++", "is fast", "C++ IS FAST\n"},
        {"\xe4\xbd\xbf\xe7\x94\xa8Linux\xe7\xb3\xbb\xe7\xbb\x9f a\n", "Linux",
         "\xe4\xbd\xbf\xe7\x94\xa8\xe7\xb3\xbb\xe7\xbb\x9f a",
         "\xe4\xbd\xbf\xe7\x94\xa8Linux\xe7\xb3\xbb\xe7\xbb\x9f A\n"},
        {"cafe\xcc\x81 a\n", "cafe", "cafe\xcc\x81 a", "CAFE\xcc\x81 A\n"}, /* a combining accent */
        {"a\n", "", "a", "A\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check("a.txt", cases[i].bytes, cases[i].terms, cases[i].texts, cases[i].expected);
    }
}

/* Terms next to marks, and in formats that escape text. */
static void test_marks(void **state)
{
    (void)state;
    check("a.json", "[\"use {x} with \\\"AT&T\\\" now\"]", "\"AT&T\"", "use with now",
          "[\"USE {x} WITH \\\"AT&T\\\" NOW\"]");
    check("a.json", "[\"use <b>AT&T</b> and <i>the AT&T line</i>\"]", "AT&T", "use and the line",
          "[\"USE <b>AT&T</b> AND <i>THE AT&T LINE</i>\"]");
    check("a.json", "[\"the <b>Big</b> Mac\"]", "Big Mac", "the Big Mac", "[\"THE <b>BIG</b> MAC\"]");
#ifdef CLF_HAS_GUMBO
    check("a.html", "<p>use <b>GNU</b> Linux now</p>", "GNU\nLinux", "use now",
          "<p>USE <b>GNU</b> Linux NOW</p>");
    check("a.html", "<p><b>GNU</b> Linux now</p>", "GNU\nLinux", "now", "<p><b>GNU</b> Linux NOW</p>");
    check("a.html", "<p>use <b>AT&amp;T now</b></p>", "AT&T", "use now", "<p>USE <b>AT&amp;T NOW</b></p>");
#endif
    check(
        "a.srt",
        "1\n00:00:01,000 --> 00:00:02,000\nI use Linux now\n\n2\n00:00:02,000 --> 00:00:03,000\nevery day.\n",
        "Linux", "I use now every day.",
        "1\n00:00:01,000 --> 00:00:02,000\nI USE Linux NOW\n\n2\n00:00:02,000 --> 00:00:03,000\nEVERY "
        "DAY.\n");
}

/* Many terms and matches. */
static void test_many(void **state)
{
    (void)state;
    char *terms = support_array(1 << 16, 1), *bytes = support_array(1 << 16, 1);
    for (int i = 0; i < 1000; i++) {
        sprintf(terms + strlen(terms), "t%d\n", i);
        sprintf(bytes + strlen(bytes), "t%d ", i);
    }
    strcat(bytes, "a\n");
    struct clf_document *document = open_with("a.txt", bytes, terms);
    assert_int_equal(clf_document_segment_at(document, 0)->mark_count, 64);
    document_translate(document, document_same);
    assert_string_equal(document_written(document), bytes);
    document_translate(document, document_shout);
    assert_non_null(strstr(document_written(document), "t0 t1 t2 "));
    assert_non_null(strstr(document_written(document), " T999 A"));
    assert_string_equal(clf_document_warning(document, 0),
                        "a.txt: 1 text has more than 64 terms, tags and placeholders; the other terms are "
                        "translated");
    clf_document_free(document);
}

static void test_refusals(void **state)
{
    (void)state;
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.kept_terms = "a\n\xe9\n";
    assert_fails(clf_document_open(&document, "a", 1, &options), CLF_TEXT, "kept_terms: are not UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_terms, support_teardown),
        cmocka_unit_test_teardown(test_marks, support_teardown),
        cmocka_unit_test_teardown(test_many, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
