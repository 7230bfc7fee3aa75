/* Checks of pages without a browser: colour contrast, widths for small screens, axis names, a legend for
 * every mark. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

enum { SMALL_SCREEN = 20 }; /* rem, inside the margins of a page 390 pixels wide */

static char *read_tool(const char *name)
{
    size_t size;
    return process_read(CLF_SOURCE_FOLDER "/tools", name, &size);
}

static const char *const templates[] = {"attend/attend.html", "bench/bench.html", "train/train.html"};
enum { TEMPLATES = sizeof templates / sizeof *templates };

/* The text from `start` to `end`, both of which must exist. */
static char *part_of(const char *text, const char *start, const char *end)
{
    const char *from = strstr(text, start);
    assert_non_null(from);
    const char *to = strstr(from, end);
    assert_non_null(to);
    return process_format("%.*s", (int)(to - from), from);
}

/* The relative luminance (WCAG 2) of the colour "#rrggbb" of a variable in a block of CSS. */
static double luminance_of(const char *css, const char *name)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    const char *color = strstr(css, process_format("%s: #", name));
    assert_non_null(color);
    unsigned long rgb = strtoul(strchr(color, '#') + 1, NULL, 16);
    double luminance = 0;
    for (int i = 0; i < 3; i++) {
        double value = (double)(rgb >> (16 - 8 * i) & 255) / 255;
        luminance += weights[i] * (value <= 0.03928 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4));
    }
    return luminance;
}

static void check_contrast(const char *css, const char *front, const char *back)
{
    double a = luminance_of(css, front), b = luminance_of(css, back);
    double contrast = (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
    if (contrast < 4.5) {
        fail_msg("%s on %s: %.2f to 1, in%s", front, back, contrast, css);
    }
}

/* Text, and the colours of devices and runs, on cards and outside, in both themes. */
static void test_contrast(void **state)
{
    (void)state;
    char *css = read_tool("shared/page.css");
    const char *themes[] = {part_of(css, "\n:root", "}"), part_of(css, "\n@media screen", "}")};
    static const char *const colors[] = {"--text", "--soft", "--accent", "--bad", "--d0", "--d1",
                                         "--d2",   "--d3",   "--d4",     "--d5",  "--d6", "--d7"};
    for (size_t theme = 0; theme < 2; theme++) {
        for (size_t i = 0; i < sizeof colors / sizeof *colors; i++) {
            check_contrast(themes[theme], colors[i], "--card");
            check_contrast(themes[theme], colors[i], "--page");
        }
    }
}

/* Fails if a property exceeds a small screen, on a line that is not only for large ones. */
static void check_widths(const char *name, const char *css, const char *property)
{
    for (const char *at = css; (at = strstr(at, property)) != NULL; at += strlen(property)) {
        const char *line = at;
        while (line > css && line[-1] != '\n') {
            line--;
        }
        char *end;
        double rem = strtod(at + strlen(property), &end);
        if (strncmp(end, "rem", 3) == 0 && strncmp(line, "@media (min-width", 17) != 0 &&
            rem > SMALL_SCREEN) {
            fail_msg("%s: %.*s", name, (int)strcspn(line, "\n"), line);
        }
    }
}

/* All pages share one style, light on paper, without widths beyond a small screen. */
static void test_style(void **state)
{
    (void)state;
    static const char *const properties[] = {" width: ", " min-width: ", "minmax("};
    for (size_t i = 0; i <= TEMPLATES; i++) {
        const char *name = i < TEMPLATES ? templates[i] : "shared/page.css";
        char *page = read_tool(name);
        char *css = i < TEMPLATES ? part_of(page, "<style>", "</style>") : page;
        assert_int_equal(process_count(css, "@STYLE@\n"), i < TEMPLATES);
        assert_int_equal(process_count(css, "prefers-color-scheme"),
                         process_count(css, "@media screen and (prefers-color-scheme"));
        for (size_t k = 0; k < sizeof properties / sizeof *properties; k++) {
            check_widths(name, css, properties[k]);
        }
    }
}

/* Every training chart has a title and a unit, and every horizontal axis a name. */
static void test_axes(void **state)
{
    (void)state;
    char *page = read_tool("train/train.html");
    char *charts = part_of(page, "const charts = [", "\n];"), *axes = part_of(page, "const axes = [", "\n];");
    assert_int_equal(process_count(charts, "{ title: "), 7);
    assert_int_equal(process_count(charts, "\", unit: \""), 7);
    assert_int_equal(process_count(axes, "{ name: "), 4);
    assert_int_equal(process_count(axes, ", unit: "), 4);
    char *draw = part_of(page, "function draw(", "\n}");
    assert_int_equal(process_count(draw, "<text x=\"4\" y=\"12\">${esc(chart.unit)}</text>"), 1);
    assert_int_equal(process_count(draw, "${esc(axes[axis].unit)}</text>"), 1);
}

/* Every kind of mark in training charts is in the legend, and the label "best" is positioned by the card's
 * data. */
static void test_legend_of_curves(void **state)
{
    (void)state;
    static const char *const marks[] = {"best", "band", "faint", "line"};
    char *page = read_tool("train/train.html");
    char *icons = part_of(page, "const icon = {", "\n};");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        assert_true(process_count(icons, process_format("\n  %s: ", marks[i])) == 1);
        assert_true(process_count(icons, process_format("class=\"%s", marks[i])) >= 1);
        assert_true(process_count(page, process_format("icon.%s", marks[i])) >= 1);
    }
    assert_int_equal(process_count(page, "run.best[name]"), 2);
    assert_int_equal(process_count(part_of(page, "function showRuns", "\n}"), "run.best[name]"), 1);
    assert_int_equal(process_count(page, "map(one => one.best)"), 0); /* the bests of their times */
}

/* A selected run keeps its colour, which fills no button. */
static void test_chosen_run(void **state)
{
    (void)state;
    char *css = read_tool("shared/page.css");
    const char *chosen = part_of(css, "\nbutton.own[aria-pressed=\"true\"] {", "}");
    assert_non_null(strstr(chosen, "background: none;"));
    const char *dot = part_of(css, "\nbutton.own[aria-pressed=\"true\"] .dot {", "}");
    assert_non_null(strstr(dot, "background: var(--color);"));
}

/* The roofline has a shape for each op of a whole report. */
static void test_shapes_of_ops(void **state)
{
    (void)state;
    size_t size;
    char *page = process_read(CLF_SOURCE_FOLDER "/bench", "example.html", &size);
    const char *data = strstr(page, "id=\"data\">");
    assert_non_null(data);
    data = strchr(data, '>') + 1;
    json_t *report = json_loadb(data, strcspn(data, "<"), 0, NULL), *ops = json_object();
    json_t *device = json_array_get(json_object_get(report, "devices"), 0), *row;
    size_t i;
    json_array_foreach(json_object_get(device, "rows"), i, row)
    {
        const char *op = json_string_value(json_object_get(row, "op"));
        if (op != NULL) {
            json_object_set_new(ops, op, json_true());
        }
    }
    char *shapes = part_of(read_tool("bench/bench.html"), "const shapes = [", "\n];");
    assert_true(json_object_size(ops) > 8);
    assert_true((size_t)process_count(shapes, "(x, y) => ") >= json_object_size(ops));
    json_decref(ops);
    json_decref(report);
}

/* Texts and names of any length take three lines at most, in the legend of several runs one, and a click
 * shows all. */
static void test_long_texts(void **state)
{
    (void)state;
    static const struct {
        const char *page, *text;
    } texts[] = {
        {"attend/attend.html", "<div class=\"clamp\">@SOURCE@</div>"},
        {"attend/attend.html", "<div class=\"clamp\">@TARGET@</div>"},
        {"train/train.html", "<h1 class=\"clamp\">Training: @TITLE@</h1>"},
        {"train/train.html", "<h2 class=\"clamp\" title=\"${esc(run.name)}\">"},
        {"train/train.html", "<div class=\"clamp\">${esc(sentence.source)}</div>"},
        {"train/train.html", "<div class=\"clamp\">${esc(sentence.reference)}</div>"},
        {"train/train.html", "<div class=\"clamp\">${esc(one.text) ||"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *page = read_tool(texts[i].page);
        assert_int_equal(process_count(page, texts[i].text), 1);
        assert_int_equal(process_count(page, "closest(\".clamp\")?.classList.toggle(\"open\")"), 1);
    }
    char *clamp = part_of(read_tool("shared/page.css"), "\n.clamp:not(.open) {", "}");
    assert_non_null(strstr(clamp, "-webkit-line-clamp: 3;"));
    char *name = part_of(read_tool("train/train.html"), "\n.readout .name {", "}");
    assert_non_null(strstr(name, "text-overflow: ellipsis; white-space: nowrap;"));
}

/* On a phone the table of ops is a list in which each op is a button, and its sizes are hidden until it is
 * pressed; on paper they are shown. */
static void test_folded_ops(void **state)
{
    (void)state;
    char *page = read_tool("bench/bench.html"), *css = part_of(page, "<style>", "</style>");
    char *fold = part_of(page, "const fold = ", "\n  };");
    assert_non_null(strstr(fold, "<tbody class=\"${open.has(op) ? \"\" : \"closed\"}\"><tr class=\"fold\">"));
    assert_non_null(strstr(fold, "<button type=\"button\" data-op="));
    assert_non_null(strstr(fold, "aria-expanded="));
    assert_int_equal(process_count(css, "\n.fold { display: none; }"), 1); /* where it is no list */
    const char *hidden = part_of(css, "\n.list .closed tr:not(.fold)", "}");
    assert_non_null(strstr(hidden, "display: none;"));
    const char *print = part_of(css, "\n@media print", "\n}");
    assert_non_null(strstr(print, ".list .closed tr:not(.fold) { display: block; }"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_contrast, support_teardown),
        cmocka_unit_test_teardown(test_style, support_teardown),
        cmocka_unit_test_teardown(test_axes, support_teardown),
        cmocka_unit_test_teardown(test_legend_of_curves, support_teardown),
        cmocka_unit_test_teardown(test_chosen_run, support_teardown),
        cmocka_unit_test_teardown(test_shapes_of_ops, support_teardown),
        cmocka_unit_test_teardown(test_long_texts, support_teardown),
        cmocka_unit_test_teardown(test_folded_ops, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
