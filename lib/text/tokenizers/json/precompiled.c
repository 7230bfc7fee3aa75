/* SentencePiece replaces the longest match at each position. Hugging Face tokenizers work on graphemes: a
 * short grapheme that begins with keys of the table is replaced by the value of the shortest key; otherwise
 * each character is looked up. */
#include "text/tokenizers/json/precompiled.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/segmenters/charsmap.h"

enum { SHORT = 6 }; /* graphemes of this size or more are looked up only character by character */

struct table {
    struct clf__charsmap map;
    uint8_t *bytes;
    char is_changed[0x80]; /* single ASCII characters that the table changes */
};

void clf__precompiled_free(void *state)
{
    struct table *table = state;
    clf__free(table->bytes);
    clf__free(table);
}

static clf_status read_table(struct table *table, const struct clf__node *node, const char *text)
{
    size_t size;
    char *where = NULL;
    CLF__TRY(clf__allocate(&table->bytes, strlen(text) + 1, 1));
    if (!clf__base64_decode(table->bytes, &size, text, strlen(text))) {
        return clf__node_fail(node, CLF_FORMAT,
                              "\"precompiled_charsmap\" is not base64; download the file again");
    }
    CLF__TRY(clf__format(&where, "%s: \"%s\", %s", node->path, node->section, node->part));
    clf_status status = clf__charsmap_check(&table->map, (struct clf__span){table->bytes, size}, where);
    clf__free(where);
    const struct clf__span *texts =
        &table->map.texts; /* the last replacement may end with the zero byte after the data */
    if (status == CLF_OK && clf__utf8_valid_prefix((const char *)texts->bytes, texts->size) != texts->size) {
        status = clf__node_fail(node, CLF_FORMAT,
                                "\"precompiled_charsmap\" produces invalid UTF-8; download the file again");
    }
    for (int c = 1; status == CLF_OK && c < 0x80; c++) {
        const char letter = (char)c;
        table->is_changed[c] = clf__charsmap_first(&table->map, &letter, 1) != NULL;
    }
    return status;
}

clf_status clf__precompiled_read(void **state, const struct clf__node *node)
{
    const char *text;
    struct table *table = NULL;
    CLF__TRY(clf__node_need_string(node, "precompiled_charsmap", &text));
    CLF__TRY(clf__allocate(&table, 1, sizeof *table));
    clf_status status = read_table(table, node, text);
    if (status != CLF_OK) {
        clf__precompiled_free(table);
        return status;
    }
    *state = table;
    return CLF_OK;
}

/* What precedes a position, for finding grapheme boundaries (Unicode Annex 29). */
struct grapheme {
    int kind;     /* Grapheme_Cluster_Break of the last character */
    int flags;    /* number of regional indicators before the position, modulo 2 */
    int pictured; /* the grapheme ends with an emoji and its extenders */
    int joined;   /* the grapheme ends with an emoji, its extenders and a joiner */
};

static struct grapheme grapheme_with(const struct grapheme *before, UChar32 character, int kind)
{
    int is_emoji = u_hasBinaryProperty(character, UCHAR_EXTENDED_PICTOGRAPHIC);
    return (struct grapheme){
        .kind = kind,
        .flags = kind == U_GCB_REGIONAL_INDICATOR && !(before->flags & 1),
        .pictured = is_emoji || (before->pictured && kind == U_GCB_EXTEND),
        .joined = before->pictured && kind == U_GCB_ZWJ,
    };
}

static int is_control(int kind)
{
    return kind == U_GCB_CONTROL || kind == U_GCB_CR || kind == U_GCB_LF;
}

/* Returns whether a character continues the grapheme (Annex 29, GB3 to GB13). */
static int goes_on(const struct grapheme *before, UChar32 character, int kind)
{
    int last = before->kind;
    if (is_control(last) || is_control(kind)) {
        return last == U_GCB_CR && kind == U_GCB_LF;
    }
    if (kind == U_GCB_EXTEND || kind == U_GCB_ZWJ || kind == U_GCB_SPACING_MARK || last == U_GCB_PREPEND) {
        return 1;
    }
    if (last == U_GCB_L) {
        return kind == U_GCB_L || kind == U_GCB_V || kind == U_GCB_LV || kind == U_GCB_LVT;
    }
    if ((last == U_GCB_LV || last == U_GCB_V) && kind == U_GCB_V) {
        return 1;
    }
    if ((last == U_GCB_LV || last == U_GCB_V || last == U_GCB_LVT || last == U_GCB_T) && kind == U_GCB_T) {
        return 1;
    }
    return (before->joined && u_hasBinaryProperty(character, UCHAR_EXTENDED_PICTOGRAPHIC)) ||
           (last == U_GCB_REGIONAL_INDICATOR && kind == U_GCB_REGIONAL_INDICATOR && before->flags);
}

/* Returns the size in bytes of the first grapheme of a text. */
static size_t grapheme_size(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    if (bytes[0] < 0x80 && (size == 1 || (bytes[1] < 0x80 && bytes[0] != '\r'))) {
        return 1;
    }
    struct grapheme before = {.kind = U_GCB_OTHER};
    for (size_t at = 0, next = 0; at < size; at = next) {
        UChar32 character;
        U8_NEXT_UNSAFE(bytes, next, character);
        int kind = u_getIntPropertyValue(character, UCHAR_GRAPHEME_CLUSTER_BREAK);
        if (at > 0 && !goes_on(&before, character, kind)) {
            return at;
        }
        before = grapheme_with(&before, character, kind);
    }
    return size;
}

static clf_status put(const struct table *table, struct clf__word_list *out, const char *text, size_t size,
                      int *changed)
{
    const char *made = clf__charsmap_first(&table->map, text, size);
    *changed = made != NULL;
    return made != NULL ? clf__word_list_put(out, made, strlen(made)) : CLF_OK;
}

static clf_status put_grapheme(const struct table *table, struct clf__word_list *out, const char *text,
                               size_t size)
{
    int changed = 0;
    if (size < SHORT) {
        CLF__TRY(put(table, out, text, size, &changed));
    }
    for (size_t at = 0, next = 0; !changed && at < size; at = next) {
        int is_other = 0;
        U8_FWD_1_UNSAFE((const uint8_t *)text, next);
        CLF__TRY(put(table, out, text + at, next - at, &is_other));
        if (!is_other) {
            CLF__TRY(clf__word_list_put(out, text + at, next - at));
        }
    }
    return CLF_OK;
}

clf_status clf__precompiled_run(const void *state, struct clf__word_list *out,
                                const struct clf__word_list *in)
{
    const struct table *table = state;
    for (int i = 0; i < in->count; i++) {
        const char *text = in->bytes + in->items[i].start;
        size_t size = in->items[i].size, plain = 0;
        for (size_t at = 0; at < size; plain = at) {
            size_t length = 0;
            while (at < size && (text[at] & 0x80) == 0 && !table->is_changed[(int)text[at]] &&
                   text[at] != '\r' && (at + 1 == size || (text[at + 1] & 0x80) == 0)) {
                at++;
            }
            CLF__TRY(clf__word_list_put(out, text + plain, at - plain));
            if (at < size) {
                length = grapheme_size(text + at, size - at);
                CLF__TRY(put_grapheme(table, out, text + at, length));
            }
            at += length;
        }
        CLF__TRY(clf__word_list_end(out, in->items[i].is_first));
    }
    return CLF_OK;
}
