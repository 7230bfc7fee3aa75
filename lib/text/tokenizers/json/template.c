#include "text/tokenizers/json/template.h"

#include <limits.h>
#include <string.h>

/* Ids before and after a text. Later processors add ids outside of these. */
struct ids {
    int32_t items[2 * CLF__TEMPLATE_IDS];
    int count;
};
struct sides {
    struct ids before, behind;
};

static clf_status add(struct ids *ids, const struct clf__node *node, const json_t *id)
{
    json_int_t number = json_integer_value(id);
    if (!json_is_integer(id) || number < 0 || number > INT_MAX) {
        return clf__node_fail(node, CLF_FORMAT,
                              "contains an id that is not a non-negative integer; download the file again");
    }
    if (ids->count == CLF__TEMPLATE_IDS) {
        return clf__node_fail(node, CLF_UNSUPPORTED,
                              "adds more than %d tokens on one side of a text; use another tokenizer",
                              CLF__TEMPLATE_IDS);
    }
    ids->items[ids->count++] = (int32_t)number;
    return CLF_OK;
}

/* Adds an item: {"SpecialToken": {"id": NAME}} adds the ids of NAME in "special_tokens"; "Sequence" is the
 * text. */
static clf_status add_template_item(struct sides *out, const struct clf__node *node, const json_t *item,
                                    int *is_behind)
{
    const json_t *token = json_object_get(item, "SpecialToken"), *text = json_object_get(item, "Sequence");
    const char *name = json_string_value(json_object_get(token != NULL ? token : text, "id"));
    if (name == NULL || (token == NULL && (*is_behind || strcmp(name, "A") != 0))) {
        return clf__node_fail(
            node, CLF_UNSUPPORTED,
            "\"single\" is not one text \"A\" with special tokens around it; use another tokenizer");
    }
    if (token == NULL) {
        *is_behind = 1;
        return CLF_OK;
    }
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(node->value, "special_tokens"), name), "ids");
    if (!json_is_array(ids)) {
        return clf__node_fail(node, CLF_FORMAT,
                              "\"special_tokens\" has no ids for \"%.80s\"; download the file again", name);
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        CLF__TRY(add(*is_behind ? &out->behind : &out->before, node, json_array_get(ids, i)));
    }
    return CLF_OK;
}

static clf_status read_template(struct sides *out, const struct clf__node *node)
{
    const json_t *single = json_object_get(node->value, "single");
    int is_behind = 0;
    CLF__TRY(clf__node_check_keys(node, "type single pair special_tokens"));
    for (size_t i = 0; i < json_array_size(single); i++) {
        CLF__TRY(add_template_item(out, node, json_array_get(single, i), &is_behind));
    }
    return is_behind ? CLF_OK
                     : clf__node_fail(node, CLF_FORMAT,
                                      "\"single\" contains no text \"A\"; download the file again");
}

/* Reads the [token, id] pairs "cls" and "sep". */
static clf_status read_bert(struct sides *out, const struct clf__node *node)
{
    CLF__TRY(clf__node_check_keys(node, "type cls sep trim_offsets add_prefix_space"));
    CLF__TRY(add(&out->before, node, json_array_get(json_object_get(node->value, "cls"), 1)));
    return add(&out->behind, node, json_array_get(json_object_get(node->value, "sep"), 1));
}

static clf_status read_byte_level(struct sides *out, const struct clf__node *node)
{
    (void)out;
    return clf__node_check_keys(
        node, "type add_prefix_space trim_offsets use_regex"); /* ignored, because no offsets are reported */
}

static const struct {
    const char *name;
    clf_status (*read)(struct sides *out, const struct clf__node *node);
} kinds[] = {
    {"BertProcessing", read_bert},
    {"ByteLevel", read_byte_level},
    {"RobertaProcessing", read_bert},
    {"TemplateProcessing", read_template},
};

static clf_status wrap(struct clf__template *out, const struct clf__node *node, const struct sides *sides)
{
    struct sides all = *sides;
    for (int i = 0; i < CLF__TEMPLATE_IDS && out->before[i] >= 0; i++) {
        all.before.items[all.before.count++] = out->before[i];
    }
    all.behind.count = 0;
    for (int i = 0; i < CLF__TEMPLATE_IDS && out->behind[i] >= 0; i++) {
        all.behind.items[all.behind.count++] = out->behind[i];
    }
    for (int i = 0; i < sides->behind.count; i++) {
        all.behind.items[all.behind.count++] = sides->behind.items[i];
    }
    if (all.before.count > CLF__TEMPLATE_IDS || all.behind.count > CLF__TEMPLATE_IDS) {
        return clf__node_fail(node, CLF_UNSUPPORTED,
                              "adds more than %d tokens on one side of a text; use another tokenizer",
                              CLF__TEMPLATE_IDS);
    }
    for (int i = 0; i < CLF__TEMPLATE_IDS; i++) {
        out->before[i] = i < all.before.count ? all.before.items[i] : -1;
        out->behind[i] = i < all.behind.count ? all.behind.items[i] : -1;
    }
    return CLF_OK;
}

static clf_status read_processor(struct clf__template *out, const json_t *value, const char *path)
{
    struct clf__node node = {.value = value, .path = path, .section = "post_processor"};
    if (value == NULL || json_is_null(value)) {
        return CLF_OK;
    }
    if (!json_is_object(value)) {
        return clf__node_fail(&node, CLF_FORMAT, "is not an object; download the file again");
    }
    CLF__TRY(clf__node_need_string(&node, "type", &node.part));
    const json_t *members = json_object_get(value, "processors");
    if (strcmp(node.part, "Sequence") == 0) {
        for (size_t i = 0; i < json_array_size(members); i++) {
            CLF__TRY(read_processor(out, json_array_get(members, i), path));
        }
        return json_is_array(members)
                   ? CLF_OK
                   : clf__node_fail(&node, CLF_FORMAT, "has no list \"processors\"; download the file again");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, node.part) == 0) {
            struct sides sides = {.before = {.count = 0}};
            CLF__TRY(kinds[i].read(&sides, &node));
            return wrap(out, &node, &sides);
        }
    }
    return clf__node_fail(&node, CLF_UNSUPPORTED,
                          "this part is not supported; use the files from which the tokenizer was converted");
}

clf_status clf__template_read(struct clf__template *out, const json_t *value, const char *path)
{
    *out = (struct clf__template){{-1, -1}, {-1, -1}};
    return read_processor(out, value, path);
}
