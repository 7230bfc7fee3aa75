#include "text/sentences/japanese.h"

static int begins_with_any(const struct clf__passage *passage, size_t at, const char *const *words)
{
    int found = 0;
    for (; *words != NULL && !found; words++) {
        found = clf__begins_with(passage, at, *words);
    }
    return found;
}

static int is_hiragana(int32_t character)
{
    return character >= 0x3041 && character <= 0x309f;
}

int clf__japanese_particle(const struct clf__passage *passage, size_t at, int is_quoted)
{
    static const char *const particles[] = {"と", "って", "は",   "が", "を", "に",   "も",     "の",
                                            "で", "や",   "など", "か", "だ", "です", "である", NULL};
    static const char *const others[] = {
        "とても", "ところ", "とにかく", "ときどき", "とうとう", "とりあえず", "ともかく",
        "として", "はい",   "はじめ",   "はっきり", "がっかり", "もちろん",   "もし",
        "もう",   "もっと", "では",     "でも",     "ですが",   "ですから",   "だから",
        "だが",   "だけど", "だって",   "やがて",   "やはり",   "やっぱり",   "やっと",
        "かれ",   "かつて", "かなり",   "にわか",   "のちに",   "のんびり",   NULL};
    static const char *const quoting[] = {"と言",   "と思",   "と叫",   "と聞", "と書", "と答",
                                          "といっ", "という", "とおも", "と尋", "と考", "と感",
                                          "って",   "の",     "を",     NULL};
    static const char *const single[] = {"は", "が", "に", "も", "と", NULL};
    size_t next;
    clf__char_at(passage, at, &next);
    int is_single = begins_with_any(passage, at, single) && !is_hiragana(clf__char_at(passage, next, NULL)) &&
                    clf__mark_is_word(clf__mark_at(passage, next, NULL));
    return is_single || (begins_with_any(passage, at, is_quoted ? particles : quoting) &&
                         !begins_with_any(passage, at, others));
}

size_t clf__japanese_skip_quotations(const struct clf__passage *passage, size_t at)
{
    size_t partner = 0;
    while (clf__mark_at(passage, at, NULL) == CLF__MARK_OPENING &&
           (partner = clf__mark_partner(passage, at)) > 0) {
        at = partner;
    }
    return at;
}

int clf__japanese_reports(const struct clf__passage *passage, size_t at)
{
    enum { BYTES = 60 };
    static const char *const silent[] = {"答えな", "言わな", NULL};
    static const char *const verbs[] = {"言っ",   "言う",   "叫ん", "叫び", "聞い",   "聞く",
                                        "尋ね",   "たずね", "答え", "呟",   "つぶや", "囁",
                                        "ささや", "念を押", "怒鳴", NULL};
    enum clf__mark mark = CLF__MARK_LETTER;
    for (size_t end = at, next; end - at < BYTES && (clf__mark_is_word(mark) || mark == CLF__MARK_COMMA);
         end = next) {
        if (begins_with_any(passage, end, verbs) && !begins_with_any(passage, end, silent)) {
            return 1;
        }
        clf__char_at(passage, end, &next);
        mark = clf__mark_at(passage, next, NULL);
    }
    return 0;
}
