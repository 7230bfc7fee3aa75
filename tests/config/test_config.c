#include "config/config_folder.h"

#include <math.h>

static void test_demo_model(void **state)
{
    (void)state;
    const char *folder = write_config(
        "\"model_type\": \"marian\", \"d_model\": 192, \"activation_function\": \"swish\", "
        "\"encoder_layers\": 3, "
        "\"decoder_layers\": 3, \"encoder_attention_heads\": 6, \"decoder_attention_heads\": 6, "
        "\"encoder_ffn_dim\": 768, \"decoder_ffn_dim\": 760, \"vocab_size\": 4002, \"decoder_vocab_size\": "
        "4002, "
        "\"max_position_embeddings\": 256, \"pad_token_id\": 4001, \"decoder_start_token_id\": 4001, "
        "\"eos_token_id\": 0, \"bos_token_id\": null, \"scale_embedding\": true, \"num_beams\": 9",
        "",
        "\"bad_words_ids\": [[4001]], \"bos_token_id\": 0, \"eos_token_id\": 0, \"forced_eos_token_id\": 0, "
        "\"length_penalty\": 1.0, \"max_length\": 128, \"num_beams\": 4, \"renormalize_logits\": true, "
        "\"early_stopping\": false, \"decoder_start_token_id\": 4001");
    struct clf__config c;
    assert_ok(clf__config_load(&c, folder));
    assert_int_equal(c.architecture, CLF__MARIAN);
    assert_int_equal(c.source_vocabulary, 4002);
    assert_int_equal(c.target_vocabulary, 4002);
    assert_int_equal(c.d_model, 192);
    assert_int_equal(c.encoder_layers, 3);
    assert_int_equal(c.encoder_key_width, 32);
    assert_int_equal(c.decoder_value_width, 32);
    assert_int_equal(c.encoder_ffn, 768);
    assert_int_equal(c.decoder_ffn, 760);
    assert_int_equal(c.encoder_max_positions, 256);
    assert_int_equal(c.activation, CLF__SILU);
    assert_int_equal(c.sinusoid_layout, CLF__SINUSOID_HALVES);
    assert_int_equal(c.norm_first, 0);
    assert_int_equal(c.query_bias && c.key_bias && c.value_bias && c.output_bias && c.logits_bias, 1);
    assert_true(c.encoder_embedding_scale == (float)sqrt(192) && c.output_scale == 1);
    assert_true(c.share_source_target && c.share_target_output);
    assert_int_equal(c.start_id, -1);
    assert_int_equal(c.source_start_id, -1);
    assert_int_equal(c.source_end_id, 0);
    assert_int_equal(c.decoder_start_id, 4001);
    assert_int_equal(c.generation.beams, 4);
    assert_int_equal(c.generation.max_length, 127);
    assert_int_equal(c.generation.forced_last, 0);
    assert_int_equal(c.forced_first, -1);
    assert_int_equal(c.generation.renormalize, 1);
    assert_int_equal(c.generation.vocabulary, 4002);
    assert_int_equal(c.generation.start_id, 4001);
    assert_int_equal(c.generation.bad_word_count, 1);
    assert_int_equal(c.generation.bad_words[0], 4001);
    clf__config_free(&c);
}

/* Its decoder normalises token embeddings, and transformers does not scale them first, whatever the file
 * says. */
static void test_small_blenderbot(void **state)
{
    (void)state;
    struct clf__config c =
        load_config("\"model_type\": \"blenderbot-small\", \"scale_embedding\": true", "", NULL);
    assert_true(c.norm_decoder_tokens && c.decoder_embedding_scale == 1);
    assert_true(c.encoder_embedding_scale == (float)sqrt(512));
    clf__config_free(&c);
    c = load_config("\"model_type\": \"blenderbot\", \"scale_embedding\": true", "", NULL);
    assert_true(c.decoder_embedding_scale == (float)sqrt(2560));
    clf__config_free(&c);
}

static void test_marian_defaults(void **state)
{
    (void)state;
    struct clf__config c = load_config("\"model_type\": \"marian\"", "", NULL);
    assert_int_equal(c.source_vocabulary, 58101);
    assert_int_equal(c.d_model, 1024);
    assert_int_equal(c.encoder_layers, 12);
    assert_int_equal(c.decoder_heads, 16);
    assert_int_equal(c.encoder_ffn, 4096);
    assert_int_equal(c.decoder_max_positions, 1024);
    assert_int_equal(c.activation, CLF__GELU_ERF);
    assert_true(c.encoder_embedding_scale == 1);
    assert_int_equal(c.pad_id, 58100);
    assert_int_equal(c.end_id, 0);
    assert_int_equal(c.generation.beams, 1);
    assert_int_equal(c.generation.max_length, 20);  /* generate()'s default */
    assert_int_equal(c.generation.forced_last, -1); /* only if a file sets it */
    clf__config_free(&c);
}

static void test_marian_heads_and_sharing(void **state)
{
    (void)state;
    struct clf__config c = load_config(marian_config, "", NULL);
    assert_int_equal(c.encoder_key_width, 6);
    assert_int_equal(c.decoder_key_width, 8);
    clf__config_free(&c);
    c = load_config(marian_config, "\"share_encoder_decoder_embeddings\": false, \"decoder_vocab_size\": 50",
                    NULL);
    assert_int_equal(c.source_vocabulary, 40);
    assert_int_equal(c.target_vocabulary, 50);
    assert_true(!c.share_source_target && c.share_target_output);
    clf__config_free(&c);
    c = load_config(marian_config, "\"tie_word_embeddings\": false", NULL);
    assert_true(!c.share_source_target && !c.share_target_output);
    clf__config_free(&c);
    folder_log_start();
    c = load_config(marian_config, "\"decoder_vocab_size\": 50", NULL);
    folder_log_stop();
    assert_int_equal(c.target_vocabulary, 40);
    assert_non_null(strstr(folder_logged, "decoder_vocab_size"));
    clf__config_free(&c);
}

/* The rows of the table of architectures. */
static void test_presets(void **state)
{
    (void)state;
    struct clf__config c;
    clf__config_preset(&c, CLF__PAPER);
    assert_true(c.encoder_embedding_scale == (float)sqrt(512) && c.output_scale == 1);
    assert_true(!c.norm_first && !c.norm_embedding && c.norm_epsilon == 1e-6f && !c.query_bias && c.ffn_bias);
    assert_true(c.share_source_target && c.share_target_output && !c.logits_bias && !c.mask_pad_tokens);
    assert_int_equal(c.sinusoid_layout, CLF__SINUSOID_INTERLEAVED);
    assert_int_equal(c.encoder_key_width, 64);
    assert_int_equal(c.generation.beams, 4);
    assert_int_equal(c.generation.length_rule, CLF__LENGTH_GNMT);
    assert_true(c.generation.length_penalty == 0.6f);
    assert_true(c.source_start_id == -1 && c.source_end_id == c.end_id);

    clf__config_preset(&c, CLF__JADORE);
    assert_true(c.encoder_embedding_scale == 1 && c.output_scale == (float)(1 / sqrt(512)));
    assert_true(c.norm_embedding && !c.norm_first && c.norm_epsilon == 1e-6f && !c.output_bias);
    assert_true(c.mask_pad_tokens && c.encoder_max_positions == 200 && c.generation.max_length == 200);
    assert_true(c.source_start_id == c.start_id && c.source_end_id == c.end_id);
    assert_int_equal(c.generation.beams, 5);
    assert_true(c.generation.length_penalty == 0.7f);
    assert_int_equal(c.generation.length_rule, CLF__LENGTH_INCLUDING_START);
    assert_int_equal(c.generation.early_stopping, CLF__STOP_ALL);

    clf__config_preset(&c, CLF__ANNOTATED);
    assert_int_equal(c.norm, CLF__NORM_STD);
    assert_true(c.norm_first && c.norm_final && c.query_bias && c.output_bias && c.logits_bias);
    assert_true(!c.share_source_target && !c.share_target_output && c.mask_pad_tokens);
    assert_int_equal(c.generation.beams, 1);
    assert_int_equal(c.decoder_max_positions, 5000);

    clf__config_preset(&c, CLF__SPEECH);
    assert_true(c.feature_size == 80 && c.source_vocabulary == 0 && c.encoder_embedding_scale == 1);
    assert_true(c.norm_epsilon == 1e-5f && c.value_bias && c.logits_bias && !c.share_target_output);
    assert_true(c.source_start_id == -1 && c.source_end_id == -1);

    clf__config_preset(&c, CLF__ILLUSTRATED);
    assert_int_equal(c.sinusoid_layout, CLF__SINUSOID_HALVES);
    assert_true(c.encoder_embedding_scale == (float)sqrt(512) && c.share_source_target);
    assert_int_equal(c.generation.beams, 1);
}

static void test_jadore_scales(void **state)
{
    (void)state;
    const char *jadore =
        "\"model_type\": \"clformer\", \"preset\": \"jadore\", \"vocab_size\": 30, \"d_model\": 16";
    float root = 4, one = 1;
    static const struct {
        const char *keys;
        int embedding, output;
    } cases[] = {
        {"\"scale_emb_or_prj\": \"emb\"", 1, 0},
        {"\"scale_emb_or_prj\": \"prj\"", 0, 1},
        {"\"scale_emb_or_prj\": \"none\"", 0, 0},
        {"\"scale_emb_or_prj\": \"emb\", \"trg_emb_prj_weight_sharing\": false", 0, 0},
        {"\"scale_emb_or_prj\": \"prj\", \"tie_word_embeddings\": false", 0, 0},
        {"\"scale_embedding\": true", 1, 0},
        {"\"scale_embedding\": false, \"emb_src_trg_weight_sharing\": false", 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__config c = load_config(jadore, cases[i].keys, NULL);
        assert_true(c.encoder_embedding_scale == (cases[i].embedding ? root : one));
        assert_true(c.decoder_embedding_scale == c.encoder_embedding_scale);
        assert_true(c.output_scale == (cases[i].output ? one / root : one));
        assert_int_equal(c.encoder_key_width, 64); /* free of D / H */
        clf__config_free(&c);
    }
}

static void test_switches(void **state)
{
    (void)state;
    struct clf__config c = load_config(
        "\"model_type\": \"clformer\", \"preset\": \"paper\", \"vocab_size\": 30, \"d_model\": 20",
        "\"position_embedding_type\": \"relative\", \"sinusoid_layout\": \"halves\", \"sinusoid_frequency\": "
        "\"by_last\", \"position_offset\": 2, \"position_padding_aware\": true, "
        "\"relative_attention_num_buckets\": 16, \"relative_attention_max_distance\": 50, \"norm\": \"rms\", "
        "\"layer_norm_eps\": 0.001, \"normalize_before\": true, \"add_final_layer_norm\": true, "
        "\"normalize_embedding\": true, \"q_proj_bias\": true, \"k_proj_bias\": true, \"v_proj_bias\": true, "
        "\"out_proj_bias\": true, \"scale_attention\": false, \"activation_function\": \"gelu_new\", "
        "\"gated_feed_forward\": true, \"feed_forward_bias\": false, \"add_bias_logits\": true, "
        "\"mask_pad_tokens\": true, \"encoder_embedding_scale\": 2, \"decoder_embedding_scale\": 3.5, "
        "\"output_scale\": 0.25, \"d_k\": 7, \"d_v\": 9, \"source_starts_with_bos\": true, "
        "\"source_ends_with_eos\": false, \"tie_word_embeddings\": false",
        NULL);
    assert_true(c.encoder_positions == CLF__POSITIONS_RELATIVE && c.decoder_positions == c.encoder_positions);
    assert_int_equal(c.sinusoid_layout, CLF__SINUSOID_HALVES);
    assert_int_equal(c.sinusoid_frequency, CLF__SINUSOID_BY_LAST);
    assert_true(c.position_offset == 2 && c.position_padding_aware);
    assert_true(c.relative_buckets == 16 && c.relative_distance == 50);
    assert_true(c.norm == CLF__NORM_RMS && c.norm_epsilon == 0.001f);
    assert_true(c.norm_first && c.norm_final && c.norm_embedding);
    assert_true(c.query_bias && c.key_bias && c.value_bias && c.output_bias && !c.attention_scaled);
    assert_true(c.activation == CLF__GELU_TANH && c.ffn_gated && !c.ffn_bias && c.logits_bias);
    assert_true(c.encoder_embedding_scale == 2 && c.decoder_embedding_scale == 3.5f &&
                c.output_scale == 0.25f);
    assert_true(c.encoder_key_width == 7 && c.decoder_key_width == 7 && c.decoder_value_width == 9);
    assert_true(c.mask_pad_tokens && c.source_start_id == c.start_id && c.source_end_id == -1);
    assert_true(c.share_source_target && !c.share_target_output);
    clf__config_free(&c);
    c = load_config("\"model_type\": \"clformer\", \"preset\": \"speech\", \"decoder_vocab_size\": 30",
                    "\"feature_size\": 13, \"position_embedding_type\": \"learned\"", NULL);
    assert_true(c.feature_size == 13 && c.source_vocabulary == 0 && c.target_vocabulary == 30);
    assert_true(c.encoder_positions == CLF__POSITIONS_LEARNED && c.decoder_positions == c.encoder_positions);
    clf__config_free(&c);
    c = load_config("\"model_type\": \"clformer\", \"preset\": \"speech\"",
                    "\"feature_size\": 320, \"frame_stack\": 4, \"frame_step\": 3", NULL);
    assert_true(c.feature_size == 320 && c.frame_stack == 4 && c.frame_step == 3);
    clf__config_free(&c);
    /* A MarianMT folder keeps values that its architecture fixes. */
    c = load_config(marian_config,
                    "\"normalize_before\": true, \"add_bias_logits\": false, \"norm\": \"rms\"", NULL);
    assert_true(!c.norm_first && c.logits_bias && c.norm == CLF__NORM_LAYER);
    clf__config_free(&c);
}

/* Dropout rates follow "dropout" as in each implementation. */
static void test_dropout(void **state)
{
    (void)state;
    static const struct {
        const char *preset, *keys;
        float dropout, embedding, attention, activation;
    } cases[] = {
        {"marian", "", 0.1f, 0.1f, 0, 0},
        {"paper", "\"dropout\": 0.3", 0.3f, 0.3f, 0, 0},
        {"jadore", "\"dropout\": 0.2", 0.2f, 0.2f, 0.1f, 0},
        {"annotated", "\"dropout\": 0", 0, 0, 0.1f, 0},
        {"annotated", "\"dropout\": 0.4, \"activation_dropout\": 0.25", 0.4f, 0.4f, 0.1f, 0.25f},
        {"speech", "\"attention_dropout\": 0.5, \"embedding_dropout\": 0", 0.1f, 0, 0.5f, 0},
        {"illustrated", "", 0.1f, 0.1f, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[96];
        snprintf(members, sizeof members,
                 "\"model_type\": \"clformer\", \"preset\": \"%s\", \"bos_token_id\": 0", cases[i].preset);
        struct clf__config c = load_config(members, cases[i].keys, NULL);
        assert_true(c.dropout == cases[i].dropout && c.embedding_dropout == cases[i].embedding);
        assert_true(c.attention_dropout == cases[i].attention);
        assert_true(c.activation_dropout == cases[i].activation);
        clf__config_free(&c);
    }
    expect_bad_config(marian_config, "\"activation_dropout\": 1", NULL, CLF_FORMAT, "activation_dropout");
}

static void test_missing_and_unreadable(void **state)
{
    (void)state;
    struct clf__config config;
    assert_fails(clf__config_load(&config, "/nonexistent/model"), CLF_FILE, "/nonexistent/model");
    const char *folder = support_temporary_folder();
    assert_fails(clf__config_load(&config, folder), CLF_FILE,
                 "config.json: cannot be opened: No such file or directory; use a model folder");
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "null",
                                        "{\"model_type\": \"marian\"",
                                        "\xff\xfe",
                                        "{} {}",
                                        "{\"d_model\": 1, \"d_model\": 2}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        folder_write_text(folder, "config.json", texts[i]);
        assert_fails(clf__config_load(&config, folder), CLF_FORMAT, "config.json");
    }
    folder_write_text(folder, "config.json", "{\"model_type\": \"marian\"}");
    folder_write_text(folder, "generation_config.json", "{");
    assert_fails(clf__config_load(&config, folder), CLF_FORMAT, "generation_config.json");
}

static void test_unknown_architecture(void **state)
{
    (void)state;
    expect_bad_config("\"model_type\": \"gpt2\"", "", NULL, CLF_UNSUPPORTED,
                      "\"gpt2\", a decoder-only model; use a model trained by clformer or an encoder-decoder "
                      "of the Hugging Face types marian, whisper, bart, mbart, m2m_100, pegasus, ");
    expect_bad_config("\"model_type\": \"nllb-moe\"", "", NULL, CLF_UNSUPPORTED,
                      "a mixture-of-experts model;");
    expect_bad_config("\"model_type\": \"mystery\"", "", NULL, CLF_UNSUPPORTED, "\"mystery\"; use");
    expect_bad_config("\"model_type\": \"t5\"", "\"architectures\": [\"T5EncoderModel\"]", NULL,
                      CLF_UNSUPPORTED, "T5EncoderModel, an encoder-only model");
    expect_bad_config("\"model_type\": \"bart\"", "\"is_encoder_decoder\": false", NULL, CLF_UNSUPPORTED,
                      "is_encoder_decoder");
    expect_bad_config("\"model_type\": \"t5\"", "\"feed_forward_proj\": \"gated-tanh\"", NULL,
                      CLF_UNSUPPORTED,
                      "\"feed_forward_proj\" is \"gated-tanh\"; supported: relu, gated-gelu");
    expect_bad_config("\"model_type\": \"longt5\"", "\"encoder_attention_type\": \"global\"", NULL,
                      CLF_UNSUPPORTED,
                      "\"encoder_attention_type\" is \"global\"; supported: local, transient-global");
    expect_bad_config("\"model_type\": \"longt5\"", "\"local_radius\": -1", NULL, CLF_FORMAT, "local_radius");
    expect_bad_config("\"model_type\": \"longt5\"", "\"global_block_size\": 0", NULL, CLF_FORMAT,
                      "global_block_size");
    expect_bad_config("\"model_type\": \"t5\"", "\"num_heads\": 0", NULL, CLF_FORMAT, "num_heads");
    expect_bad_config("\"model_type\": \"mt5\"", "\"d_kv\": 0", NULL, CLF_FORMAT, "d_kv");
    expect_bad_config("\"d_model\": 4", "", NULL, CLF_FORMAT, "model_type");
    expect_bad_config("\"model_type\": 7", "", NULL, CLF_FORMAT, "model_type");
    expect_bad_config("\"model_type\": \"clformer\"", "", NULL, CLF_FORMAT, "preset");
    expect_bad_config("\"model_type\": \"clformer\"", "\"preset\": \"big\"", NULL, CLF_UNSUPPORTED,
                      "marian, paper, jadore, annotated, speech, illustrated, whisper");
    expect_bad_config(marian_config, "\"activation_function\": \"tanh\"", NULL, CLF_UNSUPPORTED,
                      "activation_function");
}

static void test_bad_sizes(void **state)
{
    (void)state;
    static const char *const keys[] = {"d_model",
                                       "encoder_layers",
                                       "decoder_layers",
                                       "encoder_attention_heads",
                                       "decoder_attention_heads",
                                       "encoder_ffn_dim",
                                       "decoder_ffn_dim",
                                       "vocab_size",
                                       "decoder_vocab_size",
                                       "max_position_embeddings"};
    static const char *const values[] = {"0",  "-1",  "\"512\"", "1048577000", "1e3", "99999999999999999999",
                                         "[]", "true"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            char member[128];
            snprintf(member, sizeof member, "\"%s\": %s", keys[k], values[v]);
            expect_bad_config("\"model_type\": \"marian\"", member, NULL, CLF_FORMAT, keys[k]);
            expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"jadore\"", member, NULL,
                              CLF_FORMAT, keys[k]);
        }
    }
    static const char *const ours[] = {"\"d_k\": 0",
                                       "\"d_v\": -4",
                                       "\"feature_size\": 0",
                                       "\"layer_norm_eps\": 2",
                                       "\"position_offset\": -1",
                                       "\"norm\": 3",
                                       "\"normalize_before\": 1",
                                       "\"output_scale\": \"x\""};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"paper\"", ours[i], NULL, CLF_FORMAT,
                          NULL);
    }
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"speech\"", "\"frame_stack\": 3", NULL,
                      CLF_FORMAT, "\"feature_size\" 80 is not a multiple of \"frame_stack\" 3");
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"speech\"", "\"frame_step\": 0", NULL,
                      CLF_FORMAT, "frame_step");
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"paper\"", "\"frame_step\": 2", NULL,
                      CLF_FORMAT, "require a model with one position per frame");
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"whisper\"",
                      "\"share_encoder_decoder_embeddings\": false, \"frame_stack\": 2", NULL, CLF_FORMAT,
                      "require a model with one position per frame");
    expect_bad_config("\"model_type\": \"marian\"", "\"d_model\": 30, \"encoder_attention_heads\": 4", NULL,
                      CLF_FORMAT, "encoder_attention_heads");
    expect_bad_config("\"model_type\": \"marian\"", "\"d_model\": 32, \"decoder_attention_heads\": 5", NULL,
                      CLF_FORMAT, "decoder_attention_heads");
    /* The message marks a default as missing in the file. */
    expect_bad_config("\"model_type\": \"marian\"", "\"encoder_attention_heads\": 6", NULL, CLF_FORMAT,
                      "\"d_model\" 1024 (default, because the key is missing) is not a multiple of "
                      "\"encoder_attention_heads\" 6");
    assert_non_null(strstr(clf_last_error(), "\"encoder_attention_heads\" 6; "));
    expect_bad_config("\"model_type\": \"marian\"", "\"d_model\": 30", NULL, CLF_FORMAT,
                      "\"d_model\" 30 is not a multiple of \"encoder_attention_heads\" 16 (default, because "
                      "the key is missing)");
    folder_log_start();
    struct clf__config config = load_config(marian_config, "\"decoder_ffn_dim\": 40", NULL);
    folder_log_stop();
    assert_non_null(strstr(folder_logged, "\"encoder_ffn_dim\" is missing; using the default, 4096"));
    assert_null(strstr(folder_logged, "\"decoder_ffn_dim\""));
    assert_null(strstr(folder_logged, "\"d_model\""));
    clf__config_free(&config);
}

static void test_bad_ids(void **state)
{
    (void)state;
    const char *small = "\"model_type\": \"marian\", \"vocab_size\": 40";
    expect_bad_config(small, "\"pad_token_id\": 40, \"decoder_start_token_id\": 3", NULL, CLF_FORMAT,
                      "pad_token_id");
    assert_null(strstr(clf_last_error(), "default"));
    expect_bad_config(small, "\"pad_token_id\": 3", NULL, CLF_FORMAT,
                      "\"decoder_start_token_id\" is 58100 (default, because the key is missing), outside");
    expect_bad_config(marian_config, "\"bos_token_id\": -2", NULL, CLF_FORMAT, "bos_token_id");
    expect_bad_config("\"model_type\": \"marian\", \"eos_token_id\": 99999", "", NULL, CLF_FORMAT,
                      "eos_token_id");
    expect_bad_config("\"model_type\": \"marian\", \"eos_token_id\": [\"x\"]", "", NULL, CLF_FORMAT,
                      "eos_token_id");
    struct clf__config c = load_config("\"model_type\": \"marian\", \"eos_token_id\": [5]", "", NULL);
    assert_true(c.end_id == 5 && c.generation.end_id == 5);
    clf__config_free(&c);
    const char *hides = "\"decoder_start_token_id\": 2, \"pad_token_id\": 2";
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"jadore\"", hides, NULL, CLF_FORMAT,
                      "decoder_start_token_id");
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"annotated\"", hides, NULL, CLF_FORMAT,
                      "decoder_start_token_id");
    c = load_config("\"model_type\": \"clformer\", \"preset\": \"paper\"", hides, NULL);
    clf__config_free(&c);
}

static void test_contradictions(void **state)
{
    (void)state;
    const char *jadore = "\"model_type\": \"clformer\", \"preset\": \"jadore\", \"vocab_size\": 30";
    expect_bad_config(jadore, "\"trg_emb_prj_weight_sharing\": true, \"tie_word_embeddings\": false", NULL,
                      CLF_FORMAT, "trg_emb_prj_weight_sharing");
    expect_bad_config(jadore,
                      "\"emb_src_trg_weight_sharing\": false, \"share_encoder_decoder_embeddings\": true",
                      NULL, CLF_FORMAT, "emb_src_trg_weight_sharing");
    expect_bad_config(jadore, "\"scale_emb_or_prj\": \"prj\", \"scale_embedding\": true", NULL, CLF_FORMAT,
                      "scale_emb_or_prj");
    expect_bad_config(jadore, "\"scale_emb_or_prj\": \"both\"", NULL, CLF_UNSUPPORTED, "scale_emb_or_prj");
    expect_bad_config(jadore, "\"decoder_vocab_size\": 31", NULL, CLF_FORMAT, "decoder_vocab_size");
    expect_bad_config("\"model_type\": \"clformer\", \"preset\": \"speech\"",
                      "\"share_encoder_decoder_embeddings\": true", NULL, CLF_FORMAT,
                      "share_encoder_decoder_embeddings");
    const char *paper =
        "\"model_type\": \"clformer\", \"preset\": \"paper\", \"position_embedding_type\": \"relative\"";
    expect_bad_config(paper, "\"relative_attention_num_buckets\": 9", NULL, CLF_FORMAT,
                      "relative_attention_num_buckets");
    expect_bad_config(paper, "\"relative_attention_max_distance\": 16", NULL, CLF_FORMAT,
                      "relative_attention_max_distance");
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const char *folder = write_config(marian_config, "",
                                      "\"bad_words_ids\": [[39], [1, 2]], \"suppress_tokens\": [5], "
                                      "\"sequence_bias\": [[[3], 1]]");
    struct clf__config config;
    FOR_EACH_FAILING_ALLOCATION(clf__config_load(&config, folder), clf__config_free(&config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demo_model),
        cmocka_unit_test(test_marian_defaults),
        cmocka_unit_test(test_small_blenderbot),
        cmocka_unit_test(test_marian_heads_and_sharing),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_jadore_scales),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_missing_and_unreadable),
        cmocka_unit_test(test_unknown_architecture),
        cmocka_unit_test(test_bad_sizes),
        cmocka_unit_test(test_bad_ids),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
