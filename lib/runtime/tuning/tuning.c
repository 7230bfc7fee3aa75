#include "runtime/tuning/tuning.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "runtime/tuning/device_key.h"
#include "runtime/tuning/levels.h"

static const size_t largest_file = 1 << 16;

static const char *const variants[] = {"auto", "cpu", "gpu", NULL};
static const char *const gemms[] = {"auto", "native", "clblast", NULL};
static const char *const attentions[] = {"auto", "fused", "batched", NULL};

/* clang-format off */
/* candidates: the subset of the first three words that tuning may compare */
#define CHOICE(name, variable, words, last, candidates)                                                       \
    {name, variable, words, 0, 0, last, {0, 1, 2}, candidates}
#define SKINNY_ROWS(precision)                                                                               \
    {"skinny_rows_" precision, NULL, NULL, 32, 0, 1024, {0, 8, 16, 32, 64, 128}, 6}
#define STEP_ROWS(precision)                                                                                 \
    {"step_rows_" precision, NULL, NULL, 65536, 0, 65536, {0, 4, 8, 16, 32, 65536}, 6}

const struct clf__tunable_info clf__tunables[CLF__TUNABLE_COUNT] = {
    CHOICE("variant", "CLFORMER_VARIANT", variants, CLF_VARIANT_GPU, 3),
    CHOICE("gemm", "CLFORMER_GEMM", gemms, CLF_GEMM_CLBLAST, 3),
    CHOICE("attention", "CLFORMER_ATTENTION", attentions, CLF_ATTENTION_BATCHED, 3),
    CHOICE("instructions", "CLFORMER_INSTRUCTIONS", clf__level_words, CLF_INSTRUCTIONS_DPAS16, 2),
    /* GEMM of the CPU variant: groups per core, and the maximum size of a group's operand in KiB; see
     * clf__cpu_rows_per_group(). */
    {"cpu_groups", NULL, NULL, 8, 1, 64, {2, 4, 8, 16}, 4},
    {"cpu_operand_kib", NULL, NULL, 256, 16, 16384, {128, 256, 512, 1024}, 4},
    /* GEMM of the GPU variant: up to this many rows, native kernels are used even with CLBlast. */
    {"row_major_rows", NULL, NULL, 32, 0, 1024, {0, 8, 16, 32, 64, 128}, 6},
    /* The default of --batch-tokens for the GPU variant; 0: depends on the number of compute units. */
    {"batch_tokens", NULL, NULL, 0, 0, 1 << 20, {0, 2048, 4096, 8192, 65536, 131072}, 6},
    /* Decoding steps that are enqueued at the same time; 0: 2 for the GPU variant, 1 for the CPU variant. */
    {"pipelined_steps", NULL, NULL, 0, 0, 2, {0, 1, 2}, 3},
    /* GEMM of the GPU variant: up to this many rows, the kernel for few rows is used even if there are
     * many tiles. */
    SKINNY_ROWS("fp32"), SKINNY_ROWS("fp16"), SKINNY_ROWS("bf16"), SKINNY_ROWS("int8"),
    /* Decoding steps with up to this many rows run whole layers in one launch. */
    STEP_ROWS("fp32"), STEP_ROWS("fp16"), STEP_ROWS("bf16"), STEP_ROWS("int8"),
};
/* clang-format on */

struct clf__tuning clf__tuning_standard(void)
{
    struct clf__tuning tuning;
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        tuning.values[i] = clf__tunables[i].standard;
    }
    return tuning;
}

int clf__tuning_is_standard(const struct clf__tuning *tuning)
{
    struct clf__tuning standard = clf__tuning_standard();
    return memcmp(tuning, &standard, sizeof standard) == 0;
}

void clf__tuning_file_free(struct clf__tuning_file *file)
{
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        clf__free(file->notes[i]);
        file->notes[i] = NULL;
    }
}

clf_status clf__tuning_path(char **out, const struct clf_device_info *info)
{
    char *folder = NULL, *key = NULL;
    CLF__TRY(clf__environment_cache_folder(&folder));
    clf_status status = clf__device_key(&key, info);
    if (status == CLF_OK) {
        status = clf__format(out, "%s/tuning/%016" PRIx64 ".txt", folder,
                             clf__fnv(CLF__FNV_BEGIN, key, strlen(key)));
    }
    clf__free(key);
    clf__free(folder);
    return status;
}

void clf__tunable_text(char text[CLF__TUNABLE_TEXT], enum clf__tunable tunable, int value)
{
    const char *const *words = clf__tunables[tunable].words;
    if (words) {
        snprintf(text, CLF__TUNABLE_TEXT, "%s", words[value]);
    } else {
        snprintf(text, CLF__TUNABLE_TEXT, "%d", value);
    }
}

clf_status clf__tuning_set(struct clf__tuning_file *file, enum clf__tunable tunable, int value,
                           const char *note)
{
    char *copy = NULL;
    if (note) {
        CLF__TRY(clf__copy_string(&copy, note));
    }
    clf__free(file->notes[tunable]);
    file->notes[tunable] = copy;
    file->tuning.values[tunable] = value;
    file->is_set[tunable] = 1;
    return CLF_OK;
}

/* Returns NULL, or the reason why the text is not a valid value of the parameter. */
static const char *parse_value(int *out, const struct clf__tunable_info *tunable, const char *text)
{
    for (int i = 0; tunable->words && tunable->words[i]; i++) {
        if (strcmp(tunable->words[i], text) == 0) {
            *out = i;
            return NULL;
        }
    }
    if (tunable->words) {
        return "is not one of the allowed values";
    }
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0') {
        return "is not an integer";
    }
    if (errno != 0 || value < tunable->least || value > tunable->most) {
        return "is out of range";
    }
    *out = (int)value;
    return NULL;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* Reads a line: "name = value # note", a comment, or nothing. */
static clf_status read_line(struct clf__tuning_file *file, char *line, const char *path, int number)
{
    char *note = strchr(line, '#');
    if (note) {
        *note++ = '\0';
    }
    line = trim(line);
    if (*line == '\0') {
        return CLF_OK;
    }
    char *value = strchr(line, '=');
    if (value == NULL) {
        clf__log(CLF_LOG_WARNING, "%s:%d: \"%s\" is not of the form \"name = value\"; the line is ignored",
                 path, number, line);
        return CLF_OK;
    }
    *value++ = '\0';
    line = trim(line);
    value = trim(value);
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        if (strcmp(clf__tunables[i].name, line) == 0) {
            int parsed = 0;
            const char *problem = parse_value(&parsed, &clf__tunables[i], value);
            if (problem == NULL) {
                return clf__tuning_set(file, (enum clf__tunable)i, parsed, note ? trim(note) : NULL);
            }
            clf__log(CLF_LOG_WARNING, "%s:%d: %s = %s: the value %s; the default is used", path, number, line,
                     value, problem);
            return CLF_OK;
        }
    }
    clf__log(CLF_LOG_WARNING, "%s:%d: unknown parameter \"%s\"; the line is ignored", path, number, line);
    return CLF_OK;
}

clf_status clf__tuning_read(struct clf__tuning_file *out, const char *path)
{
    *out = (struct clf__tuning_file){.tuning = clf__tuning_standard()};
    if (!clf__file_exists(path) && !clf__folder_exists(path)) {
        return CLF_OK;
    }
    char *text = NULL;
    size_t size = 0;
    clf_status status = clf__owned_file_read(&text, &size, path, largest_file);
    if (status != CLF_OK && status != CLF_OUT_OF_MEMORY) {
        clf__log(CLF_LOG_WARNING, "%s; the device is not tuned", clf_last_error());
        return CLF_OK;
    }
    int number = 1;
    for (char *line = text, *end; status == CLF_OK && line; line = end, number++) {
        end = strchr(line, '\n');
        if (end) {
            *end++ = '\0';
        }
        status = read_line(out, line, path, number);
    }
    clf__free(text);
    if (status != CLF_OK) {
        clf__tuning_file_free(out);
    }
    return status;
}

clf_status clf__tuning_write(const char *path, const struct clf_device_info *info,
                             const struct clf__tuning_file *file)
{
    char *text = NULL;
    CLF__TRY(clf__format(
        &text,
        "# Written by clformer tune, version %s. Delete lines, or the file, to restore the defaults.\n"
        "# device: %s, driver %s; %s\n",
        CLF_VERSION_STRING, info->name, info->driver, info->platform_name));
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < CLF__TUNABLE_COUNT; i++) {
        if (file->is_set[i]) {
            char value[CLF__TUNABLE_TEXT];
            clf__tunable_text(value, (enum clf__tunable)i, file->tuning.values[i]);
            const char *note = file->notes[i];
            status = clf__append(&text, "%s = %s%s%s\n", clf__tunables[i].name, value, note ? "  # " : "",
                                 note ? note : "");
        }
    }
    if (status == CLF_OK) {
        status = clf__owned_file_write(path, text, strlen(text));
    }
    clf__free(text);
    return status;
}

clf_status clf__tuning_load(struct clf__tuning *out, int *is_tuned, const struct clf_device_info *info,
                            const struct clf_device_options *options)
{
    *out = clf__tuning_standard();
    *is_tuned = 0;
    int uses = 0;
    CLF__TRY(clf__environment_uses_tuning(&uses));
    if (!options->use_tuning || !uses) {
        return CLF_OK;
    }
    char *path = NULL;
    clf_status status = clf__tuning_path(&path, info);
    if (status != CLF_OK) {
        return status == CLF_FILE ? CLF_OK : status; /* the program cache reports the missing folder */
    }
    struct clf__tuning_file file = {.notes = {NULL}};
    status = clf__tuning_read(&file, path);
    if (status == CLF_OK) {
        *out = file.tuning;
        for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
            *is_tuned |= file.is_set[i];
        }
        clf__tuning_file_free(&file);
    }
    if (*is_tuned) {
        clf__log(CLF_LOG_INFO, "device %d \"%s\": using tuned settings from %s", info->index, info->name,
                 path);
    }
    clf__free(path);
    return status;
}

static clf_status fail_word(const struct clf__tunable_info *tunable, const char *word)
{
    const char *const *words = tunable->words;
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; i < tunable->most && used < sizeof known; i++) {
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    return clf__fail(CLF_BAD_ARGUMENT, "%s: unknown value \"%s\"; use %s or %s", tunable->variable, word,
                     known, words[tunable->most]);
}

clf_status clf__tuning_choose(struct clf_device_options *options, const struct clf__tuning *tuning)
{
    int *const choices[CLF__TUNABLE_CHOICES] = {(int *)&options->variant, (int *)&options->gemm,
                                                (int *)&options->attention, (int *)&options->instructions};
    for (int i = 0; i < CLF__TUNABLE_CHOICES; i++) {
        if (*choices[i] < 0 || *choices[i] > clf__tunables[i].most) {
            return clf__fail(
                CLF_BAD_ARGUMENT,
                "device options: variant %d, gemm %d, attention %d or instructions %d is invalid; "
                "initialise the struct with clf_device_options_init()",
                *choices[0], *choices[1], *choices[2], *choices[3]);
        }
    }
    for (int i = 0; i < CLF__TUNABLE_CHOICES; i++) {
        const struct clf__tunable_info *tunable = &clf__tunables[i];
        const char *word = *choices[i] == 0 ? clf__environment_value(tunable->variable) : NULL;
        if (word != NULL && parse_value(choices[i], tunable, word) != NULL) {
            return fail_word(tunable, word);
        }
        if (word == NULL && *choices[i] == 0) {
            *choices[i] = tuning->values[i];
        }
    }
    return CLF_OK;
}
