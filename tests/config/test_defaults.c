/* Folders without "model_type", which "architectures" replaces, and without a length of outputs, which then
 * is the default of transformers' generate(). */
#include "config/config_folder.h"

#include "model/config/architectures/architecture.h"

static void test_type_from_class(void **state)
{
    (void)state;
    static const struct {
        const char *classes;
        enum clf__architecture_id architecture;
    } rows[] = {
        {"\"UMT5ForConditionalGeneration\"", CLF__UMT5},
        {"\"MT5ForConditionalGeneration\"", CLF__MT5},
        {"\"T5ForConditionalGeneration\"", CLF__T5},
        {"\"LongT5ForConditionalGeneration\"", CLF__LONGT5},
        {"\"T5WithLMHeadModel\"", CLF__T5},
        {"\"MarianMTModel\"", CLF__MARIAN},
        {"\"BartModel\"", CLF__BART},
        {"\"BartModel\", \"BartForConditionalGeneration\", \"BartForSequenceClassification\"", CLF__BART},
        {"7, \"MBartForConditionalGeneration\"", CLF__MBART},
        {"\"M2M100ForConditionalGeneration\"", CLF__M2M100},
        {"\"PegasusForConditionalGeneration\"", CLF__PEGASUS},
        {"\"BlenderbotForConditionalGeneration\"", CLF__BLENDERBOT},
        {"\"BlenderbotSmallForConditionalGeneration\"", CLF__BLENDERBOT_SMALL},
        {"\"WhisperForConditionalGeneration\"", CLF__WHISPER},
        {"\"FSMTForConditionalGeneration\"", CLF__FSMT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char members[256];
        snprintf(members, sizeof members, "\"decoder_start_token_id\": 0, \"architectures\": [%s]",
                 rows[i].classes);
        struct clf__config c = load_config(members, "\"model_type\": null, \"max_length\": 9", NULL);
        assert_int_equal(c.architecture, rows[i].architecture);
        clf__config_free(&c);
    }
}

static void test_unknown_classes(void **state)
{
    (void)state;
    static const struct {
        const char *classes;
        clf_status status;
        const char *part;
    } rows[] = {
        {"\"architectures\": []", CLF_FORMAT, "\"model_type\" and \"architectures\" are missing"},
        {"\"architectures\": null", CLF_FORMAT, "\"model_type\" and \"architectures\" are missing"},
        {"\"architectures\": [\"T5EncoderModel\"]", CLF_UNSUPPORTED,
         "T5EncoderModel: an encoder-only model; use"},
        {"\"architectures\": [\"BartForCausalLM\"]", CLF_UNSUPPORTED,
         "BartForCausalLM: a decoder-only model"},
        {"\"architectures\": [\"BartForSequenceClassification\"]", CLF_UNSUPPORTED,
         "BartForSequenceClassification: a classifier"},
        {"\"architectures\": [\"T5ForTokenClassification\"]", CLF_UNSUPPORTED,
         "T5ForTokenClassification: a token classifier"},
        {"\"architectures\": [\"MBartForQuestionAnswering\"]", CLF_UNSUPPORTED,
         "MBartForQuestionAnswering: a question answering model"},
        {"\"architectures\": [\"LEDForConditionalGeneration\"]", CLF_UNSUPPORTED,
         "\"architectures\" is LEDForConditionalGeneration; use a"},
        {"\"architectures\": [\"T5\"]", CLF_UNSUPPORTED, "\"architectures\" is T5; use a"},
        {"\"architectures\": [\"\"]", CLF_UNSUPPORTED, "\"model_type\" is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_bad_config(rows[i].classes, "", NULL, rows[i].status, rows[i].part);
    }
}

/* Without either key, transformers generates 20 tokens after the start token. */
static void test_length(void **state)
{
    (void)state;
    static const struct {
        const char *type, *config, *generation;
        int longest, has_default;
    } rows[] = {
        {"bart", "", NULL, 20, 1},
        {"t5", "", NULL, 20, 1},
        {"marian", "", "\"num_beams\": 4", 20, 1},
        {"bart", "\"max_length\": 9", "\"num_beams\": 4", 20,
         1}, /* generation_config.json replaces config.json */
        {"bart", "\"max_length\": null", NULL, 20, 1},
        {"bart", "\"max_position_embeddings\": 12", NULL, 12, 0},
        {"bart", "\"min_length\": 56", NULL, 20, 1},
        {"bart", "\"max_length\": 62", NULL, 61, 0},
        {"bart", "", "\"max_length\": 21", 20, 0},
        {"bart", "", "\"max_new_tokens\": 300", 300, 0},
        {"whisper", "", NULL, 448, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char members[128];
        snprintf(members, sizeof members, "\"model_type\": \"%s\", \"decoder_start_token_id\": 0",
                 rows[i].type);
        struct clf__config c = load_config(members, rows[i].config, rows[i].generation);
        assert_int_equal(c.generation.max_length, rows[i].longest);
        assert_true(c.generation.min_length <= c.generation.max_length);
        assert_int_equal(c.generation.beams,
                         rows[i].generation && strstr(rows[i].generation, "beams") ? 4 : 1);
        assert_int_equal(c.has_default_length, rows[i].has_default);
        clf__config_free(&c);
    }
    /* Folders that clformer writes have the default of the preset. */
    struct clf__config c =
        load_config("\"model_type\": \"clformer\", \"preset\": \"marian\", \"bos_token_id\": 0", "", NULL);
    assert_int_equal(c.generation.max_length, 1024);
    clf__config_free(&c);
}

/* The defaults of transformers' FSMTConfig; transformers up to 4 applies its decoding defaults as well. */
static void test_fsmt(void **state)
{
    (void)state;
    struct clf__config c = load_config("\"model_type\": \"fsmt\"", "", NULL);
    assert_true(c.source_vocabulary == 42024 && c.target_vocabulary == 42024 && c.d_model == 1024);
    assert_true(c.encoder_layers == 12 && c.decoder_heads == 16 && c.encoder_ffn == 4096);
    assert_true(c.separate_vocabularies && !c.share_source_target && !c.share_target_output);
    assert_true(c.encoder_embedding_scale == 32 && c.decoder_embedding_scale == 32);
    assert_true(c.position_offset == 2 && c.decoder_start_id == 2 && c.source_end_id == 2);
    assert_true(c.generation.beams == 5 && c.generation.max_length == 199 && c.generation.forced_last == 2);
    assert_false(c.has_default_length);
    clf__config_free(&c);
    const char *small = "\"model_type\": \"fsmt\", \"src_vocab_size\": 30, \"tgt_vocab_size\": 20, "
                        "\"vocab_size\": 7, \"decoder\": {\"vocab_size\": 8, \"num_beams\": 1}";
    c = load_config(small, "\"scale_embedding\": false, \"pad_token_id\": 3, \"max_length\": 50", NULL);
    assert_true(c.source_vocabulary == 30 && c.target_vocabulary == 20 && c.encoder_embedding_scale == 1);
    assert_true(c.position_offset == 4 && c.generation.beams == 5 && c.generation.max_length == 49);
    clf__config_free(&c);
    c = load_config(small, "\"num_beams\": 3", "\"length_penalty\": 0.5"); /* replaces all */
    assert_true(c.generation.beams == 1 && c.generation.max_length == 20 && c.has_default_length);
    assert_int_equal(c.generation.forced_last, -1);
    clf__config_free(&c);
    c = load_config("\"model_type\": \"fsmt\"", "\"tie_word_embeddings\": true", NULL);
    assert_true(c.separate_vocabularies && c.share_source_target && c.share_target_output);
    clf__config_free(&c);
    expect_bad_config(small, "\"tie_word_embeddings\": true", NULL, CLF_FORMAT,
                      "\"src_vocab_size\" is 30 and \"tgt_vocab_size\" 20");
    expect_bad_config(small, "\"src_vocab_size\": 0", NULL, CLF_FORMAT, "src_vocab_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_from_class),
        cmocka_unit_test(test_unknown_classes),
        cmocka_unit_test_teardown(test_length, support_teardown),
        cmocka_unit_test_teardown(test_fsmt, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
