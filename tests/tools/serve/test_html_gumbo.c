/* The text that `clformer serve` translates is the text that Gumbo's tree has outside untranslated elements,
 * for random documents with missing, misplaced and implied tags. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "serve/documents.h"

#ifdef CLF_HAS_GUMBO
#include <gumbo.h>

enum { MOST = 10000, MOST_BYTES = 4096, MOST_FRAGMENTS = 24 };

struct letters {
    char text[MOST_BYTES];
    size_t size;
};

/* Adds the letters a to z: both sides may differ in white space. */
static void add_letters(struct letters *letters, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text >= 'a' && *text <= 'z') {
            assert_true(letters->size + 1 < MOST_BYTES);
            letters->text[letters->size++] = *text;
        }
    }
}

static int is_untranslated(const GumboElement *element)
{
    static const GumboTag tags[] = {GUMBO_TAG_CODE, GUMBO_TAG_SCRIPT, GUMBO_TAG_STYLE,   GUMBO_TAG_SVG,
                                    GUMBO_TAG_MATH, GUMBO_TAG_TIME,   GUMBO_TAG_TEXTAREA};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (element->tag == tags[i]) {
            return 1;
        }
    }
    const GumboAttribute *translate = gumbo_get_attribute(&element->attributes, "translate");
    return translate != NULL && strcmp(translate->value, "no") == 0;
}

static void walk(struct letters *letters, const GumboNode *node)
{
    if (node->type == GUMBO_NODE_TEXT) {
        add_letters(letters, node->v.text.text);
    } else if ((node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE) &&
               !is_untranslated(&node->v.element)) {
        for (unsigned i = 0; i < node->v.element.children.length; i++) {
            walk(letters, node->v.element.children.data[i]);
        }
    }
}

static struct letters gumbo_letters(const char *document)
{
    struct letters letters = {.size = 0};
    GumboOutput *output = gumbo_parse(document);
    walk(&letters, output->root);
    gumbo_destroy_output(&kGumboDefaultOptions, output);
    return letters;
}

static struct letters html_letters(const char *document)
{
    struct letters letters = {.size = 0};
    struct documents *html;
    json_t *documents = json_pack("[s]", document);
    assert_int_equal(documents_read(&html, documents, "html", MOST, NULL), CLF_OK);
    for (size_t i = 0; i < json_array_size(documents_texts(html)); i++) {
        add_letters(&letters, json_string_value(json_array_get(documents_texts(html), i)));
    }
    documents_free(html);
    json_decref(documents);
    return letters;
}

/* Compares random documents; each word is different, so that a missing one shows. At most `allowed` documents
 * of a thousand differ: Gumbo's tree moves elements whose tags overlap. */
static void compare(const char *const *fragments, size_t count, unsigned seed, int allowed)
{
    int documents = support_small() ? 5000 : 400000, different = 0;
    for (int i = 0; i < documents; i++) {
        char document[MOST_BYTES] = "<!doctype html><body>", *end = document + strlen(document);
        for (int k = rand_r(&seed) % MOST_FRAGMENTS; k >= 0; k--) {
            end = stpcpy(end, fragments[(size_t)rand_r(&seed) % count]);
            end += sprintf(end, "%c", 'a' + k);
        }
        struct letters expected = gumbo_letters(document), got = html_letters(document);
        if (strcmp(expected.text, got.text) != 0) {
            if (different++ < 12) {
                print_message("%s\nGumbo: %s\nhtml:  %s\n", document, expected.text, got.text);
            }
        }
    }
    print_message("%d of %d differ\n", different, documents);
    assert_true(different <= documents / 1000 * allowed);
}

#define COMPARE(fragments, seed, allowed)                                                                    \
    compare(fragments, sizeof(fragments) / sizeof *(fragments), seed, allowed)

static void test_tokens(void **state)
{
    static const char *const fragments[] = {"<p>",
                                            "</p>",
                                            "<P\nid=x>",
                                            "<i/>",
                                            "<!-- ",
                                            " -->",
                                            "--!>",
                                            "<!-->",
                                            "<!>",
                                            "<?",
                                            "</>",
                                            "</3",
                                            "<",
                                            ">",
                                            "<a b='",
                                            "<a b=\"",
                                            "'",
                                            "\"",
                                            "=",
                                            "/",
                                            "/>",
                                            " ",
                                            "<!doctype x",
                                            "<script>",
                                            "</script>",
                                            "<!--",
                                            "<style>",
                                            "</style>",
                                            "</STYLE\t",
                                            "<textarea>",
                                            "</textarea>",
                                            "<![CDATA[",
                                            "]]>",
                                            "&lt;",
                                            "&am",
                                            "&eacute;",
                                            "<br translate=no>",
                                            "<script/"};
    (void)state;
    COMPARE(fragments, 1, 0);
}

static void test_blocks(void **state)
{
    static const char *const fragments[] = {"<p>",
                                            "</p>",
                                            "<p translate=no>",
                                            "<div>",
                                            "</div>",
                                            "<div translate=no>",
                                            "<ul>",
                                            "</ul>",
                                            "<li>",
                                            "</li>",
                                            "<li translate=no>",
                                            "<dl>",
                                            "</dl>",
                                            "<dt>",
                                            "<dd translate=no>",
                                            "<dd>",
                                            "</dd>",
                                            "<h1>",
                                            "</h1>",
                                            "<h2 translate=no>",
                                            "</h2>",
                                            "<pre>",
                                            "</pre>",
                                            "<hr>",
                                            "<br>",
                                            "<section translate=no>",
                                            "</section>",
                                            "<blockquote>",
                                            "</blockquote>",
                                            "<button>",
                                            "</button>",
                                            "<ins>",
                                            "</ins>"};
    (void)state;
    COMPARE(fragments, 2, 0);
}

static void test_inline(void **state)
{
    static const char *const fragments[] = {"<span>",
                                            "</span>",
                                            "<span translate=no>",
                                            "<b>",
                                            "</b>",
                                            "<code>",
                                            "</code>",
                                            "<q translate=no>",
                                            "</q>",
                                            "<time>",
                                            "</time>",
                                            "<x-y>",
                                            "</x-y>",
                                            "<br>",
                                            "<img translate=no>",
                                            "<ruby>",
                                            "</ruby>",
                                            "<a>",
                                            "<i translate=no>",
                                            "</i>"};
    (void)state;
    COMPARE(fragments, 3, 10);
}

static void test_formatting(void **state)
{
    static const char *const fragments[] = {"<p>",    "</p>", "<div>",  "</div>", "<li>",  "<i>", "</i>",
                                            "<code>", "</b>", "</div>", "<ul>",   "</ul>", "<b>"};
    (void)state;
    COMPARE(fragments, 5, 1);
}

static void test_foreign(void **state)
{
    static const char *const fragments[] = {"<span>",
                                            "</span>",
                                            "<span translate=no>",
                                            "<x-y>",
                                            "</x-y>",
                                            "<br>",
                                            "<img translate=no>",
                                            "<div>",
                                            "</div>",
                                            "</p>",
                                            "<svg>",
                                            "</svg>",
                                            "<svg/>",
                                            "<title>",
                                            "</title>",
                                            "<style/>",
                                            "<foreignObject>",
                                            "</foreignObject>",
                                            "<math>",
                                            "</math>",
                                            "<mi>",
                                            "</mi>",
                                            "<mi/>",
                                            "<![CDATA[",
                                            "]]>"};
    (void)state;
    COMPARE(fragments, 6, 5);
}

static void test_tables(void **state)
{
    static const char *const fragments[] = {"<table><tr><td>",
                                            "<table><tbody><tr><td translate=no>",
                                            "<td>",
                                            "<td translate=no>",
                                            "<tr><td>",
                                            "<tr translate=no><th>",
                                            "</td></tr></table>",
                                            "</table>",
                                            "<p>",
                                            "</p>",
                                            "<span translate=no>",
                                            "</span>",
                                            "<div>",
                                            "</div>",
                                            "<li>",
                                            "<tfoot><tr><td>"};
    (void)state;
    COMPARE(fragments, 4, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),     cmocka_unit_test(test_blocks),  cmocka_unit_test(test_inline),
        cmocka_unit_test(test_formatting), cmocka_unit_test(test_foreign), cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] built without Gumbo\n");
    return 0;
}

#endif
