/* Sentence ends: cases by kind, the warning, and the lists of tests/fixtures/text/sentences. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "text/sentences/sentences.h"

static void check(const char *text, const char *const *expected, int count)
{
    struct clf__part_list parts = {.count = 0};
    assert_ok(clf__sentences_find(&parts, text, strlen(text)));
    for (int i = 0; i < parts.count && i < count; i++) {
        if (parts.items[i].size != strlen(expected[i]) ||
            memcmp(text + parts.items[i].start, expected[i], parts.items[i].size) != 0) {
            fail_msg("\"%.*s\" in place of \"%s\"", (int)parts.items[i].size, text + parts.items[i].start,
                     expected[i]);
        }
    }
    if (parts.count != count) {
        fail_msg("%d sentences in place of %d: %s", parts.count, count, text);
    }
    assert_int_equal(clf__sentences_are_several(text, strlen(text)), count > 1);
    clf__part_list_free(&parts);
}
#define CHECK(text, ...)                                                                                     \
    do {                                                                                                     \
        static const char *const expected[] = {__VA_ARGS__};                                                 \
        check(text, expected, sizeof expected / sizeof *expected);                                           \
    } while (0)
#define CHECK_ONE(text) CHECK(text, text)

static void test_space(void **state)
{
    (void)state;
    CHECK("  One.  Two! \"Three?\" Four ", "One.", "Two!", "\"Three?\"", "Four");
    CHECK("a\n\nb\nc", "a", "b", "c");
    CHECK("Un.\u00a0Deux.\u202fTrois.", "Un.", "Deux.", "Trois.");
    check(" \t\u00a0\n", NULL, 0);
    check("", NULL, 0);
    CHECK_ONE("...");
    CHECK_ONE("etc. etc.");
}

static void test_french(void **state)
{
    (void)state;
    CHECK("Où est la gare ? Je cherche le train.", "Où est la gare ?", "Je cherche le train.");
    CHECK("Dr. Petit est là. M. Roux aussi.", "Dr. Petit est là.", "M. Roux aussi.");
    CHECK("Il part à 18 h. 30 ce soir. Il dort.", "Il part à 18 h. 30 ce soir.", "Il dort.");
    CHECK("« Oui ! » dit-il. « Non ! »", "« Oui ! » dit-il.", "« Non ! »");
    CHECK("«\u202fOui\u00a0!\u202f» dit-il. Puis il partit.", "«\u202fOui\u00a0!\u202f» dit-il.",
          "Puis il partit.");
}

static void test_abbreviations(void **state)
{
    (void)state;
    CHECK("Mr. Smith left. He is 3.5 m tall.", "Mr. Smith left.", "He is 3.5 m tall.");
    CHECK("See no. 5. Did you say no. It is gone.", "See no. 5.", "Did you say no.", "It is gone.");
    CHECK("At 5 p.m. Mr. Lee left. We met at 5 p.m. Mr. Lee was late.", "At 5 p.m. Mr. Lee left.",
          "We met at 5 p.m.", "Mr. Lee was late.");
    CHECK("The U.S. Senate met. He left the U.S. It was cold.", "The U.S. Senate met.", "He left the U.S.",
          "It was cold.");
    CHECK("Das kostet z. B. Geld. Am 3. Mai kam er am 4. Er blieb.", "Das kostet z. B. Geld.",
          "Am 3. Mai kam er am 4.", "Er blieb.");
    CHECK("Plan B. Vitamin C. J. Doe. You and I. None left.", "Plan B.", "Vitamin C.", "J. Doe.",
          "You and I.", "None left.");
    CHECK("L'art d'A. Manzoni. Il cap. De Rosa. Vivo en 3.º B. El sol.", "L'art d'A. Manzoni.",
          "Il cap. De Rosa.", "Vivo en 3.º B.", "El sol.");
    CHECK("На 88-й мин. Диденко забил. Вес 2,7 Гб. Пароль.", "На 88-й мин. Диденко забил.", "Вес 2,7 Гб.",
          "Пароль.");
    CHECK("Le jeu. 4 mai. Take 2 caps. 3 times. Es kostet ab mind. € 20. Ende.", "Le jeu. 4 mai.",
          "Take 2 caps. 3 times.", "Es kostet ab mind. € 20.", "Ende.");
    CHECK("It crossed my mind. I left. C'est un jeu. 20000 joueurs.", "It crossed my mind.", "I left.",
          "C'est un jeu.", "20000 joueurs.");
    CHECK("Groups A and B. Paul won. Rechts, 4. Stock. In der Halle D. Einlass.", "Groups A and B.",
          "Paul won.", "Rechts, 4. Stock.", "In der Halle D.", "Einlass.");
    CHECK("Frankfurt a. d. O. Karl kam. Es dauert 5 Min. Essen gibt es. Dipl.-Kfm. Roth.",
          "Frankfurt a. d. O.", "Karl kam.", "Es dauert 5 Min.", "Essen gibt es.", "Dipl.-Kfm. Roth.");
    CHECK("Ref. 4, cant. 3, sent. 5. Cat. No. 7. See /proc. Paul.", "Ref. 4, cant. 3, sent. 5.",
          "Cat. No. 7.", "See /proc.", "Paul.");
    CHECK("Ver doc. 7 y 8. Room no. BC 12. Судья Орлов А. М. Защита молчит.", "Ver doc. 7 y 8.",
          "Room no. BC 12.", "Судья Орлов А. М.", "Защита молчит.");
    CHECK_ONE("L'A.C. Milan at 12 N. Main St. and McDonald's.");
    CHECK("Длина 5 см. Потом см. 5 и г. Омск.", "Длина 5 см.", "Потом см. 5 и г. Омск.");
}

static void test_items(void **state)
{
    (void)state;
    CHECK("1. Open the lid 2. Fill in water. Wait.", "1. Open the lid", "2. Fill in water.", "Wait.");
    CHECK("1) buy milk 2) buy eggs 3) go home", "1) buy milk", "2) buy eggs", "3) go home");
    CHECK("\xe2\x80\xa2 9. Salt \xe2\x80\xa2 10. Pepper", "\xe2\x80\xa2 9. Salt", "\xe2\x80\xa2 10. Pepper");
    CHECK("a. First of all b. Second c. Third", "a. First of all", "b. Second", "c. Third");
    CHECK("Do: a) Run. b) Rest. Note b) is short.", "Do: a) Run.", "b) Rest.", "Note b) is short.");
    CHECK_ONE("A. Smith and B. Jones wrote it.");
    CHECK_ONE("1. Advent und 2. Advent sind Sonntage.");
    CHECK_ONE("1. 2. 1995 war ein Mittwoch.");
    CHECK("Es waren 4. 1995 waren es 5.", "Es waren 4.", "1995 waren es 5.");
}

static void test_quotations(void **state)
{
    (void)state;
    CHECK("\"Go. Run,\" he said. \"Go. Run.\" Done.", "\"Go. Run,\" he said.", "\"Go.", "Run.\"", "Done.");
    CHECK("«Go. Run». He left. \"Go. Run\"! she cried.", "«Go.", "Run».", "He left.",
          "\"Go. Run\"! she cried.");
    CHECK("„Halt!“ rief er. »Ja.« Er ging.", "„Halt!“ rief er.", "»Ja.«", "Er ging.");
    CHECK("We met (it rained. It was cold.) and left. (Yes.) No.",
          "We met (it rained. It was cold.) and left.", "(Yes.)", "No.");
    CHECK("\"Stop!\" Paul shouted. \"Why?\" It was late.", "\"Stop!\" Paul shouted.", "\"Why?\"",
          "It was late.");
    CHECK("「行く。帰る。」と言った。「はい。」「いいえ。」", "「行く。帰る。」と言った。", "「はい。」",
          "「いいえ。」");
    CHECK("« Je pars. — Déjà ? » dit-il.", "« Je pars.", "— Déjà ? » dit-il.");
    CHECK("「雨か」彼は言わない。「雨か」彼は言った。「雨」と彼。", "「雨か」", "彼は言わない。",
          "「雨か」彼は言った。", "「雨」と彼。");
    CHECK("「聞いた？」「聞いたよ。」すごい！すごい！と言う。", "「聞いた？」", "「聞いたよ。」",
          "すごい！すごい！と言う。");
    CHECK("「誰？」と聞いた。「誰？」とても驚いた。", "「誰？」と聞いた。", "「誰？」", "とても驚いた。");
}

static void test_ellipses(void **state)
{
    (void)state;
    CHECK("Wait... what? I... I know… Now. . . . Then", "Wait... what?", "I...", "I know…", "Now. . . .",
          "Then");
    CHECK_ONE("He [...] said . . . The end");
    CHECK("考えた…でも忘れた……。次。", "考えた…でも忘れた……。", "次。");
}

static void test_spelling(void **state)
{
    (void)state;
    CHECK("where is it? over there. see fig. 3 and e.g. this", "where is it?", "over there.",
          "see fig. 3 and e.g. this");
    CHECK("Il est là.Je viens.Où?Ici!Non.", "Il est là.", "Je viens.", "Où?", "Ici!", "Non.");
    CHECK_ONE("Node.js and www.Example.Com/a?B=c are at 3.5.");
    CHECK("I use an iPhone. iPads are bigger. macOS is new", "I use an iPhone.", "iPads are bigger.",
          "macOS is new");
    CHECK("The paper Oui! Presse is here. Oui! Presse it.", "The paper Oui! Presse is here.", "Oui!",
          "Presse it.");
    CHECK("你好。再见。", "你好。", "再见。");
    CHECK("वह आया। वह गया।", "वह आया।", "वह गया।");
    CHECK("\xff\xfe. A\xff. B", "\xff\xfe. A\xff.", "B");
}

static void test_emoticons(void **state)
{
    (void)state;
    CHECK("See you :-) Bye", "See you :-)", "Bye");
    CHECK("What?! ;) Never :D :D No.", "What?! ;)", "Never :D :D", "No.");
    CHECK("До завтра))) Пока", "До завтра)))", "Пока");
    CHECK("I love it \xf0\x9f\x98\x8d Thanks", "I love it \xf0\x9f\x98\x8d", "Thanks");
    CHECK("やった!w次（笑）次", "やった!w", "次（笑）", "次");
    CHECK_ONE("I \xe2\x9d\xa4 Paris :) and Rome :(no) (Note (one (two (three))): Four)");
}

/* --- The lists --- */

enum { MOST = 32, LINE_BYTES = 2048 };

/* Byte offsets of the sentence ends of a line, except the last one. */
struct ends {
    size_t at[MOST];
    int count;
};

/* Removes the bars of a line in a list: "One. | Two." is "One. Two."; in scripts without spaces "一。|二。".
 */
static void read_bars(struct ends *ends, char *text, const char *line)
{
    ends->count = 0;
    size_t size = 0;
    for (; *line != '\0' && *line != '\n'; line++) {
        if (*line != '|') {
            text[size++] = *line;
            continue;
        }
        int has_space = size > 0 && text[size - 1] == ' ';
        size -= has_space && line[1] == ' ';
        assert_true(ends->count < MOST);
        ends->at[ends->count++] = clf__part_trim(text, 0, size).size;
    }
    text[size] = '\0';
}

static int is_among(size_t end, const struct ends *ends)
{
    int found = 0;
    for (int i = 0; i < ends->count; i++) {
        found |= ends->at[i] == end;
    }
    return found;
}

struct counts {
    int right, found, expected;
};

/* Adds the ends in a list, which has one test a line; shows the lines that are not right. */
static void count_ends(struct counts *counts, const char *path)
{
    char line[LINE_BYTES], text[LINE_BYTES];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct ends expected, actual = {.count = 0};
        struct clf__part_list parts = {.count = 0};
        if (line[0] == '#') {
            continue;
        }
        read_bars(&expected, text, line);
        assert_ok(clf__sentences_find(&parts, text, strlen(text)));
        for (int i = 0; i + 1 < parts.count && i < MOST; i++) {
            actual.at[actual.count++] = parts.items[i].start + parts.items[i].size;
        }
        int common = 0;
        for (int i = 0; i < actual.count; i++) {
            common += is_among(actual.at[i], &expected);
        }
        if (common < actual.count || common < expected.count) {
            print_message("%s: %s", path, line);
        }
        counts->right += common;
        counts->found += actual.count;
        counts->expected += expected.count;
        clf__part_list_free(&parts);
    }
    fclose(file);
}

static void test_lists(void **state)
{
    (void)state;
    static const char *const languages[] = {"en", "de", "fr", "es", "it", "pt", "ru", "ja"};
    static const char *const lists[] = {"first", "second",  "third",  "fourth", "fifth",
                                        "sixth", "seventh", "eighth", "ninth",  "tenth"};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        struct counts counts = {0, 0, 0};
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
            char *path;
            assert_ok(clf__format(&path, CLF_SOURCE_FOLDER "/tests/fixtures/text/sentences/%s/%s.txt",
                                  lists[k], languages[i]));
            count_ends(&counts, path);
            clf__free(path);
        }
        double f1 = 2.0 * counts.right / (counts.found + counts.expected);
        print_message("%s: F1 %.4f of %d ends\n", languages[i], f1, counts.expected);
        assert_true(counts.expected >= 460 && f1 >= 0.99);
    }
}

static void test_trim(void **state)
{
    (void)state;
    const char *text = " a\xc2\xa0 b\xe3\x80\x80";
    struct clf__part part = clf__part_trim(text, 0, strlen(text));
    assert_true(part.start == 1 && part.size == 5);
    part = clf__part_trim(text, 2, 5);
    assert_int_equal(part.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space),         cmocka_unit_test(test_french),
        cmocka_unit_test(test_abbreviations), cmocka_unit_test(test_items),
        cmocka_unit_test(test_quotations),    cmocka_unit_test(test_ellipses),
        cmocka_unit_test(test_spelling),      cmocka_unit_test(test_emoticons),
        cmocka_unit_test(test_lists),         cmocka_unit_test(test_trim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
