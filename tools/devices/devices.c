/* clformer devices */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/environment.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "devices/report.h"
#include "runtime/device/device.h"
#include "runtime/tuning/levels.h"
#include "runtime/tuning/tuning.h"
#include "shared/command.h"

static const char help[] =
    "Usage: clformer devices [--json] [--report]\n"
    "\n"
    "Lists all OpenCL devices and shows which one is the default, and why. The default is the first\n"
    "device in default order that passes a short check, or the device that $CLFORMER_DEVICE names. GPUs\n"
    "come before CPUs, GPUs with dedicated memory before other GPUs, then GPUs with a higher estimated\n"
    "peak rate first. If one card has two drivers, or if an integrated GPU competes with a CPU, clformer\n"
    "measures once which one is faster. The other verbs take -d with an index, gpu, cpu, a PCI address, a\n"
    "UUID (or at least its first 8 digits) or a part of a name.\n"
    "\n"
    "--report measures each device and prints information for bug reports: limits, extensions, kernels,\n"
    "launch times and peak rates.\n"
    "\n"
    "Example:\n"
    "  $ clformer devices\n"
    "  $ clformer devices --report > report.json\n"
    "  $ clformer translate -m MODEL -d 1 < lines\n"
    "  $ clformer translate -m MODEL -d 03:00.0 < lines\n";

static const char *kind_word(clf_device_kind kind)
{
    return kind == CLF_DEVICE_GPU ? "gpu" : kind == CLF_DEVICE_CPU ? "cpu" : "other";
}

/* Opens the default device; NULL if no device passes the check. */
static struct clf_device *open_default(void)
{
    struct clf_device *device;
    if (clf_device_open(&device, NULL, NULL) != CLF_OK) {
        fprintf(stderr, "clformer: no default device: %s\n", clf_last_error());
        return NULL;
    }
    return device;
}

/* Returns the path of the tuning file of a device, which the caller frees by clf__free(); NULL if there is no
 * file. */
static char *find_tuning(const struct clf_device_info *info)
{
    char *path = NULL;
    int uses = 0;
    if (clf__environment_uses_tuning(&uses) != CLF_OK || !uses || clf__tuning_path(&path, info) != CLF_OK) {
        return NULL;
    }
    char *text = NULL;
    size_t size = 0;
    if (clf__owned_file_read(&text, &size, path, 1 << 16) != CLF_OK) { /* missing or unreadable */
        clf__free(path);
        path = NULL;
    }
    clf__free(text);
    return path;
}

/* Prints the PCI address and UUID, which distinguish cards of the same name, if the driver reports them. */
static void print_address(const struct clf_device_info *info)
{
    const char *pci = info->pci_address, *uuid = info->uuid;
    if (*pci != '\0' || *uuid != '\0') {
        printf("   address   %s%s%s%s%s\n", *pci != '\0' ? "PCI " : "", pci,
               *pci != '\0' && *uuid != '\0' ? ", " : "", *uuid != '\0' ? "UUID " : "", uuid);
    }
}

/* Prints the trials of matrix instructions and of waiting work-groups. device: the open device, or NULL. */
static void print_trials(const struct clf_device *device)
{
    for (int i = 0; device != NULL && i < device->trials.count; i++) {
        const struct clf__level_trial *trial = &device->trials.trials[i];
        char text[CLF__LEVEL_TRIAL_TEXT];
        clf__level_trial_describe(text, trial);
        printf("   matrix    %s: %s\n", clf__level_words[trial->level], text);
    }
    if (device != NULL && device->barrier_trial.is_tried) {
        int is_used = clf__barrier_trial_is_used(&device->barrier_trial);
        printf("   barriers  between work-groups without device-scope atomics: %s%s\n",
               is_used ? "" : "not used: ", clf__barrier_trial_describe(&device->barrier_trial));
    }
}

/* device: the open device if this is the default, or NULL. */
static void print_text(const struct clf_device_info *info, const struct clf_device *device)
{
    int is_default = device != NULL;
    const char *named = getenv("CLFORMER_DEVICE");
    const char *mark = named != NULL && *named != '\0' ? "  default ($CLFORMER_DEVICE)" : "  default";
    printf("%d  %s  [%s]%s\n", info->index, info->name, kind_word(info->kind), is_default ? mark : "");
    printf("   platform  %s, %s\n", info->platform_name, info->platform_version);
    printf("   driver    %s; %s\n", info->driver, info->version);
    printf("   memory    %.2f GiB%s, largest buffer %.2f GiB, %" PRIu64 " KiB local; %u compute units",
           (double)info->memory_bytes / (1 << 30),
           info->kind != CLF_DEVICE_GPU ? ""
           : info->shares_memory        ? " shared with the CPU"
                                        : " dedicated",
           (double)info->max_buffer_bytes / (1 << 30), info->local_memory_bytes / 1024, info->compute_units);
    if (info->kind == CLF_DEVICE_GPU && info->clock_mhz > 0) {
        printf(" at up to %u MHz", info->clock_mhz);
    }
    printf("\n");
    print_address(info);
    printf("   features  compiler %s, fp16 %s, sub-groups %s, integer dot product %s; %s kernels\n",
           info->has_compiler ? "yes" : "no", info->has_fp16 ? "yes" : "no",
           info->has_subgroups ? "yes" : "no", info->has_integer_dot_product ? "yes" : "no",
           info->variant == CLF_VARIANT_CPU ? "CPU" : "GPU");
    if (is_default) {
        printf("   level     %s: int8 dot products %s, bf16 dot products %s\n",
               clf__level_words[info->instructions], info->has_dot_int8 ? "yes" : "no",
               info->has_dot_bf16 ? "yes" : "no");
    }
    print_trials(device);
    char *tuning = find_tuning(info);
    if (tuning != NULL) {
        printf("   tuned     %s\n", tuning);
        clf__free(tuning);
    }
    if (info->candidate_order >= 0) {
        printf("   order     %d: %s\n", info->candidate_order + 1, info->order_reason);
    } else {
        printf("   order     never the default: %s\n", info->order_reason);
    }
}

/* Returns a flag that is known only for an open device; null for other devices. */
static json_t *found(int has, int is_open)
{
    return is_open ? json_boolean(has) : json_null();
}

static int print_json(const struct clf_device_info *info, const struct clf_device *device)
{
    int is_default = device != NULL;
    char *tuning = find_tuning(info);
    json_t *object = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:o, s:o, "
        "s:s, s:b, s:i, s:s, s:s?, s:i, s:b, s:s?, s:s?, s:s?, s:o, s:s?}",
        "index", info->index, "kind", kind_word(info->kind), "name", info->name, "vendor", info->vendor,
        "version", info->version, "driver", info->driver, "platform", info->platform_name, "platform_vendor",
        info->platform_vendor, "platform_version", info->platform_version, "compute_units",
        (int)info->compute_units, "memory_bytes", (json_int_t)info->memory_bytes, "max_buffer_bytes",
        (json_int_t)info->max_buffer_bytes, "local_memory_bytes", (json_int_t)info->local_memory_bytes,
        "compiler", info->has_compiler, "fp16", info->has_fp16, "subgroups", info->has_subgroups,
        "integer_dot_product", info->has_integer_dot_product, "dot_int8",
        found(info->has_dot_int8, is_default), "dot_bf16", found(info->has_dot_bf16, is_default), "variant",
        info->variant == CLF_VARIANT_CPU ? "cpu" : "gpu", "default", is_default, "candidate_order",
        info->candidate_order, "order_reason", info->order_reason, "tuning", tuning, "clock_mhz",
        (int)info->clock_mhz, "shares_memory", info->shares_memory, "pci_address",
        *info->pci_address != '\0' ? info->pci_address : NULL, "uuid",
        *info->uuid != '\0' ? info->uuid : NULL, "instructions",
        is_default ? clf__level_words[info->instructions] : NULL, "matrix_levels",
        device != NULL ? trials_array(device) : json_null(), "barriers_without_atomics",
        device != NULL ? clf__barrier_trial_describe(&device->barrier_trial) : NULL);
    clf__free(tuning);
    if (object == NULL) {
        fprintf(stderr, "clformer: the strings reported by device %d are not valid UTF-8\n", info->index);
        return EXIT_FAILED;
    }
    json_dumpf(object, stdout, JSON_COMPACT);
    printf("\n");
    json_decref(object);
    return EXIT_DONE;
}

int verb_devices(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_JSON | TAKES_REPORT, help);
    if (status < 0) {
        status = flags_operands(&flags, 0, 0, "devices takes only flags");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    struct clf_device_list *list;
    clf_status listed = clf_device_list_create(&list);
    if (listed != CLF_OK) {
        return report_failure(listed);
    }
    int count = clf_device_list_count(list);
    if (flags.report && count > 0) {
        status = report_devices(list);
        clf_device_list_free(list);
        return status;
    }
    struct clf_device *opened = count > 0 ? open_default() : NULL;
    const struct clf_device_info *default_info = opened != NULL ? clf_device_describe(opened) : NULL;
    status = EXIT_DONE;
    for (int i = 0; i < count && status == EXIT_DONE; i++) {
        const struct clf_device *device = default_info != NULL && default_info->index == i ? opened : NULL;
        /* The list of the open device includes measured results. */
        const struct clf_device_info *info = clf_device_list_at(opened != NULL ? opened->list : list, i);
        if (flags.json) {
            status = print_json(info, device);
        } else {
            print_text(info, device);
        }
    }
    status = count == 0 ? report_no_device(list) : status;
    clf_device_close(opened);
    clf_device_list_free(list);
    return status;
}
