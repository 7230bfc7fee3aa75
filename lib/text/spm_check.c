#include "text/spm_check.h"

#include <string.h>

#include "base/memory.h"

/* What is needed of SentencePiece's file, a protobuf message: ModelProto holds two NormalizerSpecs, and each
 * holds a table as bytes. */
enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
    MODEL_NORMALIZER_SPEC = 3,
    MODEL_DENORMALIZER_SPEC = 5,
    SPEC_PRECOMPILED_CHARSMAP = 2,
    MAX_MATCHES = 32, /* the library's array for the prefixes of a text that the table knows */
};

struct span {
    const uint8_t *bytes;
    size_t size;
};

struct field {
    uint64_t number;
    int wire_type;
    struct span value; /* of WIRE_BYTES */
};

static clf_status damaged(const char *path, const char *where)
{
    return clf__fail(CLF_FORMAT, "%s: is damaged or not a SentencePiece model (%s); download it again", path,
                     where);
}

static void skip(struct span *span, size_t size)
{
    span->bytes += size;
    span->size -= size;
}

static int read_varint(struct span *span, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && span->size > 0; shift += 7) {
        uint8_t byte = span->bytes[0];
        skip(span, 1);
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return 1;
        }
    }
    return 0;
}

/* Takes the next field off a message; 0 where it is damaged. */
static int read_field(struct span *message, struct field *field)
{
    uint64_t key, length;
    if (!read_varint(message, &key)) {
        return 0;
    }
    *field = (struct field){.number = key >> 3, .wire_type = (int)(key & 7)};
    switch (field->wire_type) {
    case WIRE_VARINT:
        return read_varint(message, &length);
    case WIRE_FIXED64:
        length = 8;
        break;
    case WIRE_FIXED32:
        length = 4;
        break;
    case WIRE_BYTES:
        if (!read_varint(message, &length)) {
            return 0;
        }
        break;
    default: /* groups: SentencePiece never wrote any */
        return 0;
    }
    if (length > message->size) {
        return 0;
    }
    field->value = (struct span){message->bytes, (size_t)length};
    skip(message, (size_t)length);
    return 1;
}

/* A normaliser table: the size of a trie, the trie, and the replacement texts, each ended by NUL. The trie is
 * a double array of 32-bit units. At node p with unit u, the children lie at (p ^ offset(u)) ^ c for the
 * bytes c, a child being one whose unit has the label c; where the unit says so, the place of c = 0 holds a
 * value: the start of a replacement text. */
struct table {
    const uint8_t *units;
    size_t unit_count;
    struct span texts;
    uint8_t *matches; /* (unit_count) 0: not reached; else 1 + the most values on a walk up to this node */
    uint8_t *queued;  /* (unit_count) */
    uint32_t *queue;  /* (unit_count) a stack */
    size_t queue_size;
};

static uint32_t read_u32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t unit_at(const struct table *table, size_t position)
{
    return read_u32(table->units + 4 * position);
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

static void reach(struct table *table, uint32_t position, uint8_t matches)
{
    if (table->matches[position] >= matches) {
        return;
    }
    table->matches[position] = matches;
    if (!table->queued[position]) {
        table->queued[position] = 1;
        table->queue[table->queue_size++] = position;
    }
}

static int value_fits(const struct table *table, uint32_t value)
{
    return value < table->texts.size && (value == 0 || table->texts.bytes[value - 1] == '\0');
}

/* Follows every walk from the root. A loop ends the search too: with values on it their count grows past
 * MAX_MATCHES, without any nothing changes the second time. */
static int walks_stay_inside(struct table *table)
{
    reach(table, 0, 1);
    while (table->queue_size > 0) {
        uint32_t position = table->queue[--table->queue_size];
        table->queued[position] = 0;
        uint32_t unit = unit_at(table, position);
        uint8_t matches = table->matches[position];
        uint32_t base = position ^ unit_offset(unit);
        if ((base | 0xFF) >= table->unit_count) {
            return 0;
        }
        if (unit_has_value(unit) && !value_fits(table, unit_at(table, base) & ~(1u << 31))) {
            return 0;
        }
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t child = unit_at(table, base ^ byte);
            if (unit_label(child) != byte) {
                continue;
            }
            if (matches + unit_has_value(child) > MAX_MATCHES + 1) {
                return 0;
            }
            reach(table, base ^ byte, (uint8_t)(matches + unit_has_value(child)));
        }
    }
    return 1;
}

static clf_status check_table(struct span charsmap, const char *path)
{
    if (charsmap.size == 0) { /* a model that normalises nothing */
        return CLF_OK;
    }
    uint32_t trie_size = charsmap.size >= 4 ? read_u32(charsmap.bytes) : 0;
    skip(&charsmap, charsmap.size < 4 ? charsmap.size : 4);
    if (trie_size == 0 || trie_size % 4 != 0 || trie_size > charsmap.size) {
        return damaged(path, "its normaliser table is cut");
    }
    struct table table = {.units = charsmap.bytes, .unit_count = trie_size / 4, .texts = charsmap};
    skip(&table.texts, trie_size);
    clf_status status = clf__allocate(&table.matches, table.unit_count, 1);
    if (status == CLF_OK) {
        status = clf__allocate(&table.queued, table.unit_count, 1);
    }
    if (status == CLF_OK) {
        status = clf__allocate(&table.queue, table.unit_count, sizeof *table.queue);
    }
    if (status == CLF_OK && !walks_stay_inside(&table)) {
        status = damaged(path, "its normaliser table points outside itself");
    }
    clf__free(table.matches);
    clf__free(table.queued);
    clf__free(table.queue);
    return status;
}

static clf_status check_normalizer_spec(struct span spec, const char *path)
{
    while (spec.size > 0) {
        struct field field;
        if (!read_field(&spec, &field)) {
            return damaged(path, "its normaliser is cut");
        }
        if (field.number == SPEC_PRECOMPILED_CHARSMAP && field.wire_type == WIRE_BYTES) {
            CLF__TRY(check_table(field.value, path));
        }
    }
    return CLF_OK;
}

clf_status clf__spm_check(const uint8_t *bytes, size_t size, const char *path)
{
    if (size == 0) {
        return clf__fail(CLF_FORMAT, "%s: is empty; download it again", path);
    }
    struct span model = {bytes, size};
    while (model.size > 0) {
        struct field field;
        if (!read_field(&model, &field)) {
            return damaged(path, "it is cut");
        }
        if ((field.number == MODEL_NORMALIZER_SPEC || field.number == MODEL_DENORMALIZER_SPEC) &&
            field.wire_type == WIRE_BYTES) {
            CLF__TRY(check_normalizer_spec(field.value, path));
        }
    }
    return CLF_OK;
}
