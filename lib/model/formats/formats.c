#include <stddef.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "model/formats/format.h"

/* Formats in order of detection. */
static const struct clf__format *const formats[] = {&clf__format_argos, &clf__format_ctranslate2,
                                                    &clf__format_marian, &clf__format_openai,
                                                    &clf__format_hugging_face};

clf_status clf__format_of(const struct clf__format **out, const char *path)
{
    *out = NULL;
    int is_folder = clf__folder_exists(path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats && *out == NULL; i++) {
        int is_one = is_folder;
        if (!is_folder && !formats[i]->may_be_file) {
            continue;
        }
        if (formats[i]->find != NULL) {
            CLF__TRY(formats[i]->find(&is_one, path));
        }
        *out = is_one ? formats[i] : NULL;
    }
    return *out != NULL ? CLF_OK : clf__config_check_folder(path);
}

clf_status clf__format_read_config(struct clf__config *out, const char *folder)
{
    const struct clf__format *format;
    *out = (struct clf__config){0};
    CLF__TRY(clf__format_of(&format, folder));
    clf_status status = format->read_config(out, folder);
    if (status != CLF_OK) {
        clf__config_free(out);
    }
    return status;
}

clf_status clf__format_open_weights(struct clf__weights **out, const char *folder)
{
    const struct clf__format *format;
    *out = NULL;
    CLF__TRY(clf__format_of(&format, folder));
    return format->open_weights(out, folder);
}

clf_status clf__format_load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__config *config)
{
    const struct clf__format *format;
    *out = NULL;
    CLF__TRY(clf__format_of(&format, folder));
    return format->load_tokenizer(out, folder, config);
}

/* Sets *path to NULL if there is no shortlist. */
static clf_status find_shortlist(char **path, struct clf__shortlist_cut *cut, const char *folder)
{
    const struct clf__format *format;
    *path = NULL;
    CLF__TRY(clf__format_of(&format, folder));
    return format->find_shortlist != NULL ? format->find_shortlist(path, cut, folder) : CLF_OK;
}

int clf__format_may_have_shortlist(const char *folder)
{
    struct clf__shortlist_cut cut = CLF__SHORTLIST_CUT;
    char *path;
    int is_absent = find_shortlist(&path, &cut, folder) == CLF_OK && path == NULL;
    clf__free(path);
    return !is_absent;
}

clf_status clf__format_open_shortlist(struct clf__shortlist **out, const char *folder,
                                      const struct clf__tokenizer *tokenizer)
{
    struct clf__shortlist_cut cut = CLF__SHORTLIST_CUT;
    const struct clf__shortlist_words words = clf__shortlist_words_of(tokenizer);
    char *path;
    *out = NULL;
    clf_status status = find_shortlist(&path, &cut, folder);
    if (status == CLF_OK && path != NULL) {
        status = clf__shortlist_open(out, path, &words, &cut);
    }
    clf__free(path);
    return status;
}
