/* OpenCL devices: listing, opening, profiling. */
#ifndef CLFORMER_DEVICE_H
#define CLFORMER_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_device;      /* an opened device; threads may share it, see clf_device_open() */
struct clf_device_list; /* the devices that the ICD loader reports */

typedef enum clf_device_kind {
    CLF_DEVICE_GPU = 0,
    CLF_DEVICE_CPU = 1,
    CLF_DEVICE_OTHER = 2,
} clf_device_kind;

/* The kernel variant of a device: CPU kernels use wide vectors and one work-item per work-group, GPU kernels
 * use many work-items. */
typedef enum clf_variant {
    CLF_VARIANT_AUTO = 0,
    CLF_VARIANT_CPU = 1,
    CLF_VARIANT_GPU = 2,
} clf_variant;

/* The GEMM backend. CLBlast is used for fp32 weights and for the matrix multiplications of batched attention.
 * Weights in other precisions use the native kernels; if CLBlast was requested, a warning is logged. */
typedef enum clf_gemm {
    CLF_GEMM_AUTO = 0,
    CLF_GEMM_NATIVE = 1,
    CLF_GEMM_CLBLAST = 2,
} clf_gemm;

/* How attention is computed: fused in one pass without a score matrix, or as batched matrix multiplications
 * and a softmax. */
typedef enum clf_attention {
    CLF_ATTENTION_AUTO = 0,
    CLF_ATTENTION_FUSED = 1,
    CLF_ATTENTION_BATCHED = 2,
} clf_attention;

/* The instruction set level of the kernels. AUTO selects the best level that the device supports; a GPU level
 * only after a trial, see clf_device_open(). In fp32 and int8 all levels give bit-identical results. PORTABLE
 * also disables the integer dot products that a GPU reports. */
typedef enum clf_instructions {
    CLF_INSTRUCTIONS_AUTO = 0,
    CLF_INSTRUCTIONS_PORTABLE = 1,    /* plain OpenCL C, supported by every device */
    CLF_INSTRUCTIONS_AVX2 = 2,        /* with FMA and F16C */
    CLF_INSTRUCTIONS_AVX_VNNI = 3,    /* plus 256-bit int8 dot products */
    CLF_INSTRUCTIONS_AVX512 = 4,      /* AVX512F and AVX512BW */
    CLF_INSTRUCTIONS_AVX512_VNNI = 5, /* plus 512-bit int8 dot products */
    CLF_INSTRUCTIONS_AVX512_BF16 = 6, /* plus bf16 dot products */
    CLF_INSTRUCTIONS_AMX =
        7, /* plus int8 and bf16 tile multiplication. AMX and AUTO request Linux's permission for the whole
              process; alternate signal stacks then need 8 KiB more */
    CLF_INSTRUCTIONS_NEON = 8,    /* Advanced SIMD of 64-bit Arm */
    CLF_INSTRUCTIONS_DOTPROD = 9, /* plus int8 dot products */
    /* GPU levels: matrix instructions for fp16, bf16 and int8, which round activations to that precision. */
    CLF_INSTRUCTIONS_NV80 = 10,   /* NVIDIA, compute capability 8.0 and later */
    CLF_INSTRUCTIONS_MFMA = 11,   /* AMD CDNA (gfx90a). MFMA, WMMA11 and WMMA12 compile, but have never run */
    CLF_INSTRUCTIONS_WMMA11 = 12, /* AMD RDNA3 */
    CLF_INSTRUCTIONS_WMMA12 = 13, /* AMD RDNA4 */
    CLF_INSTRUCTIONS_EMULATED =
        14, /* NV80 emulated in plain OpenCL C, slow, for tests; AUTO does not select it */
    CLF_INSTRUCTIONS_NV75 = 15,   /* NVIDIA, compute capability 7.5 and later; not for bf16. Compiles, but has
                                     never run */
    CLF_INSTRUCTIONS_DPAS8 = 16,  /* Intel, sub-groups of 8 (Arc A, Flex). Compiles, but has never run */
    CLF_INSTRUCTIONS_DPAS16 = 17, /* Intel, sub-groups of 16 (Max, Arc B). Compiles, but has never run */
} clf_instructions;

/* The precision in which weights are stored and matrix multiplications are computed. */
typedef enum clf_precision {
    CLF_PRECISION_AUTO = 0, /* when loading a model: the precision written by clf_convert(), int8 if another
                               engine's folder holds int8, else fp32 */
    CLF_PRECISION_FP32 = 1,
    CLF_PRECISION_FP16 = 2, /* weights in half precision, sums in fp32; activations in half precision if the
                               device has matrix instructions, else in fp32 */
    CLF_PRECISION_BF16 = 3, /* weights in bfloat16, sums in fp32; activations in bfloat16 in GPU kernels and
                               if the device has bf16 dot products, else in fp32 */
    CLF_PRECISION_INT8 = 4, /* weights in 8 bits with one scale per output, activations in 8 bits with one
                               scale per row, exact sums; decoding stores keys and values in half precision */
} clf_precision;

/* One device of a list; the strings are owned by the list. */
struct clf_device_info {
    size_t size; /* size of this struct in the library, see clformer.h */
    int index;   /* 0 to count - 1; changes only if the installed drivers or devices change */
    clf_device_kind kind;
    const char *name;
    const char *vendor;
    const char *version;
    const char *driver;
    const char *platform_name;
    const char *platform_vendor;
    const char *platform_version;
    const char *pci_address; /* "0000:03:00.0"; "03:00.0" if the driver does not report the domain, "" if it
                                reports nothing */
    const char *uuid;        /* "8932f937-d72c-4106-c12f-20bd9faed9f6"; "" if the driver does not report it */
    uint32_t compute_units;
    uint32_t clock_mhz; /* highest clock in MHz; 0 if the driver does not report it */
    int shares_memory; /* 1 if the device shares the host's memory, as an integrated GPU does; 0 if the driver
                          does not report it */
    uint64_t memory_bytes;       /* global memory */
    uint64_t max_buffer_bytes;   /* largest single buffer */
    uint64_t local_memory_bytes; /* per work-group */
    /* 1 if the driver reports the feature, else 0: */
    int has_compiler;
    int has_fp16;
    int has_subgroups;
    int has_integer_dot_product;
    /* Instructions that a probe kernel detected when the device was opened; 0 or AUTO for a device that is
     * only listed. On a GPU, has_dot_int8 means NVIDIA's dp4a, which no extension reports. */
    int has_dot_int8;
    int has_dot_bf16;
    clf_instructions instructions; /* instruction set level */
    clf_variant variant;           /* the kernel variant that AUTO selects */
    int candidate_order; /* rank among candidates for the default device, 0 is tried first; -1: used only if
                            selected by name */
    const char *order_reason; /* reason for candidate_order, as a phrase; for a GPU it names the next GPU */
};

/* Options for opening a device; start from clf_device_options_init(). */
struct clf_device_options {
    size_t size; /* size of this struct, see clformer.h */
    clf_variant variant;
    clf_gemm gemm;
    clf_attention attention;
    clf_instructions instructions;
    /* 1: cache compiled programs in $XDG_CACHE_HOME/clformer, up to $CLFORMER_CACHE_BYTES. A folder that
     * other users can write to is ignored with a logged warning. */
    int use_program_cache;
    int profile;    /* 1: measure the time of every kernel for clf_device_profile() */
    int use_tuning; /* 1: use the results of `clformer tune` for AUTO settings and tile sizes */
    int reserved;   /* 0 */
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_device_options_init_sized(struct clf_device_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_device_options_init(struct clf_device_options *options)
{
    clf_device_options_init_sized(options, sizeof *options);
}

/**
 * Lists every device of every platform. On a machine without devices the list is empty; this is not an error.
 * A platform that fails is skipped with a logged warning.
 *
 * @param out receives the list; free it with clf_device_list_free().
 * @return CLF_OUT_OF_MEMORY, or CLF_DEVICE if the platforms cannot be listed.
 */
CLF_API clf_status clf_device_list_create(struct clf_device_list **out);

/** Returns the number of devices in a list. */
CLF_API int clf_device_list_count(const struct clf_device_list *list);

/**
 * Returns one device of a list.
 *
 * @param list the list.
 * @param index 0 to count - 1; any other index gives NULL.
 * @return the device, owned by the list.
 */
CLF_API const struct clf_device_info *clf_device_list_at(const struct clf_device_list *list, int index);

/** Frees a list; NULL is ignored. */
CLF_API void clf_device_list_free(struct clf_device_list *list);

/**
 * Opens a device and runs a small kernel to check that it works. On a GPU the check also runs matrix
 * multiplications and an attention step; the result is cached per driver in the cache folder.
 *
 * If a GPU may have matrix instructions and options->instructions is AUTO, each of its levels is tried, best
 * first, until one gives exact results and multiplies matrices at least 1.5 times as fast in fp16 as the
 * device does without it; in int8 the faster of both is used. The result is cached per device, driver and
 * version of the kernels. If the environment variable CLFORMER_PROBE names the clformer command, a trial runs
 * in a child process, and a compiler that crashes or hangs for two minutes costs only the level, with one
 * logged warning; the command sets the variable itself. Otherwise the trial runs in the calling process,
 * except for AMD GPUs, whose compiler is known to crash: there, only cached results are used, for example
 * those of `clformer devices`.
 *
 * Threads may share a device and the models on it: each batch or update locks the device. Callbacks run while
 * the device is not locked. Close a device only after everything created on it has been freed.
 *
 * @param out receives the device; close it with clf_device_close() after freeing everything created on it.
 * @param selector an index of the list (digits), "gpu", "cpu", a PCI address (the domain is optional), a UUID
 *     or at least its first 8 digits (with or without "GPU-"), or part of the name, vendor or version of the
 *     device or platform; case is ignored. If several devices match, the first in default order is opened; if
 *     they have the same name, a notice is logged. NULL or "" uses the environment variable CLFORMER_DEVICE,
 *     and if that is not set the default device: a GPU that passes the check, else a CPU. GPUs with dedicated
 *     memory are tried first, then GPUs with a higher estimated arithmetic rate (number and width of compute
 *     units, clock), then GPUs with more memory. Two drivers of one card are compared by the speed of matrix
 *     multiplication, measured once at the first start; so are a GPU that shares the host's memory and a CPU.
 * @param options NULL for the defaults.
 * @return CLF_NO_DEVICE if no device matches; CLF_DEVICE or CLF_BUILD if the selected device fails, with the
 *         next candidate named in clf_last_error(). A default device that fails the check is skipped with a
 *         logged warning.
 */
CLF_API clf_status clf_device_open(struct clf_device **out, const char *selector,
                                   const struct clf_device_options *options);

/**
 * Opens the device of an OpenCL context that the program created, so that the program and the library can
 * share memory and a queue.
 *
 * @param out receives the device; close it with clf_device_close() after freeing everything created on it.
 * @param context a cl_context with a single device. It is retained until the device is closed.
 * @param queue an in-order cl_command_queue of this context, also retained. Commands of the program and of
 *     the library are executed in the order in which they are enqueued. NULL lets the library create a queue.
 * @param options as in clf_device_open(); options->profile requires a queue with CL_QUEUE_PROFILING_ENABLE.
 * @return CLF_BAD_ARGUMENT if the context has several devices, or if the queue belongs to another context,
 *         executes out of order or lacks profiling when options->profile is set; CLF_NO_DEVICE if
 *         clf_device_list_create() does not list the device; else the errors of clf_device_open().
 */
CLF_API clf_status clf_device_open_context(struct clf_device **out, void *context, void *queue,
                                           const struct clf_device_options *options);

/**
 * Opens all devices that a list of selectors matches: "0,2", "gpu*", "all".
 *
 * @param out receives an array of *count devices; close it with clf_devices_close() after freeing everything
 *     created on the devices.
 * @param count receives the number of devices.
 * @param selectors a comma-separated list. Each element is a selector of clf_device_open(), a selector
 *     followed by * (every usable device that matches), or "all" (every usable device); the last two include
 *     a card only once if several drivers report it. A device named twice is opened once. NULL or "" uses
 *     CLFORMER_DEVICE, which may be a list, and if that is not set the default device.
 * @param options options for each device; NULL for the defaults.
 * @return the errors of clf_device_open(). If several devices are selected, devices that fail are skipped
 *         with a logged warning; the call fails only if all of them fail.
 */
CLF_API clf_status clf_devices_open(struct clf_device ***out, int *count, const char *selectors,
                                    const struct clf_device_options *options);

/** Closes the `count` devices opened by clf_devices_open() and frees the array; NULL is ignored. */
CLF_API void clf_devices_close(struct clf_device **devices, int count);

/** Returns the description of an opened device, owned by the device. */
CLF_API const struct clf_device_info *clf_device_describe(const struct clf_device *device);

/* The total of all launches of one kernel. */
struct clf_kernel_time {
    const char *name; /* name of the kernel; "CLBlastSgemm" or another CLBlast routine; "read", "write",
                         "copy" or "fill" */
    int64_t launches;
    double seconds;          /* from start to end on the device's clock */
    double operations;       /* arithmetic operations, a fused multiply-add counts as two; 0 if not counted */
    double bytes;            /* minimum number of bytes read and written, each operand counted once */
    clf_precision precision; /* precision of the operands; each precision has a separate entry */
    int64_t discarded; /* launches for which the driver reported an invalid time; not included in `seconds` */
};

/**
 * Returns the time of every kernel since the device was opened or since the last clf_device_profile_reset().
 * Waits for all enqueued work.
 *
 * @param out receives the kernels, longest total time first; owned by the device and valid until the next
 *     call to this function or clf_device_profile_reset().
 * @param count receives the number of kernels; 0 if the device was opened without options.profile.
 * @param device the device.
 * @return CLF_DEVICE if an enqueued command failed.
 */
CLF_API clf_status clf_device_profile(const struct clf_kernel_time **out, int *count,
                                      struct clf_device *device);

/** Waits for all enqueued work and clears the times. Returns the errors of clf_device_profile(). */
CLF_API clf_status clf_device_profile_reset(struct clf_device *device);

/* Peak rates of a device per second, measured with small kernels of its kernel variant. */
struct clf_device_peaks {
    size_t size;            /* size of this struct in the library, see clformer.h */
    double fma_operations;  /* fp32 fused multiply-adds, each counted as two operations */
    double int8_operations; /* multiply-adds of int8 dot products, each counted as two operations; 0 if the
                               device has no instruction for them */
    double bf16_operations; /* the same for bf16 dot products */
    double read_bytes;      /* bytes read sequentially from an array larger than all caches */
    double fp16_operations; /* the same for fp16 matrix instructions */
};

/**
 * Measures the peak rates of a device as the best of many rounds. Takes about two seconds and does not appear
 * in the profile.
 *
 * @param out receives the peaks; owned by the device and valid until the next call to this function.
 * @param device the device.
 * @return CLF_DEVICE, CLF_BUILD or CLF_DEVICE_MEMORY.
 */
CLF_API clf_status clf_device_measure_peaks(const struct clf_device_peaks **out, struct clf_device *device);

/**
 * Writes newly compiled programs to the cache and closes the device.
 *
 * @param device NULL is ignored. Close the device before the program ends: some drivers do not work in an
 *     exit handler.
 */
CLF_API void clf_device_close(struct clf_device *device);

#ifdef __cplusplus
}
#endif
#endif
