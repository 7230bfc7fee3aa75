/* SubRip and WebVTT: what is translated, how sentences are divided over cues, and what is kept. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/documents.h"

#define BOM    "\xef\xbb\xbf"
#define NOTE   "\xe2\x99\xaa"
#define T(n)   "00:00:0" #n ",000 --> 00:00:0" #n ",900\n"
#define CUE(n) #n "\n" T(n)

static void test_sentences_over_cues(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *texts;
    } cases[] = {
        {"", ""},
        {"\n\n", ""},
        {CUE(1) "Hello.\n", "Hello."},
        {CUE(1) "Hello", "Hello"},
        {CUE(1) "\n" CUE(2) "Hello", "Hello"},
        {CUE(1) "I think that\nwe should go.\n", "I think that we should go."},
        {CUE(1) "I think that\nwe\n\n" CUE(2) "should go. Or not.\n", "I think that we should go.|Or not."},
        {CUE(1) "Yes. I think\n\n" CUE(2) "that\n\n" CUE(3) "we go.\n", "Yes.|I think that we go."},
        {CUE(1) "- Are you coming?\n- No, because\n\n" CUE(2) "I am tired.\n",
         "Are you coming?|No, because I am tired."},
        {CUE(1) "- Yes,\n\n" CUE(2) "- No.\n", "Yes,|No."},
        {CUE(1) "It is\n-5 degrees -\ncold.\n", "It is -5 degrees - cold."},
        {CUE(1) "He says\n\n" CUE(2) "[Door opens]\n\n" CUE(3) "nothing.\n", "He says|[Door opens]|nothing."},
        {CUE(1) "(coughs)\nWell.\n", "(coughs)|Well."},
        {CUE(1) NOTE " La la\nla " NOTE "\n\n" CUE(2) "la.", "La la la|la."},
        {CUE(1) "...\n\n" CUE(2) "12\n\n" CUE(3) NOTE NOTE "\n", ""},
        {"1\n" T(1) "Before the pause\n\n2\n00:00:09,000 --> 00:00:10,000\nand after it.\n",
         "Before the pause|and after it."},
        {CUE(2) "later\n\n" CUE(1) "earlier.\n", "later|earlier."},
        {CUE(1) "{\\an8}A sign\n\n" CUE(2) "is not speech.\n", "A sign|is not speech."},
        {CUE(1) "\xe4\xbb\x8a\xe6\x97\xa5\xe3\x81\xaf\n\xe3\x81\x84\xe3\x81\x84\n\n" CUE(
             2) "\xe5\xa4\xa9\xe6\xb0\x97\xe3\x80\x82\n",
         "\xe4\xbb\x8a\xe6\x97\xa5\xe3\x81\xaf\xe3\x81\x84\xe3\x81\x84\xe5\xa4\xa9\xe6\xb0\x97\xe3\x80\x82"},
        {CUE(1) "one\n\ntwo\n\n" CUE(2) "three.\n", "one two three."},
        {CUE(1) "one\n2\n" T(2) "two.\n", "one two."},
        {T(1) "one\n" T(2) "two.\n", "one two."},
        {"1 \n00:00:01.5-->00:00:02,25  X1:1 Y1:2\nHello.\n", "Hello."},
        {CUE(1) "The  score\t is 3 < 4 <3 & more.\n", "The score is 3 < 4 <3 & more."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_texts("a.srt", cases[i].bytes, cases[i].texts);
    }
}

/* The files of openai-whisper. */
static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = {"speech/mix.srt",       "speech/mix.vtt",
                                        "speech/highlight.srt", "speech/highlight.vtt",
                                        "speech/words42x2.srt", "speech/words42x2.vtt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *bytes;
        size_t size;
        assert_ok(clf__file_read(&bytes, &size, support_fixture(names[i]), 1 << 20));
        struct clf_document *document = document_open(names[i], bytes);
        assert_true(clf_document_count(document) > 0);
        document_translate(document, document_same);
        assert_string_equal(document_written(document), bytes);
        document_translate(document, document_shout);
        const char *written = document_written(document), *arrow = written, *source = bytes;
        while ((source = strstr(source, " --> ")) != NULL) { /* the times are kept */
            arrow = strstr(arrow, " --> ");
            assert_non_null(arrow);
            assert_memory_equal(arrow - 9, source - 9, 23);
            arrow++;
            source++;
        }
        assert_null(strstr(arrow, " --> "));
        clf_document_free(document);
        clf__free(bytes);
    }
}

/* Subtitles without full stops, as recognisers of speech write them, do not become one sentence. */
static void test_missing_full_stops(void **state)
{
    (void)state;
    char *bytes = support_array(1 << 16, 1);
    for (int i = 0; i < 100; i++) {
        sprintf(bytes + strlen(bytes),
                "%d\n00:%02d:%02d,000 --> 00:%02d:%02d,900\nand then we went on and on\n\n", i + 1, i / 60,
                i % 60, i / 60, i % 60);
    }
    struct clf_document *document = document_open("a.srt", bytes);
    assert_in_range(clf_document_count(document), 5, 20);
    document_translate(document, document_shout);
    const char *written = document_written(document);
    for (int i = 0; i < 100; i++) {
        const char *found = strstr(written, "AND THEN WE WENT ON AND ON\n");
        assert_non_null(found);
        written = found + 1;
    }
    assert_null(strstr(written, "AND THEN WE WENT ON AND ON\n"));
    clf_document_free(document);
}

static void test_structure_stays(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {BOM "1\r\n00:00:01,000 --> 00:00:03,000\r\nHello\r\nthere.\r\n\r\n\r\n2\r\n00:00:04,000 --> "
             "00:00:05,000\r\nBye",
         BOM "1\r\n00:00:01,000 --> 00:00:03,000\r\nHELLO THERE.\r\n\r\n\r\n2\r\n00:00:04,000 --> "
             "00:00:05,000\r\nBYE"},
        {"7\n00:00:01.5 --> 00:00:02,25  X1:1\nHello.\n", "7\n00:00:01.5 --> 00:00:02,25  X1:1\nHELLO.\n"},
        {"1\r"
         "00:00:01,000 --> 00:00:02,000\rHello.\r",
         "1\r"
         "00:00:01,000 --> 00:00:02,000\rHELLO.\r"},
        {CUE(1) "- Hello.\n- Bye.\n", CUE(1) "- HELLO.\n- BYE.\n"},
        {CUE(1) "-Hello.\n \xe2\x80\x93 Bye.\n", CUE(1) "-HELLO.\n\xe2\x80\x93 BYE.\n"},
        {CUE(1) NOTE " Hello " NOTE "\n", CUE(1) NOTE " HELLO " NOTE "\n"},
        {CUE(1) "[Noise]\nHello.\n", CUE(1) "[NOISE]\nHELLO.\n"},
        {CUE(1) "<i>Hello.</i>\n", CUE(1) "<i>HELLO.</i>\n"},
        {CUE(1) "{\\an8}<i>Hello,</i>\n\n" CUE(2) "{\\an8}<i>you.</i>\n",
         CUE(1) "{\\an8}<i>HELLO,</i>\n\n" CUE(2) "{\\an8}<i>YOU.</i>\n"},
        {CUE(1) "<font color=\"#ff0000\"><b>Hello</b> you.</font>\n",
         CUE(1) "<font color=\"#ff0000\"><b>HELLO</b> YOU.</font>\n"},
        {CUE(1) "Say <i>yes</i> or <b>no, <u>no</u></b>.\n",
         CUE(1) "SAY <i>YES</i> OR <b>NO, <u>NO</u></b>.\n"},
        {CUE(1) "Say {\\i1}yes{\\i0} now.\n", CUE(1) "SAY {\\i1}YES{\\i0} NOW.\n"},
        {CUE(1) "<i>Say yes\n\n" CUE(2) "or no.</i>\n", CUE(1) "<i>SAY YES\n\n" CUE(2) "OR NO.</i>\n"},
        {CUE(1) "<i>- Yes.\n- No.</i>\n", CUE(1) "<i>- YES.\n- NO.</i>\n"},
        {CUE(1) "- <i>Yes.</i>\n- No.\n", CUE(1) "- <i>YES.</i>\n- NO.\n"},
        {CUE(1) "<i>Yes. Or</i> no.\n", CUE(1) "<i>YES. OR</i> NO.\n"},
        {CUE(1) "Hello -->there.\n", CUE(1) "HELLO --THERE.\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check("a.srt", cases[i].bytes, document_shout, cases[i].expected);
        document_check("a.srt", cases[i].bytes, document_same, cases[i].bytes);
    }
}

/* The translation of the only segment in the cues of "I think that | we should | go home now." */
static void check_division(const char *translation, const char *first, const char *second, const char *third)
{
    static const char bytes[] = CUE(1) "I think that\n\n" CUE(2) "we should\n\n" CUE(3) "go home now.\n";
    struct clf_document *document = document_open("a.srt", bytes);
    char expected[1024];
    assert_int_equal(clf_document_count(document), 1);
    assert_ok(clf_document_set(document, 0, translation, strlen(translation), NULL, 0));
    snprintf(expected, sizeof expected, CUE(1) "%s\n\n" CUE(2) "%s\n\n" CUE(3) "%s\n", first, second, third);
    assert_string_equal(document_written(document), expected);
    clf_document_free(document);
}

static void test_division(void **state)
{
    (void)state;
    check_division("Ich denke dass wir nach Hause gehen sollten.", "Ich denke dass", "wir nach Hause",
                   "gehen sollten.");
    check_division("aaaa bbbb cccc", "aaaa", "bbbb", "cccc");
    check_division("a verylongwordthatisverylong c", "a", "verylongwordthatisverylong", "c");
    check_division("semi-detached houses-to-let now", "semi-detached", "houses-to-let", "now");
    check_division("two words", "two", "words", "");
    check_division("one", "one", "", "");
    check_division("", "", "", "");
    /* A script without spaces is divided between characters, but not before a full stop. */
    check_division("\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94\xe5\x85\xad\xe3\x80\x82",
                   "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89", "\xe5\x9b\x9b",
                   "\xe4\xba\x94\xe5\x85\xad\xe3\x80\x82");
}

static void test_marks_over_cues(void **state)
{
    (void)state;
    /* The words around the cue border change places: the mark stays in one cue, and is not doubled. */
    struct clf_document *document =
        document_open("a.srt", CUE(1) "We <i>gladly</i> go\n\n" CUE(2) "to the house.\n");
    const char *translation = "Nous allons heureux chez nous.";
    const struct clf_alignment_link links[] = {
        {0, 2, 0, 4}, {3, 6, 5, 6}, {3, 6, 12, 7}, {13, 2, 20, 4}, {20, 5, 25, 4}};
    assert_string_equal(document_texts(document), "We gladly go to the house.");
    assert_int_equal(clf_document_segment_at(document, 0)->mark_count, 1);
    assert_ok(clf_document_set(document, 0, translation, strlen(translation), links, 5));
    assert_string_equal(document_written(document),
                        CUE(1) "Nous <i>allons</i>\n\n" CUE(2) "heureux chez nous.\n");
    clf_document_free(document);
}

static void check_width(int width, const char *expected)
{
    static const char bytes[] = CUE(1) "Hello.\n";
    static const char translation[] = "The quick brown fox jumps over the lazy dog and runs";
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.srt";
    options.subtitle_width = width;
    options.reading_speed = 0;
    assert_ok(clf_document_open(&document, bytes, strlen(bytes), &options));
    assert_ok(clf_document_set(document, 0, translation, strlen(translation), NULL, 0));
    const char *written = document_written(document);
    assert_string_equal(written + strlen(CUE(1)), expected);
    const char *warning = clf_document_warning(document, 0);
    if (width == 20) {
        assert_string_equal(
            warning, "a.srt: 1 subtitle longer than two lines of 20 characters; the first is at line 2");
    } else {
        assert_null(warning);
    }
    clf_document_free(document);
}

static void test_lines(void **state)
{
    (void)state;
    check_width(42, "The quick brown fox jumps\nover the lazy dog and runs\n");
    check_width(52, "The quick brown fox jumps over the lazy dog and runs\n");
    check_width(20, "The quick brown fox jumps\nover the lazy dog and runs\n");
    check_width(0, "The quick brown fox jumps over the lazy dog and runs\n");
    /* Tags at the break stay with their words. */
    document_check("a.srt", CUE(1) "The quick brown fox <b>jumps</b> <i>over</i> the lazy dog\nand runs\n",
                   document_shout,
                   CUE(1) "THE QUICK BROWN FOX <b>JUMPS</b>\n<i>OVER</i> THE LAZY DOG AND RUNS\n");
    /* A wide character takes two columns. */
    document_check("a.srt",
                   CUE(1) "a "
                          "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94\xe5\x85\xad\xe4\xb8"
                          "\x83\xe5\x85\xab"
                          "\xe4\xb9\x9d\xe5\x8d\x81\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba"
                          "\x94\xe5\x85\xad"
                          "\xe4\xb8\x83\xe5\x85\xab\xe4\xb9\x9d\xe5\x8d\x81\xe4\xb8\x80",
                   document_shout,
                   CUE(1) "A "
                          "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94\xe5\x85\xad\xe4\xb8"
                          "\x83\xe5\x85\xab"
                          "\xe4\xb9\x9d\xe5\x8d\x81\n\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba"
                          "\x94\xe5\x85\xad"
                          "\xe4\xb8\x83\xe5\x85\xab\xe4\xb9\x9d\xe5\x8d\x81\xe4\xb8\x80");
}

static void test_warnings(void **state)
{
    (void)state;
    struct clf_document *document =
        document_open("a.srt", CUE(1) "Hi.\n\n2\n00:00:05,000 --> 00:00:05,500\nNo.\n\n3\n00:00:06,000 --> "
                                      "00:00:06,100\nNo, and\n\n" CUE(7) "yes.\n");
    assert_ok(clf_document_set(document, 0, "Hi!", 3, NULL, 0));
    assert_ok(clf_document_set(document, 1, "Certainly not.", 14, NULL, 0));
    assert_ok(clf_document_set(document, 2, "Never", 5, NULL, 0));
    document_written(document);
    assert_string_equal(
        clf_document_warning(document, 0),
        "a.srt: 2 subtitles to be read faster than 21 characters per second; the first is at line 6");
    assert_string_equal(clf_document_warning(document, 1),
                        "a.srt: 1 subtitle without text, because the translation has "
                        "too few words; the first is at line 14");
    assert_null(clf_document_warning(document, 2));
    document_written(document);
    assert_null(clf_document_warning(document, 2));
    clf_document_free(document);
}

static void test_webvtt(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"WEBVTT", "", "WEBVTT"},
        {BOM "WEBVTT - title\r\nKind: captions\r\n\r\nNOTE a\r\nb --> c\r\n\r\nSTYLE\r\n::cue { color: red "
             "}\r\n\r\nid one\r\n"
             "00:01.000 --> 01:00:02.000 align:start position:0%\r\nHello\r\nthere.\r\n",
         "Hello there.",
         BOM "WEBVTT - title\r\nKind: captions\r\n\r\nNOTE a\r\nb --> c\r\n\r\nSTYLE\r\n::cue { color: red "
             "}\r\n\r\nid one\r\n"
             "00:01.000 --> 01:00:02.000 align:start position:0%\r\nHELLO THERE.\r\n"},
        {"WEBVTT\n00:01.000 --> 00:02.000\nHello.\n\nno cue\n", "Hello.",
         "WEBVTT\n00:01.000 --> 00:02.000\nHELLO.\n\nno cue\n"},
        {"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Tom &amp; I &lt;3\n\n00:02.000 --> 00:03.000\nit.",
         "Tom & I <3 it.",
         "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>TOM &amp; I &lt;3\n\n00:02.000 --> 00:03.000\nIT."},
        {"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>No.</v>\n<v Bob>Yes, <c.loud>yes</c>!</v>\n",
         "No.|Yes, yes!",
         "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>NO.</v>\n<v Bob>YES, <c.loud>YES</c>!</v>\n"},
        {"WEBVTT\n\n00:01.000 --> 00:02.000\nOne <00:01.200>two <00:00:01.500><c>three four</c>\n",
         "One two three four",
         "WEBVTT\n\n00:01.000 --> 00:02.000\nONE <00:01.200>TWO <00:00:01.500><c>THREE FOUR</c>\n"},
        {"WEBVTT\n\n00:01.000 --> 00:02.000\n<lang fr><i>Oui</i></lang>\n", "Oui",
         "WEBVTT\n\n00:01.000 --> 00:02.000\n<lang fr><i>OUI</i></lang>\n"},
    };
    document_check_cases("a.vtt", cases, sizeof cases / sizeof *cases);
    document_check("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n", document_marked,
                   "WEBVTT\n\n00:01.000 --> 00:02.000\n\xe2\x80\xb9Hello\xe2\x80\xba\n");
}

static void refuse(const char *name, const char *bytes, const char *message)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    assert_fails(clf_document_open(&document, bytes, strlen(bytes), &options), CLF_FORMAT, message);
}

static void test_bad_times(void **state)
{
    (void)state;
    refuse(
        "a.srt", CUE(1) "Hello.\n\n2\n00:00:02,000 -> 00:00:03,000\nBye.\n",
        "a.srt: line 6: \"00:00:02,000 -> 00:00:03,000\" is not a line of times, such as \"00:00:01,000 --> "
        "00:00:02,500\"; correct it");
    refuse("a.srt", CUE(1) "Hello.\n\n2\n00:61:02,000 --> 00:62:03,000\nBye.\n",
           "a.srt: line 6: \"00:61:02,000 --> ");
    refuse("a.srt", CUE(1) "Hello.\n\n2\n00:00:60,000 --> 00:01:03,000\nBye.\n", "line 6");
    refuse("a.srt", CUE(1) "Hello.\n\n00:00:02,0000 --> 00:00:03,000\nBye.\n", "line 5");
    refuse("a.srt", "1\n00:02,000 --> 00:03,000\nBye.\n", "line 2");
    refuse("a.srt", "1\n00:00:01,000 --> 00:00:02,000x\nBye.\n", "line 2");
    refuse("a.srt", "1\n99999999:00:01,000 --> 00:00:02,000\nBye.\n", "line 2");
    refuse("a.srt", "Hello.\n" CUE(1) "Bye.\n", "a.srt: line 1: \"Hello.\" is not a line of times");
    refuse("a.srt", "1\nHello.\n", "a.srt: line 1: \"1\" is not a line of times");
    refuse("a.vtt", "WEBVTT\n\n00:01.000 -> 00:02.000\nHello.\n",
           "a.vtt: line 3: \"00:01.000 -> 00:02.000\" is not");
    refuse("a.vtt", "WEBVTT\n\nid\n00:01.000 --> 00:62.000\nHello.\n", "a.vtt: line 4");
    refuse("a.vtt", "00:01.000 --> 00:02.000\nHello.\n",
           "a.vtt: line 1: a WebVTT file begins with \"WEBVTT\"");
    refuse("a.vtt", "WEBVTTX\n", "line 1");
}

/* Cues that are hostile: they are read in a time that does not grow faster than they do, and nothing is lost.
 */
static void test_hostile_cues(void **state)
{
    (void)state;
    const size_t most = support_small() ? 50000 : 400000;
    static const char *const patterns[] = {"<i>",   "<i>a</i>", "</i>",     "- a\n",       "{\\i1}",  "[a]\n",
                                           NOTE,    "a. ",      "<b",       "a\n",         "{\\an8}", "-",
                                           "a <i>", "&amp;",    "<font>b ", "\xe4\xb8\x80"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        for (int vtt = 0; vtt < 2; vtt++) {
            size_t used = 0, size = strlen(patterns[i]);
            char *bytes = support_array(most + 100, 1);
            strcpy(bytes, vtt ? "WEBVTT\n\n00:01.000 --> 00:02.000\nb" : CUE(1) "b");
            used = strlen(bytes);
            for (; used + size < most; used += size) {
                memcpy(bytes + used, patterns[i], size);
            }
            struct clf_document *document = document_open(vtt ? "a.vtt" : "a.srt", bytes);
            assert_ok(clf_document_set(document, 0, "Z", 1, NULL, 0));
            const char *written = document_written(document);
            assert_non_null(strchr(written, 'Z'));
            clf_document_free(document);
            support_free_all();
        }
    }
}

/* Tags of up to 1024 bytes are tags. A search for the end of each tag in the rest of the cue would take
 * quadratic time. */
static void test_long_tags(void **state)
{
    (void)state;
    const size_t huge = support_small() ? 2000000 : 20000000;
    static const struct {
        const char *name, *begin, *tag;
        char end;
    } cases[] = {{"a.srt", CUE(1), "<font ", '>'},
                 {"a.srt", CUE(1), "{\\an8", '}'},
                 {"a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n", "<b.", '>'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t size = 1024; size <= 1025; size++) {
            char *bytes = support_array(size + 200, 1), *tag = bytes + strlen(cases[i].begin);
            sprintf(bytes, "%s%s", cases[i].begin, cases[i].tag);
            memset(tag + strlen(cases[i].tag), 'x', size - strlen(cases[i].tag));
            tag[size - 1] = cases[i].end;
            strcpy(tag + size, "Hello.\n");
            struct clf_document *document = document_open(cases[i].name, bytes);
            assert_int_equal(clf_document_segment_at(document, 0)->text_size, size == 1024 ? 6 : size + 6);
            clf_document_free(document);
        }
        char *bytes = support_array(huge + 200, 1), *text = bytes + strlen(cases[i].begin);
        strcpy(bytes, cases[i].begin);
        for (size_t at = 0; at < huge; at += strlen(cases[i].tag)) {
            strcpy(text + at, cases[i].tag);
        }
        text[strlen(text)] = cases[i].end;
        struct clf_document *document = document_open(cases[i].name, bytes);
        assert_true(clf_document_count(document) > 0);
        clf_document_free(document);
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sentences_over_cues, support_teardown),
        cmocka_unit_test_teardown(test_files, support_teardown),
        cmocka_unit_test_teardown(test_missing_full_stops, support_teardown),
        cmocka_unit_test_teardown(test_structure_stays, support_teardown),
        cmocka_unit_test_teardown(test_division, support_teardown),
        cmocka_unit_test_teardown(test_marks_over_cues, support_teardown),
        cmocka_unit_test_teardown(test_lines, support_teardown),
        cmocka_unit_test_teardown(test_warnings, support_teardown),
        cmocka_unit_test_teardown(test_webvtt, support_teardown),
        cmocka_unit_test_teardown(test_bad_times, support_teardown),
        cmocka_unit_test_teardown(test_hostile_cues, support_teardown),
        cmocka_unit_test_teardown(test_long_tags, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
