/* HTML of `clformer serve`: what is translated, and that all other bytes stay. A translation of the tests is
 * the text in brackets. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "support/html_marks.h"

enum { MOST = 100000 };

#ifdef CLF_HAS_GUMBO
#include <gumbo.h>
#endif

static json_t *brackets(const json_t *texts)
{
    json_t *result = json_array();
    for (size_t i = 0; i < json_array_size(texts); i++) {
        json_array_append_new(result, json_sprintf("[%s]", json_string_value(json_array_get(texts, i))));
    }
    return result;
}

static json_t *same(const json_t *texts)
{
    return json_deep_copy(texts);
}

/* Translates documents; the caller frees the result. */
static json_t *translate(const json_t *documents, json_t *(*translator)(const json_t *texts))
{
    struct documents *html;
    assert_int_equal(documents_read(&html, documents, "html", MOST, NULL), CLF_OK);
    json_t *translations = translator(documents_texts(html)), *result = html_join_around(html, translations);
    assert_non_null(result);
    assert_int_equal(json_array_size(documents_texts(html)), json_array_size(translations));
    json_decref(translations);
    documents_free(html);
    return result;
}

static void check(const char *document, const char *expected, json_t *(*translator)(const json_t *texts))
{
    json_t *documents = json_pack("[s]", document), *result = translate(documents, translator);
    const char *got = json_string_value(json_array_get(result, 0));
    if (strcmp(got, expected) != 0) {
        fail_msg("%s\nexpected: %s\ngot:      %s", document, expected, got);
    }
    json_decref(documents);
    json_decref(result);
}

struct example {
    const char *document, *expected;
};

static void check_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check(examples[i].document, examples[i].expected, brackets);
        check(examples[i].document, examples[i].document, same);
    }
}

#define CHECK_ALL(examples) check_all(examples, sizeof(examples) / sizeof *(examples))

static void test_bytes_stay(void **state)
{
    static const struct example examples[] = {
        {"", ""},
        {"   ", "   "},
        {"Bonjour", "[Bonjour]"},
        {"<p>Bonjour</p>", "<p>[Bonjour]</p>"},
        {"<P CLASS = 'x' id=y  hidden >Oui</P >", "<P CLASS = 'x' id=y  hidden >[Oui]</P >"},
        {"<a href=\"?a=1&amp;b=2\" title='a &lt; b'>Oui</a>",
         "<a href=\"?a=1&amp;b=2\" title='a &lt; b'>[Oui]</a>"},
        {"<img alt=\"x > y\" src=z>Oui", "<img alt=\"x > y\" src=z>[Oui]"},
        {"<a title='<b>'>x</a>", "<a title='<b>'>[x]</a>"},
        {"a<br>b<br/>c<BR />d</br>e", "[a]<br>[b]<br/>[c]<BR />[d]</br>[e]"},
        {"<!DOCTYPE html>\n<html>\n <body>\n  Oui \n </body>\n</html>\n",
         "<!DOCTYPE html>\n<html>\n <body>\n  [Oui] \n </body>\n</html>\n"},
        {"<p>a<!-- non > --><b>c</b>", "<p>[ac]<!-- non > --><b></b>"},
        {"a<!-->b<!--->c<!-- x --!>d<!---->e", "<!-->[abcde]<!---><!-- x --!><!---->"},
        {"a<?php b ?>c</>d<!e>f</ g>h", "<?php b ?>[acdfh]</><!e></ g>"},
        {"a<![CDATA[b]]>c", "[ac]<![CDATA[b]]>"},
        {"a<!-- b", "[a]<!-- b"},
        {"a<b title=\"c", "[a]<b title=\"c"},
        {"a<b", "[a]<b"},
        {"a</", "[a&lt;/]"},
        {"<p>Oui\r\n  non\t</p>\n\n<p> \n</p>", "<p>[Oui non]\t</p>\n\n<p> \n</p>"},
        {"<p>\xc2\xa0Oui&nbsp; &#160;&#xA0;</p>", "<p>\xc2\xa0[Oui]&nbsp; &#160;&#xA0;</p>"},
        {"<p>&nbsp;</p><p>|</p><p>12,5 &rarr; \xf0\x9f\x98\x80</p>",
         "<p>&nbsp;</p><p>|</p><p>12,5 &rarr; \xf0\x9f\x98\x80</p>"},
        {"<pre>  a\n    b c\n\n</pre>\n", "<pre>  [a]\n    [b c]\n\n</pre>\n"},
        {"<b>Oui</b> <i>non</i>.", "<b></b>[Oui non.]<i></i>"},
        {"<title>a <b>c</b></title><p>d", "<title>[a &lt;b&gt;c&lt;/b&gt;]</title><p>[d]"},
        {"<option>Oui<option selected>Non", "<option>[Oui]<option selected>[Non]"},
        {"<x-y z>Oui</x-y>", "<x-y z>[Oui]</x-y>"},
    };
    (void)state;
    CHECK_ALL(examples);
}

static void test_references(void **state)
{
    static const struct example examples[] = {
        {"<p>Caf&eacute; &#233; &#xE9; &#Xe9;</p>", "<p>[Caf\xc3\xa9 \xc3\xa9 \xc3\xa9 \xc3\xa9]</p>"},
        {"a &lt;i&gt; &amp; b", "[a &lt;i&gt; &amp; b]"},
        {"a &amp;lt; b", "[a &amp;lt; b]"},
        {"a & b &unknown; &", "[a &amp; b &amp;unknown; &amp;]"},
        {"a &eacute b &notit;", "[a \xc3\xa9 b \xc2\xacit;]"},
        {"a < b <3 c > d", "[a &lt; b &lt;3 c &gt; d]"},
        {"a &lt b", "[a &lt; b]"},
        {"a&comma; &NotEqualTilde; &hellip;", "[a, \xe2\x89\x82\xcc\xb8 \xe2\x80\xa6]"},
        {"a &#0; &#xD800; &#128; &#x110000;", "[a \xef\xbf\xbd \xef\xbf\xbd \xe2\x82\xac \xef\xbf\xbd]"},
        {"a&#10;b&Tab;c", "[a b c]"},
        {"a &#xD89999999; &#99999999999999999999; &#4294967297?",
         "[a \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd?]"},
        {"<p>&#32;a&#32;</p>", "<p>[a]</p>"},
        {"l&#39;ami d&apos;Anne &quot;x&quot;", "[l'ami d'Anne \"x\"]"},
        {"a\xc2\xa0&nbsp;b", "[a\xc2\xa0\xc2\xa0"
                             "b]"},
        {"&#x4f60;&#22909;", "[\xe4\xbd\xa0\xe5\xa5\xbd]"},
    };
    (void)state;
    CHECK_ALL(examples);
}

static void test_untranslated(void **state)
{
    static const struct example examples[] = {
        {"<code>x = 1</code> text <span translate=no>Keep</span>",
         "<code>x = 1</code> [text] <span translate=no>Keep</span>"},
        {"<style>p {}</style><SCRIPT>if (a<b) c('</p>')</SCRIPT >Oui",
         "<style>p {}</style><SCRIPT>if (a<b) c('</p>')</SCRIPT >[Oui]"},
        {"<script><!-- <script> </script> a --></script>b",
         "<script><!-- <script> </script> a --></script>[b]"},
        {"<script><!--></script>b", "<script><!--></script>[b]"},
        {"<script>a</scriptx>b", "<script>a</scriptx>b"},
        {"<time>lundi</time><video><p>a</p></video><audio>a</audio><canvas>a</canvas>b",
         "<time>lundi</time><video><p>a</p></video><audio>a</audio><canvas>a</canvas>[b]"},
        {"<address>Rue</address><embed>a<applet>b</applet>",
         "<address>Rue</address><embed>[a]<applet>b</applet>"},
        {"<textarea>a<b></textarea><iframe><p>b</iframe>c",
         "<textarea>a<b></textarea><iframe><p>b</iframe>[c]"},
        {"<span translate=\"no\">:<b>a</b>:</span> Oui <span class='x notranslate y'>b</span>",
         "<span translate=\"no\">:<b>a</b>:</span> [Oui] <span class='x notranslate y'>b</span>"},
        {"<p Translate=NO>a</p><p translate=yes>b</p><p class=notranslated>c</p>",
         "<p Translate=NO>a</p><p translate=yes>[b]</p><p class=notranslated>[c]</p>"},
        {"<p translate=yes translate=no>a</p><p data-translate=no>b</p><p translate>c</p>",
         "<p translate=yes translate=no>[a]</p><p data-translate=no>[b]</p><p translate>[c]</p>"},
        {"<div translate=no><div>a</div>b</div>c", "<div translate=no><div>a</div>b</div>[c]"},
        {"<br translate=no>a<img class=notranslate>b", "<br translate=no>[ab]<img class=notranslate>"},
        {"<html translate=no><body>a</body></html>b", "<html translate=no><body>a</body></html>b"},
        {"<svg><title>a</title><text>b</text><image/><g translate=no/></svg>c",
         "<svg><title>a</title><text>b</text><image/><g translate=no/></svg>[c]"},
        {"<svg><![CDATA[</svg><b>]]></svg>c", "<svg><![CDATA[</svg><b>]]></svg>[c]"},
        {"<svg/>a<math><mtext><b>x</b></mtext></math>b", "<svg/>[a]<math><mtext><b>x</b></mtext></math>[b]"},
        {"<svg><style/><text>a</text></svg>b", "<svg><style/><text>a</text></svg>[b]"},
        {"<svg><foreignObject><p>a</p></foreignObject></svg>b",
         "<svg><foreignObject><p>a</p></foreignObject></svg>[b]"},
        {"<span/ translate=no>a</span>b", "<span/ translate=no>a</span>[b]"},
        {"<span translate=no />a</span>b", "<span translate=no />a</span>[b]"},
    };
    (void)state;
    CHECK_ALL(examples);
}

/* An element ends where it ends in a browser. */
static void test_broken(void **state)
{
    static const struct example examples[] = {
        {"<p translate=no>a<p>b", "<p translate=no>a<p>[b]"},
        {"<p translate=no>a<div>b", "<p translate=no>a<div>[b]"},
        {"<p translate=no>a<b>c</b>d", "<p translate=no>a<b>c</b>d"},
        {"<ul><li translate=no>a<li>b</ul>c", "<ul><li translate=no>a<li>[b]</ul>[c]"},
        {"<ul><li translate=no>a<ul><li>b</ul>c<li>d", "<ul><li translate=no>a<ul><li>b</ul>c<li>[d]"},
        {"<dl><dt translate=no>a<dd>b", "<dl><dt translate=no>a<dd>[b]"},
        {"<table><tr><td translate=no>a<td>b<tr translate=no><td>c<tr><td>d</table>e",
         "<table><tr><td translate=no>a<td>[b]<tr translate=no><td>c<tr><td>[d]</table>[e]"},
        {"<table><tr><td translate=no><table><tr><td>a</table>b</table>c",
         "<table><tr><td translate=no><table><tr><td>a</table>b</table>[c]"},
        {"<table><tr><td><p translate=no>a</table>b", "<table><tr><td><p translate=no>a</table>[b]"},
        {"<div translate=no><table><tr><td>a</div>b</table>c</div>d",
         "<div translate=no><table><tr><td>a</div>b</table>c</div>[d]"},
        {"<select><option translate=no>a<option>b</select>c",
         "<select><option translate=no>a<option>[b]</select>[c]"},
        {"<ruby translate=no>a<rt>b</ruby>c", "<ruby translate=no>a<rt>b</ruby>[c]"},
        {"<div><span translate=no>a</div>b", "<div><span translate=no>a</div>[b]"},
        {"<span translate=no>a</b>b</i></p>c</span>d", "<span translate=no>a</b>b</i></p>c</span>[d]"},
        {"<span translate=no>a<div>b</span>c</div>d", "<span translate=no>a<div>b</span>c</div>d"},
        {"<code>a<p>b</code>c</p>d", "<code>a<p>b</code>[c]</p>[d]"},
        {"<h1 translate=no>a</h2>b", "<h1 translate=no>a</h2>[b]"},
        {"<a translate=no>a<a>b", "<a translate=no>a<a>[b]"},
        {"<svg>a<p>b", "<svg>a<p>[b]"},
        {"a</b>b</span>c</div>d", "[a]</b>[b]</span>[c]</div>[d]"},
        {"<b>1<p>a</b>b</p>c", "<b>1<p>[a]</b>[b]</p>[c]"},
        {"<plaintext>a</plaintext>b", "<plaintext>a</plaintext>b"},
        {"<script>a", "<script>a"},
        {"<a b='c>d</a>e", "<a b='c>d</a>e"},
        {"<a b=c/>d", "<a b=c/>[d]"},
        {"<a =b>d<a b==c>e<a \"f>g", "<a =b>[d]<a b==c>[e]<a \"f>[g]"},
        {"<<b>>a<</b>>", "<b></b>[&lt;&gt;a&lt;&gt;]"},
        {"<\xc3\xa9>a", "[&lt;\xc3\xa9&gt;a]"},
        {"<p\n\tclass=\n'x'\n>a</p\n>", "<p\n\tclass=\n'x'\n>[a]</p\n>"},
    };
    (void)state;
    CHECK_ALL(examples);
}

/* Returns the texts with their words in reverse order, and moves the elements with the words. */
static json_t *reverse(const json_t *texts, struct marks *marks)
{
    json_t *result = json_array();
    for (size_t i = 0; i < json_array_size(texts); i++) {
        struct clf_alignment_link links[64];
        const char *source = json_string_value(json_array_get(texts, i));
        size_t size = json_string_length(json_array_get(texts, i)), end = size, used = 0;
        char *text = calloc(size + 1, 1);
        int count = 0;
        assert_non_null(text);
        while (end > 0) {
            size_t start = end;
            while (start > 0 && source[start - 1] != ' ') {
                start--;
            }
            links[count++] = (struct clf_alignment_link){start, end - start, used, end - start};
            memcpy(text + used, source + start, end - start);
            used += end - start;
            end = start > 0 ? start - 1 : 0;
            if (end > 0) {
                text[used++] = ' ';
            }
        }
        const struct clf__markup_pair pair = {source, text, size, used, links, count};
        assert_true(marks_move(&marks->texts[i], &pair));
        json_array_append_new(result, json_stringn(text, used));
        free(text);
    }
    return result;
}

/* Inline elements move with their words. The spaces in them go to the text around them. */
static void test_inline(void **state)
{
    static const struct example examples[] = {
        {"<p>une <b>maison</b> rouge</p>", "<p>rouge <b>maison</b> une</p>"},
        {"<p><a href='?a=1&amp;b'>une <b>maison</b></a> rouge</p>",
         "<p>rouge <a href='?a=1&amp;b'><b>maison</b> une</a></p>"},
        {"<p><b>Oui</b></p><p><i><b>une maison</b></i>\n<!-- x --></p>",
         "<p><b>Oui</b></p><p><i><b>maison une</b></i>\n<!-- x --></p>"},
        {"<span>un</span> <SPAN>deux</SPAN >", "<SPAN>deux</SPAN > <span>un</span>"},
        {" <i> un <b> deux</b></i> &amp;\n trois ", " trois &amp; <i><b>deux</b> un</i> "},
        {"un <img src=x> deux trois", "trois deux un <img src=x>"},
        {"un<!-- a --> deux", "deux un<!-- a -->"},
        {"un<br>deux <b>trois</b>", "un<br><b>trois</b> deux"},
        {"un <code>x</code> deux <b>trois</b>", "un <code>x</code> <b>trois</b> deux"},
        {"un <span translate=no></span> deux", "deux un <span translate=no></span>"},
        {"un <b>deux <p>trois <i>quatre</i></b> cinq", "un <b>deux <p><i>quatre</i> trois</b> cinq"},
        {"<b>un <i>deux</b> trois</i>", "<b>un <i>deux</b> trois</i>"},
        {"<i>un</i> <b>deux", "<i>un</i> <b>deux"},
        {"<pre>un <b>deux</b></pre>", "<pre>un <b>deux</b></pre>"},
        {"un <b>1</b>", "<b>1</b> un"},
        {"<b>1</b> <i>2</i>", "<b>1</b> <i>2</i>"},
        {"un <em class=notranslate>a</em> <abbr>deux</abbr> trois",
         "un <em class=notranslate>a</em> trois <abbr>deux</abbr>"},
        {"<a>un</a></i><b>deux</b> trois", "<a>un</a></i>trois <b>deux</b>"},
        {"</i><a>un</a> deux</u>", "</i>deux <a>un</a></u>"},
        {"<b></i><a>un</a> deux</b>", "<b></i>deux <a>un</a></b>"},
        {"<a></i>un</a> deux", "deux <a></i>un</a>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        json_t *documents = json_pack("[s]", examples[i].document);
        struct documents *html;
        struct marks marks;
        assert_int_equal(documents_read(&html, documents, "html", MOST, NULL), CLF_OK);
        assert_true(marks_copy(&marks, documents_marks(html)));
        json_t *translations = reverse(documents_texts(html), &marks);
        json_t *result = documents_join(html, translations, &marks);
        const char *got = json_string_value(json_array_get(result, 0));
        if (strcmp(got, examples[i].expected) != 0) {
            fail_msg("%s\nexpected: %s\ngot:      %s", examples[i].document, examples[i].expected, got);
        }
        marks_free(&marks);
        documents_free(html);
        json_decref(translations);
        json_decref(result);
        json_decref(documents);
    }
}

/* All documents share the texts; the answer has the shape of the request. */
static void test_several(void **state)
{
    (void)state;
    json_t *documents = json_pack("[s,s,s,s]", "<p>a</p><p>b</p>", "", "<br>", "c<script>");
    json_t *expected = json_pack("[s,s,s,s]", "<p>[a]</p><p>[b]</p>", "", "<br>", "[c]<script>");
    json_t *result = translate(documents, brackets);
    assert_true(json_equal(result, expected));
    json_decref(result);
    struct documents *html;
    assert_int_equal(documents_read(&html, documents, "html", MOST, NULL), CLF_OK);
    assert_int_equal(json_array_size(documents_texts(html)), 3);
    documents_free(html);
    assert_int_equal(documents_read(&html, documents, "html", 2, NULL), CLF_UNSUPPORTED);
    assert_int_equal(documents_read(&html, documents, "html", 1, NULL), CLF_UNSUPPORTED);
    assert_null(html);
    json_decref(expected);
    json_decref(documents);
}

static const char *const fragments[] = {"<p>",
                                        "</p>",
                                        "<P class=x>",
                                        "<div>",
                                        "</div>",
                                        "<b>",
                                        "</b>",
                                        "<span translate=no>",
                                        "</span>",
                                        "<br>",
                                        "<br/>",
                                        "<!-- x -->",
                                        "<!--",
                                        "-->",
                                        "<!doctype html>",
                                        "<code>",
                                        "</code>",
                                        "<script>",
                                        "</script>",
                                        "<svg>",
                                        "</svg>",
                                        "<![CDATA[",
                                        "]]>",
                                        "<ul>",
                                        "<li>",
                                        "</ul>",
                                        "<table>",
                                        "<tr>",
                                        "<td>",
                                        "</table>",
                                        "<title>",
                                        "</title>",
                                        "<textarea>",
                                        "</textarea>",
                                        "<pre>",
                                        "</pre>",
                                        "<a href='",
                                        "<a href=\"",
                                        "'>",
                                        "\">",
                                        "<",
                                        ">",
                                        "/",
                                        "</",
                                        "/>",
                                        "&amp;",
                                        "&eacute",
                                        "&#x41;",
                                        "&",
                                        "&nbsp;",
                                        ";",
                                        "=",
                                        " ",
                                        "\n",
                                        "\r\n",
                                        "\xc2\xa0",
                                        "mot",
                                        "Oui. ",
                                        "\xc3\xa9",
                                        "\xf0\x9f\x98\x80",
                                        "12",
                                        "!",
                                        "?",
                                        "<math>",
                                        "<mi>",
                                        "<h1>",
                                        "</h2>",
                                        "<select>",
                                        "<option>",
                                        "<template>"};

/* Returns a document of random fragments. */
static char *draw_document(unsigned *seed, int most)
{
    char *document = calloc((size_t)most * 24 + 1, 1), *end = document;
    assert_non_null(document);
    for (int i = rand_r(seed) % most; i >= 0; i--) {
        const char *fragment = fragments[(size_t)rand_r(seed) % (sizeof fragments / sizeof *fragments)];
        end = stpcpy(end, fragment);
    }
    return document;
}

static json_t *marks(const json_t *texts)
{
    json_t *result = json_array();
    for (size_t i = 0; i < json_array_size(texts); i++) {
        json_array_append_new(result, json_string("Z & <b>"));
    }
    return result;
}

/* Unchanged translations give the same bytes. Other translations change no tag: the result has as many texts,
 * each of them the translation. */
static void test_random(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int i = 0, count = support_small() ? 5000 : 500000; i < count; i++) {
        char *document = draw_document(&seed, 24);
        check(document, document, same);
        json_t *documents = json_pack("[s]", document), *result = translate(documents, marks);
        struct documents *before, *after;
        assert_int_equal(documents_read(&before, documents, "html", MOST, NULL), CLF_OK);
        assert_int_equal(documents_read(&after, result, "html", MOST, NULL), CLF_OK);
        json_t *expected = marks(documents_texts(before));
        if (!json_equal(documents_texts(after), expected)) {
            fail_msg("%s\nbecomes %s", document, json_string_value(json_array_get(result, 0)));
        }
        documents_free(before);
        documents_free(after);
        json_decref(expected);
        json_decref(documents);
        json_decref(result);
        free(document);
    }
}

/* Returns the seconds for a document that repeats a text, in open elements or not. */
static double time_repeated(const char *text, size_t bytes, int is_deep)
{
    char *document = calloc(bytes + 1, 1);
    assert_non_null(document);
    size_t size = strlen(text), at = 0;
    for (int i = 0; is_deep && i < 600; i++, at += 3) {
        memcpy(document + at, "<u>", 3);
    }
    for (; at + size <= bytes; at += size) {
        memcpy(document + at, text, size);
    }
    clock_t start = clock();
    json_t *documents = json_pack("[s]", document);
    struct documents *html;
    assert_int_equal(documents_read(&html, documents, "html", MOST, NULL), CLF_OK);
    json_t *result = documents_join(html, documents_texts(html), documents_marks(html));
    assert_true(json_equal(result, documents));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    documents_free(html);
    json_decref(result);
    json_decref(documents);
    free(document);
    return seconds;
}

/* Hostile documents take linear time and no stack. */
static void test_hostile(void **state)
{
    static const char *const repeated[] = {
        "<div>",       "<b a=1>",     "</b>",     "<p>",          "<",         "<!",
        "<!-",         "</",          "<!--",     "<script><!--", "<a b='",    "<a b=1 ",
        "&",           "&#",          "&nbsp;",   "<svg>",        "<![CDATA[", "<b><p>",
        "<table><tr>", "</a><b>",     "<li><ul>", "<script>",     "-->",       " ",
        "<title>",     "<svg></svg>", "<p>x&lt;", "a&nbsp;",      "<span><p>", "</span></div>",
        "</s>",        "<i>x",        "x</b>",    "<i>x</i> ",    "<i>x</b>",  "<img>x"};
    (void)state;
    enum { MOST_SECONDS = 20 };
    size_t bytes = support_small() ? 200000 : 2000000;
    for (size_t i = 0; i < 2 * sizeof repeated / sizeof *repeated; i++) {
        const char *text = repeated[i / 2];
        double seconds = time_repeated(text, bytes, i % 2 == 1);
        print_message("%s%s: %.3f s\n", i % 2 == 1 ? "deep " : "", text, seconds);
        assert_true(seconds < MOST_SECONDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_stay),   cmocka_unit_test(test_references),
        cmocka_unit_test(test_untranslated), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_several),      cmocka_unit_test(test_inline),
        cmocka_unit_test(test_random),       cmocka_unit_test(test_hostile),
    };
    if (!documents_has_format("html")) {
        print_message("[  SKIPPED ] built without Gumbo\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
