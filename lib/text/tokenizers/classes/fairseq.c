/* Tokenizers of fairseq models, mBART, mBART-50 and NLLB: <s>, <pad>, </s> and <unk>, the model's tokens
 * without the first three, languages, <mask>. BARThez keeps all tokens of the model and has no languages. */
#include "text/tokenizers/classes/class.h"

static const char *const mbart_codes[] = {"ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI",
                                          "fr_XX", "gu_IN", "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR",
                                          "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU",
                                          "si_LK", "tr_TR", "vi_VN", "zh_CN", NULL};
/* The languages that mBART-50 adds to mBART's. */
static const char *const mbart50_codes[] = {"af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID",
                                            "ka_GE", "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL",
                                            "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN", "th_TH",
                                            "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI", NULL};
static const char *const nllb_codes[] = {
    "ace_Arab", "ace_Latn", "acm_Arab", "acq_Arab", "aeb_Arab", "afr_Latn", "ajp_Arab", "aka_Latn",
    "amh_Ethi", "apc_Arab", "arb_Arab", "ars_Arab", "ary_Arab", "arz_Arab", "asm_Beng", "ast_Latn",
    "awa_Deva", "ayr_Latn", "azb_Arab", "azj_Latn", "bak_Cyrl", "bam_Latn", "ban_Latn", "bel_Cyrl",
    "bem_Latn", "ben_Beng", "bho_Deva", "bjn_Arab", "bjn_Latn", "bod_Tibt", "bos_Latn", "bug_Latn",
    "bul_Cyrl", "cat_Latn", "ceb_Latn", "ces_Latn", "cjk_Latn", "ckb_Arab", "crh_Latn", "cym_Latn",
    "dan_Latn", "deu_Latn", "dik_Latn", "dyu_Latn", "dzo_Tibt", "ell_Grek", "eng_Latn", "epo_Latn",
    "est_Latn", "eus_Latn", "ewe_Latn", "fao_Latn", "pes_Arab", "fij_Latn", "fin_Latn", "fon_Latn",
    "fra_Latn", "fur_Latn", "fuv_Latn", "gla_Latn", "gle_Latn", "glg_Latn", "grn_Latn", "guj_Gujr",
    "hat_Latn", "hau_Latn", "heb_Hebr", "hin_Deva", "hne_Deva", "hrv_Latn", "hun_Latn", "hye_Armn",
    "ibo_Latn", "ilo_Latn", "ind_Latn", "isl_Latn", "ita_Latn", "jav_Latn", "jpn_Jpan", "kab_Latn",
    "kac_Latn", "kam_Latn", "kan_Knda", "kas_Arab", "kas_Deva", "kat_Geor", "knc_Arab", "knc_Latn",
    "kaz_Cyrl", "kbp_Latn", "kea_Latn", "khm_Khmr", "kik_Latn", "kin_Latn", "kir_Cyrl", "kmb_Latn",
    "kon_Latn", "kor_Hang", "kmr_Latn", "lao_Laoo", "lvs_Latn", "lij_Latn", "lim_Latn", "lin_Latn",
    "lit_Latn", "lmo_Latn", "ltg_Latn", "ltz_Latn", "lua_Latn", "lug_Latn", "luo_Latn", "lus_Latn",
    "mag_Deva", "mai_Deva", "mal_Mlym", "mar_Deva", "min_Latn", "mkd_Cyrl", "plt_Latn", "mlt_Latn",
    "mni_Beng", "khk_Cyrl", "mos_Latn", "mri_Latn", "zsm_Latn", "mya_Mymr", "nld_Latn", "nno_Latn",
    "nob_Latn", "npi_Deva", "nso_Latn", "nus_Latn", "nya_Latn", "oci_Latn", "gaz_Latn", "ory_Orya",
    "pag_Latn", "pan_Guru", "pap_Latn", "pol_Latn", "por_Latn", "prs_Arab", "pbt_Arab", "quy_Latn",
    "ron_Latn", "run_Latn", "rus_Cyrl", "sag_Latn", "san_Deva", "sat_Beng", "scn_Latn", "shn_Mymr",
    "sin_Sinh", "slk_Latn", "slv_Latn", "smo_Latn", "sna_Latn", "snd_Arab", "som_Latn", "sot_Latn",
    "spa_Latn", "als_Latn", "srd_Latn", "srp_Cyrl", "ssw_Latn", "sun_Latn", "swe_Latn", "swh_Latn",
    "szl_Latn", "tam_Taml", "tat_Cyrl", "tel_Telu", "tgk_Cyrl", "tgl_Latn", "tha_Thai", "tir_Ethi",
    "taq_Latn", "taq_Tfng", "tpi_Latn", "tsn_Latn", "tso_Latn", "tuk_Latn", "tum_Latn", "tur_Latn",
    "twi_Latn", "tzm_Tfng", "uig_Arab", "ukr_Cyrl", "umb_Latn", "urd_Arab", "uzn_Latn", "vec_Latn",
    "vie_Latn", "war_Latn", "wol_Latn", "xho_Latn", "ydd_Hebr", "yor_Latn", "yue_Hant", "zho_Hans",
    "zho_Hant", "zul_Latn", NULL};

static clf_status before(struct clf__token_list *tokens)
{
    static const char *const named[] = {"<s>", "<pad>", "</s>", "<unk>"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        CLF__TRY(clf__token_list_format(tokens, 0, "%s", named[i]));
    }
    return CLF_OK;
}

static clf_status add_mask(struct clf__token_list *tokens)
{
    return clf__token_list_format(tokens, CLF__TOKEN_SPECIAL | CLF__TOKEN_FOUND | CLF__TOKEN_LSTRIP,
                                  "<mask>");
}

static clf_status behind_mbart(struct clf__token_list *tokens, const struct clf__class_settings *settings)
{
    (void)settings;
    CLF__TRY(clf__class_add_languages(tokens, &clf__class_mbart, mbart_codes));
    return add_mask(tokens);
}

static clf_status behind_mbart50(struct clf__token_list *tokens, const struct clf__class_settings *settings)
{
    (void)settings;
    CLF__TRY(clf__class_add_languages(tokens, &clf__class_mbart50, mbart_codes));
    CLF__TRY(clf__class_add_languages(tokens, &clf__class_mbart50, mbart50_codes));
    return add_mask(tokens);
}

static clf_status behind_nllb(struct clf__token_list *tokens, const struct clf__class_settings *settings)
{
    (void)settings;
    CLF__TRY(clf__class_add_languages(tokens, &clf__class_nllb, nllb_codes));
    return add_mask(tokens);
}

#define UNIGRAM                                                                                              \
    .model = "Unigram", .decoder = CLF__METASPACE, .options = "{\"unk_id\": 3, \"byte_fallback\": false}"
static const struct clf__class_pipeline mbart_pipeline = {
    UNIGRAM,
    .without_table = "",
    .pre_tokenizer = CLF__WORDS_AND_METASPACE,
};
static const struct clf__class_pipeline mbart50_pipeline = {
    UNIGRAM,
    .takes_table = 1,
    .with_table = CLF__ONE_SPACE,
    .without_table = CLF__ONE_SPACE,
    .pre_tokenizer = CLF__METASPACE,
};
static const struct clf__class_pipeline nllb_pipeline = {
    .model = "BPE",
    .takes_table = 1,
    .with_table = CLF__ONE_SPACE,
    .without_table = "",
    .pre_tokenizer = CLF__METASPACE,
    .decoder = CLF__METASPACE,
    .options = "{" CLF__PLAIN_PAIRS "\"fuse_unk\": true}",
    .finds_unknown = 1,
};

#define FAIRSEQ(word, last, where, default_source)                                                           \
    .name = (word), .model = "sentencepiece.bpe.model", .skipped = 3, .before = before, .behind = (last),    \
    .specials = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}, .joins_plainly = 1, .language_opens = "",       \
    .language_closes = "", .place = (where), .source_language = (default_source)

const struct clf__tokenizer_class clf__class_mbart = {
    FAIRSEQ("MBartTokenizer", behind_mbart, CLF__LANGUAGE_BEHIND, "en_XX"),
    .starts_with_target = 1,
    .numbered = &clf__class_barthez,
    .pipeline = &mbart_pipeline,
};
const struct clf__tokenizer_class clf__class_barthez = {
    .name = "BarthezTokenizer",
    .model = "sentencepiece.bpe.model",
    .specials = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"},
    .starts_source = 1,
    .spaces_before = "<mask>",
    .joins_plainly = 1,
};
const struct clf__tokenizer_class clf__class_mbart50 = {
    FAIRSEQ("MBart50Tokenizer", behind_mbart50, CLF__LANGUAGE_IN_FRONT, "en_XX"),
    .pipeline = &mbart50_pipeline,
};
const struct clf__tokenizer_class clf__class_nllb = {
    FAIRSEQ("NllbTokenizer", behind_nllb, CLF__LANGUAGE_IN_FRONT, "eng_Latn"),
    .never_cleans_up = 1,
    .may_be_behind = 1,
    .pipeline = &nllb_pipeline,
};
