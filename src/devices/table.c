#include "devices/table.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define MAX_KEYS 128

static struct table_entry *entry_at(const struct table *table, int index)
{
    return (struct table_entry *)(void *)((char *)table->entries + (size_t)index * table->kind->size);
}

static bool is_called(const struct table *table, const char *called, const char *name)
{
    bool may_be =
        ((*called ^ *name) & ~0x20) == 0; /* first letters, in capitals or not: most names end here */
    return table->kind->same ? table->kind->same(called, name) : may_be && strcasecmp(called, name) == 0;
}

void *table_find(const struct table *table, const char *name)
{
    for (int i = 0; table && i < table->count; i++) {
        struct table_entry *entry = entry_at(table, i);
        bool same = is_called(table, entry->name, name);
        for (int a = 0; !same && a < entry->alias_count; a++)
            same = is_called(table, entry->aliases[a], name);
        if (same)
            return entry;
    }
    return NULL;
}

static bool may_mean(const struct table_kind *kind, const char *name, const char *known)
{
    return !kind->may_mean || kind->may_mean(name, known);
}

static const char *nearest_alias(const struct table_kind *kind, const struct table_entry *entry,
                                 const char *name)
{
    const char *aliases[TABLE_MAX_ALIASES];
    size_t count = 0;
    for (int i = 0; i < entry->alias_count; i++)
        if (may_mean(kind, name, entry->aliases[i]))
            aliases[count++] = entry->aliases[i];
    return text_nearest(name, aliases, count);
}

static bool begins_alike(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    return strncmp(a, b, a_length < b_length ? a_length : b_length) == 0;
}

const char *table_nearest(const struct table *first, const struct table *second, const char *name)
{
    const struct table *tables[] = {first, second};
    const char *names[2 * TABLE_MAX_ENTRIES], *aliases[2 * TABLE_MAX_ENTRIES];
    size_t count = 0, alias_count = 0;
    for (size_t t = 0; t < 2; t++)
        for (int i = 0; tables[t] && i < tables[t]->count; i++) {
            const struct table_entry *entry = entry_at(tables[t], i);
            const char *alias = nearest_alias(tables[t]->kind, entry, name);
            if (may_mean(tables[t]->kind, name, entry->name))
                names[count++] = entry->name;
            if (alias)
                aliases[alias_count++] = alias;
        }
    const char *own = text_nearest(name, names, count), *other = text_nearest(name, aliases, alias_count);
    /* an alias is a guess worth more than a name where it alone begins as the text does */
    return own && (begins_alike(name, own) || !other || !begins_alike(name, other)) ? own : other;
}

/* ---- an entry ---- */

static bool copy_text(struct table_reader *r, const struct doc_node *node, const char **value)
{
    const char *text;
    if (!doc_string(r->doc, node, &text, r->err))
        return false;
    *value = arena_string(&r->table->arena, text);
    return *value ? true : error_memory(r->err);
}

/* A name of a length that can be printed in columns, which no other entry of this file has. */
static bool read_name(struct table_reader *r, const struct doc_node *node, const char **name)
{
    const struct table_kind *kind = r->table->kind;
    if (!copy_text(r, node, name))
        return false;
    if (strlen(*name) > TABLE_MAX_NAME)
        return doc_error(r->doc, node, r->err, "expected at most %d characters", TABLE_MAX_NAME);
    if (kind->check_name && !kind->check_name(r, node, *name))
        return false;
    if (table_find(r->table, *name))
        return doc_error(r->doc, node, r->err, "'%s' is the name of another %s above", *name, kind->noun);
    return true;
}

static bool read_aliases(struct table_reader *r, const struct doc_node *map, struct table_entry *entry)
{
    const struct doc_node *list = doc_find(map, "aliases");
    if (!list)
        return true;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count > TABLE_MAX_ALIASES)
        return doc_error(r->doc, list, r->err, "expected at most %d aliases", TABLE_MAX_ALIASES);
    entry->aliases = ARENA_ARRAY(&r->table->arena, list->count, const char *);
    if (!entry->aliases)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_name(r, node, &entry->aliases[entry->alias_count++]))
            return false;
    return true;
}

static bool read_like(struct table_reader *r, const struct doc_node *node, struct table_entry *entry)
{
    const struct table_kind *kind = r->table->kind;
    const char *name;
    if (!doc_string(r->doc, node, &name, r->err))
        return false;
    const void *other = table_find(r->table, name);
    const struct table *known = r->known && r->known->kind == kind ? r->known : NULL;
    if (!other)
        other = table_find(known, name);
    if (!other) {
        struct text_hint hint;
        return doc_error(r->doc, node, r->err, "unknown %s '%s'%s", kind->noun, name,
                         text_suggest(&hint, table_nearest(r->table, known, name), ""));
    }
    const struct table_entry *named = other;
    const char *fitted = named->fitted || !named->like ? named->name : named->like;
    memcpy(entry, other, kind->size);
    *entry = (struct table_entry){.like = arena_string(&r->table->arena, fitted)};
    return entry->like || error_memory(r->err);
}

/* The texts that every kind may have. */
static const struct {
    unsigned part;
    struct field field;
} texts[] = {
    {TABLE_TITLED, FIELD(struct table_entry, title, FIELD_TEXT, 0, 0)},
    {TABLE_SOURCED, FIELD(struct table_entry, source, FIELD_TEXT, 0, 0)},
    {TABLE_FITTED, FIELD(struct table_entry, fitted, FIELD_TEXT, 0, 0)},
};
#define TEXT_COUNT (sizeof texts / sizeof *texts)

static bool check_keys(struct table_reader *r, const struct doc_node *map)
{
    const struct table_kind *kind = r->table->kind;
    const char *keys[MAX_KEYS] = {"name"};
    size_t count = 1;
    for (size_t i = 0; i < kind->field_count; i++)
        keys[count++] = kind->fields[i].key;
    if (map == r->doc->root)
        keys[count++] = "format";
    if (kind->parts & TABLE_ALIASED)
        keys[count++] = "aliases";
    if (kind->parts & TABLE_LIKE)
        keys[count++] = "like";
    for (size_t i = 0; i < TEXT_COUNT; i++)
        if (kind->parts & texts[i].part)
            keys[count++] = texts[i].field.key;
    return doc_only_keys(r->doc, map, keys, count, r->err);
}

/* The document ends before the table: its texts are copied. */
static bool read_field(struct table_reader *r, const struct doc_node *map, void *entry,
                       const struct field *field)
{
    if (field->type == FIELD_TEXT && doc_find(map, field->key))
        return copy_text(r, doc_find(map, field->key),
                         (const char **)(void *)((char *)entry + field->offset));
    return field_read(entry, field, r->doc, map, r->err);
}

static bool read_entry(struct table_reader *r, const struct doc_node *map, struct table_entry *entry)
{
    const struct table_kind *kind = r->table->kind;
    if (!doc_is_map(r->doc, map, r->err) || !check_keys(r, map))
        return false;
    if (kind->initial)
        memcpy(entry, kind->initial, kind->size);
    const struct doc_node *name = doc_need(r->doc, map, "name", r->err), *like = doc_find(map, "like");
    if (!name || (like && !read_like(r, like, entry)) || !read_name(r, name, &entry->name) ||
        !read_aliases(r, map, entry))
        return false;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        if (!read_field(r, map, entry, &texts[i].field))
            return false;
    if (!entry->title)
        entry->title = entry->name;
    for (size_t i = 0; i < kind->field_count; i++)
        if (!read_field(r, map, entry, &kind->fields[i]))
            return false;
    return !kind->read || kind->read(r, map, entry);
}

/* ---- a file ---- */

static bool read_root(struct table_reader *r)
{
    struct table *table = r->table;
    const struct table_kind *kind = table->kind;
    const char *const keys[] = {"format", kind->list};
    const struct doc_node *root = r->doc->root;
    if (!doc_is_map(r->doc, root, r->err) ||
        ((kind->parts & TABLE_MARKED) && !doc_need(r->doc, root, "format", r->err)) ||
        !doc_is_format(r->doc, root, kind->format, r->err))
        return false;
    const struct doc_node *list = doc_find(root, kind->list);
    bool single = !list && (kind->parts & TABLE_SINGLE);
    if (!single &&
        (!doc_only_keys(r->doc, root, keys, 2, r->err) ||
         !(list = doc_need(r->doc, root, kind->list, r->err)) || !doc_is_list(r->doc, list, r->err)))
        return false;
    uint32_t count = single ? 1 : list->count;
    int max = kind->max_entries ? kind->max_entries : TABLE_MAX_ENTRIES;
    if (count < 1 || count > (uint32_t)max)
        return doc_error(r->doc, list, r->err, "expected from 1 to %d %s, found %u", max, kind->list, count);
    table->entries = arena_alloc(&table->arena, count, kind->size);
    if (!table->entries)
        return error_memory(r->err);
    for (const struct doc_node *node = single ? root : list->first_child; node; node = node->next) {
        /* counted when it is whole: until then it is no name for those below */
        if (!read_entry(r, node, entry_at(table, table->count)))
            return false;
        table->count++;
    }
    return true;
}

static bool from_doc(struct table *table, const struct table *known, struct doc *doc, struct error *err)
{
    struct table_reader r = {table, known, doc, err};
    bool done = read_root(&r);
    doc_release(doc);
    if (!done)
        table_release(table);
    return done;
}

bool table_load(struct table *table, const struct table_kind *kind, const struct table *known,
                const char *path, struct error *err)
{
    struct doc doc;
    *table = (struct table){.kind = kind};
    return doc_load(&doc, path, err) && from_doc(table, known, &doc, err);
}

bool table_parse(struct table *table, const struct table_kind *kind, const struct table *known,
                 const char *path, const char *data, size_t length, struct error *err)
{
    struct doc doc;
    enum doc_syntax syntax = text_ends_with(path, ".json") ? DOC_JSON : DOC_YAML;
    *table = (struct table){.kind = kind};
    return doc_parse(&doc, syntax, path, data, length, err) && from_doc(table, known, &doc, err);
}

void table_release(struct table *table)
{
    arena_release(&table->arena);
    *table = (struct table){0};
}

void table_write_text(struct text *out, const char *key, const char *value)
{
    if (!value)
        return;
    text_format(out, "%s: ", key);
    text_add_quoted(out, value);
    text_add(out, "\n");
}

void table_write_entry(struct text *out, const struct table_kind *kind, const void *entry)
{
    const struct table_entry *named = entry;
    text_format(out, "format: %s\n", kind->format);
    table_write_text(out, "name", named->name);
    table_write_text(out, "title", named->title);
    for (const struct field *field = kind->fields; field < kind->fields + kind->field_count; field++) {
        double value = field_get(entry, field);
        if (field->type == FIELD_TEXT)
            table_write_text(out, field->key,
                             *(const char *const *)(const void *)((const char *)entry + field->offset));
        else if (field->type != FIELD_OTHER && (value != 0.0 || field->min > 0))
            text_format(out, "%s: %.*g\n", field->key, field->type == FIELD_SIZE ? 17 : 10, value);
    }
}
