/* Finds the state dict in a torch.save() pickle, and the numbers next to it. */
#include <string.h>

#include "model/weights/pickle_machine.h"

static int is_word(const struct clf__pickled_text *text, const char *word)
{
    return text->size == strlen(word) && memcmp(text->bytes, word, text->size) == 0;
}

/* Reads a key and its value; returns the cell of the next key. */
static int next_pair(const struct clf__pickle_machine *machine, int cell, int *key, int *value)
{
    const struct clf__pickle_cell *held = &machine->cells[cell];
    *key = held->node;
    *value = machine->cells[held->next].node;
    return machine->cells[held->next].next;
}

/* Finds the state dict, which training programs may store in a larger dict under one of these keys. */
static int find_state_dict(const struct clf__pickle_machine *machine, int root)
{
    static const char *const names[] = {"state_dict", "model_state_dict", "model", "module"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int cell = machine->nodes[root].first, key, value;
        while (cell >= 0) {
            cell = next_pair(machine, cell, &key, &value);
            const struct clf__pickle_node *word = &machine->nodes[key];
            if (word->kind == CLF__PICKLE_TEXT && is_word(&word->as.text, names[i]) &&
                machine->nodes[value].kind == CLF__PICKLE_DICT) {
                return value;
            }
        }
    }
    return root;
}

static clf_status give_tensors(struct clf__pickle_machine *machine, int dict,
                               const struct clf__pickled_functions *functions)
{
    int cell = machine->nodes[dict].first, found = 0, key, value;
    while (cell >= 0) {
        cell = next_pair(machine, cell, &key, &value);
        if (machine->nodes[key].kind == CLF__PICKLE_TEXT &&
            machine->nodes[value].kind == CLF__PICKLE_TENSOR) {
            struct clf__pickled_tensor tensor = machine->tensors[machine->nodes[value].as.tensor];
            tensor.name = machine->nodes[key].as.text;
            CLF__TRY(functions->tensor(functions->user, &tensor));
            found++;
        }
    }
    return found > 0 ? CLF_OK : clf__pickle_refuse(machine, "no tensor in the dict");
}

static clf_status give_numbers(const struct clf__pickle_machine *machine, int dict,
                               struct clf__pickled_text name, const struct clf__pickled_functions *functions)
{
    int cell = machine->nodes[dict].first, key, value;
    while (cell >= 0) {
        cell = next_pair(machine, cell, &key, &value);
        if (machine->nodes[key].kind == CLF__PICKLE_TEXT &&
            machine->nodes[value].kind == CLF__PICKLE_NUMBER) {
            struct clf__pickled_number number = {name, machine->nodes[key].as.text,
                                                 machine->nodes[value].as.number};
            CLF__TRY(functions->number(functions->user, &number));
        }
    }
    return CLF_OK;
}

clf_status clf__pickle_give(struct clf__pickle_machine *machine,
                            const struct clf__pickled_functions *functions)
{
    int root = machine->stack[0];
    if (machine->nodes[root].kind != CLF__PICKLE_DICT) {
        return clf__pickle_refuse(machine, "not a dict");
    }
    int state = find_state_dict(machine, root), cell = machine->nodes[root].first, key, value;
    while (cell >= 0 && state != root) {
        cell = next_pair(machine, cell, &key, &value);
        if (machine->nodes[key].kind == CLF__PICKLE_TEXT && machine->nodes[value].kind == CLF__PICKLE_DICT &&
            value != state) {
            CLF__TRY(give_numbers(machine, value, machine->nodes[key].as.text, functions));
            machine->nodes[value].first = -1; /* counts a value with several keys only once */
        }
    }
    return give_tensors(machine, state, functions);
}

clf_status clf__pickle_read(const uint8_t *bytes, size_t size, const char *path,
                            const struct clf__pickled_functions *functions)
{
    struct clf__pickle_machine machine = {.path = path, .bytes = bytes, .end = bytes + size};
    if (size > CLF__PICKLE_MOST) {
        return clf__fail(
            CLF_FORMAT,
            "%s: the pickle has %zu bytes, more than %d; load the file with torch and save it as safetensors",
            path, size, (int)CLF__PICKLE_MOST);
    }
    clf_status status = clf__pickle_run(&machine);
    if (status == CLF_OK) {
        status = clf__pickle_give(&machine, functions);
    }
    clf__pickle_free(&machine);
    return status;
}
