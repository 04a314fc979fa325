#include "devices/calibration.h"

#include "core/arena.h"
#include "core/doc.h"
#include "devices/device_read.h"
#include "devices/tables.h"

#include <stddef.h>
#include <string.h>

#define FORMAT           "rehearse-calibration/1"
#define MOST_GENERATIONS 32

static const struct calibration_parameter parameters[] = {
#define X(name, text, least, most, value)                                                                    \
    {#name, text, least, most, value, offsetof(struct calibration, name)},
    CALIBRATION_PARAMETERS(X)
#undef X
};
#define PARAMETER_COUNT (sizeof parameters / sizeof *parameters)

static const struct calibration nothing_learnt = {
#define X(name, text, least, most, value) .name = (value),
    CALIBRATION_PARAMETERS(X)
#undef X
};

const struct calibration_parameter *calibration_parameters(int *count)
{
    *count = (int)PARAMETER_COUNT;
    return parameters;
}

double *calibration_value(struct calibration *calibration, const struct calibration_parameter *parameter)
{
    return (double *)((char *)calibration + parameter->offset);
}

/* Generations without runs of their own, and whose share of their peaks each is taken to reach. */
static const char *const nearest[][2] = {
    {"pascal", "volta"}, {"turing", "volta"}, {"ada", "ampere"},      {"cdna1", "volta"},
    {"cdna2", "ampere"}, {"cdna3", "hopper"}, {"cdna4", "blackwell"},
};
#define NEAREST_COUNT (sizeof nearest / sizeof *nearest)

/* Those of the built-in devices, and those above. */
static size_t known_generations(const char *names[], size_t most)
{
    const struct cost_device_table *devices = device_known();
    size_t count = 0;
    for (size_t i = 0; i < NEAREST_COUNT; i++)
        names[count++] = nearest[i][0];
    for (int d = 0; d < devices->count && count < most; d++) {
        bool is_new = true;
        for (size_t i = 0; i < count && is_new; i++)
            is_new = strcmp(names[i], devices->devices[d].generation) != 0;
        if (is_new)
            names[count++] = devices->devices[d].generation;
    }
    return count;
}

static bool read_name(struct calibration_table *table, const struct doc *doc, const struct doc_node *node,
                      const char **generation, struct error *err)
{
    const char *names[MOST_GENERATIONS], *name;
    bool is_known = false;
    if (!doc_string(doc, node, &name, err))
        return false;
    size_t count = known_generations(names, MOST_GENERATIONS);
    for (size_t i = 0; i < count && !is_known; i++)
        is_known = strcmp(names[i], name) == 0;
    const char *meant = is_known ? NULL : text_nearest(name, names, count);
    if (meant)
        return doc_error(doc, node, err, "unknown generation '%s', did you mean '%s'?", name, meant);
    if (!is_known)
        return doc_error(doc, node, err, "unknown generation '%s', no device has it", name);
    if (calibration_find(table, name))
        return doc_error(doc, node, err, "'%s' is the name of another generation above", name);
    *generation = arena_string(&table->arena, name);
    return *generation ? true : error_memory(err);
}

static bool read_generation(struct calibration_table *table, const struct doc *doc,
                            const struct doc_node *node, struct error *err)
{
    const char *keys[PARAMETER_COUNT + 2] = {"name", "fitted"}, *text;
    struct calibration *calibration = &table->generations[table->count];
    *calibration = nothing_learnt;
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        keys[2 + i] = parameters[i].name;
    const struct doc_node *name = doc_need(doc, node, "name", err), *fitted;
    if (!name || !doc_only_keys(doc, node, keys, PARAMETER_COUNT + 2, err) ||
        !read_name(table, doc, name, &calibration->generation, err))
        return false;
    fitted = doc_find(node, "fitted");
    if (fitted) {
        if (!doc_string(doc, fitted, &text, err))
            return false;
        calibration->fitted = arena_string(&table->arena, text);
        if (!calibration->fitted)
            return error_memory(err);
    }
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        const struct doc_node *value = doc_find(node, parameters[i].name);
        if (value && !doc_number(doc, value, parameters[i].least, parameters[i].most,
                                 calibration_value(calibration, &parameters[i]), err))
            return false;
    }
    table->count++;
    return true;
}

static bool read_table(struct calibration_table *table, const struct doc *doc, struct error *err)
{
    static const char *const keys[] = {"format", "generations"};
    const struct doc_node *list;
    if (!doc_is_map(doc, doc->root, err) || !doc_is_format(doc, doc->root, FORMAT, err) ||
        !doc_only_keys(doc, doc->root, keys, 2, err) ||
        !(list = doc_need(doc, doc->root, "generations", err)) || !doc_is_list(doc, list, err))
        return false;
    if (list->count > MOST_GENERATIONS)
        return doc_error(doc, list, err, "expected at most %d generations", MOST_GENERATIONS);
    table->generations = ARENA_ARRAY(&table->arena, (size_t)list->count + 1, struct calibration);
    if (!table->generations)
        return error_memory(err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_generation(table, doc, node, err))
            return false;
    return true;
}

static bool finish(struct calibration_table *table, struct doc *doc, struct error *err)
{
    bool ok = read_table(table, doc, err);
    doc_release(doc);
    if (!ok)
        calibration_table_release(table);
    return ok;
}

bool calibration_load(struct calibration_table *table, const char *path, struct error *err)
{
    struct doc doc;
    *table = (struct calibration_table){0};
    return cost_tables(err) && doc_load(&doc, path, err) && finish(table, &doc, err);
}

bool calibration_parse(struct calibration_table *table, const char *path, const char *data, size_t length,
                       struct error *err)
{
    struct doc doc;
    *table = (struct calibration_table){0};
    return cost_tables(err) && doc_parse(&doc, doc_syntax_of(path), path, data, length, err) &&
           finish(table, &doc, err);
}

void calibration_table_release(struct calibration_table *table)
{
    arena_release(&table->arena);
    *table = (struct calibration_table){0};
}

void calibration_write(const struct calibration *calibration, struct text *out)
{
    text_add(out, "  - name: ");
    text_add_quoted(out, calibration->generation);
    if (calibration->fitted) {
        text_add(out, "\n    fitted: ");
        text_add_quoted(out, calibration->fitted);
    }
    text_add(out, "\n");
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        text_format(out, "    %s: %.4g\n", parameters[i].name,
                    *(const double *)((const char *)calibration + parameters[i].offset));
}

const struct calibration *calibration_find(const struct calibration_table *table, const char *generation)
{
    for (int i = 0; i < table->count; i++)
        if (strcmp(table->generations[i].generation, generation) == 0)
            return &table->generations[i];
    return NULL;
}

extern const char data_calibration[];
extern const size_t data_calibration_size;

static struct calibration_table known, added;

bool calibration_read_known(struct error *err)
{
    struct doc doc;
    return known.count > 0 ||
           (doc_parse(&doc, DOC_YAML, "calibration.yaml", data_calibration, data_calibration_size, err) &&
            finish(&known, &doc, err));
}

bool calibrations_add(const char *path, struct error *err)
{
    struct calibration_table table;
    if (!calibration_load(&table, path, err))
        return false;
    calibration_table_release(&added);
    added = table;
    return true;
}

const struct calibration *calibration_of(const struct cost_device *device)
{
    cost_tables_needed();
    const struct calibration *found = calibration_find(&added, device->generation);
    if (!found)
        found = calibration_find(&known, device->generation);
    for (size_t i = 0; !found && i < NEAREST_COUNT; i++)
        if (strcmp(nearest[i][0], device->generation) == 0)
            found = calibration_find(&known, nearest[i][1]);
    return found ? found : &nothing_learnt;
}
