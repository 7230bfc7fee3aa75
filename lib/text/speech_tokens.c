#include "text/speech_tokens.h"

#include <string.h>

/* One every 0.02 s of a window of 30 s. */
enum { TIMES = 1501, HUNDREDTHS = 2 };

/* The order in which the models learned them. */
static const char codes[CLF__SPEECH_LANGUAGES][4] = {
    "en", "zh", "de", "es", "ru", "ko", "fr", "ja", "pt",  "tr", "pl", "ca", "nl", "ar", "sv", "it", "id",
    "hi", "fi", "vi", "he", "uk", "el", "ms", "cs", "ro",  "da", "hu", "ta", "no", "th", "ur", "hr", "bg",
    "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv",  "bn", "sr", "az", "sl", "kn", "et", "mk", "br",
    "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",  "gl", "mr", "pa", "si", "km", "sn", "yo", "so",
    "af", "oc", "ka", "be", "tg", "sd", "gu", "am", "yi",  "lo", "uz", "fo", "ht", "ps", "tk", "nn", "mt",
    "sa", "lb", "my", "bo", "tl", "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"};

static const char *const before[] = {"<|endoftext|>", "<|startoftranscript|>"};
static const char *const behind[] = {"<|translate|>",   "<|transcribe|>", "<|startoflm|>",
                                     "<|startofprev|>", "<|nospeech|>",   "<|notimestamps|>"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int clf__speech_room(int first, int rows)
{
    return rows - first - (int)(COUNT(before) + COUNT(behind)) - TIMES;
}

static clf_status add_list(struct clf__pieces *pieces, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLF__TRY(clf__pieces_add(pieces, list[i], strlen(list[i]), CLF__PIECE_SPECIAL));
    }
    return CLF_OK;
}

clf_status clf__speech_specials(struct clf__pieces *pieces, int languages)
{
    CLF__TRY(add_list(pieces, before, COUNT(before)));
    for (int i = 0; i < languages; i++) {
        CLF__TRY(clf__pieces_format(pieces, CLF__PIECE_SPECIAL, "<|%s|>", codes[i]));
    }
    CLF__TRY(add_list(pieces, behind, COUNT(behind)));
    for (int i = 0; i < TIMES; i++) {
        int time = i * HUNDREDTHS;
        CLF__TRY(clf__pieces_format(pieces, CLF__PIECE_SPECIAL, "<|%d.%02d|>", time / 100, time % 100));
    }
    return CLF_OK;
}
