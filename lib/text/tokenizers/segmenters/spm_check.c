#include "text/tokenizers/segmenters/spm_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"

/* The required fields of a SentencePiece file, which is a protobuf message. Protobuf's parser merges repeated
 * messages and uses the last of repeated values, so every occurrence is checked and the last table is used.
 */
enum {
    MODEL_PIECE = 1,
    MODEL_NORMALIZER_SPEC = 3,
    MODEL_SELF_TEST = 4,
    MODEL_DENORMALIZER_SPEC = 5,
    PIECE_TEXT = 1,
    PIECE_SCORE = 2,
    PIECE_TYPE = 3,
    TYPE_CONTROL = 3,
    TYPE_USER_DEFINED = 4,
    SPEC_PRECOMPILED_CHARSMAP = 2,
    SELF_TEST_SAMPLE = 1,
    SAMPLE_INPUT = 1,
    MAX_PIECE_BYTES = 4096, /* the library's trainer writes up to 16 characters; user-defined symbols may be
                               longer */
    MAX_NESTED_SYMBOLS = 64,
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* A field of a protobuf message. */
struct field {
    uint32_t number;
    enum wire_type wire_type;
    uint64_t varint;        /* value of WIRE_VARINT */
    struct clf__span value; /* value of WIRE_BYTES */
};

static void skip(struct clf__span *span, size_t size)
{
    span->bytes += size;
    span->size -= size;
}

/* Reads a varint of at most `bits` bits in minimal encoding. */
static int read_varint(struct clf__span *span, int bits, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < bits && span->size > 0; shift += 7) {
        uint8_t byte = span->bytes[0];
        skip(span, 1);
        if (bits - shift < 7 && (byte & 0x7F) >> (bits - shift) != 0) {
            return 0;
        }
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return 1;
        }
    }
    return 0;
}

/* Reads the next field of a message; returns 0 if it is damaged. Accepts only fields that protobuf's parser
 * reads in the same way: no tags or lengths over 32 bits, no field 0 and no groups. SentencePiece models have
 * none of these. */
static int next_field(struct clf__span *message, struct field *field)
{
    uint64_t key, length = 0;
    if (!read_varint(message, 32, &key) || key >> 3 == 0) {
        return 0;
    }
    *field = (struct field){.number = (uint32_t)(key >> 3), .wire_type = (int)(key & 7)};
    switch (field->wire_type) {
    case WIRE_VARINT:
        return read_varint(message, 64, &field->varint);
    case WIRE_FIXED64:
        length = 8;
        break;
    case WIRE_FIXED32:
        length = 4;
        break;
    case WIRE_BYTES:
        if (!read_varint(message, 32, &length)) {
            return 0;
        }
        break;
    default: /* groups */
        return 0;
    }
    if (length > message->size) {
        return 0;
    }
    field->value = (struct clf__span){message->bytes, (size_t)length};
    skip(message, (size_t)length);
    return 1;
}

struct check {
    const char *path;
    struct clf__spm_tables tables;
    struct clf__charsmap *table; /* the table to fill */
    struct clf__span *symbols;   /* user-defined tokens, which the library finds first */
    size_t symbol_count, symbol_capacity;
    size_t self_test_room; /* remaining normalised bytes for self-test texts */
};

static clf_status damaged(const struct check *check, const char *where)
{
    return clf__fail(CLF_FORMAT, "%s: not a SentencePiece model, or damaged (%s); download the file again",
                     check->path, where);
}

/* Called for every field of a message. */
typedef clf_status field_function(struct check *check, const struct field *field);

static clf_status walk_fields(struct check *check, struct clf__span message, field_function *function,
                              const char *cut)
{
    while (message.size > 0) {
        struct field field;
        if (!next_field(&message, &field)) {
            return damaged(check, cut);
        }
        CLF__TRY(function(check, &field));
    }
    return CLF_OK;
}

static int is_bytes(const struct field *field, uint32_t number)
{
    return field->number == number && field->wire_type == WIRE_BYTES;
}

static clf_status check_table(struct check *check, const struct field *field)
{
    return is_bytes(field, SPEC_PRECOMPILED_CHARSMAP)
               ? clf__charsmap_check(check->table, field->value, check->path)
               : CLF_OK;
}

static clf_status add_symbol(struct check *check, struct clf__span text)
{
    CLF__TRY(clf__grow_to(&check->symbols, check->symbol_count + 1, &check->symbol_capacity,
                          sizeof *check->symbols));
    check->symbols[check->symbol_count++] = text;
    return CLF_OK;
}

/* The library truncates a type to 32 bits and ignores unknown types. */
static int says_type(const struct field *field, uint32_t type)
{
    return field->number == PIECE_TYPE && field->wire_type == WIRE_VARINT && (uint32_t)field->varint == type;
}

static clf_status check_piece(struct check *check, struct clf__span piece)
{
    struct clf__span text = {0};
    int is_symbol = 0;
    while (piece.size > 0) {
        struct field field;
        if (!next_field(&piece, &field)) {
            return damaged(check, "a token is truncated");
        }
        if (is_bytes(&field, PIECE_TEXT)) {
            text = field.value;
        }
        is_symbol |= says_type(&field, TYPE_USER_DEFINED);
    }
    if (text.size > MAX_PIECE_BYTES) {
        return damaged(check, "a token has more than 4,096 bytes");
    }
    return is_symbol ? add_symbol(check, text) : CLF_OK;
}

static clf_status check_sample(struct check *check, const struct field *field)
{
    if (!is_bytes(field, SAMPLE_INPUT)) {
        return CLF_OK;
    }
    size_t fit = clf__charsmap_fit(&check->tables.normaliser, (const char *)field->value.bytes,
                                   field->value.size, &check->self_test_room);
    return fit < field->value.size ? damaged(check, "the self-test has more than 65,536 bytes of text")
                                   : CLF_OK;
}

static clf_status check_self_test(struct check *check, const struct field *field)
{
    return is_bytes(field, SELF_TEST_SAMPLE)
               ? walk_fields(check, field->value, check_sample, "the self-test is truncated")
               : CLF_OK;
}

static clf_status check_tables(struct check *check, const struct field *field)
{
    int is_normaliser = is_bytes(field, MODEL_NORMALIZER_SPEC);
    if (!is_normaliser && !is_bytes(field, MODEL_DENORMALIZER_SPEC)) {
        return CLF_OK;
    }
    check->table = is_normaliser ? &check->tables.normaliser : &check->tables.denormaliser;
    return walk_fields(check, field->value, check_table, "the normalizer is truncated");
}

/* Checks texts; called after the tables are known. */
static clf_status check_texts(struct check *check, const struct field *field)
{
    if (is_bytes(field, MODEL_SELF_TEST)) {
        return walk_fields(check, field->value, check_self_test, "the self-test is truncated");
    }
    return is_bytes(field, MODEL_PIECE) ? check_piece(check, field->value) : CLF_OK;
}

static int by_bytes(const void *left, const void *right)
{
    const struct clf__span *a = left, *b = right;
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size > 0 ? memcmp(a->bytes, b->bytes, size) : 0; /* bytes may be NULL for an empty span */
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int begins_with(const struct clf__span *text, const struct clf__span *prefix)
{
    return prefix->size == 0 ||
           (text->size >= prefix->size && memcmp(text->bytes, prefix->bytes, prefix->size) == 0);
}

/* Limits the number of symbols with a common prefix. The symbols are sorted, so each one follows its
 * prefixes. */
static clf_status check_symbols(struct check *check)
{
    const struct clf__span *nested[MAX_NESTED_SYMBOLS];
    int depth = 0;
    if (check->symbol_count > 0) {
        qsort(check->symbols, check->symbol_count, sizeof *check->symbols, by_bytes);
    }
    for (size_t i = 0; i < check->symbol_count; i++) {
        while (depth > 0 && !begins_with(&check->symbols[i], nested[depth - 1])) {
            depth--;
        }
        if (depth == MAX_NESTED_SYMBOLS) {
            return damaged(check, "more than 64 symbols have a common prefix");
        }
        nested[depth++] = &check->symbols[i];
    }
    return CLF_OK;
}

clf_status clf__spm_check(struct clf__spm_tables *out, const uint8_t *bytes, size_t size, const char *path)
{
    *out = (struct clf__spm_tables){0};
    if (size == 0) {
        return clf__fail(CLF_FORMAT, "%s: the file is empty; download the file again", path);
    }
    struct check check = {.path = path, .self_test_room = CLF__NORMALISED_BYTES};
    struct clf__span model = {bytes, size};
    CLF__TRY(walk_fields(&check, model, check_tables, "the file is truncated"));
    clf_status status = walk_fields(&check, model, check_texts, "the file is truncated");
    if (status == CLF_OK) {
        status = check_symbols(&check);
    }
    clf__free(check.symbols);
    if (status == CLF_OK) {
        *out = check.tables;
    }
    return status;
}

/* Reads a little-endian float of four bytes. */
static float float_of(struct clf__span value)
{
    uint32_t bits = clf__read_32(value.bytes);
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static struct clf__spm_piece read_piece(struct clf__span message)
{
    struct clf__spm_piece piece = {.text = ""};
    struct field field;
    while (next_field(&message, &field)) {
        if (is_bytes(&field, PIECE_TEXT)) {
            piece.text = (const char *)field.value.bytes;
            piece.size = field.value.size;
        } else if (field.number == PIECE_SCORE && field.wire_type == WIRE_FIXED32) {
            piece.score = float_of(field.value);
        } else if (says_type(&field, TYPE_CONTROL)) {
            piece.is_control = 1;
        }
        piece.is_user_defined |= says_type(&field, TYPE_USER_DEFINED);
    }
    return piece;
}

clf_status clf__spm_pieces(const uint8_t *bytes, size_t size, clf__spm_piece_function *function, void *user)
{
    struct clf__span model = {bytes, size};
    struct field field;
    while (next_field(&model, &field)) {
        if (is_bytes(&field, MODEL_PIECE)) {
            const struct clf__spm_piece piece = read_piece(field.value);
            CLF__TRY(function(user, &piece));
        }
    }
    return CLF_OK;
}
