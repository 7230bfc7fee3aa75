#include "text/sentences/words.h"

#include <stdio.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

/* Lists of lower-case words separated by spaces, of all languages. */

/* Names that end with an exclamation mark, and interjections that are such names within a sentence. */
static const char exclaimed[] = " yahoo ";
static const char interjections[] = " hey hi jump wow oui hop oi olé olá sí ehi ja эй ";
/* Names of time zones, after a time. */
static const char zones[] = " eastern central pacific mountain gmt utc est edt cst pst pdt cet cest ";

static const char starters[] =
    /* English */
    " simmer boil garnish "
    " leave follow choose avoid think cut preheat pay drink eat tick anyone anything dear "
    "welcome sorry ah hey hmm alas indeed hence moreover furthermore otherwise likewise remove click "
    "select open check shake mix stir bake serve remember imagine note visit contact ask tell whoever "
    "wherever whenever half the this that these those there here he she it we they you i his her its "
    "our their my your who what when where why how which whose if whether but and or so yet then "
    "while after before since because although though however still also now once in on at from to "
    "with without under over during as an a not no nor yes do did does is are was were has had can "
    "could should would let please nobody everyone everybody someone somebody nothing everything "
    "something many most some all any each every few both several another other others one two three "
    "only even never always perhaps maybe afterwards despite instead nearby according among within "
    "across along above below beyond next first second finally suddenly soon often sometimes usually "
    "again almost him them us me himself ok okay oh well call take add use turn read write send bring "
    "wait stop look come go keep put get give make try see today yesterday tomorrow later meanwhile "
    "thus therefore for by about none between until unless thanks thank "
    /* German */
    " klingeln anrufen lesen schreiben folgen wählt biegen treten nutzen vermeiden denken schneiden "
    "rühren heizen unterschreiben zahlen bezahlen kommt kommen warten ruft rufen wieso weshalb welche "
    "welcher welches welchen weder sowie sogar zudem zwar eben genau hallo guten liebe lieber sehr "
    "gern gerne bringt nehmt geht seid macht drücken öffnen schalten klicken wählen schließen "
    "entfernen lassen geben nehmen setzen stellen achten wessen wozu woher womit hinzu hingegen "
    "vorher nachher einmal zweimal niemanden jedem jeden jeglicher mehrere weitere weiterhin "
    "ebenfalls ebenso ferner übrigens bisher bislang dadurch dahinter darum hoffentlich offenbar "
    "angeblich umso hätte wäre würde könnte zwei drei vier fünf sechs sieben acht neun zehn beide "
    "ihnen euch solche hierfür gib nimm komm siehe lies anfangs seitdem davor wieder vielen unterwegs "
    "dabei dazu dafür davon darauf daraus darin darüber deswegen somit zunächst zuerst zuletzt "
    "schließlich endlich plötzlich bald inzwischen mittlerweile manchmal oft meist meistens immer nie "
    "niemals selten vielleicht wahrscheinlich natürlich leider wegen trotz laut gemäß innerhalb "
    "außerhalb statt sobald falls damit dass zwischen hinter neben jedoch allerdings dennoch sonst "
    "anschließend der die das den dem des ein eine einen einem einer er sie es wir ihr ich du man "
    "mein meine dein sein seine unser unsere ihre dieser diese dieses diesen jener jede jeder jedes "
    "alle viele manche einige keiner keine kein niemand jemand alles nichts etwas wer wo wann warum "
    "wie wohin und oder aber doch denn dann danach dort hier da jetzt heute gestern morgen später "
    "früher im am auf aus bei beim mit nach von vom vor zum zur über unter für durch ohne gegen seit "
    "bis um als wenn weil obwohl während nachdem trotzdem deshalb daher außerdem auch nur schon noch "
    "nun sind war waren hat haben kann nicht ja nein bitte insgesamt erst damals ihm ihn uns mir "
    "danke "
    /* French */
    " cuisez enfournez réservez décorez hachez pelez mijotez "
    " sonnez frappez levez prévoyez relisez allez venez donnez lisez écrivez suivez tournez entrez "
    "choisissez cochez ouvrez fermez utilisez évitez pensez pensez-y incorporez épluchez salez "
    "préchauffez battez déposez signez payez maintenant aussitôt autrefois jadis hélas bref certes "
    "sinon quant quiconque mieux moins plus très trop tant telle tel dont dehors dedans ailleurs "
    "partout attention bonjour bonsoir désolé avait était avez êtes suis faut faites mettez versez "
    "laissez mélangez coupez servez retirez appuyez cliquez vérifiez consultez attendez regardez "
    "imaginez sachez veuillez auprès quelqu autant autre autres autrement lorsqu puisque puisqu afin "
    "quoique quelque celui celle ceux celles deux trois quatre cinq six sept huit neuf dix lui eux "
    "quelques dès lors parfois souvent enfin bientôt soudain désormais ainsi cependant toutefois "
    "pourtant néanmoins outre parmi loin grâce nul nulle chacun voyez appelez prenez ajoutez le la "
    "les un une de il elle ils elles nous vous je tu ce cet cette ces cela ça ceci mon ma mes ton ta "
    "tes son sa ses notre nos votre vos leur leurs qui que quoi où quand comment pourquoi quel quelle "
    "quels quelles et ou mais donc car puis alors ensuite après avant depuis dans en au aux à par "
    "pour sur sous avec sans chez vers entre pendant si comme lorsque tout tous toute toutes chaque "
    "plusieurs certains certaines aucun aucune personne rien beaucoup peu y ici là demain oui non ne "
    "pas même aussi encore déjà toujours jamais est sont voici voilà selon malgré merci "
    /* Italian */
    " cuocete bollire infornare infornate sbucciare tritare decorare friggere "
    " suonare premete aprite chiudete leggete scrivete seguite girate entrate scegliete barrare usate "
    "evitate pensate unire versare tagliare togliere mettere lasciare usare evitare vedi leggi scrivi "
    "chiamare adesso ormai purtroppo bene così cioè insomma magari comunque infatti anzi invece "
    "altrimenti appena finché affinché oppure neanche ognuno chiunque qualunque qualsiasi buongiorno "
    "ciao attenzione vorrei volevo può deve aggiungere mescolare cuocere servire premere aprire "
    "chiudere attendere fate mettete lasciate versate portate prendete ricordate eccetto oltre presso "
    "verso contro sotto sopra dietro davanti vicino lontano due tre quattro cinque sei sette otto "
    "nove dieci ciascuno qualcuno qualche nemmeno neppure inoltre infine intanto tuttavia dunque "
    "perciò forse spesso subito presto tardi venne vennero furono aveva avevano erano suo sua suoi "
    "sue mio mia miei mie tuo tua lo gli uno una egli lei noi voi loro io essa essi questo questa "
    "questi queste quello quella quelli ciò chi che cosa dove quando perché quale quanto e ed o però "
    "quindi poi allora dopo prima nel nella nei nelle nello al alla ai dal dalla dai di del della dei "
    "delle per con su sul sulla tra fra senza se mentre anche ancora già sempre mai nessuno niente "
    "tutto tutta tutti tutte molti molte alcuni altri ogni ci vi è era sono ha hanno fu oggi ieri "
    "domani lì sì ecco secondo grazie "
    /* Spanish */
    " cocer cueza hierva hornee sofría pele pique reserve decore enfríe "
    " llame llamad llevad llevar traer lea escriba siga gire elija marque evite piense corte "
    "incorpore precaliente bata firme pague haga vaya venga tome venid id algo alguien algún alguna "
    "ninguno ninguna ningún cualquier cualquiera bastante demasiado mucho mucha poco pocos pocas "
    "mejor peor igual mientras acaso ojalá hola buenos buenas perdón cuidado bueno hemos tenía tiene "
    "tengo puede debe traed traiga añada mezcle agregue vierta pulse abra cierre retire espere mire "
    "consulte recuerde deje ponga sirva cuánto cuántos cuya detrás delante encima debajo cerca lejos "
    "fuera dentro contra bajo dos tres cuatro cinco seis siete ocho nueve diez aquellos aquellas "
    "aquello mediante aún apenas quizá quizás tal ambos ambas pronto finalmente solo sólo incluso "
    "excepto salvo eran fueron había hubo el los las unos unas él ella ellos ellas usted ustedes yo "
    "tú nosotros esto este esta estos estas eso ese esa esos esas aquel aquella sus mis tus mi "
    "nuestro nuestra quién quien qué cuál cuándo cuando dónde donde cómo como por porque para sin "
    "desde hasta sobre según tras durante antes después luego entonces ahora hoy ayer mañana aquí "
    "allí allá u pero sino aunque nadie nada nunca siempre también tampoco todo toda todos todas "
    "muchos muchas algunos algunas otros otras cada hay fue está están han te ya así además más "
    "gracias "
    /* Portuguese */
    " cozinhe asse ferva frite descasque enforne "
    " ligue toque levem leia escreva vire escolha pense junte preaqueça assine faça vá venha alguém "
    "algum alguma nenhum nenhuma qualquer quaisquer demais muito muita pouco poucos melhor pior oxalá "
    "olá desculpe bem será estão tinha tenho pode tragam traga adicione misture coloque pressione "
    "feche lembre deixe quantos cuja atrás diante acima abaixo perto longe fora sob pois senão aliás "
    "inclusive dois duas três quatro sete oito dez aqueles aquelas aquilo lhe quase talvez enquanto "
    "segundo conforme somente ainda logo enfim todavia contudo entretanto portanto eram foram havia "
    "houve os uma umas ele ela eles elas você vocês eu nós isto isso estes aquele aquela seu seus "
    "suas meu minha nosso nossa quem qual onde com sem em na nas ao aos às até depois então agora "
    "hoje ontem amanhã ali mas porém embora não ninguém também tudo muitos muitas alguns algumas "
    "outro outra outros há são foi tem já assim além mesmo obrigado obrigada "
    /* Russian */
    " тушить жарить кипятить варить очистите выпекайте "
    " звоните позвоните берите читайте пишите следуйте поверните войдите выберите используйте "
    "избегайте нарежьте взбейте подпишите оплатите сделайте идите приходите привет здравствуйте "
    "извините пожалуйста увы итак кстати вообще конечно возможно наверное может видимо очевидно "
    "поскольку ибо причём причем притом отсюда оттуда туда сюда везде нигде несколько много мало "
    "больше меньше лучше хуже очень слишком совсем вот вон ведь разве неужели пусть давайте возьмите "
    "нажмите добавьте смешайте откройте закройте снимите подавайте варите мимо сквозь против внутри "
    "снаружи вчетвером ему ей им мне тебе нам вам него неё них себя два две три четыре пять шесть "
    "семь восемь девять десять оба обе сам сама сами вдруг снова опять часто иногда обычно вскоре "
    "впрочем наконец кроме около среди вместо вокруг именно почти однажды он она оно они мы вы я ты "
    "это этот эта эти тот те его её ее их мой моя наш наша ваш свой кто что где когда куда откуда "
    "почему как какой который и а но или да нет не ни однако зато потом затем тогда теперь сейчас "
    "сегодня вчера завтра здесь там тут так также тоже ещё еще уже только даже в во на с со к ко о об "
    "от до из за по под над при для без через после перед между у если хотя пока чтобы потому поэтому "
    "все всё весь вся каждый многие некоторые никто ничего никогда всегда нельзя можно надо был была "
    "было были есть спасибо ";
static const char elided[] =
    " l d c j n s m t qu dell nell all dall sull un quell quest dov com lorsqu puisqu jusqu aujourd "
    "don won isn aren wasn doesn didn couldn wouldn ";
static const char particles[] =
    " de di da do del della dos das du des la le lo van von der den el al ben bin san mc st ter ";
static const char labels[] =
    " vitamin vitamine vitamina plan plano planta bloco turma setor type typ tipo group gruppe groupe "
    "grupo gruppo class klasse classe clase section abschnitt sección seção part teil partie parte "
    "point punkt punto ponto grade note nota letter buchstabe lettre letra lettera hepatitis hépatite "
    "epatite hepatite blutgruppe category kategorie catégorie categoría categoria team appendix "
    "anhang annexe anexo allegato schedule exhibit option opción variant variante column spalte "
    "colonne columna line linie ligne línea gate gleis platform terminal building serie série series "
    "level model modell moll dur витамин витамина витамины план плана тип типа группа группы группу "
    "класс класса пункт пункта буква буквы часть вариант приложение room hall wing block pier zone "
    "sector stand ward exit entrance size sizes figure table exercise question version box route "
    "language raum saal halle zimmer tor ausgang eingang sektor tribüne aufgang größe sprache "
    "abbildung tabelle aufgabe frage salle bloc bâtiment secteur tribune entrée sortie taille langage "
    "tableau exercice sala salón aula salida entrada zona edificio pabellón andén bloque talla "
    "lenguaje figura tabla ejercicio pregunta stanza uscita ingresso blocco padiglione settore scala "
    "taglia linguaggio tabella esercizio domanda binario portão saída edifício pavilhão andar tamanho "
    "linguagem tabela exercício pergunta questão torre зал зале зала аудитория аудитории аудиторию "
    "кабинет кабинете корпус корпусе корпуса блок блоке сектор секторе зона зоне подъезд подъезде "
    "выход выходе вход секция секции литера размер размера языке язык row seat desk stall booth floor "
    "track lane groups options choices vitamins reihe sitz tisch spur rang loge foyer hörsaal "
    "klassenraum klassenzimmer siège étage amphi amphithéâtre tribuna grada fila asiento mesa "
    "despacho módulo nave estudio hangar posto tavolo palchetto corsia binari ufficio reparto "
    "capannone salão bancada auditório estúdio gabinete escritório pavimento galpão ряд ряду место "
    "стол столе этаж линия линии трибуна трибуне платформа платформе палата палате рисунок таблица "
    "вопрос категория категории категорию классе "
    "permis carné carnet carta patente licence license führerschein führerscheinklasse кат права ";
static const char ordinals[] = " am im vom zum beim ab bis seit der die das dem den des ein eine einen einem "
                               "einer eines sein seine seinen seinem seiner "
                               "ihr ihre ihren ihrem ihrer mein meine meinen meinem meiner dein deine deinen "
                               "unser unsere unseren jeder jede jedes jeden "
                               "dieser diese dieses diesen kein keine und zur auf nach ";
static const char german_months[] =
    " januar jänner februar märz april mai juni juli august september oktober november dezember "
    "jan feb apr jun jul aug sep sept okt nov dez ";
static const char before_i[] =
    " and am do did does so or nor than as was have had has can could will would should may must but not ";
static const char prepositions[] =
    " at by in on around about after before until since from um gegen vor nach bis seit vers à a alle "
    "dopo prima verso às antes depois desde hacia hasta las в во около с со до после к ко на от ";
static const char reports[] =
    " said says asked cried shouted yelled replied whispered exclaimed called answered screamed ";

/* German nouns that are counted by ordinal numbers. */
static const char german_ranks[] =
    " stock stockwerk etage og obergeschoss klasse platz liga bundesliga jahrhundert jh jhd jhdt "
    "auflage aufl spieltag runde minute stunde tag woche monat jahr quartal halbjahr halbzeit "
    "semester geburtstag lebensjahr bezirk mal teil band reihe lektion akt szene mannschaft sinfonie "
    "symphonie weltkrieg kapitel absatz satz stufe rang schuljahr lauf etappe saison folge staffel "
    "generation hochzeitstag jahrestag sieger siegerin preis advent vorsitzende vorsitzender "
    "bürgermeister strophe zeile spalte versuch wahlgang rennen drittel viertel ausgabe jahrgang "
    "durchgang ";
/* Words after a number that say how often. */
static const char frequencies[] = " times time fois veces vez volte volta vezes раз раза р mal x ";
static const char conjunctions[] = " and or und oder et ou y o e ed u и или ";
/* Finite verbs that often follow the first word of a sentence. */
static const char finite[] =
    " ist sind war waren hat haben hatte hatten kann können konnte muss müssen musste soll sollte wird "
    "werden "
    "wurde wurden darf will wollte gibt geht kommt kostet bleibt macht liegt steht heißt "
    "is are was were has have had can could will would must should may "
    "est sont était étaient a ont avait avaient peut doit sera "
    "es son era eran está están tiene tenía puede debe será "
    "è sono aveva può deve sarà é são estava tem tinha pode deve está ";

int clf__word_is_in(const char *list, const char *word)
{
    char key[CLF__WORD_BYTES + 3];
    snprintf(key, sizeof key, " %s ", word);
    return word[0] != '\0' && strstr(list, key) != NULL;
}

/* Returns whether a character is a digit of Roman numerals up to 39; CD and MC are words. */
static int is_roman_digit(int32_t character)
{
    return character == 'I' || character == 'V' || character == 'X';
}

/* Reads the word [start, end) of the passage. */
static struct clf__sentence_word read_word(const struct clf__passage *passage, size_t start, size_t end)
{
    struct clf__sentence_word word = {.start = start, .end = end, .is_roman = 1};
    int bytes = 0, is_long = 0;
    for (size_t at = start, next; at < end; at = next) {
        int32_t character = clf__char_at(passage, at, &next);
        enum clf__mark mark = clf__mark_at(passage, at, NULL);
        word.is_capital |= at == start && mark == CLF__MARK_UPPER;
        word.capitals += mark == CLF__MARK_UPPER;
        word.is_roman &= is_roman_digit(character);
        word.letters += mark == CLF__MARK_LOWER || mark == CLF__MARK_UPPER || mark == CLF__MARK_LETTER;
        word.digits += mark == CLF__MARK_DIGIT;
        word.stops += mark == CLF__MARK_STOP;
        is_long |= bytes + U8_MAX_LENGTH >= CLF__WORD_BYTES;
        if (!is_long) {
            UBool failed = 0;
            U8_APPEND((uint8_t *)word.lower, bytes, CLF__WORD_BYTES, u_tolower(character), failed);
            is_long |= failed;
        }
    }
    word.lower[is_long ? 0 : bytes] = '\0';
    word.is_roman &= word.letters > 0;
    return word;
}

static int is_apostrophe(int32_t character)
{
    return character == '\'' || character == 0x2019;
}

struct clf__sentence_word clf__word_before(const struct clf__passage *passage, size_t start, size_t end)
{
    enum { LONGEST = 2 * CLF__WORD_BYTES };
    size_t at = end, begin;
    int is_cased = 0;
    while (at > start && end - at < LONGEST) {
        int32_t character = clf__char_before(passage, at, &begin);
        enum clf__mark mark = clf__mark_at(passage, begin, NULL);
        int belongs = clf__mark_is_word(mark) || mark == CLF__MARK_STOP || character == '-' ||
                      is_apostrophe(character) || character == 0xb0;
        if (!belongs || (mark == CLF__MARK_LETTER && is_cased)) {
            break;
        }
        is_cased |= mark == CLF__MARK_LOWER || mark == CLF__MARK_UPPER;
        at = begin;
    }
    while (at < end && is_apostrophe(clf__char_at(passage, at, NULL))) {
        clf__char_at(passage, at, &at);
    }
    return read_word(passage, at, end);
}

struct clf__sentence_word clf__word_at(const struct clf__passage *passage, size_t at)
{
    size_t end = at, next;
    while (clf__mark_is_word(clf__mark_at(passage, end, &next))) {
        end = next;
    }
    return read_word(passage, at, end);
}

int clf__word_is_listed(const char *list, const char *word)
{
    const char *straight = strchr(word, '\''), *curly = strstr(word, "\xe2\x80\x99"),
               *hyphen = strrchr(word, '-');
    return clf__word_is_in(list, word) || (straight != NULL && clf__word_is_in(list, straight + 1)) ||
           (curly != NULL && clf__word_is_in(list, curly + 3)) ||
           (hyphen != NULL && clf__word_is_in(list, hyphen + 1));
}

int clf__word_is_starter(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    size_t next;
    int32_t behind = clf__char_at(passage, word->end, &next);
    if (behind == '.' && word->letters == 1) { /* an initial */
        return 0;
    }
    if (is_apostrophe(behind) && clf__mark_at(passage, next, NULL) != CLF__MARK_LOWER) { /* L'Oréal */
        return 0;
    }
    if (is_apostrophe(behind) && clf__word_is_in(elided, word->lower)) {
        return 1;
    }
    return clf__word_is_in(starters, word->lower);
}

int clf__word_is_particle(const struct clf__sentence_word *word)
{
    return clf__word_is_in(particles, word->lower);
}

/* Returns whether a word ends with an item of a list that ends with NULL, and is longer than it. */
static int has_suffix(const char *word, const char *const *suffixes)
{
    size_t size = strlen(word);
    int found = 0;
    for (; *suffixes != NULL && !found; suffixes++) {
        size_t length = strlen(*suffixes);
        found = size > length && strcmp(word + size - length, *suffixes) == 0;
    }
    return found;
}

int clf__word_is_label(const struct clf__sentence_word *word, const struct clf__sentence_word *letter)
{
    static const char
        *const compounds[] = {"room",    "saal",    "raum", "zimmer", "halle", "klasse",
                              "block",   "gruppe",  "typ",  "stufe",  "größe", "trakt",
                              "gebäude", "tribüne", "plan", "schein", NULL}; /* courtroom, Sitzungssaal */
    return clf__word_is_listed(labels, word->lower) || has_suffix(word->lower, compounds) ||
           (strcmp(letter->lower, "i") == 0 && clf__word_is_in(before_i, word->lower));
}

int clf__word_precedes_ordinal(const struct clf__sentence_word *word)
{
    return clf__word_is_in(ordinals, word->lower);
}

int clf__word_is_german_rank(const struct clf__sentence_word *word)
{
    return word->is_capital && clf__word_is_in(german_ranks, word->lower);
}

int clf__word_is_russian_surname(const struct clf__sentence_word *word)
{
    static const char *const endings[] = {"ов",  "ев",  "ёв",  "ин",  "ын", "ова", "ева", "ёва",
                                          "ина", "ына", "ий",  "ая",  "ой", "ко",  "ук",  "юк",
                                          "ян",  "ову", "еву", "ину", "ым", NULL};
    enum { SHORTEST = 4 };
    return word->is_capital && word->capitals == 1 && word->letters >= SHORTEST &&
           has_suffix(word->lower, endings);
}

int clf__word_is_frequency(const struct clf__sentence_word *word)
{
    return clf__word_is_in(frequencies, word->lower);
}

int clf__word_joins(const struct clf__sentence_word *word)
{
    return clf__word_is_in(conjunctions, word->lower);
}

int clf__word_is_finite(const struct clf__sentence_word *word)
{
    return word->capitals == 0 && clf__word_is_in(finite, word->lower);
}

int clf__word_is_exclaimed(const struct clf__sentence_word *word, int is_first)
{
    return clf__word_is_in(exclaimed, word->lower) ||
           (!is_first && word->is_capital && clf__word_is_in(interjections, word->lower));
}

int clf__word_is_zone(const struct clf__sentence_word *word)
{
    return clf__word_is_in(zones, word->lower);
}

int clf__word_is_german_month(const struct clf__sentence_word *word)
{
    return clf__word_is_in(german_months, word->lower);
}

int clf__word_is_elided_initial(const struct clf__passage *passage, const struct clf__sentence_word *word)
{
    const char *straight = strchr(word->lower, '\''), *curly = strstr(word->lower, "\xe2\x80\x99");
    size_t last;
    clf__char_before(passage, word->end, &last);
    return clf__mark_at(passage, last, NULL) == CLF__MARK_UPPER &&
           ((straight != NULL && strlen(straight) == 2) || (curly != NULL && strlen(curly) == 4));
}

int clf__word_is_preposition(const struct clf__sentence_word *word)
{
    return clf__word_is_in(prepositions, word->lower);
}

int clf__word_has_vowels(const struct clf__sentence_word *word)
{
    static const char *const consonants[] = {"b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n",
                                             "p", "q", "r", "s", "t", "v", "w", "x", "z", "б", "в",
                                             "г", "д", "ж", "з", "й", "к", "л", "м", "н", "п", "р",
                                             "с", "т", "ф", "х", "ц", "ч", "ш", "щ"};
    size_t at = 0, size = strlen(word->lower), count = sizeof consonants / sizeof *consonants, i = 0;
    while (at < size && i < count) {
        for (i = 0; i < count && strncmp(word->lower + at, consonants[i], strlen(consonants[i])) != 0; i++) {
        }
        at += i < count ? strlen(consonants[i]) : 0;
    }
    return at < size;
}

int clf__word_reports(const struct clf__sentence_word *word)
{
    return clf__word_is_in(reports, word->lower);
}
