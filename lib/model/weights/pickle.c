/* An interpreter for the part of Python's pickle protocol 2 that state dicts use (PEP 307, the comments of
 * pickletools). */
#include "model/weights/pickle_machine.h"

#include <stdio.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"

enum { MAX_MEMO = 1 << 22, MAX_LONG_BYTES = 8, STORAGE_PARTS = 5, VIEW_PARTS = 3, TENSOR_PARTS = 4 };

enum global { ORDERED_DICT, REBUILD_TENSOR, REBUILD_OLD_TENSOR, REBUILD_PARAMETER, FIRST_STORAGE };

static const struct {
    const char *text;    /* name as in the GLOBAL opcode */
    const char *element; /* element type of a storage */
} globals[] = {
    {"collections\nOrderedDict\n", NULL},
    {"torch._utils\n_rebuild_tensor_v2\n", NULL},
    {"torch._utils\n_rebuild_tensor\n", NULL}, /* torch before 0.4 */
    {"torch._utils\n_rebuild_parameter\n", NULL},
    {"torch\nFloatStorage\n", "F32"},
    {"torch\nHalfStorage\n", "F16"},
    {"torch\nBFloat16Storage\n", "BF16"},
    {"torch\nDoubleStorage\n", "F64"},
    {"torch\nLongStorage\n", "I64"},
    {"torch\nIntStorage\n", "I32"},
    {"torch\nShortStorage\n", "I16"},
    {"torch\nCharStorage\n", "I8"},
    {"torch\nByteStorage\n", "U8"},
    {"torch\nBoolStorage\n", "BOOL"},
};
enum { GLOBALS = sizeof globals / sizeof *globals };

/* Rebuilds a tensor from the arguments (storage, offset, sizes, strides, requires_grad, hooks). requires_grad
 * and hooks are ignored. */
static clf_status rebuild_tensor(struct clf__pickle_machine *machine, int arguments)
{
    int parts[TENSOR_PARTS], strides;
    struct clf__pickled_tensor tensor = {.dimensions = 0};
    if (!clf__pickle_parts(machine, arguments, parts, TENSOR_PARTS) ||
        machine->nodes[parts[0]].kind != CLF__PICKLE_STORAGE ||
        !clf__pickle_number(machine, parts[1], &tensor.offset) || tensor.offset < 0 ||
        !clf__pickle_numbers(machine, parts[2], tensor.shape, &tensor.dimensions) ||
        !clf__pickle_numbers(machine, parts[3], tensor.strides, &strides) || strides != tensor.dimensions) {
        return clf__pickle_damaged(machine, "the arguments of a tensor are invalid");
    }
    const struct clf__pickle_node *storage = &machine->nodes[parts[0]];
    tensor.type = storage->as.storage.type;
    tensor.storage = storage->as.storage.key;
    tensor.storage_elements = storage->as.storage.view_offset + storage->as.storage.view_elements;
    int64_t start = storage->as.storage.view_offset;
    tensor.offset = tensor.offset > INT64_MAX - start ? INT64_MAX : tensor.offset + start;
    CLF__TRY(clf__grow(&machine->tensors, machine->tensor_count, &machine->tensor_capacity,
                       sizeof *machine->tensors));
    machine->tensors[machine->tensor_count] = tensor;
    return clf__pickle_push(machine, (struct clf__pickle_node){.kind = CLF__PICKLE_TENSOR,
                                                               .first = -1,
                                                               .last = -1,
                                                               .as.tensor = machine->tensor_count++});
}

/* Creates a dict from OrderedDict() or, as pickled by Python 2, OrderedDict([[key, value], ...]). */
static clf_status make_ordered_dict(struct clf__pickle_machine *machine, int arguments)
{
    int items, pair[2];
    const struct clf__pickle_node *node = &machine->nodes[arguments];
    int is_empty = node->kind == CLF__PICKLE_SEQUENCE && node->count == 0;
    if (!is_empty && (node->count != 1 || !clf__pickle_parts(machine, arguments, &items, 1) ||
                      machine->nodes[items].kind != CLF__PICKLE_SEQUENCE)) {
        return clf__pickle_refuse(machine, "an OrderedDict with unexpected arguments");
    }
    CLF__TRY(clf__pickle_push_empty(machine, CLF__PICKLE_DICT));
    int dict = machine->stack[machine->depth - 1];
    int cell = is_empty ? -1 : machine->nodes[items].first;
    for (; cell >= 0; cell = machine->cells[cell].next) {
        int item = machine->cells[cell].node;
        if (machine->nodes[item].count != 2 || !clf__pickle_parts(machine, item, pair, 2)) {
            return clf__pickle_refuse(machine, "an OrderedDict with unexpected arguments");
        }
        CLF__TRY(clf__pickle_add_cell(machine, dict, pair[0]));
        CLF__TRY(clf__pickle_add_cell(machine, dict, pair[1]));
    }
    return CLF_OK;
}

static clf_status reduce(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    int arguments, callable, tensor;
    CLF__TRY(clf__pickle_pop(machine, &arguments));
    CLF__TRY(clf__pickle_pop(machine, &callable));
    if (machine->nodes[callable].kind != CLF__PICKLE_GLOBAL) {
        return clf__pickle_refuse(machine, "a call of a value that is not callable");
    }
    switch (machine->nodes[callable].as.global) {
    case ORDERED_DICT:
        return make_ordered_dict(machine, arguments);
    case REBUILD_TENSOR:
    case REBUILD_OLD_TENSOR:
        return rebuild_tensor(machine, arguments);
    case REBUILD_PARAMETER:
        if (!clf__pickle_parts(machine, arguments, &tensor, 1) ||
            machine->nodes[tensor].kind != CLF__PICKLE_TENSOR) {
            return clf__pickle_damaged(machine, "a parameter is not a tensor");
        }
        return clf__pickle_push(machine, machine->nodes[tensor]);
    case FIRST_STORAGE:
    default:
        return clf__pickle_refuse(machine, "a storage created in the pickle");
    }
}

/* Reads the view of a storage, (key, offset, elements) or None, that torch before 0.4 writes. */
static int read_view(const struct clf__pickle_machine *machine, int view, struct clf__pickle_node *storage)
{
    int parts[VIEW_PARTS];
    int64_t offset, elements;
    if (machine->nodes[view].kind == CLF__PICKLE_NOTHING) {
        return 1;
    }
    if (!clf__pickle_parts(machine, view, parts, VIEW_PARTS) ||
        !clf__pickle_number(machine, parts[1], &offset) ||
        !clf__pickle_number(machine, parts[2], &elements) || offset < 0 || elements < 0 ||
        offset > storage->as.storage.elements || elements > storage->as.storage.elements - offset) {
        return 0;
    }
    storage->as.storage.view_offset = offset;
    storage->as.storage.view_elements = elements;
    return 1;
}

/* Loads a storage from the arguments ("storage", class, key, device, number of elements) and, before
 * torch 1.6, a view. */
static clf_status load_storage(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    int id, parts[STORAGE_PARTS + 1];
    int64_t elements;
    CLF__TRY(clf__pickle_pop(machine, &id));
    if (!clf__pickle_parts(machine, id, parts, STORAGE_PARTS)) {
        return clf__pickle_damaged(machine, "the arguments of a storage are invalid");
    }
    const struct clf__pickle_node *word = &machine->nodes[parts[0]], *class = &machine->nodes[parts[1]],
                                  *key = &machine->nodes[parts[2]];
    if (word->kind != CLF__PICKLE_TEXT || word->as.text.size != strlen("storage") ||
        memcmp(word->as.text.bytes, "storage", word->as.text.size) != 0 ||
        class->kind != CLF__PICKLE_GLOBAL || class->as.global < FIRST_STORAGE ||
        key->kind != CLF__PICKLE_TEXT || !clf__pickle_number(machine, parts[4], &elements) || elements < 0) {
        return clf__pickle_damaged(machine, "the arguments of a storage are invalid");
    }
    struct clf__pickle_node storage = {.kind = CLF__PICKLE_STORAGE, .first = -1, .last = -1};
    storage.as.storage.type = clf__element_type_find(globals[class->as.global].element);
    storage.as.storage.key = key->as.text;
    storage.as.storage.elements = storage.as.storage.view_elements = elements;
    if (clf__pickle_parts(machine, id, parts, STORAGE_PARTS + 1) &&
        !read_view(machine, parts[STORAGE_PARTS], &storage)) {
        return clf__pickle_damaged(machine, "the arguments of a view of a storage are invalid");
    }
    return clf__pickle_push(machine, storage);
}

/* Adds the top `count` values (if `count` is negative, all values above the last mark) to the value below
 * them. */
static clf_status add_to(struct clf__pickle_machine *machine, enum clf__pickle_kind kind, int count)
{
    if (count < 0) {
        if (machine->mark_count == 0) {
            return clf__pickle_damaged(machine, "a mark is missing");
        }
        count = clf__pickle_above_mark(machine);
        machine->mark_count--;
    }
    if (clf__pickle_above_mark(machine) < count + 1 || (kind == CLF__PICKLE_DICT && count % 2 != 0)) {
        return clf__pickle_damaged(machine, "a value is missing");
    }
    int first = machine->depth - count, holder = machine->stack[first - 1];
    if (machine->nodes[holder].kind != kind) {
        return clf__pickle_damaged(machine, kind == CLF__PICKLE_DICT
                                                ? "items are added to a value that is not a dict"
                                                : "items are added to a value that is not a list");
    }
    for (int i = first; i < machine->depth; i++) {
        CLF__TRY(clf__pickle_add_cell(machine, holder, machine->stack[i]));
    }
    machine->depth = first;
    return CLF_OK;
}

static clf_status add_to_list(struct clf__pickle_machine *machine, int count)
{
    return add_to(machine, CLF__PICKLE_SEQUENCE, count);
}

static clf_status add_to_dict(struct clf__pickle_machine *machine, int count)
{
    return add_to(machine, CLF__PICKLE_DICT, count);
}

/* Consumes the next `size` bytes. */
static clf_status take(struct clf__pickle_machine *machine, const uint8_t **out, size_t size)
{
    if (size > (size_t)(machine->end - machine->bytes)) {
        return clf__pickle_cut_off(machine);
    }
    *out = machine->bytes;
    machine->bytes += size;
    return CLF_OK;
}

static clf_status push_number(struct clf__pickle_machine *machine, int64_t number)
{
    return clf__pickle_push(
        machine,
        (struct clf__pickle_node){.kind = CLF__PICKLE_NUMBER, .first = -1, .last = -1, .as.number = number});
}

/* Reads a little-endian number; a signed number is in two's complement. */
static clf_status read_number(struct clf__pickle_machine *machine, size_t size, int has_sign)
{
    const uint8_t *bytes = NULL;
    CLF__TRY(take(machine, &bytes, size));
    uint64_t value = clf__read_number(bytes, size);
    if (has_sign && size > 0 && size < sizeof value && (bytes[size - 1] & 0x80) != 0) {
        value |= ~(uint64_t)0 << 8 * size;
    }
    return push_number(machine, (int64_t)value);
}

static clf_status load_number(struct clf__pickle_machine *machine, int size)
{
    return read_number(machine, (size_t)size, size > 2);
}

static clf_status load_bool(struct clf__pickle_machine *machine, int value)
{
    return push_number(machine, value);
}

static clf_status load_empty(struct clf__pickle_machine *machine, int kind)
{
    return clf__pickle_push_empty(machine, (enum clf__pickle_kind)kind);
}

static clf_status load_long(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    const uint8_t *size = NULL;
    CLF__TRY(take(machine, &size, 1));
    return *size <= MAX_LONG_BYTES ? read_number(machine, *size, 1)
                                   : clf__pickle_refuse(machine, "an integer with more than 64 bits");
}

static clf_status load_text(struct clf__pickle_machine *machine, int length_bytes)
{
    const uint8_t *length = NULL, *text = NULL;
    CLF__TRY(take(machine, &length, (size_t)length_bytes));
    size_t size = length_bytes == 1 ? *length : clf__read_32(length);
    CLF__TRY(take(machine, &text, size));
    return clf__pickle_push(machine, (struct clf__pickle_node){.kind = CLF__PICKLE_TEXT,
                                                               .first = -1,
                                                               .last = -1,
                                                               .as.text = {(const char *)text, size}});
}

static clf_status load_global(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    size_t left = (size_t)(machine->end - machine->bytes);
    const uint8_t *module_end = memchr(machine->bytes, '\n', left);
    const uint8_t *name_end =
        module_end != NULL ? memchr(module_end + 1, '\n', (size_t)(machine->end - module_end - 1)) : NULL;
    if (name_end == NULL) {
        return clf__pickle_cut_off(machine);
    }
    size_t size = (size_t)(name_end + 1 - machine->bytes);
    for (int i = 0; i < GLOBALS; i++) {
        if (strlen(globals[i].text) == size && memcmp(globals[i].text, machine->bytes, size) == 0) {
            machine->bytes += size;
            return clf__pickle_push(machine,
                                    (struct clf__pickle_node){
                                        .kind = CLF__PICKLE_GLOBAL, .first = -1, .last = -1, .as.global = i});
        }
    }
    char name[128];
    size_t shown = 0;
    for (const uint8_t *byte = machine->bytes; byte < name_end && shown + 1 < sizeof name; byte++) {
        name[shown++] = *byte == '\n' ? '.' : *byte > ' ' && *byte < 0x7f ? (char)*byte : '?';
    }
    name[shown] = '\0';
    return clf__pickle_refuse(machine, name);
}

static clf_status memo_index(struct clf__pickle_machine *machine, int bytes, uint32_t *index)
{
    const uint8_t *at = NULL;
    CLF__TRY(take(machine, &at, (size_t)bytes));
    *index = bytes == 1 ? *at : clf__read_32(at);
    return CLF_OK;
}

static clf_status memoize(struct clf__pickle_machine *machine, int bytes)
{
    uint32_t index = 0;
    CLF__TRY(memo_index(machine, bytes, &index));
    if (clf__pickle_above_mark(machine) < 1 || index >= MAX_MEMO) {
        return clf__pickle_damaged(machine, "the value to memoize is missing");
    }
    if ((int)index >= machine->memo_count) {
        int count = 2 * (int)index + 256;
        CLF__TRY(clf__resize(&machine->memo, (size_t)count, sizeof *machine->memo));
        for (int i = machine->memo_count; i < count; i++) {
            machine->memo[i] = -1;
        }
        machine->memo_count = count;
    }
    machine->memo[index] = machine->stack[machine->depth - 1];
    return CLF_OK;
}

static clf_status recall(struct clf__pickle_machine *machine, int bytes)
{
    uint32_t index = 0;
    CLF__TRY(memo_index(machine, bytes, &index));
    if (index >= (uint32_t)machine->memo_count || machine->memo[index] < 0) {
        return clf__pickle_damaged(machine, "a memo entry does not exist");
    }
    CLF__TRY(clf__grow(&machine->stack, machine->depth, &machine->stack_capacity, sizeof *machine->stack));
    machine->stack[machine->depth++] = machine->memo[index];
    return CLF_OK;
}

static clf_status mark(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    CLF__TRY(
        clf__grow(&machine->marks, machine->mark_count, &machine->mark_capacity, sizeof *machine->marks));
    machine->marks[machine->mark_count++] = machine->depth;
    return CLF_OK;
}

static clf_status gather_marked(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    if (machine->mark_count == 0) {
        return clf__pickle_damaged(machine, "a mark is missing");
    }
    int count = clf__pickle_above_mark(machine);
    machine->mark_count--;
    return clf__pickle_gather(machine, count);
}

/* Ignores the attributes of an object, such as the module versions of an OrderedDict. */
static clf_status build(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    int attributes;
    CLF__TRY(clf__pickle_pop(machine, &attributes));
    return clf__pickle_above_mark(machine) > 0 ? CLF_OK : clf__pickle_damaged(machine, "a value is missing");
}

static clf_status load_real(struct clf__pickle_machine *machine, int size)
{
    const uint8_t *bytes = NULL;
    CLF__TRY(take(machine, &bytes, (size_t)size));
    return clf__pickle_push_empty(machine, CLF__PICKLE_NOTHING); /* not used by tensors */
}

static clf_status read_protocol(struct clf__pickle_machine *machine, int none)
{
    (void)none;
    const uint8_t *version = NULL;
    CLF__TRY(take(machine, &version, 1));
    return *version == 2 ? CLF_OK : clf__pickle_refuse(machine, "protocol other than 2");
}

/* The opcodes with their functions, the functions' arguments, and the names from Python's pickletools. */
static const struct {
    clf_status (*run)(struct clf__pickle_machine *machine, int argument);
    int argument;
    uint8_t code;
} opcodes[] = {
    {read_protocol, 0, 0x80},                 /* PROTO */
    {load_global, 0, 'c'},                    /* GLOBAL */
    {reduce, 0, 'R'},                         /* REDUCE */
    {reduce, 0, 0x81},                        /* NEWOBJ: like REDUCE for an OrderedDict */
    {build, 0, 'b'},                          /* BUILD */
    {add_to_list, 1, 'a'},                    /* APPEND */
    {add_to_list, -1, 'e'},                   /* APPENDS */
    {add_to_dict, 2, 's'},                    /* SETITEM */
    {add_to_dict, -1, 'u'},                   /* SETITEMS */
    {mark, 0, '('},                           /* MARK */
    {gather_marked, 0, 't'},                  /* TUPLE */
    {clf__pickle_gather, 1, 0x85},            /* TUPLE1 */
    {clf__pickle_gather, 2, 0x86},            /* TUPLE2 */
    {clf__pickle_gather, 3, 0x87},            /* TUPLE3 */
    {load_empty, CLF__PICKLE_NOTHING, 'N'},   /* NONE */
    {load_bool, 1, 0x88},                     /* NEWTRUE */
    {load_bool, 0, 0x89},                     /* NEWFALSE */
    {load_empty, CLF__PICKLE_SEQUENCE, ')'},  /* EMPTY_TUPLE */
    {load_empty, CLF__PICKLE_SEQUENCE, ']'},  /* EMPTY_LIST */
    {load_empty, CLF__PICKLE_SEQUENCE, 0x8f}, /* EMPTY_SET */
    {load_empty, CLF__PICKLE_DICT, '}'},      /* EMPTY_DICT */
    {load_number, 4, 'J'},                    /* BININT */
    {load_number, 1, 'K'},                    /* BININT1 */
    {load_number, 2, 'M'},                    /* BININT2 */
    {load_long, 0, 0x8a},                     /* LONG1 */
    {load_real, 8, 'G'},                      /* BINFLOAT */
    {load_text, 4, 'X'},                      /* BINUNICODE */
    {load_text, 1, 'U'},                      /* SHORT_BINSTRING */
    {load_text, 4, 'T'},                      /* BINSTRING */
    {load_storage, 0, 'Q'},                   /* BINPERSID */
    {recall, 1, 'h'},                         /* BINGET */
    {recall, 4, 'j'},                         /* LONG_BINGET */
    {memoize, 1, 'q'},                        /* BINPUT */
    {memoize, 4, 'r'},                        /* LONG_BINPUT */
};

static clf_status step(struct clf__pickle_machine *machine, uint8_t code)
{
    char name[32];
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        if (opcodes[i].code == code) {
            return opcodes[i].run(machine, opcodes[i].argument);
        }
    }
    snprintf(name, sizeof name, "opcode 0x%02x", code);
    return clf__pickle_refuse(machine, name);
}

clf_status clf__pickle_run(struct clf__pickle_machine *machine)
{
    for (;;) {
        const uint8_t *opcode = NULL;
        CLF__TRY(take(machine, &opcode, 1));
        if (*opcode == '.') { /* STOP */
            return machine->depth == 1 && machine->mark_count == 0
                       ? CLF_OK
                       : clf__pickle_damaged(machine, "the final stack does not hold exactly one value");
        }
        CLF__TRY(step(machine, *opcode));
    }
}
