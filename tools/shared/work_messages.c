#include "shared/work_messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A line in a message. */
struct packed_line {
    long long number;
    size_t sizes[BATCH_SIDES];
};

clf_status batch_create(struct batch *out, int count, int sides)
{
    size_t room = count > 0 ? (size_t)count : 1;
    *out = (struct batch){.count = count};
    for (int side = 0; side < sides; side++) {
        CLF__TRY(clf__allocate(&out->lines[side], room, sizeof *out->lines[side]));
    }
    return clf__allocate(&out->numbers, room, sizeof *out->numbers);
}

void batch_free(struct batch *batch)
{
    for (int side = 0; side < BATCH_SIDES; side++) {
        clf__free(batch->lines[side]);
    }
    clf__free(batch->numbers);
    *batch = (struct batch){.count = 0};
}

clf_status answers_begin(struct answers *out, int capacity)
{
    *out = (struct answers){.count = 0};
    CLF__TRY(clf__allocate(&out->items, capacity > 0 ? (size_t)capacity : 1, sizeof *out->items));
    return answers_restart(out);
}

static void close_file(struct answers *answers)
{
    if (answers->file != NULL) {
        fclose(answers->file);
    }
    free(answers->bytes);
    answers->bytes = NULL;
}

clf_status answers_restart(struct answers *answers)
{
    close_file(answers);
    answers->count = 0;
    answers->size = answers->used = 0;
    answers->file = open_memstream(&answers->bytes, &answers->size);
    return answers->file != NULL ? CLF_OK
                                 : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for results");
}

clf_status answers_add(struct answers *answers, clf_status status, const char *problem, struct line_cut cut)
{
    struct answer *answer = &answers->items[answers->count++];
    *answer = (struct answer){.has_failed = status != CLF_OK, .cut = cut};
    int failed = fflush(answers->file) != 0;
    answer->text_size = answers->size - answers->used;
    if (status != CLF_OK) {
        answer->problem_size = strlen(problem) + 1;
        failed |= fwrite(problem, 1, answer->problem_size, answers->file) != answer->problem_size;
        failed |= fflush(answers->file) != 0;
    }
    answers->used = answers->size;
    return !failed ? CLF_OK : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for results");
}

void answers_free(struct answers *answers)
{
    close_file(answers);
    clf__free(answers->items);
    *answers = (struct answers){.count = 0};
}

/* Allocates a message with `size` bytes of payload. */
static clf_status make(struct message **out, enum message_kind kind, size_t size)
{
    char *bytes;
    CLF__TRY(clf__allocate(&bytes, sizeof **out + size, 1));
    struct message head = {.kind = (int)kind, .size = sizeof **out + size};
    memcpy(bytes, &head, sizeof head);
    *out = (struct message *)(void *)bytes;
    return CLF_OK;
}

static char *body(const struct message *message)
{
    return (char *)(message + 1);
}

clf_status message_write_batch(struct message **out, const struct batch *batch, int sides, int first)
{
    size_t size = (size_t)batch->count * sizeof(struct packed_line);
    for (int side = 0; side < sides; side++) {
        for (int i = 0; i < batch->count; i++) {
            size += batch->lines[side][i].size;
        }
    }
    CLF__TRY(make(out, MESSAGE_WORK, size));
    (*out)->count = batch->count;
    (*out)->first = first;
    (*out)->sides = sides;
    struct packed_line *packed = (struct packed_line *)(void *)body(*out);
    char *bytes = (char *)(packed + batch->count);
    for (int i = 0; i < batch->count; i++) {
        packed[i].number = batch->numbers[i];
        for (int side = 0; side < sides; side++) {
            const struct clf_line *line = &batch->lines[side][i];
            packed[i].sizes[side] = line->size;
            memcpy(bytes, line->text, line->size);
            bytes += line->size;
        }
    }
    return CLF_OK;
}

clf_status message_write_answers(struct message **out, const struct answers *answers, int first, int is_last)
{
    size_t items = (size_t)answers->count * sizeof *answers->items;
    CLF__TRY(make(out, MESSAGE_ANSWERS, items + answers->used));
    (*out)->count = answers->count;
    (*out)->first = first;
    (*out)->is_last = is_last;
    memcpy(body(*out), answers->items, items);
    if (answers->used > 0) {
        memcpy(body(*out) + items, answers->bytes, answers->used);
    }
    return CLF_OK;
}

clf_status message_write_failure(struct message **out, const struct clf__failure *failure)
{
    CLF__TRY(make(out, MESSAGE_FAILURE, sizeof *failure));
    memcpy(body(*out), failure, sizeof *failure);
    return CLF_OK;
}

clf_status message_write_word(struct message **out, enum message_kind kind)
{
    return make(out, kind, 0);
}

clf_status message_read_batch(struct batch *out, struct message *message)
{
    CLF__TRY(batch_create(out, message->count, message->sides));
    const struct packed_line *packed = (const struct packed_line *)(const void *)body(message);
    const char *bytes = (const char *)(packed + message->count);
    for (int i = 0; i < message->count; i++) {
        out->numbers[i] = packed[i].number;
        for (int side = 0; side < message->sides; side++) {
            out->lines[side][i] = (struct clf_line){bytes, packed[i].sizes[side]};
            bytes += packed[i].sizes[side];
        }
    }
    return CLF_OK;
}

const struct answer *message_answers(const struct message *message, const char **bytes)
{
    const struct answer *answers = (const struct answer *)(const void *)body(message);
    *bytes = (const char *)(answers + message->count);
    return answers;
}

const struct clf__failure *message_failure(const struct message *message)
{
    return (const struct clf__failure *)(const void *)body(message);
}
