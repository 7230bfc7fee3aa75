/* Any bytes as config.json and, after the first NUL, generation_config.json: a failure that names one of
 * them, or a configuration that holds together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || (size > 0 && fwrite(data, 1, size, file) != size) || fclose(file) != 0) {
        abort();
    }
}

static void check(int holds)
{
    if (!holds) {
        abort();
    }
}

static void check_config(const struct clf__config *config)
{
    const struct clf__search_options *options = &config->generation;
    check(config->d_model > 0 && config->encoder_layers > 0 && config->decoder_layers > 0);
    check(config->encoder_heads > 0 && config->encoder_key_width > 0 && config->encoder_value_width > 0);
    check(config->decoder_heads > 0 && config->decoder_key_width > 0 && config->decoder_value_width > 0);
    check(config->encoder_ffn > 0 && config->decoder_ffn > 0 && config->encoder_max_positions > 0);
    check((config->source_vocabulary > 0) != (config->feature_size > 0));
    check(!config->share_source_target || config->source_vocabulary == config->target_vocabulary);
    check(config->decoder_start_id >= 0 && config->decoder_start_id < config->target_vocabulary);
    check(config->source_end_id < config->source_vocabulary || config->source_end_id == -1);
    check(options->vocabulary == config->target_vocabulary && options->beams >= options->n_best);
    check(options->min_length <= options->max_length && options->max_length <= config->decoder_max_positions);
    check(options->start_id >= 0 && options->start_id < options->vocabulary);
    check(options->start_id != config->pad_id ||
          (config->system != CLF__JADORE && config->system != CLF__ANNOTATED));
    check(options->end_id >= 0 && options->end_id < options->vocabulary);
    for (int i = 0; i < options->bad_word_count; i++) {
        check(options->bad_word_offsets[i] < options->bad_word_offsets[i + 1]);
        check(options->bad_words[options->bad_word_offsets[i]] < options->vocabulary);
    }
    for (int i = 0; i < options->suppressed_count; i++) {
        check(options->suppressed[i] >= 0 && options->suppressed[i] < options->vocabulary);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/fuzz_config.XXXXXX", path[64], generation[64];
    check(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/config.json", folder);
    snprintf(generation, sizeof generation, "%s/generation_config.json", folder);
    const uint8_t *mark = size > 0 ? memchr(data, 0, size) : NULL;
    write_file(path, data, mark ? (size_t)(mark - data) : size);
    if (mark) {
        write_file(generation, mark + 1, size - (size_t)(mark - data) - 1);
    }
    struct clf__config config;
    clf_status status = clf__config_load(&config, folder);
    if (status == CLF_OK) {
        check_config(&config);
        clf__config_free(&config);
    } else {
        check(status == CLF_FORMAT || status == CLF_UNSUPPORTED);
        check(strstr(clf_last_error(), folder) != NULL);
    }
    unlink(path);
    unlink(generation);
    rmdir(folder);
    return 0;
}
