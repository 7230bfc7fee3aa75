/* Driver-specific ways to report a GPU's PCI address, memory and width. This program implements OpenCL: its
 * functions take precedence over the loader's. */
#include <string.h>

#include "runtime/opencl/listed_device.h"
#include "runtime/opencl/quirks.h"
#include "support/support.h"

/* An answer of a device besides the common ones. */
struct answer {
    cl_device_info what;
    const void *value;
    size_t size;
};

struct card {
    const char *extensions;
    const struct answer *answers;
};

/* NVIDIA: vendor-specific device numbers if the driver is old. The slot contains device and function. */
static const cl_uint four = 4, one = 1, domain = 0x12, slot = 0x1f << 3 | 5, bus = 0xc1, seven = 7, five = 5;
static const cl_uint nvidia = 0x10de, intel = 0x8086, clock_mhz = 1590, width = 32;
static const struct answer old_nvidia[] = {{CL_DEVICE_VENDOR_ID, &nvidia, sizeof nvidia},
                                           {0x4008, &bus, sizeof bus},
                                           {0x4009, &slot, sizeof slot},
                                           {0x400A, &domain, sizeof domain},
                                           {CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, &seven, sizeof seven},
                                           {CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, &five, sizeof five},
                                           {CL_DEVICE_INTEGRATED_MEMORY_NV, &one, sizeof one},
                                           {CL_DEVICE_MAX_CLOCK_FREQUENCY, &clock_mhz, sizeof clock_mhz},
                                           {0, NULL, 0}};
/* AMD: bytes that are signed in the header, and no domain. */
static const unsigned char topology[24] = {1, [21] = 0xc3, [22] = 0x1f, [23] = 7};
static const size_t free_kib[2] = {3000, 2000};
static const struct answer amd[] = {{CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, free_kib, sizeof free_kib},
                                    {CL_DEVICE_TOPOLOGY_AMD, topology, sizeof topology},
                                    {CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD, &four, sizeof four},
                                    {CL_DEVICE_SIMD_WIDTH_AMD, &width, sizeof width},
                                    {0, NULL, 0}};
/* Khronos' extensions. */
static const cl_uint place[4] = {0x10000, 0x03, 0, 1};
static const unsigned char uuid[16] = {0x89, 0x32, 0xf9, 0x37, 0xd7, 0x2c, 0x41, 0x06,
                                       0xc1, 0x2f, 0x20, 0xbd, 0x9f, 0xae, 0xd9, 0xf6};
static const cl_device_fp_config exact = CL_FP_FMA | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
static const cl_device_integer_dot_product_acceleration_properties_khr fast = {CL_TRUE, CL_TRUE,  CL_FALSE,
                                                                               CL_TRUE, CL_FALSE, CL_FALSE};
static const cl_device_integer_dot_product_acceleration_properties_khr emulated = {
    CL_FALSE, CL_FALSE, CL_FALSE, CL_FALSE, CL_TRUE, CL_TRUE};
static const struct answer khronos[] = {
    {CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR, &fast, sizeof fast},
    {CL_DEVICE_VENDOR_ID, &intel, sizeof intel},
    {CL_DEVICE_PCI_BUS_INFO_KHR, place, sizeof place},
    {CL_DEVICE_UUID_KHR, uuid, sizeof uuid},
    {CL_DEVICE_HOST_UNIFIED_MEMORY, &one, sizeof one},
    {CL_DEVICE_SINGLE_FP_CONFIG, &exact, sizeof exact},
    {0, NULL, 0}};
/* A topology without a PCI bus, an all-zero UUID, an address of the wrong size. */
static const unsigned char none[24];
static const struct answer odd[] = {
    {CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR, &emulated, sizeof emulated},
    {CL_DEVICE_TOPOLOGY_AMD, none, sizeof none},
    {CL_DEVICE_UUID_KHR, none, 16},
    {CL_DEVICE_PCI_BUS_INFO_KHR, place, 8},
    {0, NULL, 0}};

static const struct card cards[] = {
    {"cl_khr_icd cl_nv_device_attribute_query", old_nvidia},
    {"cl_amd_device_attribute_query cl_khr_icd", amd},
    {"cl_khr_device_uuid cl_khr_pci_bus_info cl_amd_device_attribute_query cl_khr_integer_dot_product",
     khronos},
    {"cl_khr_device_uuid cl_khr_pci_bus_info cl_amd_device_attribute_query cl_khr_integer_dot_product", odd},
    {"cl_khr_device_uuid_of_old", khronos}, /* which answers, though it does not list the extension */
};
enum { CARDS = sizeof cards / sizeof *cards };

static cl_int tell(const void *value, size_t value_size, size_t size, void *out, size_t *told)
{
    if (out != NULL && size < value_size) {
        return CL_INVALID_VALUE;
    }
    if (out != NULL) {
        memcpy(out, value, value_size);
    }
    if (told != NULL) {
        *told = value_size;
    }
    return CL_SUCCESS;
}

cl_int clGetPlatformIDs(cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms)
{
    static int platform;
    if (num_entries > 0) {
        *platforms = (cl_platform_id)&platform;
    }
    if (num_platforms != NULL) {
        *num_platforms = 1;
    }
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info param_name, size_t param_value_size,
                         void *param_value, size_t *param_value_size_ret)
{
    (void)platform;
    (void)param_name;
    return tell("Platform", sizeof "Platform", param_value_size, param_value, param_value_size_ret);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                      cl_device_id *devices, cl_uint *num_devices)
{
    (void)platform;
    (void)device_type;
    for (cl_uint i = 0; i < num_entries; i++) {
        devices[i] = (cl_device_id)(uintptr_t)&cards[i];
    }
    if (num_devices != NULL) {
        *num_devices = CARDS;
    }
    return CL_SUCCESS;
}

/* Returns the answer common to all devices, or NULL. */
static const struct answer *common_answer(cl_device_info what)
{
    static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    static const cl_uint units = 40;
    static const cl_bool yes = CL_TRUE;
    static const cl_ulong memory = 1ULL << 33;
    static const size_t group = 256;
    static const struct answer answers[] = {
        {CL_DEVICE_NAME, "Card", sizeof "Card"},
        {CL_DEVICE_VENDOR, "Maker", sizeof "Maker"},
        {CL_DRIVER_VERSION, "7", sizeof "7"},
        {CL_DEVICE_VERSION, "OpenCL 1.2 x", sizeof "OpenCL 1.2 x"},
        {CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 ", sizeof "OpenCL C 1.2 "},
        {CL_DEVICE_TYPE, &gpu, sizeof gpu},
        {CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units},
        {CL_DEVICE_GLOBAL_MEM_SIZE, &memory, sizeof memory},
        {CL_DEVICE_MAX_MEM_ALLOC_SIZE, &memory, sizeof memory},
        {CL_DEVICE_LOCAL_MEM_SIZE, &memory, sizeof memory},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group},
        {CL_DEVICE_COMPILER_AVAILABLE, &yes, sizeof yes},
        {CL_DEVICE_AVAILABLE, &yes, sizeof yes},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (answers[i].what == what) {
            return &answers[i];
        }
    }
    return NULL;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                       void *param_value, size_t *param_value_size_ret)
{
    const struct card *card = (const void *)device;
    const struct answer *answer = card->answers;
    const struct answer listed = {CL_DEVICE_EXTENSIONS, card->extensions, strlen(card->extensions) + 1};
    while (answer->value != NULL && answer->what != param_name) {
        answer++;
    }
    if (answer->value == NULL) {
        answer = param_name == CL_DEVICE_EXTENSIONS ? &listed : common_answer(param_name);
    }
    return answer == NULL
               ? CL_INVALID_VALUE
               : tell(answer->value, answer->size, param_value_size, param_value, param_value_size_ret);
}

static void assert_card(const struct clf__listed_device *device, const char *pci, const char *its_uuid,
                        int shares_memory, unsigned lanes)
{
    assert_string_equal(device->info.pci_address, pci);
    assert_string_equal(device->info.uuid, its_uuid);
    assert_int_equal(device->info.shares_memory, shares_memory);
    assert_int_equal(device->lanes, lanes);
}

static void test_cards(void **state)
{
    (void)state;
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    assert_int_equal(list->count, CARDS);
    assert_card(&list->devices[0], "0012:c1:1f.5", "", 1, 64);
    assert_int_equal(list->devices[0].info.clock_mhz, 1590);
    assert_card(&list->devices[1], "c3:1f.7", "", 0, 128);
    assert_int_equal(list->devices[1].info.clock_mhz, 0);
    assert_card(&list->devices[2], "10000:03:00.1", "8932f937-d72c-4106-c12f-20bd9faed9f6", 1, 8);
    assert_true(list->devices[0].has_dp4a && !list->devices[1].has_dp4a && !list->devices[2].has_dp4a);
    assert_true(list->devices[2].has_exact_division && !list->devices[0].has_exact_division);
    for (int i = 0; i < CARDS; i++) {
        assert_int_equal(list->devices[i].free_bytes, i == 1 ? 3072000 : 0);
        assert_int_equal(list->devices[i].has_fast_dot, i == 2);
    }
    assert_card(&list->devices[3], "", "", 0, 64);
    assert_card(&list->devices[4], "", "", 1, 8);
    /* Dedicated memory first, then the number of lanes; one has no clock, so clocks are ignored. */
    assert_int_equal(list->devices[1].info.candidate_order, 0);
    assert_int_equal(list->devices[3].info.candidate_order, 1);
    assert_int_equal(list->devices[0].info.candidate_order, 2);
    clf_device_list_free(list);
}

static void test_lanes(void **state)
{
    (void)state;
    static const struct {
        unsigned vendor, major, minor, lanes;
    } known[] = {{0x10de, 0, 0, 128}, {0x10de, 5, 2, 128}, {0x10de, 6, 0, 64},  {0x10de, 6, 1, 128},
                 {0x10de, 7, 5, 64},  {0x10de, 8, 0, 64},  {0x10de, 8, 6, 128}, {0x10de, 9, 0, 128},
                 {0x8086, 0, 0, 8},   {0x1002, 0, 0, 64},  {0x1234, 0, 0, 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(clf__quirk_lanes(known[i].vendor, known[i].major, known[i].minor), known[i].lanes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cards), cmocka_unit_test(test_lanes)};
    return cmocka_run_group_tests_name("device/identity", tests, NULL, NULL);
}
