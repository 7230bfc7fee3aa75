#include "text/segmenters/spm_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What is needed of SentencePiece's file, a protobuf message. Its parser merges messages that come twice, and
 * of a value it takes the last: so every one is checked, and the last table is the one used. */
enum {
    MODEL_PIECE = 1,
    MODEL_NORMALIZER_SPEC = 3,
    MODEL_SELF_TEST = 4,
    MODEL_DENORMALIZER_SPEC = 5,
    PIECE_TEXT = 1,
    PIECE_TYPE = 3,
    TYPE_USER_DEFINED = 4,
    SPEC_PRECOMPILED_CHARSMAP = 2,
    SELF_TEST_SAMPLE = 1,
    SAMPLE_INPUT = 1,
    MAX_PIECE_BYTES = 4096, /* the library writes 16 characters; symbols of one's own may be longer */
    MAX_NESTED_SYMBOLS = 64,
};

struct check {
    const char *path;
    struct clf__spm_tables tables;
    struct clf__span *symbols; /* the pieces that are user-defined: they are found before all others */
    size_t symbol_count, symbol_capacity;
    size_t self_test_room; /* how many bytes its texts may have yet, normalised */
};

static clf_status damaged(const struct check *check, const char *where)
{
    return clf__fail(CLF_FORMAT, "%s: is damaged or not a SentencePiece model (%s); download it again",
                     check->path, where);
}

/* Called for every field of a message. */
typedef clf_status field_function(struct check *check, const struct clf__proto_field *field);

static clf_status walk_fields(struct check *check, struct clf__span message, field_function *function,
                              const char *cut)
{
    while (message.size > 0) {
        struct clf__proto_field field;
        if (!clf__proto_next(&message, &field)) {
            return damaged(check, cut);
        }
        CLF__TRY(function(check, &field));
    }
    return CLF_OK;
}

static int is_bytes(const struct clf__proto_field *field, uint32_t number)
{
    return field->number == number && field->wire_type == CLF__WIRE_BYTES;
}

static clf_status check_normaliser(struct check *check, const struct clf__proto_field *field)
{
    return is_bytes(field, SPEC_PRECOMPILED_CHARSMAP)
               ? clf__charsmap_check(&check->tables.normaliser, field->value, check->path)
               : CLF_OK;
}

static clf_status check_denormaliser(struct check *check, const struct clf__proto_field *field)
{
    return is_bytes(field, SPEC_PRECOMPILED_CHARSMAP)
               ? clf__charsmap_check(&check->tables.denormaliser, field->value, check->path)
               : CLF_OK;
}

static clf_status add_symbol(struct check *check, struct clf__span text)
{
    if (check->symbol_count == check->symbol_capacity) {
        size_t capacity = check->symbol_capacity > 0 ? 2 * check->symbol_capacity : 64;
        CLF__TRY(clf__resize(&check->symbols, capacity, sizeof *check->symbols));
        check->symbol_capacity = capacity;
    }
    check->symbols[check->symbol_count++] = text;
    return CLF_OK;
}

static clf_status check_piece(struct check *check, struct clf__span piece)
{
    struct clf__span text = {0};
    int is_symbol = 0;
    while (piece.size > 0) {
        struct clf__proto_field field;
        if (!clf__proto_next(&piece, &field)) {
            return damaged(check, "a piece is cut");
        }
        if (is_bytes(&field, PIECE_TEXT)) {
            text = field.value;
        }
        /* The library drops the upper half, and leaves the type as it was where it does not know one. */
        is_symbol |= field.number == PIECE_TYPE && field.wire_type == CLF__WIRE_VARINT &&
                     (uint32_t)field.varint == TYPE_USER_DEFINED;
    }
    if (text.size > MAX_PIECE_BYTES) {
        return damaged(check, "a piece has more than 4,096 bytes");
    }
    return is_symbol ? add_symbol(check, text) : CLF_OK;
}

static clf_status check_sample(struct check *check, const struct clf__proto_field *field)
{
    if (!is_bytes(field, SAMPLE_INPUT)) {
        return CLF_OK;
    }
    size_t fit = clf__charsmap_fit(&check->tables.normaliser, (const char *)field->value.bytes,
                                   field->value.size, &check->self_test_room);
    return fit < field->value.size ? damaged(check, "its self-test has more than 65,536 bytes of text")
                                   : CLF_OK;
}

static clf_status check_self_test(struct check *check, const struct clf__proto_field *field)
{
    return is_bytes(field, SELF_TEST_SAMPLE)
               ? walk_fields(check, field->value, check_sample, "its self-test is cut")
               : CLF_OK;
}

static clf_status check_tables(struct check *check, const struct clf__proto_field *field)
{
    if (is_bytes(field, MODEL_NORMALIZER_SPEC)) {
        return walk_fields(check, field->value, check_normaliser, "its normaliser is cut");
    }
    return is_bytes(field, MODEL_DENORMALIZER_SPEC)
               ? walk_fields(check, field->value, check_denormaliser, "its normaliser is cut")
               : CLF_OK;
}

/* Once the tables are known. */
static clf_status check_texts(struct check *check, const struct clf__proto_field *field)
{
    if (is_bytes(field, MODEL_SELF_TEST)) {
        return walk_fields(check, field->value, check_self_test, "its self-test is cut");
    }
    return is_bytes(field, MODEL_PIECE) ? check_piece(check, field->value) : CLF_OK;
}

static int by_bytes(const void *left, const void *right)
{
    const struct clf__span *a = left, *b = right;
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size > 0 ? memcmp(a->bytes, b->bytes, size) : 0; /* what is empty may be no place at all */
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int begins_with(const struct clf__span *text, const struct clf__span *prefix)
{
    return prefix->size == 0 ||
           (text->size >= prefix->size && memcmp(text->bytes, prefix->bytes, prefix->size) == 0);
}

/* In their order, each symbol comes after those that it begins with. */
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
            return damaged(check, "more than 64 of its symbols begin alike");
        }
        nested[depth++] = &check->symbols[i];
    }
    return CLF_OK;
}

clf_status clf__spm_check(struct clf__spm_tables *out, const uint8_t *bytes, size_t size, const char *path)
{
    *out = (struct clf__spm_tables){0};
    if (size == 0) {
        return clf__fail(CLF_FORMAT, "%s: is empty; download it again", path);
    }
    struct check check = {.path = path, .self_test_room = CLF__NORMALISED_BYTES};
    struct clf__span model = {bytes, size};
    CLF__TRY(walk_fields(&check, model, check_tables, "it is cut"));
    clf_status status = walk_fields(&check, model, check_texts, "it is cut");
    if (status == CLF_OK) {
        status = check_symbols(&check);
    }
    clf__free(check.symbols);
    if (status == CLF_OK) {
        *out = check.tables;
    }
    return status;
}

clf_status clf__spm_pieces(const uint8_t *bytes, size_t size, clf__piece_function *function, void *user)
{
    struct clf__span model = {bytes, size};
    struct clf__proto_field piece, field;
    while (clf__proto_next(&model, &piece)) {
        if (!is_bytes(&piece, MODEL_PIECE)) {
            continue;
        }
        struct clf__span text = {0};
        while (clf__proto_next(&piece.value, &field)) {
            if (is_bytes(&field, PIECE_TEXT)) {
                text = field.value;
            }
        }
        CLF__TRY(function(user, (const char *)text.bytes, text.size));
    }
    return CLF_OK;
}
