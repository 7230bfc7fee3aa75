/* The memory of the machine that reads a pickle: its values are nodes of a growing array, and what a node
 * holds is a chain of cells. */
#ifndef CLF_CHECKPOINT_PICKLE_MACHINE_H
#define CLF_CHECKPOINT_PICKLE_MACHINE_H

#include "checkpoint/pickle.h"

enum clf__pickle_kind {
    CLF__PICKLE_NOTHING,
    CLF__PICKLE_NUMBER,
    CLF__PICKLE_TEXT,
    CLF__PICKLE_SEQUENCE,
    CLF__PICKLE_DICT,
    CLF__PICKLE_GLOBAL,
    CLF__PICKLE_STORAGE,
    CLF__PICKLE_TENSOR
};

/* What a node holds is counted from `first` on; a dict has its keys and values in turn. */
struct clf__pickle_node {
    enum clf__pickle_kind kind;
    int first, last, count; /* cells; -1: none */
    union {
        int64_t number;
        struct clf__pickled_text text;
        int global; /* which of pickle.c's table */
        struct {
            const struct clf__element_type *type;
            struct clf__pickled_text key;
            int64_t elements;
            int64_t view_offset, view_elements; /* the elements that tensors may use: all, or a view's */
        } storage;
        int tensor; /* which of the machine's */
    } as;
};

struct clf__pickle_cell {
    int node, next;
};

struct clf__pickle_machine {
    const char *path;
    const uint8_t *bytes, *end; /* what is not read yet */
    int is_window;              /* the file continues after `end` */
    struct clf__pickle_node *nodes;
    struct clf__pickle_cell *cells;
    struct clf__pickled_tensor *tensors;
    int *stack, *marks, *memo; /* of nodes; of places in the stack; of nodes, -1: nothing */
    int node_count, cell_count, tensor_count, depth, mark_count, memo_count;
    int node_capacity, cell_capacity, tensor_capacity, stack_capacity, mark_capacity;
};

/* Failures, with the file's name: what is cut off or wrong, and what only another program can read. */
clf_status clf__pickle_damaged(const struct clf__pickle_machine *machine, const char *what);
clf_status clf__pickle_refuse(const struct clf__pickle_machine *machine, const char *what);
/* The failure of a pickle that does not end before `end`. */
clf_status clf__pickle_cut_off(const struct clf__pickle_machine *machine);

/* Runs one pickle up to its STOP. The result is stack[0]; `bytes` then points past the pickle. */
clf_status clf__pickle_run(struct clf__pickle_machine *machine);
/* Calls the functions with the tensors of the state dict in stack[0] and with the numbers beside it. */
clf_status clf__pickle_give(struct clf__pickle_machine *machine,
                            const struct clf__pickled_functions *functions);
void clf__pickle_free(struct clf__pickle_machine *machine);

/* Makes a node and pushes it; an empty one of a kind; takes the uppermost one above the last mark. */
clf_status clf__pickle_push(struct clf__pickle_machine *machine, struct clf__pickle_node node);
clf_status clf__pickle_push_empty(struct clf__pickle_machine *machine, enum clf__pickle_kind kind);
clf_status clf__pickle_pop(struct clf__pickle_machine *machine, int *node);
/* How many values lie above the last mark. */
int clf__pickle_above_mark(const struct clf__pickle_machine *machine);

clf_status clf__pickle_add_cell(struct clf__pickle_machine *machine, int holder, int node);
/* Replaces the uppermost `count` values by a sequence of them. */
clf_status clf__pickle_gather(struct clf__pickle_machine *machine, int count);

/* The first nodes that a sequence holds; 0: it is none, or has less than `count`. */
int clf__pickle_parts(const struct clf__pickle_machine *machine, int holder, int *parts, int count);
/* Whether a node is a number, or a shape or strides of numbers that are not negative. */
int clf__pickle_number(const struct clf__pickle_machine *machine, int node, int64_t *out);
int clf__pickle_numbers(const struct clf__pickle_machine *machine, int holder, int64_t *out, int *dimensions);

#endif
