#include "runtime/program/arguments.h"

#include <string.h>

#include "base/memory.h"
#include "runtime/device/device.h"

/* Identifies a buffer by its number, because a later buffer may reuse its cl_mem. */
static uint64_t number_of(const struct clf__argument *argument)
{
    uint32_t bits = 0;
    switch (argument->kind) {
    case CLF__ARGUMENT_BUFFER:
        return argument->buffer ? argument->buffer->number : 0;
    case CLF__ARGUMENT_INT:
        memcpy(&bits, &argument->integer, sizeof bits);
        return bits;
    case CLF__ARGUMENT_FLOAT:
        memcpy(&bits, &argument->real, sizeof bits);
        return bits;
    case CLF__ARGUMENT_STRUCT:
    case CLF__ARGUMENT_LOCAL:
        break;
    }
    return argument->bytes;
}

static int is_same(const struct clf__argument_value *value, const struct clf__argument *argument)
{
    return value->is_set && value->kind == argument->kind && value->number == number_of(argument) &&
           (argument->kind != CLF__ARGUMENT_STRUCT ||
            memcmp(value->copy, argument->data, argument->bytes) == 0);
}

static clf_status keep(struct clf__argument_value *value, const struct clf__argument *argument)
{
    if (argument->kind == CLF__ARGUMENT_STRUCT) {
        if (value->bytes < argument->bytes) {
            CLF__TRY(clf__resize(&value->copy, argument->bytes, 1));
            value->bytes = argument->bytes;
        }
        memcpy(value->copy, argument->data, argument->bytes);
    }
    value->kind = argument->kind;
    value->number = number_of(argument);
    value->is_set = 1;
    return CLF_OK;
}

static cl_int set(cl_kernel kernel, cl_uint index, const struct clf__argument *argument)
{
    switch (argument->kind) {
    case CLF__ARGUMENT_BUFFER: {
        cl_mem memory = argument->buffer ? argument->buffer->memory : NULL;
        return CLF__CL(clSetKernelArg(kernel, index, sizeof memory, &memory));
    }
    case CLF__ARGUMENT_INT:
        return CLF__CL(clSetKernelArg(kernel, index, sizeof argument->integer, &argument->integer));
    case CLF__ARGUMENT_FLOAT:
        return CLF__CL(clSetKernelArg(kernel, index, sizeof argument->real, &argument->real));
    case CLF__ARGUMENT_STRUCT:
    case CLF__ARGUMENT_LOCAL: /* local memory has no data */
        return CLF__CL(clSetKernelArg(kernel, index, argument->bytes, argument->data));
    }
    return CL_INVALID_ARG_VALUE;
}

clf_status clf__argument_set(cl_int *error, cl_kernel kernel, cl_uint index,
                             struct clf__argument_value *value, const struct clf__argument *argument)
{
    *error = CL_SUCCESS;
    if (is_same(value, argument)) {
        return CLF_OK;
    }
    value->is_set = 0;
    *error = set(kernel, index, argument);
    return *error == CL_SUCCESS ? keep(value, argument) : CLF_OK;
}

void clf__argument_values_free(struct clf__argument_value *values, cl_uint count)
{
    for (cl_uint i = 0; values != NULL && i < count; i++) {
        clf__free(values[i].copy);
    }
    clf__free(values);
}
