#include "support/model_fixture.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "audio/npy.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

enum { MOST_RECORDINGS = 64 };

static void join_ids(struct clf__sequences *out, int *longest, const json_t *lists)
{
    int count = (int)json_array_size(lists);
    int *first = support_array((size_t)count + 1, sizeof *first);
    for (int i = 0; i < count; i++) {
        int length = (int)json_array_size(json_array_get(lists, (size_t)i));
        first[i + 1] = first[i] + length;
        *longest = length > *longest ? length : *longest;
    }
    int32_t *ids = support_array((size_t)first[count], sizeof *ids);
    for (int i = 0; i < count; i++) {
        const json_t *list = json_array_get(lists, (size_t)i);
        for (int t = 0; t < first[i + 1] - first[i]; t++) {
            ids[first[i] + t] = (int32_t)json_integer_value(json_array_get(list, (size_t)t));
        }
    }
    *out = (struct clf__sequences){.count = count, .first = first, .ids = ids};
}

static void join_frames(struct clf__sequences *out, int *longest, const json_t *paths, const char *folder,
                        int columns)
{
    int count = (int)json_array_size(paths);
    int *first = support_array((size_t)count + 1, sizeof *first);
    float *parts[MOST_RECORDINGS];
    assert_true(count <= MOST_RECORDINGS);
    for (int i = 0; i < count; i++) {
        char path[1024];
        int rows;
        snprintf(path, sizeof path, "%s/%s", folder, json_string_value(json_array_get(paths, (size_t)i)));
        assert_ok(clf__npy_read(&parts[i], &rows, path, columns));
        first[i + 1] = first[i] + rows;
        *longest = rows > *longest ? rows : *longest;
    }
    float *frames = support_array((size_t)first[count] * (size_t)columns, sizeof *frames);
    for (int i = 0; i < count; i++) {
        size_t values = (size_t)(first[i + 1] - first[i]) * (size_t)columns;
        memcpy(frames + (size_t)first[i] * (size_t)columns, parts[i], values * sizeof *frames);
        clf__free(parts[i]);
    }
    *out = (struct clf__sequences){.count = count, .first = first, .frames = frames};
}

struct model_fixture model_fixture_load(const char *name, int columns)
{
    struct model_fixture fixture = {.count = 0};
    char path[1024];
    snprintf(path, sizeof path, "models/%s", name);
    snprintf(fixture.folder, sizeof fixture.folder, "%s", support_fixture(path));
    snprintf(path, sizeof path, "%s/expected.json", fixture.folder);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    fixture.vocabulary = (int)json_integer_value(json_object_get(root, "vocabulary"));
    const json_t *cases = json_object_get(root, "cases");
    fixture.count = (int)json_array_size(cases);
    assert_true(fixture.vocabulary > 0 && fixture.count > 0);
    fixture.cases = support_array((size_t)fixture.count, sizeof *fixture.cases);
    char *bytes;
    size_t size, used = 0;
    snprintf(path, sizeof path, "%s/expected.bin", fixture.folder);
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 28));
    float *logits = support_array(size / sizeof(float), sizeof *logits);
    memcpy(logits, bytes, size);
    clf__free(bytes);
    for (int i = 0; i < fixture.count; i++) {
        struct fixture_case *out = &fixture.cases[i];
        const json_t *object = json_array_get(cases, (size_t)i);
        const json_t *frames = json_object_get(object, "frames");
        if (frames != NULL) {
            join_frames(&out->sources, &out->longest_source, frames, fixture.folder, columns);
        } else {
            join_ids(&out->sources, &out->longest_source, json_object_get(object, "sources"));
        }
        join_ids(&out->targets, &out->longest_target, json_object_get(object, "targets"));
        out->logits = logits + used;
        used += (size_t)out->targets.first[out->targets.count] * (size_t)fixture.vocabulary;
    }
    assert_int_equal(used, size / sizeof(float));
    json_decref(root);
    return fixture;
}

struct clf__session_limits fixture_limits(const struct fixture_case *fixture_case)
{
    return (struct clf__session_limits){
        .sources = fixture_case->sources.count,
        .source_tokens = fixture_case->sources.first[fixture_case->sources.count],
        .source_length = fixture_case->longest_source,
        .target_tokens = fixture_case->targets.first[fixture_case->targets.count],
        .target_length = fixture_case->longest_target,
        .logits = 1,
    };
}
