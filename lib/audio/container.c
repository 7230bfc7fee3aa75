#include "audio/container.h"

#include <string.h>

#include "base/little_endian.h"

const char *clf__container_name(const struct clf__byte_range *bytes)
{
    /* Signatures: ISO/IEC 14496-12 (an ftyp box), RFC 8794 (EBML), the ASF specification (GUID of the
     * header), ISO/IEC 13818-7 (ADTS: a 12-bit syncword, layer 0). */
    static const struct {
        const char *magic;
        int at, size;
        const char *name;
    } kinds[] = {
        {"ftyp", 4, 4, "M4A and MP4"},
        {"\x1a\x45\xdf\xa3", 0, 4, "WebM and Matroska"},
        {"\x30\x26\xb2\x75\x8e\x66\xcf\x11", 0, 8, "WMA"},
        {"\xff\xf1", 0, 2, "AAC"},
        {"\xff\xf9", 0, 2, "AAC"},
        {"#!AMR", 0, 5, "AMR"},
    };
    struct clf__byte_range from_start = *bytes;
    char head[16] = "";
    from_start.at = 0;
    clf__byte_range_read(&from_start, head, sizeof head);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (memcmp(head + kinds[i].at, kinds[i].magic, (size_t)kinds[i].size) == 0) {
            return kinds[i].name;
        }
    }
    return NULL;
}

static int64_t read_size(const unsigned char *bytes)
{
    uint64_t value = clf__read_64(bytes);
    return value < INT64_MAX / 2 ? (int64_t)value : INT64_MAX / 2;
}

/* Advanced Systems Format specification, 3.1 and 3.2: the header consists of objects that begin with a GUID
 * and a size. The file properties contain the duration in units of 100 ns, including `preroll` ms that are
 * not played. */
double clf__container_wma_seconds(const struct clf__byte_range *bytes)
{
    static const unsigned char properties[] = {0xa1, 0xdc, 0xab, 0x8c, 0x47, 0xa9, 0xcf, 0x11,
                                               0x8e, 0xe4, 0x00, 0xc0, 0x0c, 0x20, 0x53, 0x65};
    enum { HEADER = 30, GUID = 16, MOST_OBJECTS = 100, LENGTH = 64, PREROLL = 80, FLAGS = 88, OBJECT = 92 };
    unsigned char object[OBJECT];
    struct clf__byte_range range = *bytes;
    int64_t at = HEADER;
    for (int i = 0; i < MOST_OBJECTS; i++) {
        range.at = at;
        if (clf__byte_range_read(&range, object, OBJECT) < OBJECT) {
            return 0;
        }
        if (memcmp(object, properties, GUID) == 0) {
            int is_broadcast = object[FLAGS] & 1;
            double seconds =
                (double)read_size(object + LENGTH) / 1e7 - (double)read_size(object + PREROLL) / 1e3;
            return is_broadcast || seconds < 0 ? 0 : seconds;
        }
        int64_t size = read_size(object + GUID);
        if (size >= clf__byte_range_size(bytes) - at) {
            return 0;
        }
        at += size;
    }
    return 0;
}
