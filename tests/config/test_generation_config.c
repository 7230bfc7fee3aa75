/* Decoding defaults of a folder: generation_config.json, or in old folders config.json. */
#include "config/config_folder.h"

static void test_generation(void **state)
{
    (void)state;
    struct clf__config c =
        load_config(marian_config, "\"num_beams\": 7, \"max_length\": 3",
                    "\"num_beams\": 5, \"num_return_sequences\": 2, \"length_penalty\": -0.5, "
                    "\"early_stopping\": \"never\", "
                    "\"forced_bos_token_id\": 7, \"forced_eos_token_id\": [0], "
                    "\"bad_words_ids\": [[39], [0], [1, 2, 3], [0, 4]], "
                    "\"suppress_tokens\": [8, 9], \"min_length\": 3, \"decoder_start_token_id\": "
                    "38, \"eos_token_id\": 0, \"repetition_penalty\": 1.3, "
                    "\"encoder_repetition_penalty\": 0.5, "
                    "\"length_rule\": \"none\", \"max_new_tokens\": 33");
    const struct clf__search_options *o = &c.generation;
    assert_true(o->beams == 5 && o->n_best == 2 && o->length_penalty == -0.5f);
    assert_int_equal(o->early_stopping, CLF__STOP_NEVER);
    assert_int_equal(o->length_rule, CLF__LENGTH_NONE);
    assert_true(c.forced_first == 7 && o->forced_last == 0 && o->start_id == 38 && o->end_id == 0);
    assert_true(o->min_length == 3 && o->max_length == 33);
    assert_true(o->repetition_penalty == 1.3f && o->source_repetition_penalty == 0.5f);
    assert_true(o->suppressed_count == 2 && o->suppressed[1] == 9);
    assert_int_equal(o->bad_word_count, 3); /* a single end token is not banned */
    static const int32_t words[] = {39, 1, 2, 3, 0, 4}, offsets[] = {0, 1, 4, 6};
    assert_memory_equal(o->bad_words, words, sizeof words);
    assert_memory_equal(o->bad_word_offsets, offsets, sizeof offsets);
    clf__config_free(&c);
    /* Old folders have these keys in config.json. */
    c = load_config(
        marian_config,
        "\"num_beams\": 6, \"max_length\": 100, \"bad_words_ids\": [[39]], \"early_stopping\": true", NULL);
    assert_true(c.generation.beams == 6 && c.generation.max_length == 99 && c.generation.bad_word_count == 1);
    assert_int_equal(c.generation.early_stopping, CLF__STOP_TRUE);
    clf__config_free(&c);
    c = load_config(marian_config, "", "\"early_stopping\": \"all\", \"length_rule\": \"jadore\"");
    assert_int_equal(c.generation.early_stopping, CLF__STOP_ALL);
    assert_int_equal(c.generation.length_rule, CLF__LENGTH_INCLUDING_START);
    clf__config_free(&c);
    c = load_config(marian_config, "", "\"eos_token_id\": [0, 7, 9], \"bad_words_ids\": [[9], [8], [9, 9]]");
    assert_true(c.generation.end_id == 0 && c.generation.other_end_count == 2);
    assert_true(c.generation.other_end_ids[0] == 7 && c.generation.other_end_ids[1] == 9);
    assert_int_equal(c.generation.bad_word_count, 2); /* a single end token is not banned */
    clf__config_free(&c);
    c = load_config(
        marian_config, "",
        "\"do_sample\": true, \"num_beams\": 1, \"num_return_sequences\": 7, \"temperature\": 0.5, "
        "\"top_k\": null, \"top_p\": 0.9, \"min_p\": 0.25, \"typical_p\": 0.75, \"epsilon_cutoff\": "
        "0.125, \"eta_cutoff\": 0.0625");
    const struct clf__sampling *sampling = &c.generation.sampling;
    assert_true(sampling->is_on && c.generation.n_best == 7 && sampling->temperature == 0.5f);
    assert_true(sampling->top_k == 50 && sampling->top_p == 0.9f && sampling->min_p == 0.25f);
    assert_true(sampling->typical_p == 0.75f && sampling->epsilon_cutoff == 0.125f);
    assert_true(sampling->eta_cutoff == 0.0625f);
    clf__config_free(&c);
    c = load_config(marian_config, "", "\"exponential_decay_length_penalty\": [5, 1.5]");
    assert_true(c.generation.decay_start == 5 && c.generation.decay_factor == 1.5f);
    clf__config_free(&c);
    c = load_config(marian_config, "",
                    "\"sequence_bias\": [[[1, 2], 0.5], [[7], -3], [[1, 2], 1.5], [[4], 2], [[7], 2.5]]");
    static const int32_t biased[] = {1, 2, 7, 4}, biased_offsets[] = {0, 2, 3, 4};
    static const float biases[] = {1.5f, 2.5f, 2.0f}; /* the last of duplicate sequences counts */
    assert_int_equal(c.generation.biased_count, 3);
    assert_memory_equal(c.generation.biased, biased, sizeof biased);
    assert_memory_equal(c.generation.biased_offsets, biased_offsets, sizeof biased_offsets);
    assert_memory_equal(c.generation.biases, biases, sizeof biases);
    clf__config_free(&c);
    c = load_config(marian_config, "", "\"num_beam_groups\": 2, \"diversity_penalty\": 0.5");
    assert_int_equal(c.generation.groups, 2);
    assert_true(c.generation.diversity_penalty == 0.5f);
    clf__config_free(&c);
    c = load_config(marian_config, "", "\"min_new_tokens\": 4");
    assert_int_equal(c.generation.min_length, 5); /* and then the end token */
    clf__config_free(&c);
}

static void test_generation_warnings(void **state)
{
    (void)state;
    folder_log_start();
    struct clf__config c = load_config(
        marian_config, "\"max_position_embeddings\": 50",
        "\"watermarking_config\": {\"bias\": 2}, \"temperature\": 0, \"no_repeat_ngram_size\": 3, "
        "\"repetition_penalty\": 1.5, "
        "\"guidance_scale\": 0.5, \"remove_invalid_values\": true, \"sequence_bias\": [[[3], 1.5]], "
        "\"encoder_no_repeat_ngram_size\": 4, \"begin_suppress_tokens\": [2, 3], "
        "\"max_length\": 512, \"force_words_ids\": [], \"max_time\": 2.5");
    folder_log_stop();
    assert_int_equal(c.generation.max_length, 50);
    assert_non_null(strstr(folder_logged, "\"watermarking_config\" is not supported and is ignored"));
    assert_false(c.generation.sampling.is_on);
    assert_int_equal(c.generation.no_repeat_ngram, 3);
    assert_int_equal(c.generation.source_no_repeat_ngram, 4);
    assert_int_equal(c.generation.begin_suppressed_count, 2);
    assert_int_equal(c.generation.begin_suppressed[1], 3);
    assert_null(strstr(folder_logged, "no_repeat_ngram_size"));
    assert_non_null(strstr(folder_logged, "\"guidance_scale\" is not supported and is ignored"));
    assert_non_null(strstr(folder_logged, "\"remove_invalid_values\" is not supported and is ignored"));
    assert_null(strstr(folder_logged, "sequence_bias"));
    assert_non_null(strstr(folder_logged, "511"));
    assert_non_null(strstr(folder_logged, "\"max_time\" is not supported and is ignored"));
    assert_null(strstr(folder_logged, "repetition_penalty"));
    assert_null(strstr(folder_logged, "force_words_ids"));
    clf__config_free(&c);
}

static void test_bad_generation(void **state)
{
    (void)state;
    static const char *const members[] = {
        "\"num_beams\": 0",
        "\"num_beams\": 129",
        "\"num_beams\": \"4\"",
        "\"num_beams\": 2, \"num_return_sequences\": 3",
        "\"length_penalty\": true",
        "\"length_penalty\": 1000.5",
        "\"early_stopping\": \"soon\"",
        "\"max_length\": 1",
        "\"max_length\": 10, \"min_length\": 10",
        "\"max_new_tokens\": 0",
        "\"min_length\": -1",
        "\"forced_bos_token_id\": 40",
        "\"forced_eos_token_id\": \"x\"",
        "\"bad_words_ids\": 7",
        "\"sequence_bias\": {\"3\": 1}",
        "\"sequence_bias\": [[3, 1.5]]",
        "\"sequence_bias\": [[[], 1.5]]",
        "\"sequence_bias\": [[[40], 1.5]]",
        "\"sequence_bias\": [[[3], true]]",
        "\"sequence_bias\": [[[3], 1e7]]",
        "\"sequence_bias\": [[[3]]]",
        "\"bad_words_ids\": [7]",
        "\"bad_words_ids\": [[]]",
        "\"bad_words_ids\": [[3, 40]]",
        "\"bad_words_ids\": [[-1]]",
        "\"suppress_tokens\": [3, \"4\"]",
        "\"suppress_tokens\": {}",
        "\"renormalize_logits\": 1",
        "\"repetition_penalty\": 0",
        "\"top_p\": 1.5",
        "\"exponential_decay_length_penalty\": 2",
        "\"exponential_decay_length_penalty\": [1.5, 1.5]",
        "\"exponential_decay_length_penalty\": [3, 0]",
        "\"top_k\": -1",
        "\"do_sample\": 1",
        "\"do_sample\": true, \"num_beams\": 2, \"num_return_sequences\": 3",
        "\"repetition_penalty\": -1.2",
        "\"encoder_repetition_penalty\": \"1.2\"",
        "\"decoder_start_token_id\": 40",
        "\"eos_token_id\": 40",
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        expect_bad_config(marian_config, "", members[i], CLF_FORMAT, "generation_config.json");
    }
    expect_bad_config(marian_config, "", "\"forced_bos_token_id\": 7, \"suppress_tokens\": [6, 7]",
                      CLF_FORMAT, "\"forced_bos_token_id\" 7 is also in \"suppress_tokens\"");
    expect_bad_config(marian_config, "", "\"forced_eos_token_id\": 0, \"suppress_tokens\": [0]", CLF_FORMAT,
                      "\"forced_eos_token_id\" 0 is also in \"suppress_tokens\"");
    expect_bad_config(marian_config, "", "\"length_rule\": \"short\"", CLF_UNSUPPORTED,
                      "\"length_rule\" is \"short\"; supported: huggingface, gnmt, none, jadore");
    expect_bad_config(marian_config, "", "\"do_sample\": true, \"temperature\": 0.0", CLF_FORMAT,
                      "\"temperature\" is 0, but \"do_sample\" is true");
    expect_bad_config(marian_config, "", "\"do_sample\": true, \"typical_p\": 0", CLF_FORMAT,
                      "\"typical_p\" is 0");
    expect_bad_config(marian_config, "", "\"forced_eos_token_id\": [0, 1]", CLF_UNSUPPORTED,
                      "forced_eos_token_id");
    expect_bad_config(marian_config, "", "\"eos_token_id\": [0, 40]", CLF_FORMAT,
                      "\"eos_token_id\" contains an entry that is not an id");
    expect_bad_config(marian_config, "", "\"eos_token_id\": []", CLF_FORMAT, "not a list of ids");
}

/* A masked start token would leave nothing to attend to, in whichever file it is. */
static void test_a_start_that_is_hidden(void **state)
{
    (void)state;
    static const char *const presets[] = {"jadore", "annotated"};
    for (int i = 0; i < 2; i++) {
        char members[256];
        snprintf(members, sizeof members,
                 "\"model_type\": \"clformer\", \"preset\": \"%s\", \"vocab_size\": 40, \"pad_token_id\": 7, "
                 "\"decoder_start_token_id\": 3",
                 presets[i]);
        expect_bad_config(members, "", "\"decoder_start_token_id\": 7", CLF_FORMAT,
                          "generation_config.json: \"decoder_start_token_id\" is the pad id 7");
        struct clf__config c = load_config(members, "", "\"decoder_start_token_id\": 8");
        assert_int_equal(c.generation.start_id, 8);
        clf__config_free(&c);
    }
    struct clf__config c = load_config(marian_config, "", "\"decoder_start_token_id\": 39");
    assert_int_equal(c.generation.start_id, 39); /* MarianMT starts with its pad token */
    clf__config_free(&c);
}

/* An unreadable file at this name is an error, not a missing file. */
static void test_no_readable_file(void **state)
{
    (void)state;
    const char *folder = write_config(marian_config, "", NULL);
    struct clf__config config;
    char path[300];
    snprintf(path, sizeof path, "%s/generation_config.json", folder);
    assert_int_equal(symlink("nowhere", path), 0);
    assert_fails(clf__config_load(&config, folder), CLF_FILE,
                 "generation_config.json: is a symbolic link to a missing file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_fails(clf__config_load(&config, folder), CLF_FILE, "generation_config.json: is a folder");
    assert_int_equal(rmdir(path), 0);
    assert_ok(clf__config_load(&config, folder));
    clf__config_free(&config);
    /* clformer folders declare two vocabularies only by this file. */
    folder_write_text(folder, "config.json",
                      "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"vocab_size\": 40, "
                      "\"share_encoder_decoder_embeddings\": false}");
    assert_ok(clf__config_load(&config, folder));
    assert_false(config.separate_vocabularies);
    clf__config_free(&config);
    snprintf(path, sizeof path, "%s/target_vocab.json", folder);
    assert_int_equal(symlink("nowhere", path), 0);
    assert_fails(clf__config_load(&config, folder), CLF_FILE,
                 "target_vocab.json: is a symbolic link to a missing file");
    assert_int_equal(unlink(path), 0);
}

/* Heads for word timestamps apply only to models with frames: folders of other architectures may contain the
 * key, which is ignored. */
static void test_word_heads(void **state)
{
    (void)state;
    static const char frames_config[] = "\"model_type\": \"whisper\", \"vocab_size\": 40, \"d_model\": 24, "
                                        "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 3, "
                                        "\"decoder_layers\": 2, \"pad_token_id\": 2, \"bos_token_id\": 2, "
                                        "\"decoder_start_token_id\": 3, \"eos_token_id\": 2";
    struct clf__config c = load_config(frames_config, "\"max_source_positions\": 9, \"num_mel_bins\": 5",
                                       "\"alignment_heads\": [[1, 2], [0, 0]]");
    assert_true(c.word_head_count == 2 && c.word_heads[0].layer == 1 && c.word_heads[0].head == 2);
    assert_true(c.encoder_max_positions == 9 && c.decoder_max_positions == 448 && c.feature_size == 5);
    clf__config_free(&c);
    c = load_config(marian_config, "", "\"alignment_heads\": [[99, 99]]");
    assert_int_equal(c.word_head_count, 0);
    clf__config_free(&c);
    static const char *const bad[] = {"[[2, 0]]", "[[0, 3]]", "[[0, 1, 2]]", "[[0, -1]]", "[1]", "7"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char member[64];
        snprintf(member, sizeof member, "\"alignment_heads\": %s", bad[i]);
        expect_bad_config(frames_config, "", member, CLF_FORMAT, "alignment_heads");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_word_heads, support_teardown),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_generation_warnings),
        cmocka_unit_test(test_bad_generation),
        cmocka_unit_test(test_a_start_that_is_hidden),
        cmocka_unit_test(test_no_readable_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
