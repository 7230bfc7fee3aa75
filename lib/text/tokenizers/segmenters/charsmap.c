#include "text/tokenizers/segmenters/charsmap.h"

#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"

/* NFKC's longest replacement has 33 bytes and its longest key a few letters; SentencePiece's own tables have
 * about 240,000 bytes. */
enum {
    MAX_MATCHES = 32, /* size of the library's array for prefix matches */
    MAX_KEY_BYTES = 255,
    MAX_REPLACEMENT_BYTES = 1024,
    MAX_TABLE_BYTES = 1 << 24,
    SPACE_BYTES = 3, /* SentencePiece replaces a space with U+2581 */
};

/* Properties of the subtree of a visited node. */
struct below {
    uint8_t is_known;
    uint8_t bytes;   /* size of the longest key */
    uint8_t matches; /* maximum number of values on a path */
};

struct walk {
    const struct clf__charsmap *map;
    struct below *nodes; /* (unit_count) */
    /* Children of a base: children[ends[base - 1]] .. children[ends[base] - 1]; the first base starts at
       0. */
    uint32_t *children; /* (unit_count) */
    uint32_t *ends;     /* (unit_count rounded up to a whole block) */
    const char *wrong;  /* error that ended the walk */
};

static uint32_t unit_at(const struct clf__charsmap *map, size_t position)
{
    return clf__read_32(map->units + 4 * position);
}

static uint32_t unit_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

static int unit_has_value(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t unit_label(uint32_t unit)
{
    return unit & (1u << 31 | 0xFF);
}

static uint32_t value_at(const struct clf__charsmap *map, uint32_t base)
{
    return unit_at(map, base) & ~(1u << 31);
}

static const char *check_value(const struct clf__charsmap *map, uint32_t value)
{
    const struct clf__span *texts = &map->texts;
    if (value >= texts->size || (value > 0 && texts->bytes[value - 1] != '\0')) {
        return "the normalizer table points outside the table";
    }
    size_t rest = texts->size - value;
    size_t most = rest < MAX_REPLACEMENT_BYTES + 1 ? rest : MAX_REPLACEMENT_BYTES + 1;
    return strnlen((const char *)texts->bytes + value, most) > MAX_REPLACEMENT_BYTES
               ? "the normalizer has a replacement of more than 1,024 bytes"
               : NULL;
}

/* Returns the base of a unit's parent, computed from the unit's label. */
static uint32_t base_of(const struct clf__charsmap *map, uint32_t child)
{
    return child ^ (unit_at(map, child) & 0xFF);
}

static int is_child(const struct clf__charsmap *map, uint32_t unit)
{
    return unit_label(unit_at(map, unit)) <= 0xFF; /* other units are values */
}

/* Sorts all units by base: searching for the children of each node would take ten times as long as the whole
 * check. */
static clf_status sort_children(struct walk *walk)
{
    const struct clf__charsmap *map = walk->map;
    uint32_t count = (uint32_t)map->unit_count, bases = (count + 0xFF) & ~0xFFu, next = 0;
    CLF__TRY(clf__allocate(&walk->children, count, sizeof *walk->children));
    CLF__TRY(clf__allocate(&walk->ends, bases, sizeof *walk->ends));
    for (uint32_t unit = 0; unit < count; unit++) {
        walk->ends[base_of(map, unit)] += (uint32_t)is_child(map, unit);
    }
    for (uint32_t base = 0; base < bases; base++) {
        uint32_t children = walk->ends[base];
        walk->ends[base] = next; /* start of the children, which the next loop advances to the end */
        next += children;
    }
    for (uint32_t unit = 0; unit < count; unit++) {
        if (is_child(map, unit)) {
            walk->children[walk->ends[base_of(map, unit)]++] = unit;
        }
    }
    return CLF_OK;
}

static int fail_walk(struct walk *walk, const char *wrong)
{
    walk->wrong = wrong;
    return 0;
}

/* Visits every node below a node once and records the properties of its subtree. A loop would be an endless
 * key, so MAX_KEY_BYTES bounds the depth. */
static int walk_below(struct walk *walk, uint32_t position, int depth)
{
    const struct clf__charsmap *map = walk->map;
    uint32_t unit = unit_at(map, position), base = position ^ unit_offset(unit);
    if ((base | 0xFF) >= map->unit_count) {
        return fail_walk(walk, "the normalizer table points outside the table");
    }
    const char *wrong = unit_has_value(unit) ? check_value(map, value_at(map, base)) : NULL;
    if (wrong) {
        return fail_walk(walk, wrong);
    }
    struct below found = {.is_known = 1};
    for (uint32_t i = base > 0 ? walk->ends[base - 1] : 0; i < walk->ends[base]; i++) {
        uint32_t child = walk->children[i];
        if (depth == MAX_KEY_BYTES || (!walk->nodes[child].is_known && !walk_below(walk, child, depth + 1))) {
            return walk->wrong ? 0 : fail_walk(walk, "the normalizer has keys of more than 255 bytes");
        }
        const struct below *below = &walk->nodes[child];
        int matches = below->matches + unit_has_value(unit_at(map, child));
        if (matches > MAX_MATCHES) {
            return fail_walk(walk, "the normalizer has more than 32 keys with a common prefix");
        }
        if (depth + 1 + below->bytes > MAX_KEY_BYTES) {
            return fail_walk(walk, "the normalizer has keys of more than 255 bytes");
        }
        found.matches = (uint8_t)(matches > found.matches ? matches : found.matches);
        found.bytes = (uint8_t)(below->bytes + 1 > found.bytes ? below->bytes + 1 : found.bytes);
    }
    walk->nodes[position] = found;
    return 1;
}

static clf_status fail_table(const char *path, const char *wrong)
{
    return clf__fail(CLF_FORMAT, "%s: not a SentencePiece model, or damaged (%s); download the file again",
                     path, wrong);
}

clf_status clf__charsmap_check(struct clf__charsmap *out, struct clf__span bytes, const char *path)
{
    *out = (struct clf__charsmap){0};
    if (bytes.size == 0) { /* a model without normalization */
        return CLF_OK;
    }
    if (bytes.size > MAX_TABLE_BYTES) {
        return fail_table(path, "the normalizer table has more than 16 MiB");
    }
    struct clf__charsmap first = {.units = bytes.bytes, .unit_count = 1};
    uint32_t trie_size = bytes.size >= 4 ? unit_at(&first, 0) : 0;
    if (trie_size == 0 || trie_size % 4 != 0 || trie_size > bytes.size - 4) {
        return fail_table(path, "the normalizer table is truncated");
    }
    struct clf__charsmap map = {.units = bytes.bytes + 4, .unit_count = trie_size / 4};
    map.texts = (struct clf__span){map.units + trie_size, bytes.size - 4 - trie_size};
    struct walk walk = {.map = &map};
    clf_status status = clf__allocate(&walk.nodes, map.unit_count, sizeof *walk.nodes);
    if (status == CLF_OK) {
        status = sort_children(&walk);
    }
    if (status == CLF_OK && !walk_below(&walk, 0, 0)) {
        status = fail_table(path, walk.wrong);
    }
    clf__free(walk.ends);
    clf__free(walk.children);
    clf__free(walk.nodes);
    if (status == CLF_OK) {
        *out = map;
    }
    return status;
}

/* Returns the size of a replacement, with spaces in SentencePiece's encoding. */
static size_t replacement_bytes(const struct clf__charsmap *map, uint32_t value)
{
    size_t bytes = 0;
    for (const uint8_t *at = map->texts.bytes + value; at < map->texts.bytes + map->texts.size && *at; at++) {
        bytes += *at == ' ' ? SPACE_BYTES : 1;
    }
    return bytes;
}

/* Returns the size of the replacement of the longest match at the beginning of a text; 0 if none matches. */
static size_t match_bytes(const struct clf__charsmap *map, const uint8_t *text, size_t size)
{
    uint32_t position = 0, value = 0;
    int is_found = 0;
    for (size_t i = 0; i < size && map->unit_count > 0; i++) {
        position ^= unit_offset(unit_at(map, position)) ^ text[i];
        uint32_t unit = unit_at(map, position);
        if (unit_label(unit) != text[i]) {
            break;
        }
        if (unit_has_value(unit)) {
            value = value_at(map, position ^ unit_offset(unit));
            is_found = 1;
        }
    }
    return is_found ? replacement_bytes(map, value) : 0;
}

size_t clf__charsmap_fit(const struct clf__charsmap *map, const char *text, size_t size, size_t *room)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t cut = 0;
    for (size_t i = 0; i < size; i++) {
        size_t own = bytes[i] == ' ' ? SPACE_BYTES : 1, made = match_bytes(map, bytes + i, size - i);
        size_t most = made > own ? made : own;
        if ((bytes[i] & 0xC0) != 0x80) {
            cut = i;
        }
        if (most > *room) {
            return cut;
        }
        *room -= most;
    }
    return size;
}

const char *clf__charsmap_first(const struct clf__charsmap *map, const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    uint32_t position = 0;
    for (size_t i = 0; i < size && map->unit_count > 0 && bytes[i] != 0; i++) {
        position ^= unit_offset(unit_at(map, position)) ^ bytes[i];
        uint32_t unit = unit_at(map, position);
        if (unit_label(unit) != bytes[i]) {
            return NULL;
        }
        if (unit_has_value(unit)) {
            return (const char *)map->texts.bytes + value_at(map, position ^ unit_offset(unit));
        }
    }
    return NULL;
}
