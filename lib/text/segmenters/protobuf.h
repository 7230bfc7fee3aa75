/* The fields of a protobuf message, one after the other. */
#ifndef CLF_TEXT_SEGMENTERS_PROTOBUF_H
#define CLF_TEXT_SEGMENTERS_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct clf__span {
    const uint8_t *bytes;
    size_t size;
};

enum clf__wire_type {
    CLF__WIRE_VARINT = 0,
    CLF__WIRE_FIXED64 = 1,
    CLF__WIRE_BYTES = 2,
    CLF__WIRE_FIXED32 = 5
};

struct clf__proto_field {
    uint32_t number;
    enum clf__wire_type wire_type;
    uint64_t varint;        /* of CLF__WIRE_VARINT */
    struct clf__span value; /* of CLF__WIRE_BYTES */
};

/* Takes the next field off a message; 0 where it is damaged. Every field that this reads, protobuf's own
 * parser reads alike: a tag or a length of more than 32 bits, of which it drops what is above or refuses the
 * message, is damage here, and so are field 0 and groups, which no SentencePiece model has. */
int clf__proto_next(struct clf__span *message, struct clf__proto_field *field);

#endif
