/* Preloaded before Oclgrind's runtime. Oclgrind 21.10 loses track of written bytes when the host writes part
 * of a buffer, and for a buffer at a freed one's address. So the host writes whole buffers here, and a kernel
 * copies from them; calls return when complete. Cases: test_reports.c. */
#define _GNU_SOURCE
#include "oclgrind/preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

preload_function preload_real(const char *name)
{
    union {
        void *object;
        preload_function function;
    } found = {dlsym(RTLD_NEXT, name)};
    if (found.object == NULL) {
        fprintf(stderr, "no %s after this library: it is for programs under Oclgrind\n", name);
        abort();
    }
    return found.function;
}

void preload_must(cl_int error, const char *what)
{
    if (error != CL_SUCCESS) {
        fprintf(stderr, "%s under Oclgrind: error %d\n", what, error);
        abort();
    }
}

/* From the largest block to the smallest, so that few work-items suffice. */
#define LINE(...) #__VA_ARGS__ "\n"
#define UNIT(NAME, BYTES)                                                                                    \
    LINE(struct NAME { uchar bytes[BYTES]; };)                                                               \
    LINE(__kernel void copy_##NAME(__global uchar *to, ulong begin, const __global uchar *from,              \
                                   ulong from_begin) {                                                       \
        ulong i = get_global_id(0) * (BYTES);                                                                \
        *(__global struct NAME *)(to + begin + i) = *(const __global struct NAME *)(from + from_begin + i);  \
    })                                                                                                       \
    LINE(__kernel void forget_##NAME(__global uchar *to, ulong begin) {                                      \
        uchar never_written[BYTES];                                                                          \
        *(__global struct NAME *)(to + begin + get_global_id(0) * (BYTES)) = *(struct NAME *)never_written;  \
    })
static const char source[] = UNIT(page, 4096) UNIT(line, 64) UNIT(word, 4) UNIT(byte, 1);
static const struct {
    size_t bytes;
    const char *copy, *forget;
} units[] = {{4096, "copy_page", "forget_page"},
             {64, "copy_line", "forget_line"},
             {4, "copy_word", "forget_word"},
             {1, "copy_byte", "forget_byte"}};

/* The kernels of each context; never released, so that no other context gets the same address. */
enum { MAX_CONTEXTS = 256 };
static struct {
    cl_context context;
    cl_program program;
} programs[MAX_CONTEXTS];
static int program_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static cl_program program_of(cl_context context)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < program_count && programs[i].context != context) {
        i++;
    }
    if (i == program_count) {
        const char *text = source;
        cl_int error = i < MAX_CONTEXTS ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
        preload_must(error, "keeping another context");
        programs[i].context = context;
        programs[i].program = REAL(clCreateProgramWithSource)(context, 1, &text, NULL, &error);
        preload_must(error, "making the copying kernels");
        preload_must(REAL(clBuildProgram)(programs[i].program, 0, NULL, "-cl-opt-disable", NULL, NULL),
                     "building the copying kernels"); /* the optimiser removes copies of unwritten memory */
        program_count++;
    }
    pthread_mutex_unlock(&lock);
    return programs[i].program;
}

static cl_context context_of(cl_mem memory)
{
    cl_context context = NULL;
    preload_must(REAL(clGetMemObjectInfo)(memory, CL_MEM_CONTEXT, sizeof context, &context, NULL),
                 "asking for a context");
    return context;
}

static size_t bytes_of(cl_mem memory)
{
    size_t bytes = 0;
    preload_must(REAL(clGetMemObjectInfo)(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL),
                 "asking for a buffer's length");
    return bytes;
}

static int is_part(cl_mem memory)
{
    cl_mem whole = NULL;
    preload_must(REAL(clGetMemObjectInfo)(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL),
                 "asking whose part a buffer is");
    return whole != NULL;
}

/* Runs the kernels over `bytes` of `to` from `begin` on; from may be NULL: marks the bytes as unwritten. */
static void run(cl_command_queue queue, cl_mem to, cl_ulong begin, cl_mem from, cl_ulong from_begin,
                size_t bytes)
{
    cl_program program = program_of(context_of(to));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t count = bytes / units[i].bytes, group = 1;
        if (count == 0) {
            continue;
        }
        cl_int error = CL_SUCCESS;
        cl_kernel kernel = REAL(clCreateKernel)(program, from ? units[i].copy : units[i].forget, &error);
        preload_must(error, "taking a copying kernel");
        preload_must(REAL(clSetKernelArg)(kernel, 0, sizeof to, &to), "setting an argument");
        preload_must(REAL(clSetKernelArg)(kernel, 1, sizeof begin, &begin), "setting an argument");
        if (from) {
            preload_must(REAL(clSetKernelArg)(kernel, 2, sizeof from, &from), "setting an argument");
            preload_must(REAL(clSetKernelArg)(kernel, 3, sizeof from_begin, &from_begin),
                         "setting an argument");
        }
        preload_must(REAL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &count, &group, 0, NULL, NULL),
                     "copying");
        preload_must(REAL(clFinish)(queue), "copying");
        REAL(clReleaseKernel)(kernel);
        begin += count * units[i].bytes;
        from_begin += count * units[i].bytes;
        bytes -= count * units[i].bytes;
    }
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): those of cl.h are longer */
cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error)
{
    cl_mem memory = REAL(clCreateBuffer)(context, flags, size, host, error);
    if (memory == NULL || host != NULL) {
        return memory;
    }
    cl_device_id device = NULL;
    cl_int failed = REAL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
    preload_must(failed, "asking for a context's device");
    cl_command_queue queue = REAL(clCreateCommandQueue)(context, device, 0, &failed);
    preload_must(failed, "making a queue");
    void *zeros = calloc(size, 1); /* Oclgrind's initial contents of a buffer */
    preload_must(zeros ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "writing a buffer");
    preload_must(REAL(clEnqueueWriteBuffer)(queue, memory, CL_TRUE, 0, size, zeros, 0, NULL, NULL),
                 "writing a buffer");
    run(queue, memory, 0, NULL, 0, size);
    free(zeros);
    REAL(clReleaseCommandQueue)(queue);
    return memory;
}

/* Returns an event for a call that is complete. */
static cl_int finish(cl_command_queue queue, cl_event *event)
{
    cl_int error = REAL(clEnqueueMarkerWithWaitList)(queue, 0, NULL, event);
    return error == CL_SUCCESS ? REAL(clFinish)(queue) : error;
}

static void write_part(cl_command_queue queue, cl_mem to, size_t offset, size_t size, const void *from)
{
    cl_int error = CL_SUCCESS;
    cl_mem staged = REAL(clCreateBuffer)(context_of(to), CL_MEM_READ_WRITE, size, NULL, &error);
    preload_must(error, "making a buffer to copy from");
    preload_must(REAL(clEnqueueWriteBuffer)(queue, staged, CL_TRUE, 0, size, from, 0, NULL, NULL),
                 "writing a buffer");
    run(queue, to, offset, staged, 0, size);
    REAL(clReleaseMemObject)(staged);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                            size_t size, const void *from, cl_uint waits, const cl_event *waited,
                            cl_event *event)
{
    size_t whole = bytes_of(memory);
    if ((size == whole && !is_part(memory)) || offset + size > whole) {
        return REAL(clEnqueueWriteBuffer)(queue, memory, blocking, offset, size, from, waits, waited, event);
    }
    write_part(queue, memory, offset, size, from);
    return finish(queue, event);
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *to,
                                const size_t *from, const size_t *region, size_t row_pitch,
                                size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                                const void *host, cl_uint waits, const cl_event *waited, cl_event *event)
{
    (void)blocking, (void)slice_pitch, (void)host_slice_pitch, (void)waits, (void)waited;
    for (size_t y = 0; y < region[1]; y++) { /* in one plane */
        write_part(queue, memory, (to[1] + y) * row_pitch + to[0], region[0],
                   (const char *)host + (from[1] + y) * host_row_pitch + from[0]);
    }
    return finish(queue, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint waits, const cl_event *waited,
                           cl_event *event)
{
    (void)waits, (void)waited;
    run(queue, to, to_offset, from, from_offset, size);
    return finish(queue, event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint waits, const cl_event *waited, cl_event *event)
{
    (void)waits, (void)waited;
    char *filled = malloc(size);
    preload_must(filled ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "filling a buffer");
    for (size_t i = 0; i < size; i++) {
        filled[i] = ((const char *)pattern)[i % pattern_size];
    }
    write_part(queue, memory, offset, size, filled);
    free(filled);
    return finish(queue, event);
}

/* Rejected, as drivers may: writes through a mapping cannot be tracked. */
void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint waits, const cl_event *waited, cl_event *event,
                         cl_int *error)
{
    (void)queue, (void)memory, (void)blocking, (void)flags, (void)offset;
    (void)size, (void)waits, (void)waited, (void)event;
    *error = CL_MAP_FAILURE;
    return NULL;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
