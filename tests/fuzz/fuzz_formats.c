/* Any bytes as the files of another engine's folder: an error that names the folder, or a configuration. The
 * first byte chooses the engine; a line "====" separates its files. */
#include "fuzz/weights.h"

#include "model/config/config.h"
#include "model/formats/format.h"

enum { FILES = 4 };
static const char *const layouts[][FILES] = {
    {"model.bin", "config.json", "shared_vocabulary.json", NULL},
    {"model.bin", "config.json", "source_vocabulary.txt", "target_vocabulary.txt"},
    {"model.bin", "config.yml", "vocab.yml", "lex.bin"},
    {"model.npz", "vocab.txt", NULL, NULL},
};
static const char separator[] = "\n====\n";
enum { SEPARATOR_BYTES = sizeof separator - 1 };

/* The bytes before the next separator. */
static size_t part_size(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + SEPARATOR_BYTES <= size; i++) {
        if (memcmp(data + i, separator, SEPARATOR_BYTES) == 0) {
            return i;
        }
    }
    return size;
}

static void write_files(const char *const *names, const uint8_t *data, size_t size)
{
    for (int i = 0; i < FILES && names[i] != NULL; i++) {
        size_t part = part_size(data, size);
        size_t taken = part + SEPARATOR_BYTES < size ? part + SEPARATOR_BYTES : size;
        fuzz_file(names[i], data, part);
        data += taken;
        size -= taken;
    }
}

static int check(clf_status status, const char *folder)
{
    if (status != CLF_OK && strstr(clf_last_error(), folder) == NULL) {
        abort();
    }
    return status == CLF_OK;
}

static void use(const char *folder)
{
    struct clf__config config;
    struct clf__weights *weights;
    struct clf__tokenizer *tokenizer;
    if (!check(clf__format_read_config(&config, folder), folder)) {
        return;
    }
    if (check(clf__format_open_weights(&weights, folder), folder)) {
        clf__weights_close(weights);
    }
    if (check(clf__format_load_tokenizer(&tokenizer, folder, &config), folder)) {
        clf__tokenizer_free(tokenizer);
    }
    clf__config_free(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *const *names = layouts[data[0] % (sizeof layouts / sizeof *layouts)];
    write_files(names, data + 1, size - 1);
    use(fuzz_folder());
    for (int i = 0; i < FILES && names[i] != NULL; i++) {
        fuzz_remove_file(names[i]);
    }
    return 0;
}
