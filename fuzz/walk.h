/* What both document targets do with what they read: every getter on every value, and what it must hold. */
#ifndef REHEARSE_FUZZ_WALK_H
#define REHEARSE_FUZZ_WALK_H

#include "core/doc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

/* An error has a text, in one line. */
static inline void require_message(const struct error *err)
{
    require(err->text[0] != 0 && strlen(err->text) < sizeof err->text);
    for (const char *c = err->text; *c; c++)
        require((unsigned char)*c >= ' ');
}

static inline void walk_getters(const struct doc *doc, const struct doc_node *node)
{
    static const char *const known[] = {"name", "memory", "layers"};
    struct error err = {0};
    const char *text;
    double number;
    int64_t whole;
    if (doc_string(doc, node, &text, &err))
        require(strlen(text) == node->length && node->length > 0);
    else
        require_message(&err);
    if (doc_number(doc, node, -DBL_MAX, DBL_MAX, &number, &err))
        require(isfinite(number) && number == node->number);
    else
        require_message(&err);
    if (doc_integer(doc, node, -1000, INT64_MAX, &whole, &err))
        require(whole >= -1000);
    else
        require_message(&err);
    for (int kind = UNIT_BYTES; kind <= UNIT_COMPUTE; kind++)
        if (doc_quantity(doc, node, (enum unit_kind)kind, kind == UNIT_TIME, &number, &err))
            require(isfinite(number) && number >= 0);
        else
            require_message(&err);
    if (doc_need(doc, node, "name", &err))
        require(node->type == DOC_MAP);
    else
        require_message(&err);
    if (node->type == DOC_MAP && !doc_only_keys(doc, node, known, 3, &err))
        require_message(&err);
}

/* Returns how deep the tree is. */
static inline int walk(const struct doc *doc, const struct doc_node *node)
{
    struct error err;
    int deepest = 0;
    uint32_t count = 0;
    require(node->line >= 1 && node->column >= 1);
    doc_error(doc, node, &err, "here");
    require_message(&err);
    walk_getters(doc, node);
    for (const struct doc_node *child = node->first_child; child; child = child->next) {
        require(child->parent == node && child->index == count++);
        require((node->type == DOC_MAP) == (child->key != NULL));
        if (child->key)
            require(doc_find(node, child->key) == child);
        int depth = walk(doc, child);
        deepest = depth > deepest ? depth : deepest;
    }
    require(count == node->count);
    return node->type == DOC_LIST || node->type == DOC_MAP ? deepest + 1 : 0;
}

static inline void parse_and_walk(enum doc_syntax syntax, const char *path, const char *text, size_t length)
{
    struct doc doc;
    struct error err = {0};
    if (!doc_parse(&doc, syntax, path, text, length, &err)) {
        require(doc.root == NULL && doc.arena.last == NULL);
        require_message(&err);
        return;
    }
    require(doc.root && !doc.root->parent && !doc.root->next);
    require(walk(&doc, doc.root) <= DOC_MAX_DEPTH);
    doc_release(&doc);
}

#endif
