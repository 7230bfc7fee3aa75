/* Inline markup: elements of a text in its translation. A case writes elements as bracketed letters, and
 * alignments as a list of the numbers of source words, one for each word of the translation. */
#include "support/support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/markup/markup.h"
#include "text/markup/words.h"

enum { MOST = 64 };

/* A text without its markup: "a [b] c" has an element around b, and "a [] b" an empty one. */
struct marked {
    char text[1024];
    size_t size;
    struct clf_mark elements[MOST];
    int count;
};

static struct marked read_marked(const char *text)
{
    struct marked marked = {.size = 0};
    int open = -1;
    for (; *text != '\0'; text++) {
        if (*text == '[') {
            marked.elements[marked.count] = (struct clf_mark){marked.size, 0, open};
            open = marked.count++;
        } else if (*text == ']') {
            marked.elements[open].end = marked.size;
            open = marked.elements[open].parent;
        } else {
            marked.text[marked.size++] = *text;
        }
    }
    assert_int_equal(open, -1);
    return marked;
}

/* Links each word of the translation with a word of the source, counted from 1; 0: none. */
static int read_links(struct clf_alignment_link *links, const char *numbers, const struct marked *source,
                      const char *text)
{
    struct clf__markup_word *words, *others;
    int count, other_count, used = 0;
    assert_ok(clf__markup_words(&words, &count, source->text, source->size));
    assert_ok(clf__markup_words(&others, &other_count, text, strlen(text)));
    for (int i = 0; i < other_count && *numbers != '\0'; i++) {
        int word = (int)strtol(numbers, (char **)&numbers, 10) - 1;
        if (word >= 0) {
            assert_true(word < count);
            links[used++] =
                (struct clf_alignment_link){words[word].start, words[word].end - words[word].start,
                                            others[i].start, others[i].end - others[i].start};
        }
    }
    clf__free(words);
    clf__free(others);
    return used;
}

/* Output of a marked text. */
struct output {
    char text[2048];
    size_t size;
    const char *source;
};

static int take(void *user, enum clf__markup_event event, int element, size_t start, size_t end)
{
    struct output *output = user;
    if (event == CLF__MARKUP_TEXT) {
        memcpy(output->text + output->size, output->source + start, end - start);
        output->size += end - start;
    } else {
        output->text[output->size++] = event == CLF__MARKUP_START ? '[' : ']';
    }
    (void)element;
    return 1;
}

static void check(const char *source, const char *text, const char *numbers, const char *expected)
{
    struct marked marked = read_marked(source);
    struct clf_alignment_link links[MOST];
    struct clf_mark moved[MOST];
    struct output output = {.source = text};
    const struct clf__markup_pair pair = {marked.text,  text,  marked.size,
                                          strlen(text), links, read_links(links, numbers, &marked, text)};
    assert_ok(clf__markup_move(moved, marked.elements, marked.count, &pair));
    assert_ok(clf__markup_write(moved, marked.count, strlen(text), take, &output));
    if (strcmp(output.text, expected) != 0) {
        fail_msg("%s > %s (%s)\nexpected %s\ngot      %s", source, text, numbers, expected, output.text);
    }
}

static void test_words(void **state)
{
    (void)state;
    struct clf__markup_word *words;
    int count;
    static const char text[] = " l'été, (don't) x-y\u00a0\u2014 \u4f60\u597d\u3002";
    static const char *const expected[] = {"l'été", ",",      "(",      "don't",  ")",
                                           "x-y",   "\u2014", "\u4f60", "\u597d", "\u3002"};
    assert_ok(clf__markup_words(&words, &count, text, strlen(text)));
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (int i = 0; i < count; i++) {
        assert_int_equal(words[i].end - words[i].start, strlen(expected[i]));
        assert_memory_equal(text + words[i].start, expected[i], strlen(expected[i]));
    }
    clf__free(words);
    assert_ok(clf__markup_words(&words, &count, "", 0));
    assert_int_equal(count, 0);
}

static void test_moved(void **state)
{
    (void)state;
    check("une [maison] rouge.", "a red house.", "1 3 2 4", "a red [house].");
    check("une [maison] [rouge].", "a red house.", "1 3 2 4", "a [red] [house].");
    check("[une maison] rouge", "a red house", "1 3 2", "[a] red house"); /* the earlier of two equal parts */
    check("[le [chat [noir]]] dort", "the black cat sleeps", "1 3 2 4", "[the [[black] cat]] sleeps");
    check("[[tout]] va", "all is well", "1 2 2", "[[all]] is well");
    check("[tout va [bien]]", "all is well", "1 2 3", "[all is [well]]");
    check("je [ne sais pas]", "I do not know", "1 4 4 3", "I [do not know]");
    check("[merci] [beaucoup].", "thank you very much.", "1 1 2 1 3", "[thank you] [very] much.");
    check("Il [dit: [oui]!]", "He says: yes!", "1 2 3 4 5", "He [says: [yes]!]");
}

/* Elements with which nothing is aligned get the nearest free word. */
static void test_unaligned(void **state)
{
    (void)state;
    check("cliquez [ici] vite", "click here now", "1 1 3", "click [here] now");
    check("un [deux] [trois] quatre", "one two", "1 4", "[one] [two]");
    check("[a] [b] [c]", "x", "1", "[x][][]");
    check("a [b [c]] d", "x y", "1 4", "[[x]] y");
    check("je [ne] sais [pas]", "I do not know", "1 4 4 3", "[I] [do not] know");
}

/* Without an alignment, the tags stay in order around the text. */
static void test_around(void **state)
{
    (void)state;
    check("un [deux] trois [quatre]", "one two", "", "[]one two[]");
    check("[un [deux] [trois]]", "one two", "", "[[]one two[]]");
    check("[]un[]", "one", "", "[]one[]");
    check("[un]", "", "", "[]");
    check("un [deux]", "", "", "[]");
}

static void test_empty(void **state)
{
    (void)state;
    check("un [] deux trois", "one two three", "1 2 3", "one []two three");
    check("un[] deux trois", "one two three", "1 2 3", "one[] two three");
    check("un [] deux", "two one", "2 1", "two one[]");
    check("[]un deux[]", "two one", "2 1", "[]two one[]");
    check("un [][[]] deux", "one two", "1 2", "one [][[]]two");
    /* Not in an element that it is not in. */
    check("un [deux trois] [] quatre", "one three four two", "1 3 4 2", "one [three] []four two");
    check("un [] [deux trois]", "two one three", "2 1 3", "[two] one []three");
    check("[un [] deux] trois", "three two one", "3 2 1", "three [two one[]]");
}

/* Random elements and links: nesting stays, nothing is lost, and the text is unchanged. */
static void test_random(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < (support_small() ? 2000 : 200000); round++) {
        char source[512] = "", text[512] = "", numbers[512] = "";
        int depth = 0, tags = 0, words = 1 + rand_r(&seed) % 8, others = rand_r(&seed) % 10;
        for (int i = 0; i < words; i++) {
            while (rand_r(&seed) % 2 && tags < 20) {
                int closes = depth > 0 && rand_r(&seed) % 2;
                strcat(source, closes ? "]" : "[");
                depth += closes ? -1 : 1;
                tags++;
            }
            strcat(source, i > 0 && rand_r(&seed) % 4 ? " w" : "v");
        }
        for (; depth > 0; depth--) {
            strcat(source, "]");
        }
        struct marked marked = read_marked(source);
        struct clf__markup_word *found;
        assert_ok(clf__markup_words(&found, &words, marked.text, marked.size));
        clf__free(found);
        for (int i = 0; i < others; i++) {
            sprintf(text + strlen(text), "%sx", i > 0 ? " " : "");
            sprintf(numbers + strlen(numbers), "%d ", rand_r(&seed) % (words + 1));
        }
        struct clf_alignment_link links[MOST];
        struct clf_mark moved[MOST];
        struct output output = {.source = text};
        const struct clf__markup_pair pair = {marked.text,  text,  marked.size,
                                              strlen(text), links, read_links(links, numbers, &marked, text)};
        assert_ok(clf__markup_move(moved, marked.elements, marked.count, &pair));
        assert_ok(clf__markup_write(moved, marked.count, strlen(text), take, &output));
        struct marked again = read_marked(output.text);
        assert_int_equal(again.count, marked.count);
        assert_string_equal(again.text, text);
        for (int i = 0; i < marked.count; i++) {
            int parent = moved[i].parent;
            assert_int_equal(parent, marked.elements[i].parent);
            assert_true(moved[i].start <= moved[i].end && moved[i].end <= strlen(text));
            assert_true(parent < 0 ||
                        (moved[i].start >= moved[parent].start && moved[i].end <= moved[parent].end));
        }
    }
}

static int stop(void *user, enum clf__markup_event event, int element, size_t start, size_t end)
{
    (void)event, (void)element, (void)start, (void)end;
    return --*(int *)user > 0;
}

static void test_stopped(void **state)
{
    (void)state;
    const struct marked marked = read_marked("a [b] c");
    for (int most = 1; most <= 5; most++) {
        int left = most;
        assert_int_equal(clf__markup_write(marked.elements, 1, marked.size, stop, &left), CLF_INTERRUPTED);
        assert_int_equal(left, 0);
    }
    int left = 6;
    assert_ok(clf__markup_write(marked.elements, 1, marked.size, stop, &left));
}

static void test_no_memory(void **state)
{
    (void)state;
    const struct marked marked = read_marked("a [b] c");
    struct clf_mark moved[MOST];
    const struct clf__markup_pair pair = {marked.text, "x y", marked.size, 3, NULL, 0};
    struct output output = {.source = "x y"};
    for (uint64_t n = 1; n <= 5; n++) {
        clf__memory_fail_at(n);
        assert_int_equal(clf__markup_move(moved, marked.elements, 1, &pair), CLF_OUT_OF_MEMORY);
    }
    clf__memory_fail_at(0);
    assert_ok(clf__markup_move(moved, marked.elements, 1, &pair));
    for (uint64_t n = 1; n <= 2; n++) {
        clf__memory_fail_at(n);
        assert_int_equal(clf__markup_write(moved, 1, 3, take, &output), CLF_OUT_OF_MEMORY);
    }
    clf__memory_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),   cmocka_unit_test(test_moved),     cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_around),  cmocka_unit_test(test_empty),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
