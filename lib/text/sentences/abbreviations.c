#include "text/sentences/abbreviations.h"

#include <stdio.h>
#include <string.h>

/* Each list contains lower-case words separated by spaces. Inner full stops have no spaces ("z. B." is z.b);
 * two words are joined by an underscore. The lists of all languages are combined, as the source language is
 * often unknown. */
static const char never[] =
    /* English */
    " mr mrs ms messrs mx dr drs e.g i.e viz cf cp vs approx "
    /* German */
    " hr hrn frl fam dipl z.b d.h d.i i.d.r i.a i.allg v.a u.u z.t z.z z.zt m.e u.e d.j i.v o.g vgl "
    "bzw ca evtl uffz ggf ggfs inkl exkl zzgl abzgl sog gegr geb gest verst verh ehem allg insb "
    "insbes insges hl bspw einschl bezgl bzgl ev abg abt oblt olt hptm fw gefr hgefr betr ungef vorauss vmtl "
    "wg "
    "zw techn chem phys biol wiss kaufm obstlt gebr "
    /* French */
    " mme mmes mlle mlles mgr p.ex c.-à-d c.à.d boul bld bvd fbg éts sté "
    /* Spanish */
    " sra sras sres srta srtas dña dres dras lic lcda lcdo gral cnel tte sgto almte hno hna cbo mons "
    "pol.ind hnos hnas pbro excmo excma exmo exma ilmo ilma p.ej v.gr avda avd ctra pza plza urb ntra "
    "apdo aprox máx mín dpto depto "
    /* Italian */
    " ss sig sigg sig.ra sig.na sig.ri dott dott.ssa dott.ri dr.ssa prof.ssa proff avv ing geom rag "
    "cav l'on serg psicol dell'on all'on dall'on gr.uff f.lli p.za p.zza v.le c.so l.go ad_es per_es "
    "p.es cfr spett egr ill.mo "
    /* Portuguese */
    " dra profa enga sarg av v.ex v.exa s.exa pça trav rod "
    /* Russian */
    " оз т.е т.к т.н т.о т.ч напр см проф акад доц инж ул просп пр-т пл наб пер бул бульв мкр пос пгт "
    "дер тов гр св канд зав зам ок прибл подполк мл худ сост ";
/* Titles that are ordinary words in lower case. */
static const char titles[] =
    " det mag prof dir min cap dep emb des pe ir gov sen rep rev hon lt sgt capt cpl maj adm "
    "cmdr cdr pres pvt brig amb fr on pr me mm pte "
    "sor fa ten cel alm insp supt atty gent ";
/* Titles only after an article, such as "il mar. Esposito". */
static const char titles_after_articles[] = " mar mal del gal caps gens card magg sold "
                                            "ver ";
static const char before_numbers[] =
    " no nos nr nrs nrn n° nº n.º num núm núms nn pp pg pgs pag pagg pág págs seq ff art artt arts "
    "abs abschn par parr párr párrf fig figs figg abb abbn tab tabs tabb tabl taf vol vols voll chap "
    "chaps cap caps capp kap eq eqs sec sect secs sez sér ser séc sécs bât esc int bd bde ziff rn "
    "rdnr anm ann app ref réf tel tél teléf tlf tlfno cell fax ext al lin vers ver bl ed aufl para "
    "paras op opp aufg übg ej ejs rom cor matt isa eph thess heb rm ausg jg sp env max min mind est "
    "edif blq ap tít lett apt apto bk fol inc d.lgs d.l d.m d.p.r reg regs anh sch schd civ crim anl "
    "beil sched epígr anx cláus абз руб коп мин сек ч выс шир диам рис табл ауд эт стр гл разд ст пп "
    "подп кв д корп оф т вып род ум тел доб ред прим прил илл qty temp encl subsec subsecs subpara "
    "cls bldg bldgs exer prob thm lem defn eqns attach rev eff gtt gtts gts gtte gttes gél gélule cps "
    "cpr kps kaps drg supp susp comp cáps cp sach uabs az buchst zi whg bin carr mod decr prot delib "
    "circ rif cod all.to ét qté rép exerc quest rub pourv lég cant cód exp frac fracc disp hab ofic "
    "rec ptal qtd proc quant apart sl lj таб капс кап амп раб моб каб ком комн разм арт макс темп поз "
    "исх инв ваг зд яч gem amp amps ampul sup óvs comps comprim sc compr larg anch largh altezz "
    "pers pess "
    "exh doc docs кат ";
/* Abbreviated weekdays before a day of one or two digits; in other places they are plain words. */
static const char weekdays[] =
    " lun mar mer mié jue jeu vie ven sáb sab sam dim dom gio seg ter qua qui sex ";
/* Abbreviations before a number if they begin with a capital letter: "Do. 12.10.", "Cat. No. 5". */
static const char capital_before_numbers[] = " mo di mi do fr sa so cat pos ser ";
/* Abbreviated months, which also precede numbers. */
static const char short_months[] =
    " jan janv juill feb febr febb fev févr mar apr avr abr ene jun juin jul juil aug ago sep sept sett set "
    "oct okt ott out nov dec dez déc dic mag giu lug янв февр фев апр авг сент сен окт нояб ноя "
    "дек ";
/* Abbreviations before a name, or at the end of a sentence. */
static const char between[] =
    " st ste sto sta mt mts ft jr sr jun co ave blvd bd rd hwy sq dept prof univ inst assn intl natl "
    "govt dist et_al et_coll gen col adj cdt atl cj res ind bros dir.gén esp esq tbsp tsp lb lbs oz "
    "u.a u.ä o.ä s.o s.u a.a.o ebd str mio mrd tsd jh jhd jhdt med phil jur rer nat lat engl frz "
    "griech österr kath evang röm arch eng arq éd éds eds hrsg hg dép coll k.k e.v ex cia cía cie "
    "ph.d prov fraz gén им пр др изд обл губ респ ген полк лейт серж адм ср англ нем фр лат греч ред "
    "ст attn asst assoc msgr pfc cllr comdr archbp abp treas secy supt kard ebf vors präs insp pfr "
    "bgm nachf sén cne adjt proc vve cce lieut pdte gob rvdo rvda rdo rda mtro mtra pje srio subtte "
    "cmdte cnte sgto edo mpio fracc alc ayto comm isp vesc amm brig arciv stim chiar.mo p.le p.tta "
    "c.da b.go s.da loc митр архиеп еп прот иером архим преп блаж имп цес реж засл нар арх пред нач "
    "пом корр сен деп воен муз авт пер изд-во моск ленингр нар.арт засл.арт засл.деят засл.маст "
    "засл.тренер profs sgts lics ings arqs mtros mtras pdta vicepdte vicepres vice-pres trib cass "
    "juzg proff ingg archh profas engs dott.sse soc coop asoc "
    "sbtte subten подп-к прап ефр мичм ";
/* Places and other names that are ordinary words in lower case. */
static const char names[] =
    " mon tue tues wed thu thur thurs fri sat sun calif mass conn penn pa va vt fla tex ill wash ariz "
    "colo mich minn ala ark okla tenn wis neb nev ore del md mo ky ga wyo fed ed ald pref cons det "
    "cllr ens spc bf loc com mun conc des prés акт revs sens reps gens ";
static const char last[] =
    " etc usw ecc ud uds vd vds ee.uu ff.aa e.u.a o.n.u u.r.s.s incl excl u.s.w usf "
    "u.v.m u.a.m u.dgl u.ä.m v.chr n.chr av.j.-c apr.j.-c ap.j.-c "
    "bs.as q.i.d b.i.d t.i.d p.r.n ds.m ds.mts ds.js ds.j corp inc ltd ltda llc plc s.a s.l s.p.a s.r.l "
    "s.n.c "
    "s.a.s "
    "рт.ст т.д т.п и_др и_пр н.э тт тыс млн млрд трлн кв.м кв.км кв.см куб.м куб.см sq.ft ";
/* Ends of German names of towns, in small letters but for the river: "Frankfurt a. d. O." */
static const char rivers[] = " v.d.h a.d.o o.d.t i.br a.d.r a.d.w a.rh a.n a.d.s a.d.d a.d.l ob.d.t ";
/* Abbreviations after a number. */
static const char times[] = " a.m p.m b.c a.d a.c d.c г в гг вв ";
static const char articles[] = " il lo el o le al del dal do los ";
/* Units that begin with a capital letter. */
static const char units[] = " kb mb gb tb hz khz mhz кб мб гб тб гц мгц вт квт ";

/* German adjectives: "südl.", "jährl." */
static int is_adjective(const char *word)
{
    size_t size = strlen(word);
    return size > 3 && word[size - 1] == 'l' &&
           (strchr("dtgnz", word[size - 2]) != NULL || strcmp(word + size - 3, "hrl") == 0 ||
            strcmp(word + size - 3, "chl") == 0);
}

/* "Goethestr." */
static int is_street(const char *word)
{
    size_t size = strlen(word);
    return size > 3 && strcmp(word + size - 3, "str") == 0;
}

/* German compounds of "Nr.": "Kundennr. 5". */
static int is_number_compound(const char *word)
{
    size_t size = strlen(word);
    return size > 2 && strcmp(word + size - 2, "nr") == 0;
}

static enum clf__word_class classify(const char *word, int is_capital)
{
    if (clf__word_is_listed(times, word)) {
        return CLF__WORD_TIME;
    }
    if (!is_capital && clf__word_is_in(rivers, word)) {
        return CLF__WORD_LAST;
    }
    if (clf__word_is_listed(last, word) &&
        !(is_capital && (clf__word_is_in(" a.c d.c ", word)))) { /* D.C. is a place */
        return CLF__WORD_LAST;
    }
    if (clf__word_is_listed(never, word) || (!is_capital && is_adjective(word)) ||
        (is_capital && clf__word_is_listed(titles, word))) {
        return CLF__WORD_NEVER;
    }
    if (clf__word_is_listed(between, word) || (is_capital && clf__word_is_listed(names, word)) ||
        is_street(word)) {
        return CLF__WORD_BETWEEN;
    }
    return clf__word_is_listed(before_numbers, word) || clf__word_is_listed(short_months, word) ||
                   clf__word_is_listed(weekdays, word) || is_number_compound(word) ||
                   (is_capital && clf__word_is_in(capital_before_numbers, word))
               ? CLF__WORD_NUMBER
               : CLF__WORD_PLAIN;
}

int clf__word_begins_abbreviation(const struct clf__passage *passage, const struct clf__sentence_word *word,
                                  const struct clf__sentence_word *next)
{
    const char *const lists[] = {never, between, last, times, rivers};
    char key[2 * CLF__WORD_BYTES + 3];
    snprintf(key, sizeof key, " %s.%s", word->lower, next->lower);
    int found = 0,
        is_short = word->letters > 0 && next->letters > 0 && clf__char_at(passage, next->end, NULL) == '.';
    for (size_t i = 0; is_short && i < sizeof lists / sizeof *lists; i++) {
        for (const char *at = lists[i]; !found && (at = strstr(at, key)) != NULL; at++) {
            found = at[strlen(key)] == ' ' || at[strlen(key)] == '.';
        }
    }
    return found;
}

enum clf__word_class clf__word_classify(const struct clf__passage *passage, size_t start,
                                        const struct clf__sentence_word *word)
{
    enum { MOST = 3 };
    enum clf__word_class found = classify(word->lower, word->is_capital);
    struct clf__sentence_word first = *word;
    char joined[CLF__WORD_BYTES];
    snprintf(joined, sizeof joined, "%s", word->lower);
    for (int i = 0; i < MOST; i++) {
        size_t at = first.start, begin, spaces = 0;
        int32_t character;
        while ((character = clf__char_before(passage, at, &begin)) >= 0 && begin >= start &&
               clf__mark_at(passage, begin, NULL) == CLF__MARK_SPACE) {
            at = begin;
            spaces++;
        }
        if (spaces == 0 || at <= start) {
            break;
        }
        int has_stop = character == '.';
        first = clf__word_before(passage, start, has_stop ? begin : at);
        char longer[CLF__WORD_BYTES];
        int size = snprintf(longer, sizeof longer, "%s%s%s", first.lower, has_stop ? "." : "_", joined);
        if (first.lower[0] == '\0' || size >= CLF__WORD_BYTES) {
            break;
        }
        snprintf(joined, sizeof joined, "%s", longer);
        enum clf__word_class whole = classify(joined, first.is_capital);
        found = whole != CLF__WORD_PLAIN ? whole : found;
        if (!has_stop) {
            break;
        }
    }
    return found;
}

int clf__word_is_title(const struct clf__sentence_word *word, const struct clf__sentence_word *article)
{
    return (clf__word_is_in(titles, word->lower) || clf__word_is_in(titles_after_articles, word->lower)) &&
           clf__word_is_in(articles, article->lower);
}

int clf__word_is_unit(const struct clf__sentence_word *word)
{
    return clf__word_is_in(units, word->lower);
}

int clf__word_is_short_month(const struct clf__sentence_word *word)
{
    return clf__word_is_in(short_months, word->lower);
}

int clf__word_is_weekday(const struct clf__sentence_word *word)
{
    return clf__word_is_in(weekdays, word->lower) && !clf__word_is_in(short_months, word->lower);
}
