#include "model/folder.h"

#include <math.h>

#include "model/config/config.h"
#include "model/parameters.h"
#include "model/tree.h"

/* A loaded model; its folder's values are read one by one. */
struct model {
    struct clf__config config;
    struct clf__parameters *parameters;
};

static void open_model(struct model *model, const char *folder)
{
    assert_ok(clf__config_load(&model->config, folder));
    assert_ok(clf__parameters_load(&model->parameters, &model->config, folder));
}

static void close_model(struct model *model)
{
    clf__parameters_free(model->parameters);
    clf__config_free(&model->config);
}

static const char *fixture(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/models/%s", support_fixture(""), name);
    return path;
}

/* Opening must fail with all of these parts in the message. */
static void expect_failure(const char *folder, const char *part, const char *another)
{
    struct clf__config config;
    struct clf__parameters *parameters;
    assert_ok(clf__config_load(&config, folder));
    assert_fails(clf__parameters_load(&parameters, &config, folder), CLF_FORMAT, part);
    int is_advised = strstr(clf_last_error(), "; download or save both files again") != NULL ||
                     strstr(clf_last_error(), "; convert the tensor") != NULL;
    assert_true(is_advised);
    assert_non_null(strstr(clf_last_error(), another));
    assert_null(parameters);
    clf__config_free(&config);
}

static const char *const fixtures[] = {"jadore-prj-output-embeddings",
                                       "jadore-emb-output-embeddings",
                                       "jadore-none-output",
                                       "jadore-prj-embeddings",
                                       "jadore-emb",
                                       "jadore-prj-output",
                                       "annotated",
                                       "annotated-canonical-names",
                                       "speech",
                                       "speech-all-names",
                                       "paper",
                                       "paper-separate",
                                       "illustrated",
                                       "clformer-relative",
                                       "clformer-learned",
                                       "clformer-padding-aware",
                                       "clformer-frames",
                                       "clformer-scales",
                                       "marian",
                                       "marian-float16",
                                       "marian-bfloat16",
                                       "marian-shards",
                                       "marian-separate",
                                       "marian-untied",
                                       "marian-shared-untied",
                                       "marian-heads",
                                       "marian-odd",
                                       "marian-all-names",
                                       "marian-old",
                                       "marian-legacy",
                                       "bart-legacy"};

static void test_every_fixture(void **state)
{
    (void)state;
    folder_log_start();
    for (size_t f = 0; f < sizeof fixtures / sizeof *fixtures; f++) {
        struct model model;
        open_model(&model, fixture(fixtures[f]));
        const struct clf__parameter_list *list = clf__parameters_list(model.parameters);
        for (int i = 0; i < list->count; i++) {
            const struct clf__parameter *item = &list->items[i];
            size_t count = (size_t)item->rows * (size_t)item->columns;
            float *values;
            assert_ok(clf__allocate(&values, count + 1, sizeof *values));
            values[count] = 77;
            assert_ok(clf__parameters_read(model.parameters, item->name, values));
            assert_true(values[count] == 77);
            clf__free(values);
            for (int k = 0; k < i; k++) {
                assert_string_not_equal(list->items[k].name, item->name);
            }
        }
        close_model(&model);
    }
    folder_log_stop();
    assert_string_equal(folder_logged, "");
}

/* The stored name of a parameter in each architecture. */
static void test_names(void **state)
{
    (void)state;
    static const char *const names[][3] = {
        {"jadore-emb", "model.encoder.embed_tokens.weight", "encoder.src_word_emb.weight"},
        {"jadore-emb", "model.encoder.layernorm_embedding.bias", "encoder.layer_norm.bias"},
        {"jadore-emb", "model.encoder.layers.1.self_attn.q_proj.weight",
         "encoder.layer_stack.1.slf_attn.w_qs.weight"},
        {"jadore-emb", "model.decoder.layers.0.encoder_attn.out_proj.weight",
         "decoder.layer_stack.0.enc_attn.fc.weight"},
        {"jadore-emb", "model.decoder.layers.0.encoder_attn_layer_norm.weight",
         "decoder.layer_stack.0.enc_attn.layer_norm.weight"},
        {"jadore-emb", "model.decoder.layers.0.fc1.bias", "decoder.layer_stack.0.pos_ffn.w_1.bias"},
        {"jadore-emb", "lm_head.weight", "trg_word_prj.weight"},
        {"annotated", "model.decoder.embed_tokens.weight", "tgt_embed.0.lut.weight"},
        {"annotated", "model.encoder.layers.1.self_attn.v_proj.bias",
         "encoder.layers.1.self_attn.linears.2.bias"},
        {"annotated", "model.encoder.layers.0.final_layer_norm.weight",
         "encoder.layers.0.sublayer.1.norm.a_2"},
        {"annotated", "model.decoder.layers.0.final_layer_norm.bias", "decoder.layers.0.sublayer.2.norm.b_2"},
        {"annotated", "model.decoder.layers.1.encoder_attn_layer_norm.weight",
         "decoder.layers.1.sublayer.1.norm.a_2"},
        {"annotated", "model.decoder.layer_norm.bias", "decoder.norm.b_2"},
        {"annotated", "final_logits_bias", "generator.proj.bias"},
        {"annotated-canonical-names", "model.decoder.layer_norm.bias", "model.decoder.layer_norm.bias"},
        {"speech", "model.encoder.frontend.weight", "frontend.weight"},
        {"speech", "model.encoder.layers.1.self_attn.out_proj.bias",
         "encoder.layers.1.multi_head_attn.W_out.bias"},
        {"speech", "model.encoder.layers.0.fc1.weight", "encoder.layers.0.poswise_ffn.conv1.weight"},
        {"speech", "model.decoder.layers.0.encoder_attn.k_proj.weight",
         "decoder.layers.0.enc_dec_attn.W_K.weight"},
        {"speech", "model.decoder.layers.0.final_layer_norm.weight", "decoder.layers.0.norm3.weight"},
        {"speech", "lm_head.weight", "linear.weight"},
        {"marian-untied", "model.decoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"},
        {"marian-shared-untied", "model.encoder.embed_tokens.weight", "model.encoder.embed_tokens.weight"},
        {"marian-all-names", "model.shared.weight", "model.shared.weight"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct model model;
        open_model(&model, fixture(names[i][0]));
        const struct clf__stored_tensor *stored = clf__parameters_stored(model.parameters, names[i][1]);
        assert_non_null(stored);
        assert_string_equal(stored->name, names[i][2]);
        close_model(&model);
    }
}

static void test_shared_names(void **state)
{
    (void)state;
    struct clf__config config;
    clf__config_preset(&config, CLF__PAPER);
    assert_string_equal(clf__source_embedding_name(&config), "model.shared.weight");
    assert_string_equal(clf__target_embedding_name(&config), "model.shared.weight");
    assert_string_equal(clf__output_projection_name(&config), "model.shared.weight");
    config.share_source_target = 0;
    assert_string_equal(clf__source_embedding_name(&config), "model.encoder.embed_tokens.weight");
    assert_string_equal(clf__output_projection_name(&config), "model.decoder.embed_tokens.weight");
    config.share_target_output = 0;
    assert_string_equal(clf__output_projection_name(&config), "lm_head.weight");
    clf__config_preset(&config, CLF__SPEECH);
    assert_null(clf__source_embedding_name(&config));
}

/* Number of parameters of the published sizes. */
static void test_counts(void **state)
{
    (void)state;
    static const struct {
        enum clf__architecture_id architecture;
        int64_t values;
    } cases[] = {
        /* 37000 x 512; a layer: 4 x 512^2, 2 x 512 x 2048 + 2560, norms of 1024, one more attention and norm
         * in the decoder. */
        {CLF__PAPER, 37000 * 512 + 6 * (4 * 262144 + 2099712 + 2048) + 6 * (8 * 262144 + 2099712 + 3072)},
        {CLF__JADORE,
         37000 * 512 + 2 * 1024 + 6 * (4 * 262144 + 2099712 + 2048) + 6 * (8 * 262144 + 2099712 + 3072)},
        {CLF__ANNOTATED, 3 * 37000 * 512 + 37000 + 2 * 1024 + 6 * (4 * 262656 + 2099712 + 2048) +
                             6 * (8 * 262656 + 2099712 + 3072)},
        {CLF__SPEECH, 80 * 512 + 512 + 2 * 32 * 512 + 32 + 6 * (4 * 262656 + 2099712 + 2048) +
                          6 * (8 * 262656 + 2099712 + 3072)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__config config;
        struct clf__parameter_list list;
        clf__config_preset(&config, cases[i].architecture);
        assert_ok(clf__parameter_list_create(&list, &config));
        int64_t values = 0;
        for (int k = 0; k < list.count; k++) {
            values += (int64_t)list.items[k].rows * list.items[k].columns;
        }
        assert_int_equal(values, cases[i].values);
        clf__parameter_list_free(&list);
    }
}

static void test_values(void **state)
{
    (void)state;
    /* The same weights under one name and under all. */
    struct model model;
    open_model(&model, fixture("jadore-prj-output-embeddings"));
    const struct clf__stored_tensor *stored = clf__parameters_stored(model.parameters, "model.shared.weight");
    float shared[29 * 33], read[29 * 33];
    assert_ok(clf__stored_tensor_read(stored, shared));
    assert_ok(clf__parameters_read(model.parameters, "model.shared.weight", read));
    assert_memory_equal(shared, read, sizeof shared);
    assert_fails(clf__parameters_read(model.parameters, "lm_head.weight", read), CLF_BAD_ARGUMENT,
                 "lm_head.weight");
    assert_null(clf__parameters_stored(model.parameters, "lm_head.weight"));
    close_model(&model);
}

static void test_missing(void **state)
{
    (void)state;
    const char *folder = folder_copy("paper");
    folder_patch(folder, "model.safetensors", NULL, "model.encoder.layers.1.fc2.bias",
                 "model.encoder.layers.1.fc2.bia5");
    expect_failure(folder, "\"model.encoder.layers.1.fc2.bias\" is missing", "model.safetensors");
    folder = folder_copy("speech");
    folder_patch(folder, "model.safetensors", NULL, "\"linear.bias\"", "\"linear.bia5\"");
    expect_failure(folder, "\"linear.bias\" is missing", "model.safetensors");
    folder = folder_copy("jadore-emb"); /* jadore's weights with the configuration of another
                                           architecture */
    folder_patch(folder, "config.json", NULL, "\"jadore\"", "\"paper\" ");
    expect_failure(folder, "is missing", "model.safetensors");
}

static void test_unknown(void **state)
{
    (void)state;
    const char *folder = folder_copy("marian");
    folder_patch(folder, "model.safetensors", NULL, "final_logits_bias", "final_logits_bia5");
    expect_failure(folder, "\"final_logits_bia5\" is not part", "model.safetensors");
    folder = folder_copy("annotated"); /* fewer layers than stored */
    folder_patch(folder, "config.json", NULL, "\"decoder_layers\": 2", "\"decoder_layers\": 1");
    expect_failure(folder, "\"decoder.layers.1.", "is not part");
}

static void test_wrong_shape(void **state)
{
    (void)state;
    const char *folder = folder_copy("marian");
    folder_patch(folder, "model.safetensors", "model.shared.weight", "[29,24]", "[24,29]");
    expect_failure(folder, "\"model.shared.weight\" has shape (24, 29), but config.json requires (29, 24)",
                   "model.safetensors");
    folder = folder_copy("marian");
    folder_patch(folder, "config.json", NULL, "\"encoder_ffn_dim\": 40", "\"encoder_ffn_dim\": 48");
    expect_failure(folder, "model.encoder.layers.0.fc1.weight", "(40, 24)");
    folder = folder_copy("speech");
    folder_patch(folder, "model.safetensors", "conv1.weight", "[35,20,1]", "[35,4,5 ]");
    expect_failure(folder, "conv1.weight", "(35, 4, 5)");
}

static void test_wrong_type(void **state)
{
    (void)state;
    const char *folder = folder_copy("marian");
    folder_patch(folder, "model.safetensors", "model.shared.weight", "F32", "I32");
    expect_failure(folder, "\"model.shared.weight\" has dtype I32", "model.safetensors");
}

static void test_copies_differ(void **state)
{
    (void)state;
    /* lm_head's copy becomes another stored matrix of the same shape. */
    const char *folder = folder_copy("marian-untied");
    folder_patch(folder, "config.json", NULL, "\"tie_word_embeddings\": false",
                 "\"tie_word_embeddings\": true ");
    folder_log_start();
    struct model model;
    open_model(&model, folder);
    folder_log_stop();
    assert_false(model.config.share_target_output);
    assert_string_equal(clf__parameters_stored(model.parameters, "lm_head.weight")->name, "lm_head.weight");
    assert_non_null(strstr(folder_logged, "\"lm_head.weight\" and \"model.decoder.embed_tokens"));
    close_model(&model);
    /* Both embeddings must be the shared one. */
    folder = folder_copy("marian-shared-untied");
    folder_patch(folder, "config.json", NULL, "\"tie_word_embeddings\": false",
                 "\"tie_word_embeddings\": true ");
    expect_failure(folder, "\"model.shared.weight\"", "\"model.encoder.embed_tokens.weight\" differ");
    folder = folder_copy("jadore-emb-output-embeddings");
    folder_patch(folder, "model.safetensors", "trg_word_prj.weight", "F32", "I32");
    expect_failure(folder, "\"trg_word_prj.weight\"", "I32");
}

static void test_tables_are_ignored(void **state)
{
    (void)state;
    /* Each of these stores a table that is not needed. */
    static const char *const names[][2] = {{"jadore-emb", "encoder.position_enc.pos_table"},
                                           {"annotated", "src_embed.1.pe"},
                                           {"speech", "encoder.pos_emb.weight"},
                                           {"marian-all-names", "model.encoder.embed_positions.weight"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct clf__weights *weights;
        assert_ok(clf__weights_open(&weights, fixture(names[i][0])));
        assert_non_null(clf__weights_find(weights, names[i][1]));
        clf__weights_close(weights);
    }
}

static void test_logits_bias_may_be_missing(void **state)
{
    (void)state;
    struct clf__config config;
    struct clf__parameters *parameters;
    const char *folder = fixture("paper"); /* read as if transformers had written it without the bias */
    assert_ok(clf__config_load(&config, folder));
    config.architecture = CLF__MARIAN;
    config.logits_bias = 1;
    assert_ok(clf__parameters_load(&parameters, &config, folder));
    float bias[28];
    bias[3] = 5;
    assert_null(clf__parameters_stored(parameters, "final_logits_bias"));
    assert_ok(clf__parameters_read(parameters, "final_logits_bias", bias));
    assert_true(bias[3] == 0);
    clf__parameters_free(parameters);
    config.architecture = CLF__PAPER;
    assert_fails(clf__parameters_load(&parameters, &config, folder), CLF_FORMAT, "final_logits_bias");
    clf__config_free(&config);
}

/* transformers 4 stores one matrix where transformers 5 stores three. */
static void test_shared_untied(void **state)
{
    (void)state;
    struct clf__config config;
    struct clf__parameters *parameters;
    assert_ok(clf__config_load(&config, fixture("marian")));
    config.share_source_target = config.share_target_output = 0;
    assert_fails(clf__parameters_load(&parameters, &config, fixture("marian")), CLF_FORMAT,
                 "\"lm_head.weight\"");
    config.share_target_output = 1;
    assert_ok(clf__parameters_load(&parameters, &config, fixture("marian")));
    assert_string_equal(clf__parameters_stored(parameters, "model.encoder.embed_tokens.weight")->name,
                        "model.shared.weight");
    clf__parameters_free(parameters);
    clf__config_free(&config);
}

static void test_nan_is_reported(void **state)
{
    (void)state;
    const char *folder = folder_copy("marian-float16");
    struct model model;
    open_model(&model, folder);
    const struct clf__stored_tensor *stored = clf__parameters_stored(model.parameters, "model.shared.weight");
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, stored->file, 1 << 24));
    memcpy(bytes + stored->offset, "\x00\x7e\x00\x7c", 4); /* NaN, infinity */
    close_model(&model);
    folder_write(folder, "model.safetensors", bytes, size);
    clf__free(bytes);
    open_model(&model, folder);
    float values[29 * 24];
    folder_log_start();
    assert_ok(clf__parameters_read(model.parameters, "model.shared.weight", values));
    folder_log_stop();
    assert_true(isnan(values[0]) && isinf(values[1]) && isfinite(values[2]));
    assert_non_null(strstr(folder_logged, "\"model.shared.weight\" contains 2 values"));
    close_model(&model);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct clf__config config;
    struct clf__parameters *parameters;
    assert_ok(clf__config_load(&config, fixture("marian-shards")));
    FOR_EACH_FAILING_ALLOCATION(clf__parameters_load(&parameters, &config, fixture("marian-shards")),
                                clf__parameters_free(parameters));
    clf__parameters_free(NULL);
    clf__config_free(&config);
}

static const struct clf__parameter *find(const struct clf__parameter_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    fail_msg("no parameter %s", name);
    return NULL;
}

/* Initialisation of each architecture's weights, weight decay, and frozen parameters. */
static void test_beginnings(void **state)
{
    (void)state;
    static const struct {
        enum clf__architecture_id architecture;
        const char *name;
        enum clf__initial_kind kind;
        double size;
        int decays, is_trained, zero_row;
    } cases[] = {
        {CLF__MARIAN, "model.shared.weight", CLF__INITIAL_NORMAL, 0.02, 1, 1, 58100},
        {CLF__MARIAN, "model.encoder.layers.0.fc1.weight", CLF__INITIAL_NORMAL, 0.02, 1, 1, -1},
        {CLF__MARIAN, "model.encoder.layers.0.fc1.bias", CLF__INITIAL_CONSTANT, 0, 0, 1, -1},
        {CLF__MARIAN, "model.decoder.layers.0.final_layer_norm.weight", CLF__INITIAL_CONSTANT, 1, 0, 1, -1},
        {CLF__MARIAN, "final_logits_bias", CLF__INITIAL_CONSTANT, 0, 0, 0, -1},
        {CLF__PAPER, "model.shared.weight", CLF__INITIAL_NORMAL, 0.04419417, 1, 1, -1},
        {CLF__PAPER, "model.decoder.layers.5.fc2.weight", CLF__INITIAL_UNIFORM, 0.04841229, 1, 1, -1},
        {CLF__JADORE, "model.shared.weight", CLF__INITIAL_UNIFORM, 0.01264709, 1, 1, -1},
        {CLF__JADORE, "model.encoder.layers.0.fc2.bias", CLF__INITIAL_UNIFORM, 0.02209709, 0, 1, -1},
        {CLF__ANNOTATED, "lm_head.weight", CLF__INITIAL_UNIFORM, 0.01264709, 1, 1, -1},
        {CLF__ANNOTATED, "final_logits_bias", CLF__INITIAL_UNIFORM, 0.04419417, 0, 1, -1},
        {CLF__SPEECH, "model.decoder.embed_tokens.weight", CLF__INITIAL_NORMAL, 1, 1, 1, -1},
        {CLF__SPEECH, "model.encoder.frontend.weight", CLF__INITIAL_UNIFORM, 0.1118034, 1, 1, -1},
        {CLF__SPEECH, "model.decoder.layers.0.encoder_attn.q_proj.weight", CLF__INITIAL_NORMAL, 0.05892557, 1,
         1, -1},
        {CLF__SPEECH, "model.decoder.layers.0.encoder_attn.out_proj.weight", CLF__INITIAL_NORMAL, 0.05892557,
         1, 1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__config config;
        struct clf__parameter_list list;
        clf__config_preset(&config, cases[i].architecture);
        assert_ok(clf__parameter_list_create(&list, &config));
        const struct clf__parameter *item = find(&list, cases[i].name);
        assert_int_equal(item->initial.kind, cases[i].kind);
        assert_true(fabs(item->initial.size - cases[i].size) <= 1e-6 * cases[i].size);
        assert_int_equal(item->initial.zero_row, cases[i].zero_row);
        assert_int_equal(item->decays, cases[i].decays);
        assert_int_equal(item->is_trained, cases[i].is_trained);
        clf__parameter_list_free(&list);
    }
    struct clf__config config;
    clf__config_preset(&config, CLF__MARIAN);
    assert_int_equal(clf__padding_row(&config), config.pad_id);
    clf__config_preset(&config, CLF__ANNOTATED);
    assert_int_equal(clf__padding_row(&config), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fixture),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shared_names),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_wrong_shape),
        cmocka_unit_test(test_wrong_type),
        cmocka_unit_test(test_copies_differ),
        cmocka_unit_test(test_tables_are_ignored),
        cmocka_unit_test(test_logits_bias_may_be_missing),
        cmocka_unit_test(test_shared_untied),
        cmocka_unit_test(test_nan_is_reported),
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
