#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "translate/documents/format.h"

static const struct clf__format *const formats[] = {
    &clf__format_text,     &clf__format_srt, &clf__format_vtt,  &clf__format_ass,
#ifdef CLF_HAS_LIBXML2
    &clf__format_xhtml,
#endif
#ifdef CLF_HAS_GUMBO
    &clf__format_html,
#endif
#ifdef CLF_HAS_CMARK
    &clf__format_markdown,
#endif
#ifdef CLF_HAS_LIBXML2
    &clf__format_xliff,    &clf__format_tmx, &clf__format_xml,
#endif
    &clf__format_json,     &clf__format_po,  &clf__format_yaml,
#ifdef CLF_HAS_LIBZIP
    &clf__format_docx,     &clf__format_odt, &clf__format_pptx, &clf__format_odp, &clf__format_epub,
#endif
};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct clf__format *clf__format_at(int index)
{
    return index >= 0 && index < FORMATS ? formats[index] : NULL;
}

/* Returns whether a name ends with one of the suffixes, which are separated by spaces. */
static int has_suffix(const char *name, const char *suffixes)
{
    size_t size = strlen(name);
    for (const char *at = suffixes; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (size > length && strncasecmp(name + size - length, at, length) == 0) {
            return 1;
        }
        at += length + strspn(at + length, " ");
    }
    return 0;
}

const struct clf__format *clf__format_of_name(const char *name)
{
    for (int i = 0; i < FORMATS; i++) {
        if (has_suffix(name, formats[i]->shown.suffixes)) {
            return formats[i];
        }
    }
    return NULL;
}

/* Fails with the list of the formats. */
static clf_status fail_unknown(const char *what)
{
    char *list = NULL;
    clf_status status = CLF_OK;
    for (int i = 0; i < FORMATS && status == CLF_OK; i++) {
        const struct clf_document_format *shown = &formats[i]->shown;
        status = i == 0 ? clf__format(&list, "%s (%s)", shown->name, shown->suffixes)
                        : clf__append(&list, "%s %s (%s)", i + 1 < FORMATS ? "," : " or", shown->name,
                                      shown->suffixes);
    }
    if (status == CLF_OK) {
        status = clf__fail(CLF_UNSUPPORTED, "%s; the formats are %s", what, list);
    }
    clf__free(list);
    return status;
}

static clf_status find_named(const struct clf__format **out, const char *name)
{
    for (int i = 0; i < FORMATS; i++) {
        if (strcasecmp(formats[i]->shown.name, name) == 0) {
            *out = formats[i];
            return CLF_OK;
        }
    }
    char *what = NULL;
    CLF__TRY(clf__format(&what, "\"%s\" is not a format of documents", name));
    clf_status status = fail_unknown(what);
    clf__free(what);
    return status;
}

static int is_pdf(const char *bytes, size_t size)
{
    return size >= 5 && memcmp(bytes, "%PDF-", 5) == 0;
}

clf_status clf__format_find(const struct clf__format **out, const struct clf_document_options *options,
                            const char *bytes, size_t size)
{
    if (options->format != NULL) {
        return find_named(out, options->format);
    }
    if (is_pdf(bytes, size) || (options->name != NULL && has_suffix(options->name, ".pdf"))) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "PDF files contain positions of letters instead of text; translate the file from which "
            "the PDF was made, or extract the text first (pdftotext)");
    }
    *out = options->name != NULL ? clf__format_of_name(options->name) : NULL;
    if (*out != NULL) {
        return CLF_OK;
    }
    size_t mark = clf__utf8_mark(bytes, size);
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i]->is != NULL && formats[i]->is(bytes + mark, size - mark)) {
            *out = formats[i];
            return CLF_OK;
        }
    }
    return fail_unknown("the format is unknown; rename the file or name its format");
}
