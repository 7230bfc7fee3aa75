/* Any bytes as config.json and, after the first NUL, generation_config.json: an error that names one of them,
 * or a consistent configuration. */
#include "fuzz/files.h"
#include "model/config/config.h"

static void check_config(const struct clf__config *config)
{
    const struct clf__search_options *options = &config->generation;
    fuzz_check(config->d_model > 0 && config->encoder_layers > 0 && config->decoder_layers > 0);
    fuzz_check(config->encoder_heads > 0 && config->encoder_key_width > 0 && config->encoder_value_width > 0);
    fuzz_check(config->decoder_heads > 0 && config->decoder_key_width > 0 && config->decoder_value_width > 0);
    fuzz_check(config->encoder_ffn > 0 && config->decoder_ffn > 0 && config->encoder_max_positions > 0);
    fuzz_check((config->source_vocabulary > 0) != (config->feature_size > 0));
    fuzz_check(!config->share_source_target || config->source_vocabulary == config->target_vocabulary);
    fuzz_check(config->decoder_start_id >= 0 && config->decoder_start_id < config->target_vocabulary);
    fuzz_check(config->source_end_id < config->source_vocabulary || config->source_end_id == -1);
    fuzz_check(options->vocabulary == config->target_vocabulary && options->beams >= options->n_best);
    fuzz_check(options->min_length <= options->max_length &&
               options->max_length <= config->decoder_max_positions);
    fuzz_check(options->start_id >= 0 && options->start_id < options->vocabulary);
    fuzz_check(options->start_id != config->pad_id ||
               (config->architecture != CLF__JADORE && config->architecture != CLF__ANNOTATED));
    fuzz_check(options->end_id >= 0 && options->end_id < options->vocabulary);
    for (int i = 0; i < options->bad_word_count; i++) {
        fuzz_check(options->bad_word_offsets[i] < options->bad_word_offsets[i + 1]);
        fuzz_check(options->bad_words[options->bad_word_offsets[i]] < options->vocabulary);
    }
    for (int i = 0; i < options->suppressed_count; i++) {
        fuzz_check(options->suppressed[i] >= 0 && options->suppressed[i] < options->vocabulary);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size > 0 ? memchr(data, 0, size) : NULL;
    fuzz_file("config.json", data, mark ? (size_t)(mark - data) : size);
    if (mark) {
        fuzz_file("generation_config.json", mark + 1, size - (size_t)(mark - data) - 1);
    }
    struct clf__config config;
    clf_status status = clf__config_load(&config, fuzz_folder());
    if (status == CLF_OK) {
        check_config(&config);
        clf__config_free(&config);
    } else {
        fuzz_check(status == CLF_FORMAT || status == CLF_UNSUPPORTED);
        fuzz_check(strstr(clf_last_error(), fuzz_folder()) != NULL);
    }
    if (mark) {
        fuzz_remove_file("generation_config.json");
    }
    return 0;
}
