extern "C" {
#include "serve/detector.h"
}

#ifdef CLF_HAS_CLD2

#include <cstdio>
#include <cstring>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

int detector_exists(void)
{
    return 1;
}

int detector_find(struct detected_language out[DETECTOR_LANGUAGES], const char *text, size_t size)
{
    const CLD2::CLDHints hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language languages[3];
    int percents[3], text_bytes = 0, valid_bytes = 0, count = 0;
    double scores[3];
    bool is_reliable = false;
    try {
        CLD2::ExtDetectLanguageSummaryCheckUTF8(text, static_cast<int>(size), true, &hints,
                                                CLD2::kCLDFlagBestEffort, languages, percents, scores,
                                                nullptr, &text_bytes, &is_reliable, &valid_bytes);
    } catch (...) { /* exceptions must not reach C */
        return 0;
    }
    for (int i = 0; i < 3 && valid_bytes == static_cast<int>(size); i++) {
        const char *code = CLD2::LanguageCode(languages[i]);
        /* Codes that begin with "xx-" are scripts of an unknown language. */
        if (languages[i] != CLD2::UNKNOWN_LANGUAGE && percents[i] > 0 && strncmp(code, "xx-", 3) != 0) {
            snprintf(out[count].code, sizeof out[count].code, "%s", code);
            out[count++].percent = percents[i];
        }
    }
    return count;
}

#else

int detector_exists(void)
{
    return 0;
}

int detector_find(struct detected_language *, const char *, size_t)
{
    return 0;
}

#endif
