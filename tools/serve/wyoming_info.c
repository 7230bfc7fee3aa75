#include "serve/wyoming_info.h"

#include "base/memory.h"
#include "model/model.h"
#include "model/transformer.h"
#include "text/tokenizers/speech.h"

/* The codes of a model's languages; NULL: out of memory. */
static json_t *languages_of(const struct speech_model *model)
{
    const struct clf_model *loaded = speech_model_loaded(model);
    struct clf__speech_tokens tokens;
    if (speech_model_is_english_only(model) ||
        clf__speech_tokens_find(&tokens, loaded->tokenizer, loaded->folder) != CLF_OK) {
        return json_pack("[s]", "en");
    }
    json_t *codes = json_array();
    int rows = loaded->transformer->config.target_vocabulary;
    for (int32_t i = tokens.start + 1; i <= tokens.start + tokens.languages && i < rows; i++) {
        char *code;
        if (clf__speech_language_code(&code, loaded->tokenizer, i) != CLF_OK) {
            json_decref(codes);
            return NULL;
        }
        if (*code != '\0') {
            json_array_append_new(codes, json_string(code));
        }
        clf__free(code);
    }
    return codes;
}

/* Home Assistant requires the members "attribution" and "installed". */
static json_t *describe_model(const struct speech_model *model)
{
    const char *name = speech_model_name(model);
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:b, s:n, s:o}", "name", name, "description", name,
                     "attribution", "name", "OpenAI", "url", "https://github.com/openai/whisper", "installed",
                     1, "version", "languages", languages_of(model));
}

json_t *wyoming_info(const struct speech_models *models)
{
    json_t *list = json_array();
    const struct speech_model *model;
    for (int i = 0; (model = speech_models_at(models, i)) != NULL; i++) {
        if (json_array_append_new(list, describe_model(model)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    json_t *program = json_pack("{s:s, s:s, s:{s:s, s:s}, s:b, s:s, s:o, s:b, s:b, s:b, s:b}", "name",
                                "clformer", "description", "Whisper models in clformer", "attribution",
                                "name", "clformer", "url", "", "installed", 1, "version", clf_version(),
                                "models", list, "supports_transcript_streaming", 0, "requires_external_vad",
                                1, "prefers_auto_gain_enabled", 1, "prefers_noise_reduction_enabled", 1);
    return json_pack("{s:[o], s:[], s:[], s:[], s:[], s:[], s:[]}", "asr", program, "tts", "handle", "intent",
                     "wake", "mic", "snd");
}
