#include "devices/tables.h"

#include "core/once.h"
#include "devices/device_name.h"

#include <string.h>

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
    return calibration->own.title || calibration->lab.software ||
           calibration == tables_calibration(NULL, device);
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
