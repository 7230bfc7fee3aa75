#include "program/source.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "program/program.h"

#define INCLUDE "#include \""

enum { MOST_DEPTH = 4 }; /* of files that include files: a circle ends here */

static const char *find_source(const struct clf__programs *programs, const char *name, size_t length)
{
    for (int i = 0; i < programs->added_count; i++) {
        const struct clf__kernel_source *source = &programs->added[i];
        if (strlen(source->name) == length && memcmp(source->name, name, length) == 0) {
            return source->text;
        }
    }
    for (int i = 0; i < clf__kernel_source_count; i++) {
        const struct clf__kernel_source *source = &clf__kernel_sources[i];
        if (strlen(source->name) == length && memcmp(source->name, name, length) == 0) {
            return source->text;
        }
    }
    return NULL;
}

/* The text is measured in a first walk and written in a second. */
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

static void write_line_directive(struct writer *writer, int line, const char *name, size_t length)
{
    char directive[160];
    int count = snprintf(directive, sizeof directive, "#line %d \"cl/%.*s.cl\"\n", line, (int)length, name);
    write_bytes(writer, directive, count < (int)sizeof directive ? (size_t)count : 0);
}

static clf_status write_file(struct writer *writer, const struct clf__programs *programs, const char *name,
                             size_t length, int depth)
{
    const char *source = find_source(programs, name, length);
    if (source == NULL || depth > MOST_DEPTH) {
        return clf__fail(CLF_BUILD, "this clformer was built without cl/%.*s.cl; build it again", (int)length,
                         name);
    }
    write_line_directive(writer, 1, name, length);
    int line = 1;
    for (const char *at = source; *at != '\0'; line++) {
        size_t size = strcspn(at, "\n");
        size += at[size] == '\n';
        if (strncmp(at, INCLUDE, strlen(INCLUDE)) == 0) {
            const char *other = at + strlen(INCLUDE);
            CLF__TRY(write_file(writer, programs, other, strcspn(other, ".\"\n"), depth + 1));
            write_line_directive(writer, line + 1, name, length);
        } else {
            write_bytes(writer, at, size);
        }
        at += size;
    }
    write_bytes(writer, "\n", 1);
    return CLF_OK;
}

static clf_status write_program(struct writer *writer, const struct clf__programs *programs, const char *name)
{
    CLF__TRY(write_file(writer, programs, "prelude", strlen("prelude"), 0));
    return write_file(writer, programs, name, strlen(name), 0);
}

clf_status clf__program_source(char **out, const struct clf__programs *programs, const char *name)
{
    struct writer writer = {.text = NULL};
    CLF__TRY(write_program(&writer, programs, name));
    CLF__TRY(clf__allocate(&writer.text, writer.length + 1, 1));
    *out = writer.text;
    writer.length = 0;
    return write_program(&writer, programs, name);
}
