#include "runtime/program/program.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define INCLUDE "#include \""

enum { MOST_DEPTH = 8 }; /* maximum depth of nested includes; stops cycles */

static const struct clf__kernel_source *find_program(const struct clf__programs *programs, const char *name)
{
    for (int i = 0; i < programs->added_count; i++) {
        if (strcmp(programs->added[i].name, name) == 0) {
            return &programs->added[i];
        }
    }
    for (int i = 0; i < clf__kernel_source_count; i++) {
        if (strcmp(clf__kernel_sources[i].name, name) == 0) {
            return &clf__kernel_sources[i];
        }
    }
    return NULL;
}

static const struct clf__kernel_source *find_file(const char *path, size_t length)
{
    for (int i = 0; i < clf__kernel_source_count; i++) {
        const struct clf__kernel_source *source = &clf__kernel_sources[i];
        if (strlen(source->path) == length && memcmp(source->path, path, length) == 0) {
            return source;
        }
    }
    return NULL;
}

/* The first pass measures the text and the second writes it. */
struct writer {
    char *text; /* NULL while measuring */
    size_t length;
};

static void write_bytes(struct writer *writer, const char *bytes, size_t count)
{
    if (writer->text != NULL) {
        memcpy(writer->text + writer->length, bytes, count);
    }
    writer->length += count;
}

static void write_line_directive(struct writer *writer, int line, const struct clf__kernel_source *source)
{
    char directive[160];
    int count = snprintf(directive, sizeof directive, "#line %d \"cl/%s\"\n", line, source->path);
    write_bytes(writer, directive, count < (int)sizeof directive ? (size_t)count : 0);
}

/* Fails for a file that is not embedded. `file`: its path, or the name of a program. */
static clf_status not_embedded(const char *file, size_t length)
{
    return clf__fail(CLF_BUILD, "this build of clformer lacks %.*s from cl/; build clformer again",
                     (int)length, file);
}

static clf_status write_file(struct writer *writer, const struct clf__kernel_source *source, int depth)
{
    write_line_directive(writer, 1, source);
    int line = 1;
    for (const char *at = source->text; *at != '\0'; line++) {
        size_t size = strcspn(at, "\n");
        size += at[size] == '\n';
        if (strncmp(at, INCLUDE, strlen(INCLUDE)) == 0) {
            const char *path = at + strlen(INCLUDE);
            size_t length = strcspn(path, "\"\n");
            const struct clf__kernel_source *other = find_file(path, length);
            if (other == NULL || depth == MOST_DEPTH) {
                return not_embedded(path, length);
            }
            CLF__TRY(write_file(writer, other, depth + 1));
            write_line_directive(writer, line + 1, source);
        } else {
            write_bytes(writer, at, size);
        }
        at += size;
    }
    write_bytes(writer, "\n", 1);
    return CLF_OK;
}

clf_status clf__program_source(char **out, const struct clf__programs *programs, const char *name)
{
    const struct clf__kernel_source *prelude = find_program(programs, "prelude");
    const struct clf__kernel_source *source = find_program(programs, name);
    struct writer writer = {.text = NULL};
    if (prelude == NULL || source == NULL) {
        return not_embedded(prelude ? name : "prelude", strlen(prelude ? name : "prelude"));
    }
    do { /* the first pass measures, the second pass writes */
        CLF__TRY(writer.length > 0 ? clf__allocate(&writer.text, writer.length + 1, 1) : CLF_OK);
        *out = writer.text;
        writer.length = 0;
        CLF__TRY(write_file(&writer, prelude, 0));
        CLF__TRY(write_file(&writer, source, 0));
    } while (writer.text == NULL);
    return CLF_OK;
}
