/* The state of the pickle interpreter. Values are nodes in a growing array; the elements of a node are a
 * linked list of cells. */
#ifndef CLF_WEIGHTS_PICKLE_MACHINE_H
#define CLF_WEIGHTS_PICKLE_MACHINE_H

#include "model/weights/pickle.h"

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

/* The elements of a node form a list that starts at `first`; in the list of a dict, keys and values
 * alternate. */
struct clf__pickle_node {
    enum clf__pickle_kind kind;
    int first, last, count; /* cell indices; -1: none */
    union {
        int64_t number;
        struct clf__pickled_text text;
        int global; /* index in the table of globals in pickle.c */
        struct {
            const struct clf__element_type *type;
            struct clf__pickled_text key;
            int64_t elements;
            int64_t view_offset,
                view_elements; /* number of elements that tensors may use: the whole storage or a view */
        } storage;
        int tensor; /* index of a tensor in the machine */
    } as;
};

struct clf__pickle_cell {
    int node, next;
};

struct clf__pickle_machine {
    const char *path;
    const uint8_t *bytes, *end; /* unread bytes */
    int is_window;              /* the file continues after `end` */
    struct clf__pickle_node *nodes;
    struct clf__pickle_cell *cells;
    struct clf__pickled_tensor *tensors;
    int *stack, *marks, *memo; /* node indices; stack positions; node indices, -1: empty */
    int node_count, cell_count, tensor_count, depth, mark_count, memo_count;
    int node_capacity, cell_capacity, tensor_capacity, stack_capacity, mark_capacity;
};

/* Return an error that names the file, for a damaged or an unsupported pickle. */
clf_status clf__pickle_damaged(const struct clf__pickle_machine *machine, const char *what);
clf_status clf__pickle_refuse(const struct clf__pickle_machine *machine, const char *what);
/* Returns the error for a pickle that does not end before `end`. */
clf_status clf__pickle_cut_off(const struct clf__pickle_machine *machine);

/* Runs one pickle up to its STOP opcode. The result is stack[0], and `bytes` points past the pickle. */
clf_status clf__pickle_run(struct clf__pickle_machine *machine);
/* Calls the functions for the tensors of the state dict in stack[0] and for the numbers next to the state
 * dict. */
clf_status clf__pickle_give(struct clf__pickle_machine *machine,
                            const struct clf__pickled_functions *functions);
void clf__pickle_free(struct clf__pickle_machine *machine);

/* Push a new node; push an empty node of a kind; pop the top node above the last mark. */
clf_status clf__pickle_push(struct clf__pickle_machine *machine, struct clf__pickle_node node);
clf_status clf__pickle_push_empty(struct clf__pickle_machine *machine, enum clf__pickle_kind kind);
clf_status clf__pickle_pop(struct clf__pickle_machine *machine, int *node);
/* Returns the number of values above the last mark. */
int clf__pickle_above_mark(const struct clf__pickle_machine *machine);

clf_status clf__pickle_add_cell(struct clf__pickle_machine *machine, int holder, int node);
/* Replaces the top `count` values with a sequence that contains them. */
clf_status clf__pickle_gather(struct clf__pickle_machine *machine, int count);

/* Writes the first `count` nodes of a sequence to `parts`; returns 0 if the node is not a sequence or is
 * shorter. */
int clf__pickle_parts(const struct clf__pickle_machine *machine, int holder, int *parts, int count);
/* Return 1 if a node is a number, or a shape or strides of non-negative numbers. */
int clf__pickle_number(const struct clf__pickle_machine *machine, int node, int64_t *out);
int clf__pickle_numbers(const struct clf__pickle_machine *machine, int holder, int64_t *out, int *dimensions);

#endif
