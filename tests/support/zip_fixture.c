#include "support/zip_fixture.h"

#include <string.h>

#include "base/little_endian.h"
#include "support/support.h"

enum { LOCAL = 30, ENTRY = 46, END = 22 };

uint8_t *zip_make(size_t *size, const struct zip_file *files, int count)
{
    size_t most = END;
    for (int i = 0; i < count; i++) {
        most += LOCAL + ENTRY + 2 * strlen(files[i].name) + files[i].size;
    }
    uint8_t *archive = support_array(most, 1), *directory = support_array(most, 1);
    size_t at = 0, listed = 0;
    for (int i = 0; i < count; i++) {
        size_t name = strlen(files[i].name);
        uint8_t *local = archive + at, *entry = directory + listed;
        clf__write_32(local, 0x04034b50);
        clf__write_16(local + 26, (uint16_t)name);
        memcpy(local + LOCAL, files[i].name, name);
        memcpy(local + LOCAL + name, files[i].bytes, files[i].size);
        clf__write_32(entry, 0x02014b50);
        clf__write_32(entry + 20, (uint32_t)files[i].size);
        clf__write_32(entry + 24, (uint32_t)files[i].size);
        clf__write_16(entry + 28, (uint16_t)name);
        clf__write_32(entry + 42, (uint32_t)at);
        memcpy(entry + ENTRY, files[i].name, name);
        at += LOCAL + name + files[i].size;
        listed += ENTRY + name;
    }
    memcpy(archive + at, directory, listed);
    uint8_t *end = archive + at + listed;
    clf__write_32(end, 0x06054b50);
    clf__write_16(end + 8, (uint16_t)count);
    clf__write_16(end + 10, (uint16_t)count);
    clf__write_32(end + 12, (uint32_t)listed);
    clf__write_32(end + 16, (uint32_t)at);
    *size = at + listed + END;
    return archive;
}
