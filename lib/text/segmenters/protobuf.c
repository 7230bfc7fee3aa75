#include "text/segmenters/protobuf.h"

static void skip(struct clf__span *span, size_t size)
{
    span->bytes += size;
    span->size -= size;
}

/* A number of at most `bits` bits, in no more bytes than those need. */
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

int clf__proto_next(struct clf__span *message, struct clf__proto_field *field)
{
    uint64_t key, length = 0;
    if (!read_varint(message, 32, &key) || key >> 3 == 0) {
        return 0;
    }
    *field = (struct clf__proto_field){.number = (uint32_t)(key >> 3), .wire_type = (int)(key & 7)};
    switch (field->wire_type) {
    case CLF__WIRE_VARINT:
        return read_varint(message, 64, &field->varint);
    case CLF__WIRE_FIXED64:
        length = 8;
        break;
    case CLF__WIRE_FIXED32:
        length = 4;
        break;
    case CLF__WIRE_BYTES:
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
