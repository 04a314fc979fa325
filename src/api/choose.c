#include "api/choose.h"

#include "core/doc.h"
#include "core/file.h"
#include "core/text.h"
#include "devices/tables.h"

#include <string.h>

void cost_chosen_release(struct cost_chosen *chosen)
{
    tables_release(&chosen->added);
    arena_release(&chosen->arena);
    table_release(&chosen->models);
    for (int i = 0; i < chosen->table_count; i++)
        table_release(&chosen->tables[i]);
}

/* Names of models have dots, too ("opt-1.3b"): a file of another ending needs a slash. "org/name" is a checkpoint's
 * unless there is such a file. */
static bool is_model_file(const char *name)
{
    enum file_kind kind;
    struct error err;
    const char *slash = strchr(name, '/');
    if (doc_is_name(name) || !slash)
        return doc_is_name(name);
    bool checkpoint = slash > name && name[0] != '.' && !strchr(slash + 1, '/');
    return !checkpoint || (file_look(name, &kind, &err) && kind != FILE_NONE);
}

static bool names_of(const struct table *table, const char *file, struct error *err)
{
    struct text names = {0};
    for (int i = 0; i < table->count; i++)
        text_format(&names, "%s%s", i ? ", " : "", table->models[i].name);
    if (names.failed)
        error_memory(err);
    else
        error_set(err, ERROR_USAGE, "--model: %s describes %d models, expected one: %s", file, table->count,
                  names.data);
    text_release(&names);
    return false;
}

static bool load_model(struct cost_chosen *chosen, const char *file, struct error *err)
{
    bool is_config = false;
    chosen->model = &chosen->config;
    if (text_ends_with(file, ".json") &&
        !architecture_load_config(&chosen->config, file, &chosen->arena, &is_config, err))
        return false;
    if (is_config)
        return true;
    if (!tables_read(&chosen->models, TABLE_MODELS, file, err))
        return false;
    if (chosen->models.count != 1)
        return names_of(&chosen->models, file, err);
    chosen->model = &chosen->models.models[0];
    return true;
}

bool cost_choose_model(struct cost_chosen *chosen, const char *name, struct error *err)
{
    if (is_model_file(name))
        return load_model(chosen, name, err);
    if (!tables_ready(err))
        return false;
    chosen->model = architecture_of_checkpoint(name);
    return chosen->model || tables_unknown(TABLE_MODELS, "--model: ", name, err);
}

const struct software *cost_choose_software(struct cost_chosen *chosen, const char *name, struct error *err)
{
    const struct table *added = &chosen->added.added[TABLE_SOFTWARE];
    const struct software *software = NULL;
    if (!tables_ready(err) || (doc_is_name(name) && !tables_add(&chosen->added, TABLE_SOFTWARE, name, err)))
        return NULL;
    if (!doc_is_name(name)) {
        software = tables_software(&chosen->added, name);
        if (!software)
            software_unknown(name, err);
    } else if (added->count == 1)
        software = added->software;
    else
        error_set(err, ERROR_USAGE, "--software: %s describes %d, expected one", name, added->count);
    return software;
}

/* Adds the device of this name, or those of a file. */
static bool choose_device(struct cost_chosen *chosen, const char *name, struct error *err)
{
    struct table *table = &chosen->tables[chosen->table_count];
    if (!tables_load(&chosen->added, TABLE_DEVICES, table, name, err)) {
        err->kind = doc_is_name(name) || err->kind == ERROR_FAILED ? err->kind : ERROR_USAGE;
        return false;
    }
    chosen->table_count++;
    for (int i = 0; i < table->count; i++) {
        if (chosen->device_count == PROFILE_MAX_DEVICES)
            return error_set(err, ERROR_USAGE, "--device: expected at most %d devices", PROFILE_MAX_DEVICES);
        for (int other = 0; other < chosen->device_count; other++)
            if (strcmp(chosen->devices[other]->name, table->devices[i].name) == 0)
                return error_set(err, ERROR_USAGE, "--device: '%s' is named twice", table->devices[i].name);
        chosen->devices[chosen->device_count++] = &table->devices[i];
    }
    return true;
}

bool cost_choose_devices(struct cost_chosen *chosen, const char *list, struct error *err)
{
    for (const char *name = list; name;) {
        const char *comma = strchr(name, ',');
        char one[1024];
        size_t length = comma ? (size_t)(comma - name) : strlen(name);
        if (length == 0 || length >= sizeof one)
            return error_set(err, ERROR_USAGE, "--device: expected names separated by commas, found '%s'",
                             list);
        if (chosen->table_count == PROFILE_MAX_DEVICES)
            return error_set(err, ERROR_USAGE, "--device: expected at most %d devices", PROFILE_MAX_DEVICES);
        memcpy(one, name, length);
        one[length] = '\0';
        if (!choose_device(chosen, one, err))
            return false;
        name = comma ? comma + 1 : NULL;
    }
    return true;
}
