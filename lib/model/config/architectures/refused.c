/* Common model types that are not supported, for error messages. */
#include "model/config/architectures/architecture.h"

#include <string.h>

#include "base/ascii.h"

struct kind {
    const char *what;
    const char *const *types; /* ends with NULL */
};

static const char *const decoders[] = {
    "gpt2",      "gpt_neo", "gpt_neox", "gptj",    "gpt_oss",    "llama",       "llama4",  "mistral",
    "mistral3",  "gemma",   "gemma2",   "gemma3",  "qwen2",      "qwen3",       "phi",     "phi3",
    "opt",       "bloom",   "mpt",      "falcon",  "xglm",       "olmo",        "olmo2",   "cohere",
    "stablelm",  "ctrl",    "biogpt",   "codegen", "starcoder2", "deepseek_v3", "granite", "smollm3",
    "internlm2", "chatglm", "mamba",    NULL};
static const char *const encoders[] = {"bert",       "roberta",    "xlm-roberta", "distilbert", "electra",
                                       "albert",     "deberta",    "deberta-v2",  "camembert",  "mpnet",
                                       "modernbert", "longformer", "big_bird",    "xlm",        "ernie",
                                       "luke",       NULL};
static const char *const experts[] = {"mixtral",   "nllb-moe",  "nllb_moe", "switch_transformers",
                                      "qwen2_moe", "qwen3_moe", "dbrx",     NULL};
static const char *const visions[] = {
    "vit",       "clip",     "siglip",     "blip",       "blip-2",     "vision-encoder-decoder",
    "swin",      "deit",     "git",        "donut-swin", "pix2struct", "llava",
    "florence2", "qwen2_vl", "qwen2_5_vl", "paligemma",  NULL};
static const char *const sounds[] = {"speech_to_text",
                                     "wav2vec2",
                                     "hubert",
                                     "seamless_m4t",
                                     "seamless_m4t_v2",
                                     "speecht5",
                                     "speech-encoder-decoder",
                                     "moonshine",
                                     "moonshine_streaming",
                                     "canary",
                                     "canary_qwen",
                                     "parakeet_ctc",
                                     "parakeet_tdt",
                                     NULL};
static const char *const others[] = {
    "led",        "bigbird_pegasus", "pegasus_x",   "prophetnet", "mvp",
    "plbart",     "encoder-decoder", "t5gemma",     "t5gemma2",   "xlm-prophetnet",
    "IndicTrans", "indictrans",      "indictrans2", NULL};

static const struct kind kinds[] = {
    {"a decoder-only model", decoders},
    {"an encoder-only model", encoders},
    {"a mixture-of-experts model", experts},
    {"a vision model", visions},
    {"a speech model", sounds},
    {"an encoder-decoder that is not supported", others},
};

const char *clf__architecture_refused_type(const char *model_type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (const char *const *type = kinds[i].types; *type; type++) {
            if (strcmp(*type, model_type) == 0) {
                return kinds[i].what;
            }
        }
    }
    return NULL;
}

const char *clf__architecture_refused_class(const char *class_name)
{
    static const struct {
        const char *ending, *what;
    } classes[] = {
        {"EncoderModel", "an encoder-only model"},
        {"ForCausalLM", "a decoder-only model"},
        {"ForSequenceClassification", "a classifier"},
        {"ForTokenClassification", "a token classifier"},
        {"ForQuestionAnswering", "a question answering model"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (clf__ends_with(class_name, classes[i].ending)) {
            return classes[i].what;
        }
    }
    return NULL;
}
