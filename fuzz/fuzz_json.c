/* JSON into a document; what is read and has no NUL in its texts is written, and read back as the same. */
#include "core/json.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write(struct json *json, const struct doc_node *node)
{
    switch (node->type) {
    case DOC_NULL:
        json_null(json, node->key);
        return;
    case DOC_BOOL:
        json_bool(json, node->key, node->boolean);
        return;
    case DOC_NUMBER:
        json_number(json, node->key, node->number);
        return;
    case DOC_STRING:
        json_string(json, node->key, node->text);
        return;
    case DOC_LIST:
    case DOC_MAP:
        json_open(json, node->key, node->type == DOC_MAP ? '{' : '[');
        for (const struct doc_node *child = node->first_child; child; child = child->next)
            write(json, child);
        json_close(json);
    }
}

static void require_same(const struct doc_node *a, const struct doc_node *b)
{
    require(a->type == b->type && a->count == b->count);
    require(!a->key == !b->key && (!a->key || strcmp(a->key, b->key) == 0));
    if (a->type == DOC_NUMBER)
        require(a->number == b->number);
    if (a->type == DOC_STRING)
        require(strcmp(a->text, b->text) == 0);
    if (a->type == DOC_BOOL)
        require(a->boolean == b->boolean);
    const struct doc_node *other = b->first_child;
    for (const struct doc_node *child = a->first_child; child; child = child->next, other = other->next)
        require_same(child, other);
}

static void check_round_trip(const char *text, size_t length)
{
    struct doc doc, again;
    struct error err;
    struct text out = {0};
    struct json json = {.out = &out};
    if (!doc_parse(&doc, DOC_JSON, "fuzz.json", text, length, &err))
        return;
    write(&json, doc.root);
    if (!out.failed) { /* JSON_MAX_DEPTH */
        require(doc_parse(&again, DOC_JSON, "again.json", out.data, out.length, &err));
        require_same(doc.root, again.root);
        doc_release(&again);
    }
    text_release(&out);
    doc_release(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse_and_walk(DOC_JSON, "fuzz.json", (const char *)data, size);
    check_round_trip((const char *)data, size);
    return 0;
}
