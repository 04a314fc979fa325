#include "devices/tables.h"
#include "core/once.h"
#include "devices/device_name.h"
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

/* Returns the nearest name in either table, or an alias that is nearer; NULL: none is near. The second may be NULL. */
static const char *table_nearest(const struct table *first, const struct table *second, const char *name)
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
    if (!other)
        other = table_find(r->known, name);
    if (!other) {
        struct text_hint hint;
        return doc_error(r->doc, node, r->err, "unknown %s '%s'%s", kind->noun, name,
                         text_suggest(&hint, table_nearest(r->table, r->known, name), ""));
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

static bool table_load(struct table *table, const struct table_kind *kind, const struct table *known,
                       const char *path, struct error *err)
{
    struct doc doc;
    *table = (struct table){.kind = kind};
    return doc_load(&doc, path, err) && from_doc(table, known, &doc, err);
}

static bool table_parse(struct table *table, const struct table_kind *kind, const struct table *known,
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

/* data/….yaml as JSON, by scripts/embed.c. */
extern const char data_devices[], data_links[], data_calibration[], data_models[], data_software[];
extern const size_t data_devices_size, data_links_size, data_calibration_size, data_models_size,
    data_software_size;

/* `known` is the table that an entry may name another of. */
static const struct {
    const struct table_kind *kind;
    const char *path, *data;
    const size_t *size;
    enum table_of known;
} files[TABLES] = {
    [TABLE_DEVICES] = {&cost_device_kind, "devices.json", data_devices, &data_devices_size, TABLE_DEVICES},
    [TABLE_LINKS] = {&cost_link_kind, "links.json", data_links, &data_links_size, TABLE_LINKS},
    /* calibrations name the generations of devices */
    [TABLE_CALIBRATIONS] = {&calibration_kind, "calibration.json", data_calibration, &data_calibration_size,
                            TABLE_DEVICES},
    [TABLE_MODELS] = {&architecture_kind, "models.json", data_models, &data_models_size, TABLE_MODELS},
    [TABLE_SOFTWARE] = {&software_kind, "software.json", data_software, &data_software_size, TABLE_SOFTWARE},
};

static struct table built_in[TABLES];
static struct once once = ONCE_INIT;

static bool read_all(struct error *err)
{
    for (int t = 0; t < TABLES; t++) {
        const struct table *known = &built_in[files[t].known];
        if (built_in[t].count == 0 && !table_parse(&built_in[t], files[t].kind, known, files[t].path,
                                                   files[t].data, *files[t].size, err))
            return false;
    }
    return true;
}

bool tables_ready(struct error *err)
{
    return once_read(&once, read_all, err);
}

const struct table *tables_known(enum table_of which)
{
    once_needed(&once, read_all);
    return &built_in[which];
}

static const void *find(const struct tables *tables, enum table_of which, const char *name)
{
    const struct table *added = tables ? &tables->added[which] : NULL;
    const void *found = table_find(added, name);
    if (!found)
        found = table_find(tables_known(which), name);
    return found || which != TABLE_DEVICES ? found : device_named(added, &built_in[which], name);
}

static const struct calibration *calibration_of(const struct tables *tables, const char *generation)
{
    const struct calibration *found = find(tables, TABLE_CALIBRATIONS, generation);
    const char *nearest = found ? NULL : calibration_nearest(generation);
    if (nearest)
        found = find(NULL, TABLE_CALIBRATIONS, nearest);
    return found ? found : &calibration_default;
}

/* An entry with a run of the user's own has the parameters that are known. */
static bool fill(struct table *table)
{
    for (int i = 0; table->kind == &calibration_kind && i < table->count; i++) {
        struct calibration *entry = &table->generations[i];
        struct calibration known = *calibration_of(NULL, entry->name);
        if (!entry->own.title)
            continue;
        known.entry = entry->entry;
        known.own = entry->own;
        *entry = known;
    }
    return true;
}

bool tables_read(struct table *table, enum table_of which, const char *path, struct error *err)
{
    *table = (struct table){0};
    return tables_ready(err) &&
           table_load(table, files[which].kind, &built_in[files[which].known], path, err) && fill(table);
}

bool tables_parse(struct table *table, enum table_of which, const char *path, const char *data, size_t length,
                  struct error *err)
{
    *table = (struct table){0};
    return tables_ready(err) &&
           table_parse(table, files[which].kind, &built_in[files[which].known], path, data, length, err) &&
           fill(table);
}

bool tables_add(struct tables *tables, enum table_of which, const char *path, struct error *err)
{
    struct table table;
    if (!path)
        return true;
    if (!tables_read(&table, which, path, err))
        return false;
    table_release(&tables->added[which]);
    tables->added[which] = table;
    return true;
}

void tables_release(struct tables *tables)
{
    for (int t = 0; t < TABLES; t++)
        table_release(&tables->added[t]);
}

/* ---- lookups ---- */

const struct cost_device *tables_device(const struct tables *tables, const char *name)
{
    return find(tables, TABLE_DEVICES, name);
}

const struct cost_link *tables_link(const struct tables *tables, const char *name)
{
    return find(tables, TABLE_LINKS, name);
}

const struct software *tables_software(const struct tables *tables, const char *name)
{
    return find(tables, TABLE_SOFTWARE, name);
}

const struct architecture *architecture_find(const char *name)
{
    return find(NULL, TABLE_MODELS, name);
}

const struct calibration *tables_calibration(const struct tables *tables, const struct cost_device *device)
{
    return calibration_of(tables, device->generation);
}

bool tables_is_known(const struct calibration *calibration, const struct cost_device *device)
{
    return calibration->own.title || calibration == tables_calibration(NULL, device);
}

bool tables_unknown(enum table_of which, const char *option, const char *name, struct error *err)
{
    struct text_hint hint;
    return error_set(
        err, ERROR_USAGE, "%sunknown %s '%s'%s", option, files[which].kind->noun, name,
        text_suggest(&hint, table_nearest(&built_in[which], NULL, name), ", see 'rehearse cost --list'"));
}

bool tables_load(const struct tables *tables, enum table_of which, struct table *table, const char *name,
                 struct error *err)
{
    const struct table_kind *kind = files[which].kind;
    *table = (struct table){0};
    if (!tables_ready(err))
        return false;
    if (doc_is_name(name))
        return tables_read(table, which, name, err);
    const void *entry = find(tables, which, name);
    if (!entry)
        return tables_unknown(which, "", name, err);
    table->entries = arena_alloc(&table->arena, 1, kind->size);
    if (!table->entries)
        return error_memory(err);
    memcpy(table->entries, entry, kind->size);
    table->kind = kind;
    table->count = 1;
    return true;
}

/* ---- software ---- */

int software_count(bool real)
{
    return tables_known(TABLE_SOFTWARE)->count - real; /* "ideal" is the last */
}

const struct software *software_at(int index)
{
    return &tables_known(TABLE_SOFTWARE)->software[index];
}

const struct software *software_find(const char *name)
{
    return tables_software(NULL, name);
}

bool software_unknown(const char *name, struct error *err)
{
    const char *names[SOFTWARE_MAX];
    struct text_hint hint;
    struct text list = {0};
    int count = software_count(false);
    for (int i = 0; i < count; i++) {
        names[i] = software_at(i)->name;
        text_format(&list, "%s%s", i == 0 ? ", expected one of " : ", ", names[i]);
    }
    error_set(err, ERROR_USAGE, "--software: unknown '%s'%s", name,
              text_suggest(&hint, text_nearest(name, names, (size_t)count), list.data ? list.data : ""));
    text_release(&list);
    return false;
}
