#include "support/spm_fixture.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

void spm_append(struct bytes *bytes, const void *data, size_t size)
{
    assert_ok(clf__resize(&bytes->data, bytes->size + size, 1));
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void spm_append_varint(struct bytes *bytes, uint64_t number)
{
    do {
        uint8_t byte = (uint8_t)((number & 0x7F) | (number > 0x7F ? 0x80 : 0));
        spm_append(bytes, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

void spm_append_field(struct bytes *bytes, uint64_t tag, const void *data, size_t size)
{
    spm_append_varint(bytes, tag);
    spm_append_varint(bytes, size);
    spm_append(bytes, data, size);
}

struct bytes spm_read(const char *path)
{
    struct bytes bytes = {0};
    char *data;
    assert_ok(clf__file_read(&data, &bytes.size, path, 1 << 24));
    bytes.data = (uint8_t *)data;
    return bytes;
}

clf_status spm_drop_piece(void *user, const char *piece, size_t length)
{
    size_t *bytes = user;
    *bytes += strnlen(piece, length);
    return CLF_OK;
}

clf_status spm_use(const uint8_t *data, size_t size)
{
    static const char text[] = "  Je suis aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
                               "\u201cl\u00e0\u201d\u2026 \ufb01n e\u0301 \u65e5x";
    static const char *const pieces[] = {"\u2581a", "<unk>", "<0x41>", "", "\u2581", "zz\u2581", "</s>"};
    struct clf__sentencepiece *model;
    uint8_t *exact = NULL;
    assert_ok(clf__allocate(&exact, size, 1));
    memcpy(exact, data, size);
    clf_status status = clf__sentencepiece_load(&model, exact, size, "damaged.spm");
    clf__free(exact);
    if (status != CLF_OK) {
        assert_null(model);
        assert_int_equal(status, CLF_FORMAT);
        assert_non_null(strstr(clf_last_error(), "damaged.spm"));
        return status;
    }
    size_t cut = 0;
    clf__sentencepiece_encode(model, text, sizeof text - 1, spm_drop_piece, &cut);
    char *joined;
    if (clf__sentencepiece_decode(model, &joined, pieces, 7) == CLF_OK) {
        clf__free(joined);
    } else {
        assert_null(joined);
    }
    clf__sentencepiece_free(model);
    return CLF_OK;
}
