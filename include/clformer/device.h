/* OpenCL devices: what is there, and one opened to work on. */
#ifndef CLFORMER_DEVICE_H
#define CLFORMER_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_device;      /* an opened device */
struct clf_device_list; /* what the ICD loader shows */

typedef enum clf_device_kind { CLF_DEVICE_GPU, CLF_DEVICE_CPU, CLF_DEVICE_OTHER } clf_device_kind;

/* How the kernels that a device runs are written: with wide vectors and one work-item in a group, or with
 * many work-items. */
typedef enum clf_form { CLF_FORM_AUTO, CLF_FORM_CPU, CLF_FORM_GPU } clf_form;

/* Who multiplies matrices. CLBlast takes weights in fp32 and batched attention's products; weights in other
 * precisions take the native kernels, with a logged warning where CLBlast was asked for. */
typedef enum clf_gemm { CLF_GEMM_AUTO, CLF_GEMM_NATIVE, CLF_GEMM_CLBLAST } clf_gemm;

/* How attention is computed: one pass without a score matrix, or batched products around a softmax. */
typedef enum clf_attention { CLF_ATTENTION_AUTO, CLF_ATTENTION_FUSED, CLF_ATTENTION_BATCHED } clf_attention;

/* The instruction set level of the kernels; AUTO takes the best one that the device runs. In fp32 and int8
 * every level gives the same bits. With PORTABLE, GPU kernels use no integer dot products that a device
 * reports either. */
typedef enum clf_instructions {
    CLF_INSTRUCTIONS_AUTO,
    CLF_INSTRUCTIONS_PORTABLE,    /* what every device has: OpenCL C alone */
    CLF_INSTRUCTIONS_AVX2,        /* with FMA and F16C */
    CLF_INSTRUCTIONS_AVX_VNNI,    /* and dot products of int8 on 256 bits */
    CLF_INSTRUCTIONS_AVX512,      /* AVX512F and AVX512BW */
    CLF_INSTRUCTIONS_AVX512_VNNI, /* and dot products of int8 on 512 bits */
    CLF_INSTRUCTIONS_AVX512_BF16, /* and dot products of bf16 */
    CLF_INSTRUCTIONS_AMX,  /* and products of int8 and bf16 by tiles (AMX), which AUTO, too, asks Linux for:
                            * for the whole process, whose alternate signal stacks then need 8 KiB more */
    CLF_INSTRUCTIONS_NEON, /* Advanced SIMD of 64-bit Arm */
    CLF_INSTRUCTIONS_DOTPROD, /* and dot products of int8 */
    /* Of GPUs: matrix instructions for fp16, bf16 and int8, which round activations to that precision. */
    CLF_INSTRUCTIONS_NV80,   /* NVIDIA, compute capability 8.0 and later */
    CLF_INSTRUCTIONS_MFMA,   /* AMD CDNA (gfx90a); this and the next two were compiled but never run, and AUTO
                              */
    CLF_INSTRUCTIONS_WMMA11, /* AMD RDNA3; does not take them */
    CLF_INSTRUCTIONS_WMMA12, /* AMD RDNA4 */
    CLF_INSTRUCTIONS_EMULATED, /* NV80 in plain OpenCL C, slowly, for tests; AUTO does not take it either */
} clf_instructions;

/* How weights are stored, and what products are computed from. */
typedef enum clf_precision {
    CLF_PRECISION_FP32,
    CLF_PRECISION_FP16, /* weights rounded to half precision, sums in fp32; activations rounded, too, where
                         * the device has matrix instructions */
    CLF_PRECISION_BF16, /* weights rounded to bfloat16, sums in fp32; activations rounded, too, where the
                         * device has dot products of bf16 and in GPU forms */
    CLF_PRECISION_INT8, /* weights in 8 bits with a scale for each output, activations in 8 bits with a
                         * scale for each row, exact sums; decoding keeps keys and values as halves */
    CLF_PRECISION_AUTO, /* of a model that is loaded: what clf_convert() wrote it in, int8 where another
                         * engine's folder holds that, else fp32 */
} clf_precision;

/* One device of a list; strings are borrowed from the list. */
struct clf_device_info {
    int index; /* 0 .. count-1, stable while the installed drivers are */
    clf_device_kind kind;
    const char *name;
    const char *vendor;
    const char *version;
    const char *driver;
    const char *platform_name;
    const char *platform_vendor;
    const char *platform_version;
    const char *pci_address; /* "0000:03:00.0", "03:00.0" where the driver does not tell the domain, "" where
                                it tells nothing */
    const char *uuid; /* "8932f937-d72c-4106-c12f-20bd9faed9f6"; "" where the driver does not tell it */
    unsigned compute_units;
    unsigned clock_mhz; /* its highest clock; 0 where the driver does not tell it */
    int shares_memory;  /* with the processor, as an integrated GPU does; 0 where the driver does not tell */
    uint64_t memory_bytes;       /* global memory */
    uint64_t max_buffer_bytes;   /* largest single buffer */
    uint64_t local_memory_bytes; /* per work-group */
    int has_compiler;
    int has_fp16;
    int has_subgroups;
    int has_integer_dot_product;
    /* What the CPU form uses of the processor's instructions, found by a kernel when the device is opened; 0
     * and AUTO in a list. has_dot_int8 of a GPU: NVIDIA's dp4a, which no extension names. */
    int has_dot_int8;
    int has_dot_bf16;
    clf_instructions instructions; /* the level */
    clf_form form;                 /* the form its kernels take unless another is asked for */
    int candidate_order; /* 0 = tried first as the default device, then 1, ...; -1 = never tried by itself */
    const char *order_reason; /* why it has that place, a phrase; among GPUs it names the one next to it */
};

/* How to open a device; start from CLF_DEVICE_OPTIONS_INIT. */
struct clf_device_options {
    size_t size; /* of this struct: see clformer.h */
    clf_form form;
    clf_gemm gemm;
    clf_attention attention;
    clf_instructions instructions;
    /* Keep compiled programs in $XDG_CACHE_HOME/clformer, at most $CLFORMER_CACHE_BYTES of them; a folder
     * that another user may write to is left alone, with a logged warning. */
    int use_program_cache;
    int profile;    /* take the time of every kernel, for clf_device_profile() */
    int use_tuning; /* take what `clformer tune` found for the device, where a choice is AUTO and for sizes */
    int reserved;   /* 0 */
};
#define CLF_DEVICE_OPTIONS_INIT                                                                              \
    {                                                                                                        \
        sizeof(struct clf_device_options), CLF_FORM_AUTO, CLF_GEMM_AUTO, CLF_ATTENTION_AUTO,                 \
            CLF_INSTRUCTIONS_AUTO, 1, 0, 1, 0                                                                \
    }

/**
 * Lists every device of every platform; a machine without any gives an empty list, not an error.
 *
 * @param out receives the list; free it with clf_device_list_free().
 */
clf_status clf_device_list_create(struct clf_device_list **out);

/** The number of devices in a list. */
int clf_device_list_count(const struct clf_device_list *list);

/**
 * One device of a list.
 *
 * @param index 0 .. count-1; anything else gives NULL.
 * @return borrowed from the list.
 */
const struct clf_device_info *clf_device_list_at(const struct clf_device_list *list, int index);

/** Frees a list; NULL is ignored. */
void clf_device_list_free(struct clf_device_list *list);

/**
 * Opens a device and proves with a first small kernel that it works; on a GPU also by matrix products and an
 * attention step, whose result is remembered in the cache folder for each driver. One thread at a time may
 * use a device and all that was made on it; other threads may open and use devices of their own meanwhile.
 *
 * @param out      receives the device; close it with clf_device_close(), after everything made on it.
 * @param selector an index of the list (digits alone are one), "gpu", "cpu", a whole PCI address (the domain
 * may be left out), a UUID or its first 8 digits or more ("GPU-" may stand before it), or a part of the
 * device's or platform's name, vendor or version; case ignored. Among several the first in default order is
 * taken, with a logged notice where they have the same name. NULL or "" takes the environment's
 * CLFORMER_DEVICE, and without it the default: a GPU that passes the check, else a CPU. Of several GPUs those
 * with memory of their own are tried first, then those that promise more arithmetic (compute units, their
 * width, clock), then those with more memory. Of two drivers of one card, and of a GPU that shares the
 * processor's memory and a processor, the default is the device that multiplied matrices faster when the
 * first start measured it.
 * @param options  NULL for the defaults.
 * @return CLF_NO_DEVICE when nothing fits; CLF_DEVICE or CLF_BUILD when the chosen one fails, with the next
 *         candidate named in clf_last_error(). A default that fails its check is passed over with a logged
 * warning.
 */
clf_status clf_device_open(struct clf_device **out, const char *selector,
                           const struct clf_device_options *options);

/**
 * Opens the devices that a list means: "0,2", "gpu*", "all".
 *
 * @param out       receives *count devices; close them with clf_devices_close(), after everything made on
 * them.
 * @param selectors with commas between them, each as clf_device_open() takes it, or with a * behind it, which
 * means every usable device that it fits, or "all", every usable one (a card that several drivers show comes
 * once in these two). A device that is named twice is opened once. NULL or "" takes CLFORMER_DEVICE, a list
 * too, and without it the default device.
 * @param options   of each; NULL for the defaults.
 * @return as clf_device_open(). Of several devices those that fail are left out, with a logged warning; that
 * fails only where none is left.
 */
clf_status clf_devices_open(struct clf_device ***out, int *count, const char *selectors,
                            const struct clf_device_options *options);

/** Closes what clf_devices_open() opened; NULL is ignored. */
void clf_devices_close(struct clf_device **devices, int count);

/** What is known about an opened device; borrowed from it. */
const struct clf_device_info *clf_device_describe(const struct clf_device *device);

/* All launches of one kernel together. */
struct clf_kernel_time {
    const char *name; /* the kernel's, "CLBlastSgemm" and the like, "read", "write", "copy" or "fill" */
    int64_t launches;
    double seconds;          /* from start to end by the device's clock */
    double operations;       /* of arithmetic, an fma counted as two; 0 where none are counted */
    double bytes;            /* that it had to read and write at least, each operand once */
    clf_precision precision; /* of what it multiplies: each has an entry of its own */
    int64_t discarded;       /* launches whose time the driver reported wrongly; seconds leaves them out */
};

/**
 * The time of every kernel since the device was opened, or since clf_device_profile_reset(). Waits for what
 * is enqueued.
 *
 * @param out   receives the kernels, the one that took longest first; borrowed from the device until the next
 *              call of this function or of the reset.
 * @param count receives their number: none on a device that was opened without options.profile.
 */
clf_status clf_device_profile(struct clf_device *device, const struct clf_kernel_time **out, int *count);

/** Waits for what is enqueued and forgets all times. */
clf_status clf_device_profile_reset(struct clf_device *device);

/* The most that a device can do in a second, as small kernels of its form measured it. */
struct clf_device_peaks {
    double fma_operations;  /* fp32 fused multiply-adds, each two operations */
    double int8_operations; /* multiply-adds of int8 dot products; 0 where the device has no instruction for
                               them */
    double bf16_operations; /* the same of bf16 */
    double read_bytes;      /* one stream read from memory that no cache holds */
};

/**
 * Measures what the device can do at most, the best of many rounds, in about two seconds, which the profile
 * leaves out.
 *
 * @param out receives the peaks; borrowed from the device until the next call of this function.
 */
clf_status clf_device_measure_peaks(struct clf_device *device, const struct clf_device_peaks **out);

/**
 * Writes newly compiled programs to the cache and closes the device.
 *
 * @param device NULL is ignored. Close it before the program ends: in an exit handler some drivers no longer
 * work.
 */
void clf_device_close(struct clf_device *device);

#ifdef __cplusplus
}
#endif
#endif
