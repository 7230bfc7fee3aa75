#include "model/weights/pickle_machine.h"

#include "base/memory.h"

clf_status clf__pickle_damaged(const struct clf__pickle_machine *machine, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: the pickle is damaged (%s); download the file again", machine->path,
                     what);
}

clf_status clf__pickle_refuse(const struct clf__pickle_machine *machine, const char *what)
{
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: the pickle is not a state dict of tensors (%s); load the file with torch and save "
                     "it as safetensors",
                     machine->path, what);
}

clf_status clf__pickle_cut_off(const struct clf__pickle_machine *machine)
{
    return machine->is_window ? clf__fail(CLF_FORMAT,
                                          "%s: the pickle has more than %d bytes; load the file with torch "
                                          "and save it as safetensors",
                                          machine->path, (int)CLF__PICKLE_MOST)
                              : clf__pickle_damaged(machine, "the pickle is truncated");
}

void clf__pickle_free(struct clf__pickle_machine *machine)
{
    clf__free(machine->nodes);
    clf__free(machine->cells);
    clf__free(machine->tensors);
    clf__free(machine->stack);
    clf__free(machine->marks);
    clf__free(machine->memo);
    *machine = (struct clf__pickle_machine){.path = machine->path};
}

clf_status clf__pickle_push(struct clf__pickle_machine *machine, struct clf__pickle_node node)
{
    CLF__TRY(
        clf__grow(&machine->nodes, machine->node_count, &machine->node_capacity, sizeof *machine->nodes));
    CLF__TRY(clf__grow(&machine->stack, machine->depth, &machine->stack_capacity, sizeof *machine->stack));
    machine->nodes[machine->node_count] = node;
    machine->stack[machine->depth++] = machine->node_count++;
    return CLF_OK;
}

clf_status clf__pickle_push_empty(struct clf__pickle_machine *machine, enum clf__pickle_kind kind)
{
    return clf__pickle_push(machine, (struct clf__pickle_node){.kind = kind, .first = -1, .last = -1});
}

int clf__pickle_above_mark(const struct clf__pickle_machine *machine)
{
    return machine->depth - (machine->mark_count > 0 ? machine->marks[machine->mark_count - 1] : 0);
}

clf_status clf__pickle_pop(struct clf__pickle_machine *machine, int *node)
{
    if (clf__pickle_above_mark(machine) < 1) {
        return clf__pickle_damaged(machine, "a value is missing");
    }
    *node = machine->stack[--machine->depth];
    return CLF_OK;
}

clf_status clf__pickle_add_cell(struct clf__pickle_machine *machine, int holder, int node)
{
    /* Unless calls copy lists, a pickle creates at most one cell per byte. */
    if (machine->cell_count >= 2 * CLF__PICKLE_MOST) {
        return clf__pickle_refuse(machine, "lists that are copied too often");
    }
    CLF__TRY(
        clf__grow(&machine->cells, machine->cell_count, &machine->cell_capacity, sizeof *machine->cells));
    machine->cells[machine->cell_count] = (struct clf__pickle_cell){node, -1};
    struct clf__pickle_node *held = &machine->nodes[holder];
    if (held->last >= 0) {
        machine->cells[held->last].next = machine->cell_count;
    } else {
        held->first = machine->cell_count;
    }
    held->last = machine->cell_count++;
    held->count++;
    return CLF_OK;
}

clf_status clf__pickle_gather(struct clf__pickle_machine *machine, int count)
{
    if (clf__pickle_above_mark(machine) < count) {
        return clf__pickle_damaged(machine, "a tuple is too short");
    }
    int first = machine->depth - count;
    CLF__TRY(clf__pickle_push_empty(machine, CLF__PICKLE_SEQUENCE));
    int holder = machine->stack[--machine->depth];
    for (int i = first; i < first + count; i++) {
        CLF__TRY(clf__pickle_add_cell(machine, holder, machine->stack[i]));
    }
    machine->stack[first] = holder;
    machine->depth = first + 1;
    return CLF_OK;
}

int clf__pickle_parts(const struct clf__pickle_machine *machine, int holder, int *parts, int count)
{
    const struct clf__pickle_node *node = &machine->nodes[holder];
    if (node->kind != CLF__PICKLE_SEQUENCE || node->count < count) {
        return 0;
    }
    int cell = node->first;
    for (int i = 0; i < count; i++, cell = machine->cells[cell].next) {
        parts[i] = machine->cells[cell].node;
    }
    return 1;
}

int clf__pickle_number(const struct clf__pickle_machine *machine, int node, int64_t *out)
{
    *out = machine->nodes[node].as.number;
    return machine->nodes[node].kind == CLF__PICKLE_NUMBER;
}

/* Reads a shape or strides of at most `dimensions` numbers. */
int clf__pickle_numbers(const struct clf__pickle_machine *machine, int holder, int64_t *out, int *dimensions)
{
    const struct clf__pickle_node *node = &machine->nodes[holder];
    if (node->kind != CLF__PICKLE_SEQUENCE || node->count > CLF__TENSOR_DIMENSIONS) {
        return 0;
    }
    *dimensions = node->count;
    int cell = node->first;
    for (int i = 0; i < node->count; i++, cell = machine->cells[cell].next) {
        if (!clf__pickle_number(machine, machine->cells[cell].node, &out[i]) || out[i] < 0) {
            return 0;
        }
    }
    return 1;
}
