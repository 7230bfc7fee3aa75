/* The elements of XHTML, for clf__xml_collect(). */
#ifndef CLF_DOCUMENTS_XML_XHTML_H
#define CLF_DOCUMENTS_XML_XHTML_H

#include "translate/documents/xml/collect.h"

/* @param user names of additional elements that are not translated, separated by spaces; NULL: none. */
enum clf__xml_role clf__xhtml_role(void *user, const char *bytes, const struct clf__xml_element *element);
/* Decodes the names of HTML, such as &eacute;, in a build with Gumbo. */
clf_status clf__xhtml_entity(char **out, const char *bytes, const struct clf__xml_token *reference);

#endif
