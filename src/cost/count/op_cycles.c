/* The built-in cycles of elementwise operations: data/op-cycles.yaml. */
#include "core/doc.h"
#include "core/once.h"
#include "cost/count/count.h"

#include <string.h>

extern const char data_op_cycles[];
extern const size_t data_op_cycles_size;

static struct {
    struct arena arena;
    struct op_cycles *tables;
    int count;
} built_in;

static bool read_types(const struct doc *doc, enum hlo_type types[HLO_TYPE_COUNT], struct error *err)
{
    const struct doc_node *list = doc_need(doc, doc->root, "types", err);
    if (!list || !doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        enum hlo_type type = hlo_type_find(node->text, node->length);
        if (type == HLO_TYPE_COUNT || node->index >= HLO_TYPE_COUNT)
            return doc_error(doc, node, err, "expected an element type of HLO");
        types[node->index] = type;
    }
    return true;
}

static bool read_row(struct op_cycles *table, const struct doc *doc, const struct doc_node *row,
                     const enum hlo_type *types, struct error *err)
{
    enum hlo_opcode opcode = hlo_opcode_find(row->key, strlen(row->key));
    if (opcode == HLO_OPCODE_COUNT)
        return doc_error(doc, row, err, "expected an operation of HLO");
    for (const struct doc_node *node = row->first_child; node; node = node->next) {
        int64_t cycles = 0;
        if (node->type != DOC_NULL && !doc_integer(doc, node, 1, 1 << 20, &cycles, err))
            return false;
        table->elementwise[opcode][types[node->index]] = (int32_t)cycles;
    }
    return true;
}

static bool read_table(struct op_cycles *table, const struct doc *doc, const struct doc_node *node,
                       const enum hlo_type *types, struct error *err)
{
    const struct doc_node *capability = doc_need(doc, node, "capability", err);
    const struct doc_node *cycles = doc_need(doc, node, "cycles", err);
    const struct doc_node *fork = doc_find(node, "fork");
    if (!capability || !cycles || !doc_string(doc, capability, &table->capability, err))
        return false;
    table->capability = arena_string(&built_in.arena, table->capability);
    table->fork = fork && fork->boolean;
    for (const struct doc_node *row = cycles->first_child; row; row = row->next)
        if (!read_row(table, doc, row, types, err))
            return false;
    return table->capability || error_memory(err);
}

static bool read_tables(const struct doc *doc, struct error *err)
{
    enum hlo_type types[HLO_TYPE_COUNT] = {0};
    const struct doc_node *profiles = doc_need(doc, doc->root, "profiles", err);
    if (!profiles || !read_types(doc, types, err))
        return false;
    struct op_cycles *tables = ARENA_ARRAY(&built_in.arena, profiles->count, struct op_cycles);
    if (!tables)
        return error_memory(err);
    for (const struct doc_node *node = profiles->first_child; node; node = node->next)
        if (!read_table(&tables[node->index], doc, node, types, err))
            return false;
    built_in.tables = tables;
    built_in.count = (int)profiles->count;
    return true;
}

static bool read_built_in(struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, "op-cycles.yaml", data_op_cycles, data_op_cycles_size, err))
        return false;
    bool done = read_tables(&doc, err);
    doc_release(&doc);
    if (!done)
        arena_release(&built_in.arena);
    return done;
}

static struct once once = ONCE_INIT;

bool op_cycles_read(struct error *err)
{
    return once_read(&once, read_built_in, err);
}

static const struct op_cycles *find(const char *capability, bool fork)
{
    for (int i = 0; i < built_in.count; i++) {
        const struct op_cycles *table = &built_in.tables[i];
        if (!strcmp(table->capability, capability) && (table->fork || !fork))
            return table;
    }
    return NULL;
}

const struct op_cycles *op_cycles_find(const char *capability, bool fork)
{
    once_needed(&once, read_built_in);
    const struct op_cycles *table = capability ? find(capability, fork) : NULL;
    return table ? table : find("sm_86", fork);
}
