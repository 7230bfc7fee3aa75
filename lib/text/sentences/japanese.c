#include "text/sentences/japanese.h"

#include <string.h>

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
    enum clf__mark mark = clf__mark_at(passage, at, NULL);
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

int clf__japanese_narrates(const struct clf__passage *passage, size_t quotation)
{
    enum { BYTES = 30 };
    static const char *const persons[] = {
        "彼",   "彼女", "彼ら", "私",   "僕",   "俺",       "わたし", "ぼく", "男",   "女",
        "少年", "少女", "二人", "三人", "母",   "父",       "兄",     "姉",   "弟",   "妹",
        "祖母", "祖父", "先生", "老人", "老婆", "子供たち", "店員",   "医者", "警官", "社長",
        "部長", "課長", "さん", "君",   "くん", "ちゃん",   "氏",     "夫",   "妻",   NULL};
    static const char *const topics[] = {"は", "が", "も", NULL};
    int32_t opening = clf__char_at(passage, quotation, NULL);
    size_t at = clf__japanese_skip_quotations(passage, quotation), end = at;
    if ((opening != 0x300c && opening != 0x300e) || at == quotation ||
        clf__japanese_particle(passage, at, 1) || clf__japanese_reports(passage, at)) {
        return 0;
    }
    for (size_t next; end - at < BYTES && clf__mark_at(passage, end, &next) == CLF__MARK_LETTER; end = next) {
        for (const char *const *person = persons; *person != NULL; person++) {
            if (clf__begins_with(passage, end, *person) &&
                begins_with_any(passage, end + strlen(*person), topics)) {
                return 1;
            }
        }
    }
    return 0;
}

int clf__japanese_repeats(const struct clf__passage *passage, size_t start, size_t end)
{
    enum { BYTES = 40 };
    size_t size = end - start;
    return size <= BYTES && passage->size - end >= size &&
           memcmp(passage->text + start, passage->text + end, size) == 0 &&
           clf__mark_at(passage, end + size, NULL) == CLF__MARK_LETTER &&
           clf__japanese_particle(passage, end + size, 0);
}
