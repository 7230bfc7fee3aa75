#include "runtime/opencl/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"

enum kind { NUMBER_32, NUMBER_64, SIZE, SIZES, TEXT };

/* clang-format off */
static const struct {
    cl_device_info what;
    enum kind kind;
    const char *name;
} facts[] = {
    {CL_DEVICE_TYPE, NUMBER_64, "type"},
    {CL_DEVICE_VENDOR_ID, NUMBER_32, "vendor_id"},
    {CL_DEVICE_OPENCL_C_VERSION, TEXT, "opencl_c_version"},
    {CL_DEVICE_MAX_COMPUTE_UNITS, NUMBER_32, "max_compute_units"},
    {CL_DEVICE_MAX_CLOCK_FREQUENCY, NUMBER_32, "max_clock_frequency"},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, SIZE, "max_work_group_size"},
    {CL_DEVICE_MAX_WORK_ITEM_SIZES, SIZES, "max_work_item_sizes"},
    {CL_DEVICE_ADDRESS_BITS, NUMBER_32, "address_bits"},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, NUMBER_32, "preferred_vector_width_float"},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, NUMBER_32, "native_vector_width_float"},
    {CL_DEVICE_GLOBAL_MEM_SIZE, NUMBER_64, "global_mem_size"},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, NUMBER_64, "max_mem_alloc_size"},
    {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, NUMBER_64, "global_mem_cache_size"},
    {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, NUMBER_32, "global_mem_cacheline_size"},
    {CL_DEVICE_LOCAL_MEM_TYPE, NUMBER_32, "local_mem_type"},
    {CL_DEVICE_LOCAL_MEM_SIZE, NUMBER_64, "local_mem_size"},
    {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, NUMBER_64, "max_constant_buffer_size"},
    {CL_DEVICE_MAX_PARAMETER_SIZE, SIZE, "max_parameter_size"},
    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, NUMBER_32, "mem_base_addr_align"},
    {CL_DEVICE_HOST_UNIFIED_MEMORY, NUMBER_32, "host_unified_memory"},
    {CL_DEVICE_SINGLE_FP_CONFIG, NUMBER_64, "single_fp_config"},
    {CL_DEVICE_PROFILING_TIMER_RESOLUTION, SIZE, "profiling_timer_resolution"},
    {CL_DEVICE_QUEUE_PROPERTIES, NUMBER_64, "queue_properties"},
    {CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, NUMBER_64, "atomic_memory_capabilities"},
    {CL_DEVICE_MAX_NUM_SUB_GROUPS, NUMBER_32, "max_num_sub_groups"},
    {CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, SIZE, "preferred_work_group_size_multiple"},
    {CL_DEVICE_EXTENSIONS, TEXT, "extensions"},
};
/* clang-format on */

/* Formats a value of `size` bytes; the caller frees *out. *out is NULL if the size does not match the
 * kind. */
static clf_status write_value(char **out, enum kind kind, const void *value, size_t size)
{
    *out = NULL;
    if (kind == TEXT) {
        return clf__copy_bytes(out, value, size);
    }
    if (kind == NUMBER_32 && size == sizeof(cl_uint)) {
        return clf__format(out, "%" PRIu32, *(const cl_uint *)value);
    }
    if (kind == NUMBER_64 && size == sizeof(cl_ulong)) {
        return clf__format(out, "%" PRIu64, *(const cl_ulong *)value);
    }
    if ((kind == SIZE || kind == SIZES) && size % sizeof(size_t) == 0) {
        CLF__TRY(clf__copy_string(out, ""));
        for (size_t i = 0; i < size / sizeof(size_t); i++) {
            CLF__TRY(clf__append(out, "%s%zu", i > 0 ? " " : "", ((const size_t *)value)[i]));
        }
    }
    return CLF_OK;
}

static clf_status report(cl_device_id id, cl_device_info what, enum kind kind, const char *name,
                         clf__fact_visitor *visit, void *user)
{
    size_t size = 0;
    char *value = NULL, *text = NULL;
    if (CLF__CL(clGetDeviceInfo(id, what, 0, NULL, &size)) != CL_SUCCESS || size == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(&value, size, 1));
    clf_status status = CLF_OK;
    if (CLF__CL(clGetDeviceInfo(id, what, size, value, NULL)) == CL_SUCCESS) {
        status = write_value(&text, kind, value, size);
    }
    if (status == CLF_OK && text != NULL) {
        status = visit(user, name, text);
    }
    clf__free(text);
    clf__free(value);
    return status;
}

clf_status clf__listed_device_report(const struct clf__listed_device *device, clf__fact_visitor *visit,
                                     void *user)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        CLF__TRY(report(device->id, facts[i].what, facts[i].kind, facts[i].name, visit, user));
    }
    return CLF_OK;
}
