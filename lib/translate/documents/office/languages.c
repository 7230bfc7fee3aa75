/* The elements of WordprocessingML and DrawingML (ECMA-376, parts 17 and 21). */
#include <string.h>

#include "translate/documents/office/runs.h"

struct name {
    const char *name;
    enum clf__run_role role;
};

static enum clf__run_role find(const struct name *names, const char *name, size_t size)
{
    for (; names->name != NULL; names++) {
        if (strlen(names->name) == size && memcmp(names->name, name, size) == 0) {
            return names->role;
        }
    }
    return CLF__RUN_KEPT;
}

static enum clf__run_role word_role(const char *name, size_t size, int is_in_run)
{
    static const struct name in_run[] = {
        {"t", CLF__RUN_TEXT},
        {"rPr", CLF__RUN_PROPERTIES},
        {"tab", CLF__RUN_SEPARATOR},
        {"ptab", CLF__RUN_SEPARATOR},
        {"br", CLF__RUN_SEPARATOR},
        {"cr", CLF__RUN_SEPARATOR},
        {"fldChar", CLF__RUN_FIELD},
        {"instrText", CLF__RUN_FIELD},
        {"softHyphen", CLF__RUN_IGNORED},
        {"lastRenderedPageBreak", CLF__RUN_IGNORED},
        {"delText", CLF__RUN_DELETED},
        {NULL, CLF__RUN_KEPT},
    };
    static const struct name in_paragraph[] = {
        {"r", CLF__RUN_RUN},
        {"pPr", CLF__RUN_OUTSIDE},
        {"smartTagPr", CLF__RUN_OUTSIDE},
        {"customXmlPr", CLF__RUN_OUTSIDE},
        {"hyperlink", CLF__RUN_GROUP},
        {"ins", CLF__RUN_GROUP},
        {"moveTo", CLF__RUN_GROUP},
        {"smartTag", CLF__RUN_GROUP},
        {"customXml", CLF__RUN_GROUP},
        {"dir", CLF__RUN_GROUP},
        {"bdo", CLF__RUN_GROUP},
        {"sdt", CLF__RUN_GROUP_IN},
        {"del", CLF__RUN_DELETED},
        {"moveFrom", CLF__RUN_DELETED},
        {"bookmarkStart", CLF__RUN_ORDERED},
        {"bookmarkEnd", CLF__RUN_ORDERED},
        {"commentRangeStart", CLF__RUN_ORDERED},
        {"commentRangeEnd", CLF__RUN_ORDERED},
        {"permStart", CLF__RUN_ORDERED},
        {"permEnd", CLF__RUN_ORDERED},
        {"moveFromRangeStart", CLF__RUN_ORDERED},
        {"moveFromRangeEnd", CLF__RUN_ORDERED},
        {"moveToRangeStart", CLF__RUN_ORDERED},
        {"moveToRangeEnd", CLF__RUN_ORDERED},
        {"proofErr", CLF__RUN_IGNORED},
        {NULL, CLF__RUN_KEPT},
    };
    return find(is_in_run ? in_run : in_paragraph, name, size);
}

static enum clf__run_role drawing_role(const char *name, size_t size, int is_in_run)
{
    static const struct name in_run[] = {
        {"t", CLF__RUN_TEXT}, {"rPr", CLF__RUN_PROPERTIES}, {NULL, CLF__RUN_KEPT}};
    static const struct name in_paragraph[] = {
        {"r", CLF__RUN_RUN},        {"pPr", CLF__RUN_OUTSIDE}, {"endParaRPr", CLF__RUN_OUTSIDE},
        {"br", CLF__RUN_SEPARATOR}, {"fld", CLF__RUN_DELETED}, {NULL, CLF__RUN_KEPT},
    };
    return find(is_in_run ? in_run : in_paragraph, name, size);
}

const struct clf__run_language clf__run_word = {
    .prefix = "w",
    .addresses = {"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
                  "http://purl.oclc.org/ooxml/wordprocessingml/main"},
    .paragraph = "p",
    .content = "sdtContent",
    .role = word_role,
    .ignored = " lang noProof",
    .keeps_spaces = 1,
};

const struct clf__run_language clf__run_drawing = {
    .prefix = "a",
    .addresses = {"http://schemas.openxmlformats.org/drawingml/2006/main",
                  "http://purl.oclc.org/ooxml/drawingml/main"},
    .paragraph = "p",
    .role = drawing_role,
    .ignored = " lang altLang dirty err noProof smtClean smtId",
};
