#include "cli/cost_choose.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

void cost_chosen_release(struct cost_chosen *chosen)
{
    architecture_table_release(&chosen->models);
    for (int i = 0; i < chosen->table_count; i++)
        cost_device_release(&chosen->tables[i]);
}

static bool is_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

bool cost_choose_model(struct cost_chosen *chosen, const char *name, struct error *err)
{
    if (is_file(name)) {
        if (!architecture_load(&chosen->models, name, err))
            return false;
        chosen->model = &chosen->models.models[0];
        return true;
    }
    chosen->model = architecture_find(name);
    if (chosen->model)
        return true;
    const struct architecture_table *table = architectures();
    const char **names = table ? calloc((size_t)table->count, sizeof *names) : NULL;
    if (!names)
        return error_memory(err);
    for (int i = 0; i < table->count; i++)
        names[i] = table->models[i].name;
    const char *nearest = text_nearest(name, names, (size_t)table->count);
    free(names);
    if (nearest)
        return error_set(err, ERROR_USAGE, "--model: unknown '%s', did you mean '%s'?", name, nearest);
    return error_set(err, ERROR_USAGE, "--model: unknown '%s', see 'rehearse cost --list'", name);
}

/* A name, or a file with one or more. */
static bool choose_device(struct cost_chosen *chosen, const char *name, struct error *err)
{
    struct cost_device_table *table = &chosen->tables[chosen->table_count];
    if (!cost_device_load(table, name, err)) {
        err->kind = is_file(name) ? err->kind : ERROR_USAGE;
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
            return error_set(err, ERROR_USAGE,
                             "--device: expected names with commas between them, found '%s'", list);
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
