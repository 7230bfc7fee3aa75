#include "translate/documents/html/elements.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum flag {
    VOID = 1 << 0,       /* has no content and no end tag */
    RAW = 1 << 1,        /* the content is text up to the end tag */
    SKIPPED = 1 << 2,    /* the content is not translated */
    LINES = 1 << 3,      /* line breaks are kept */
    SPECIAL = 1 << 4,    /* the end tag of an inline element does not end the element */
    FORMATTING = 1 << 5, /* the end tag ends only the element, not the blocks in it */
    SCOPE = 1 << 6,      /* end tags in the element do not end elements around it, except parts of tables */
    TABLE = 1 << 7,      /* end tags in the element do not end parts of the table around it */
    IN_TABLE = 1 << 8,   /* a part of a table, or a table */
    ENDS_P = 1 << 9,     /* the start tag ends an open paragraph */
    FOREIGN = 1 << 10,   /* SVG or MathML */
    HOST = 1 << 11,      /* HTML in SVG or MathML */
    /* Elements whose end tag may be missing, or that cannot contain each other: */
    PARAGRAPH = 1 << 12,
    ITEM = 1 << 13,
    TERM = 1 << 14,
    OPTION = 1 << 15,
    GROUP = 1 << 16, /* optgroup */
    CELL = 1 << 17,
    ROW = 1 << 18,
    ROWS = 1 << 19,
    RUBY = 1 << 20,
    HEADING = 1 << 21,
    LINK = 1 << 22,
    BUTTON = 1 << 23,
    LIST = 1 << 24,
    DOCUMENT = 1 << 25,   /* html and body end with the document */
    IS_FOREIGN = 1 << 26, /* of an open element: its child elements are SVG or MathML */
    BREAKS_OUT = 1 << 27, /* the start tag ends an open <svg> or <math> */
    MATH = 1 << 28,       /* MathML, not SVG */
    PASSED = 1 << 29,     /* the special elements around which items and terms end */
    INLINE = 1 << 30,     /* a part of a sentence */
    BLOCK = SPECIAL | ENDS_P,
};

static const struct name {
    char text[16];
    unsigned flags;
} names[] = {
    /* Sorted. */
    {"a", FORMATTING | LINK | INLINE},
    {"abbr", INLINE},
    {"acronym", INLINE},
    {"address", BLOCK | SKIPPED | PASSED},
    {"annotation-xml", HOST | MATH},
    {"applet", SPECIAL | SCOPE | SKIPPED},
    {"area", VOID},
    {"article", BLOCK},
    {"aside", BLOCK},
    {"audio", SKIPPED},
    {"b", FORMATTING | BREAKS_OUT | INLINE},
    {"base", VOID},
    {"basefont", VOID},
    {"bdi", INLINE},
    {"bdo", INLINE},
    {"bgsound", VOID},
    {"big", FORMATTING | BREAKS_OUT | INLINE},
    {"blockquote", BLOCK | BREAKS_OUT},
    {"body", SPECIAL | DOCUMENT | BREAKS_OUT},
    {"br", VOID | BREAKS_OUT},
    {"button", SPECIAL | BUTTON},
    {"canvas", SKIPPED},
    {"caption", SPECIAL | SCOPE | IN_TABLE | CELL},
    {"center", BLOCK | BREAKS_OUT},
    {"cite", INLINE},
    {"code", FORMATTING | SKIPPED | BREAKS_OUT},
    {"col", VOID},
    {"colgroup", SPECIAL | IN_TABLE},
    {"data", INLINE},
    {"dd", BLOCK | TERM | BREAKS_OUT},
    {"del", INLINE},
    {"desc", HOST},
    {"details", BLOCK},
    {"dfn", INLINE},
    {"dialog", BLOCK},
    {"dir", BLOCK},
    {"div", BLOCK | BREAKS_OUT | PASSED},
    {"dl", BLOCK | BREAKS_OUT},
    {"dt", BLOCK | TERM | BREAKS_OUT},
    {"em", FORMATTING | BREAKS_OUT | INLINE},
    {"embed", VOID | BREAKS_OUT},
    {"fieldset", BLOCK},
    {"figcaption", BLOCK},
    {"figure", BLOCK},
    {"font", FORMATTING | INLINE},
    {"footer", BLOCK},
    {"foreignobject", HOST},
    {"form", BLOCK},
    {"frame", VOID},
    {"frameset", SPECIAL},
    {"h1", BLOCK | HEADING | BREAKS_OUT},
    {"h2", BLOCK | HEADING | BREAKS_OUT},
    {"h3", BLOCK | HEADING | BREAKS_OUT},
    {"h4", BLOCK | HEADING | BREAKS_OUT},
    {"h5", BLOCK | HEADING | BREAKS_OUT},
    {"h6", BLOCK | HEADING | BREAKS_OUT},
    {"head", SPECIAL | BREAKS_OUT},
    {"header", BLOCK},
    {"hgroup", BLOCK},
    {"hr", VOID | ENDS_P | BREAKS_OUT},
    {"html", SPECIAL | SCOPE | TABLE | DOCUMENT},
    {"i", FORMATTING | BREAKS_OUT | INLINE},
    {"iframe", SPECIAL | RAW | SKIPPED},
    {"image", VOID},
    {"img", VOID | BREAKS_OUT | INLINE},
    {"input", VOID},
    {"ins", INLINE},
    {"kbd", INLINE},
    {"keygen", VOID},
    {"label", INLINE},
    {"li", BLOCK | ITEM | BREAKS_OUT},
    {"link", VOID},
    {"listing", BLOCK | LINES | BREAKS_OUT},
    {"main", BLOCK},
    {"mark", INLINE},
    {"marquee", SPECIAL | SCOPE},
    {"math", FOREIGN | MATH | SKIPPED},
    {"menu", BLOCK | BREAKS_OUT},
    {"meta", VOID | BREAKS_OUT},
    {"mi", HOST | MATH},
    {"mn", HOST | MATH},
    {"mo", HOST | MATH},
    {"ms", HOST | MATH},
    {"mtext", HOST | MATH},
    {"nav", BLOCK},
    {"nobr", FORMATTING | BREAKS_OUT | INLINE},
    {"noembed", SPECIAL | RAW | SKIPPED},
    {"noframes", SPECIAL | RAW | SKIPPED},
    {"noscript", SPECIAL},
    {"object", SPECIAL | SCOPE},
    {"ol", BLOCK | LIST | BREAKS_OUT},
    {"optgroup", GROUP},
    {"option", OPTION},
    {"p", BLOCK | PARAGRAPH | BREAKS_OUT | PASSED},
    {"param", VOID},
    {"plaintext", BLOCK | RAW | SKIPPED},
    {"pre", BLOCK | LINES | BREAKS_OUT},
    {"q", INLINE},
    {"rb", RUBY},
    {"rp", RUBY},
    {"rt", RUBY},
    {"rtc", RUBY},
    {"ruby", BREAKS_OUT},
    {"s", FORMATTING | BREAKS_OUT | INLINE},
    {"samp", INLINE},
    {"script", SPECIAL | RAW | SKIPPED},
    {"search", BLOCK},
    {"section", BLOCK},
    {"select", SPECIAL},
    {"small", FORMATTING | BREAKS_OUT | INLINE},
    {"source", VOID},
    {"span", BREAKS_OUT | INLINE},
    {"strike", FORMATTING | BREAKS_OUT | INLINE},
    {"strong", FORMATTING | BREAKS_OUT | INLINE},
    {"style", SPECIAL | RAW | SKIPPED},
    {"sub", BREAKS_OUT | INLINE},
    {"summary", BLOCK},
    {"sup", BREAKS_OUT | INLINE},
    {"svg", FOREIGN | SKIPPED},
    {"table", BLOCK | SCOPE | TABLE | IN_TABLE | BREAKS_OUT},
    {"tbody", SPECIAL | IN_TABLE | ROWS},
    {"td", SPECIAL | SCOPE | IN_TABLE | CELL},
    {"template", SPECIAL | SCOPE | TABLE},
    {"textarea", SPECIAL | RAW | SKIPPED},
    {"tfoot", SPECIAL | IN_TABLE | ROWS},
    {"th", SPECIAL | SCOPE | IN_TABLE | CELL},
    {"thead", SPECIAL | IN_TABLE | ROWS},
    {"time", SKIPPED},
    {"title", SPECIAL | RAW | HOST},
    {"tr", SPECIAL | IN_TABLE | ROW},
    {"track", VOID},
    {"tt", FORMATTING | BREAKS_OUT | INLINE},
    {"u", FORMATTING | BREAKS_OUT | INLINE},
    {"ul", BLOCK | LIST | BREAKS_OUT},
    {"var", BREAKS_OUT | INLINE},
    {"video", SKIPPED},
    {"wbr", VOID | INLINE},
    {"xmp", BLOCK | RAW | SKIPPED},
};

/* A start tag with one of the flags `starts` ends the innermost open element with one of `ends`, unless an
 * element with one of `barriers` is between them. */
static const struct {
    unsigned starts, ends, barriers;
} implied_ends[] = {
    {ENDS_P, PARAGRAPH, SCOPE | BUTTON},
    {ITEM, ITEM, SPECIAL},
    {TERM, TERM, SPECIAL},
    {OPTION | GROUP, OPTION, SCOPE},
    {GROUP, GROUP, SCOPE},
    {CELL | ROW | ROWS, CELL, TABLE},
    {ROW | ROWS, ROW, TABLE},
    {ROWS, ROWS, TABLE},
    {RUBY, RUBY, SCOPE},
    {LINK, LINK, SCOPE},
    {BUTTON, BUTTON, SCOPE},
};

static int compare(const void *key, const void *name)
{
    return strcmp(key, ((const struct name *)name)->text);
}

unsigned clf__html_hash(const char *name, size_t size)
{
    unsigned hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)tolower((unsigned char)name[i])) * 16777619u;
    }
    return hash;
}

/* Returns the flags of a name. */
static unsigned flags_of(const char *name, size_t size)
{
    char lower[sizeof names->text] = "";
    if (size >= sizeof lower) {
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        lower[i] = (char)tolower((unsigned char)name[i]);
    }
    const struct name *found = bsearch(lower, names, sizeof names / sizeof *names, sizeof *names, compare);
    return found != NULL ? found->flags : 0;
}

unsigned clf__html_kind_of(const char *name, size_t size)
{
    unsigned flags = flags_of(name, size);
    return (flags & INLINE ? CLF__HTML_IS_INLINE : 0) | (flags & VOID ? CLF__HTML_IS_VOID : 0) |
           (flags & SKIPPED ? CLF__HTML_IS_SKIPPED : 0) | (flags & LINES ? CLF__HTML_IS_LINES : 0);
}

/* Finds the flags of a tag's name. */
static struct clf__html_element look_up(const struct clf__html_elements *elements,
                                        const struct clf__html_tokens *tokens,
                                        const struct clf__html_token *tag)
{
    const char *name = tokens->bytes + tag->name;
    struct clf__html_element element = {.name = clf__html_hash(name, tag->name_size),
                                        .flags = flags_of(name, tag->name_size)};
    for (int i = 0; i < elements->ignored_count; i++) {
        element.flags |= elements->ignored[i] == element.name ? SKIPPED : 0;
    }
    return element;
}

static int is_foreign(const struct clf__html_elements *elements)
{
    return elements->count > 0 && elements->open[elements->count - 1].flags & IS_FOREIGN;
}

static void remove_element(struct clf__html_elements *elements, int index)
{
    struct clf__html_element *element = &elements->open[index];
    elements->untranslated -= (element->flags & SKIPPED) != 0;
    elements->preformatted -= (element->flags & LINES) != 0;
    elements->count--;
    memmove(element, element + 1, (size_t)(elements->count - index) * sizeof *element);
}

/* Ends the element at an index and the elements in it. Blocks in a formatting element stay open, however, and
 * so does an untranslated formatting element when a block around it ends, except a table cell. */
static void remove_from(struct clf__html_elements *elements, int index)
{
    unsigned outer = elements->open[index].flags, kept = outer & FORMATTING ? SPECIAL : 0;
    for (int i = elements->count - 1; i >= index; i--) {
        unsigned flags = elements->open[i].flags;
        int is_kept = flags & kept || (flags & FORMATTING && flags & SKIPPED && !(outer & SCOPE));
        if (i == index || !is_kept) {
            remove_element(elements, i);
        }
    }
}

static void add_element(struct clf__html_elements *elements, struct clf__html_element element)
{
    if (elements->count == CLF__HTML_MOST_OPEN) {
        remove_element(elements, CLF__HTML_MOST_OPEN - 1);
    }
    elements->open[elements->count++] = element;
    elements->untranslated += (element.flags & SKIPPED) != 0;
    elements->preformatted += (element.flags & LINES) != 0;
}

/* Ends the elements whose end tag is missing before a start tag. */
static void end_implied(struct clf__html_elements *elements, unsigned flags)
{
    for (size_t rule = 0; rule < sizeof implied_ends / sizeof *implied_ends; rule++) {
        if (!(flags & implied_ends[rule].starts)) {
            continue;
        }
        for (int i = elements->count - 1; i >= 0; i--) {
            if (elements->open[i].flags & implied_ends[rule].ends) {
                remove_from(elements, i);
                break;
            }
            if (elements->open[i].flags & implied_ends[rule].barriers &&
                !(elements->open[i].flags & PASSED)) {
                break;
            }
        }
    }
}

/* Ends the elements between the innermost table and a part of it. Returns 0 if the part is not in a table. */
static int enter_table(struct clf__html_elements *elements)
{
    int inner = -1;
    for (int i = elements->count - 1; i >= 0; i--) {
        unsigned flags = elements->open[i].flags;
        inner = inner < 0 && flags & (IN_TABLE | TABLE) ? i : inner;
        if (flags & TABLE) {
            if (inner + 1 < elements->count && !(flags & DOCUMENT)) {
                remove_from(elements, inner + 1);
            }
            return !(flags & DOCUMENT);
        }
    }
    return 0;
}

/* Updates the elements for a start tag of HTML; returns 0 if the tag is ignored. */
static int start_html(struct clf__html_elements *elements, unsigned flags)
{
    end_implied(elements, flags);
    int top = elements->count - 1;
    if (flags & HEADING && top >= 0 && elements->open[top].flags & HEADING) {
        remove_from(elements, top);
    }
    return !(flags & IN_TABLE) || flags & TABLE || enter_table(elements);
}

/* Returns the flags of an element in SVG or MathML. <style/> and <title/> are ordinary there. */
static unsigned foreign_flags(unsigned flags, const struct clf__html_element *parent)
{
    flags &= FOREIGN | HOST | MATH | SKIPPED;
    if (flags & HOST && (flags & MATH) == (parent->flags & MATH)) {
        return flags | SPECIAL | SCOPE;
    }
    return (flags & ~(unsigned)(HOST | MATH)) | (parent->flags & MATH) | IS_FOREIGN;
}

static void take_start(struct clf__html_elements *elements, struct clf__html_tokens *tokens,
                       const struct clf__html_token *tag)
{
    struct clf__html_element element = look_up(elements, tokens, tag);
    if (element.flags & BREAKS_OUT) {
        while (is_foreign(elements)) {
            remove_element(elements, elements->count - 1);
        }
    }
    int is_empty = tag->is_self_closing && (is_foreign(elements) || element.flags & FOREIGN);
    if (is_foreign(elements)) {
        element.flags = foreign_flags(element.flags, &elements->open[elements->count - 1]);
    } else if (element.flags & FOREIGN) {
        element.flags |= IS_FOREIGN;
    } else if (start_html(elements, element.flags)) {
        element.flags &= ~(unsigned)(HOST | MATH);
        is_empty = (element.flags & VOID) != 0;
    } else {
        return;
    }
    if (is_empty) {
        return;
    }
    element.flags |= tag->is_notranslate ? SKIPPED : 0;
    add_element(elements, element);
    if (element.flags & RAW) {
        tokens->raw = tag->name;
        tokens->raw_size = tag->name_size;
    }
}

/* Returns the elements that limit the scope of an end tag. */
static unsigned barriers_of(unsigned flags)
{
    if (flags & IN_TABLE) {
        return TABLE;
    }
    if (flags & (SPECIAL | FORMATTING)) {
        return SCOPE | (flags & PARAGRAPH ? BUTTON : 0) | (flags & ITEM ? LIST : 0);
    }
    return SPECIAL;
}

static void take_end(struct clf__html_elements *elements, struct clf__html_element tag)
{
    int is_in_html = 0, is_blocked = 0;
    if (tag.flags & DOCUMENT) {
        return; /* later content is still in the body */
    }
    for (int i = elements->count - 1; i >= 0; i--) {
        const struct clf__html_element *open = &elements->open[i];
        int is_html = !(open->flags & (IS_FOREIGN | HOST));
        is_in_html |= is_html;
        if (is_in_html && is_blocked) {
            return;
        }
        /* An end tag in HTML inside SVG or MathML cannot end SVG or MathML elements. */
        if ((is_html || !is_in_html) && (open->name == tag.name || tag.flags & open->flags & HEADING)) {
            remove_from(elements, i);
            return;
        }
        is_blocked |= (open->flags & barriers_of(tag.flags)) != 0;
    }
}

enum clf__html_place_kind clf__html_place(const struct clf__html_elements *elements,
                                          const struct clf__html_tokens *tokens,
                                          const struct clf__html_token *tag)
{
    struct clf__html_element element = look_up(elements, tokens, tag);
    if (elements->untranslated > 0 || elements->preformatted > 0 || is_foreign(elements) ||
        element.flags & BLOCK) {
        return CLF__HTML_OUTSIDE;
    }
    if (element.flags & SKIPPED || tag->is_notranslate) {
        return element.flags & VOID && element.flags & INLINE ? CLF__HTML_EMPTY : CLF__HTML_UNTRANSLATED;
    }
    return !(element.flags & INLINE) ? CLF__HTML_OUTSIDE
           : element.flags & VOID    ? CLF__HTML_EMPTY
                                     : CLF__HTML_INSIDE;
}

void clf__html_take(struct clf__html_elements *elements, struct clf__html_tokens *tokens,
                    const struct clf__html_token *tag)
{
    if (tag->kind == CLF__HTML_START_TAG) {
        take_start(elements, tokens, tag);
    } else if (tag->kind == CLF__HTML_END_TAG) {
        take_end(elements, look_up(elements, tokens, tag));
    }
    tokens->has_cdata = is_foreign(elements);
}
