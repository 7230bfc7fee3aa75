/* The translation units of TMX. */
#include <string.h>

#include "text/tokenizers/languages.h"
#include "translate/documents/bilingual/bilingual.h"

static struct clf__xml_range language_of(const char *bytes, const struct clf__xml_token *tag)
{
    struct clf__xml_range found = {0, 0};
    if (!clf__xml_attribute(&found, bytes, tag, "xml:lang") &&
        !clf__xml_attribute(&found, bytes, tag, "lang")) {
        found = (struct clf__xml_range){0, 0};
    }
    return found;
}

static int is_language(const char *bytes, struct clf__xml_range code, const char *other)
{
    return clf__languages_are_same(bytes + code.start, code.end - code.start, other, strlen(other));
}

struct clf__tmx_reader clf__tmx_begin(const char *bytes, size_t size, struct clf__tmx_languages languages)
{
    struct clf__tmx_reader reader = {
        .bytes = bytes, .tokens = clf__xml_begin(bytes, size), .languages = languages};
    struct clf__xml_tokens ahead = reader.tokens;
    struct clf__xml_token token;
    while (clf__xml_next(&token, &ahead)) {
        if (clf__xml_is_tag(&token) && clf__xml_is_named(&token, bytes, "header")) {
            clf__xml_attribute(&reader.header, bytes, &token, "srclang");
            break;
        }
        if (clf__xml_is_tag(&token) && clf__xml_is_named(&token, bytes, "body")) {
            break;
        }
    }
    if (reader.header.end - reader.header.start == 5 &&
        memcmp(bytes + reader.header.start, "*all*", 5) == 0) {
        reader.header.end = reader.header.start;
    }
    return reader;
}

/* Returns whether a text in a language is the source of a unit, whose source is not known yet. */
static int is_source(const struct clf__tmx_reader *reader, struct clf__xml_range code)
{
    const char *bytes = reader->bytes;
    const struct clf__xml_range *header = &reader->header;
    if (reader->languages.source != NULL) {
        return is_language(bytes, code, reader->languages.source);
    }
    return header->start == header->end ||
           clf__languages_are_same(bytes + code.start, code.end - code.start, bytes + header->start,
                                   header->end - header->start);
}

static int is_target(const struct clf__tmx_reader *reader, struct clf__xml_range code)
{
    return reader->languages.target == NULL || is_language(reader->bytes, code, reader->languages.target);
}

/* Reads a <tuv>; *found receives 1 if it has a <seg>. */
static struct clf__bilingual_content read_text(int *found, struct clf__tmx_reader *reader,
                                               const struct clf__xml_token *tag)
{
    struct clf__bilingual_content content = {.start = 0};
    struct clf__xml_token token = *tag;
    *found = 0;
    while (tag->kind == CLF__XML_START && token.kind != CLF__XML_END &&
           clf__xml_next(&token, &reader->tokens)) {
        if (token.kind == CLF__XML_START || token.kind == CLF__XML_EMPTY) {
            int is_segment = clf__xml_is_named(&token, reader->bytes, "seg");
            struct clf__bilingual_content child = clf__bilingual_read(&reader->tokens, &token);
            content = is_segment ? child : content;
            *found |= is_segment;
        }
    }
    return content;
}

/* Reads the texts of a unit up to its end tag. */
static void read_unit(struct clf__tmx_unit *out, struct clf__tmx_reader *reader,
                      const struct clf__xml_token *tag)
{
    struct clf__xml_token token = *tag;
    *out = (struct clf__tmx_unit){.has_source = 0};
    while (token.kind != CLF__XML_END && clf__xml_next(&token, &reader->tokens)) {
        if (token.kind != CLF__XML_START && token.kind != CLF__XML_EMPTY) {
            continue;
        }
        if (!clf__xml_is_named(&token, reader->bytes, "tuv")) {
            clf__xml_skip(&reader->tokens, &token);
            continue;
        }
        struct clf__xml_range code = language_of(reader->bytes, &token);
        int found;
        struct clf__bilingual_content content = read_text(&found, reader, &token);
        if (found && !out->has_source && is_source(reader, code)) {
            out->source = content;
            out->source_tag = token;
            out->source_end = reader->tokens.at;
            out->has_source = 1;
        } else if (found && !out->has_target && is_target(reader, code)) {
            out->target = content;
            out->has_target = 1;
        }
    }
}

int clf__tmx_next(struct clf__tmx_unit *out, struct clf__tmx_reader *reader)
{
    struct clf__xml_token token;
    while (clf__xml_next(&token, &reader->tokens)) {
        if (token.kind == CLF__XML_START && clf__xml_is_named(&token, reader->bytes, "tu")) {
            read_unit(out, reader, &token);
            return 1;
        }
    }
    return 0;
}
