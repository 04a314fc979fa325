#include "devices/calibration.h"

#include "devices/device.h"

#include <stddef.h>
#include <string.h>

#define MAX_GENERATIONS 32

static const struct field parameters[] = {
#define X(name, text, min, max, value) FIELD(struct calibration, name, FIELD_DOUBLE, min, max),
    CALIBRATION_PARAMETERS(X)
#undef X
};
#define PARAMETER_COUNT (sizeof parameters / sizeof *parameters)

const struct calibration calibration_default = {
#define X(name, text, min, max, value) .name = (value),
    CALIBRATION_PARAMETERS(X)
#undef X
};

const struct field *calibration_parameters(int *count)
{
    *count = (int)PARAMETER_COUNT;
    return parameters;
}

/* Generations without runs of their own, and the generation whose share of the peaks each is assumed to reach. */
static const char *const nearest[][2] = {
    {"pascal", "volta"},    {"turing", "volta"}, {"ada", "ampere"},
    {"cdna1", "volta"},     {"cdna2", "ampere"}, {"cdna3", "hopper"},
    {"cdna4", "blackwell"}, {"tpu", "hopper"},   {"trainium", "hopper"},
};
#define NEAREST_COUNT (sizeof nearest / sizeof *nearest)

const char *calibration_nearest(const char *generation)
{
    for (size_t i = 0; i < NEAREST_COUNT; i++)
        if (strcmp(nearest[i][0], generation) == 0)
            return nearest[i][1];
    return NULL;
}

/* Lists the generations above and those of the built-in devices. */
static size_t known_generations(const struct table *devices, const char *names[], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < NEAREST_COUNT; i++)
        names[count++] = nearest[i][0];
    for (int d = 0; d < devices->count && count < max; d++) {
        bool is_new = true;
        for (size_t i = 0; i < count && is_new; i++)
            is_new = strcmp(names[i], devices->devices[d].generation) != 0;
        if (is_new)
            names[count++] = devices->devices[d].generation;
    }
    return count;
}

static bool check_name(struct table_reader *r, const struct doc_node *node, const char *name)
{
    const char *names[MAX_GENERATIONS];
    size_t count = known_generations(r->known, names, MAX_GENERATIONS);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    struct text_hint hint;
    return doc_error(r->doc, node, r->err, "unknown generation '%s'%s", name,
                     text_suggest(&hint, text_nearest(name, names, count), ", no device has it"));
}

static bool same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

const struct table_kind calibration_kind = {
    .format = "rehearse-calibration/1",
    .noun = "generation",
    .list = "generations",
    .parts = TABLE_FITTED,
    .max_entries = MAX_GENERATIONS,
    .size = sizeof(struct calibration),
    .same = same_name,
    .initial = &calibration_default,
    .fields = parameters,
    .field_count = PARAMETER_COUNT,
    .check_name = check_name,
};

void calibration_write(const struct calibration *calibration, struct text *out)
{
    table_write_text(out, "  - name", calibration->name);
    table_write_text(out, "    fitted", calibration->fitted);
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        text_format(out, "    %s: %.4g\n", parameters[i].key, field_get(calibration, &parameters[i]));
}
