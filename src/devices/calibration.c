#include "devices/calibration.h"

#include "devices/device.h"

#include <stddef.h>
#include <string.h>

#define MAX_GENERATIONS 32

static const struct field parameters[] = {
#define X(name, text, min, max, value) FIELD(struct calibration, name, FIELD_DOUBLE, min, max),
    CALIBRATION_PARAMETERS(X)
#undef X
        FIELD_OPEN("run", FIELD_OTHER),
    FIELD_OPEN("lab", FIELD_OTHER),
};
#define FIELD_COUNT     (sizeof parameters / sizeof *parameters)
#define PARAMETER_COUNT (FIELD_COUNT - 2)

static const struct field own_fields[] = {
#define X(type, name, text, min, max) FIELD(struct own_run, name, FIELD_##type, min, max),
    OWN_RUN_MEMBERS(X)
#undef X
};
#define OWN_COUNT (sizeof own_fields / sizeof *own_fields)

static const struct field lab_fields[] = {
#define X(type, name, text, min, max) FIELD(struct own_lab, name, FIELD_##type, min, max),
    OWN_LAB_MEMBERS(X)
#undef X
};
#define LAB_COUNT (sizeof lab_fields / sizeof *lab_fields)

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

/* The generations are those of the built-in devices. */
static bool check_name(struct table_reader *r, const struct doc_node *node, const char *name)
{
    const char *names[TABLE_MAX_ENTRIES];
    for (int d = 0; d < r->known->count; d++) {
        names[d] = r->known->devices[d].generation;
        if (strcmp(names[d], name) == 0)
            return true;
    }
    struct text_hint hint;
    const char *nearest = text_nearest(name, names, (size_t)r->known->count);
    return doc_error(r->doc, node, r->err, "unknown generation '%s'%s", name,
                     text_suggest(&hint, nearest, ", no device has it"));
}

static bool copy_text(struct table_reader *r, const char **text)
{
    *text = arena_string(&r->table->arena, *text);
    return *text || error_memory(r->err);
}

/* The parameters, or a run of the user's own, with which the generation keeps the known parameters. */
static bool read_entry(struct table_reader *r, const struct doc_node *map, void *entry)
{
    struct calibration *calibration = entry;
    struct own_run *own = &calibration->own;
    const struct doc_node *run = doc_find(map, "run"), *lab = doc_find(map, "lab");
    if (!doc_find(map, "gradients") && !calibration->like) /* files have had one number for both */
        calibration->gradients = calibration->inside;
    if (!run && !lab)
        return true;
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        const struct doc_node *node = doc_find(map, parameters[i].key);
        if (node)
            return doc_error(r->doc, node, r->err,
                             "an entry with 'run' or 'lab' has no parameters: it keeps the known ones");
    }
    if (lab && (!fields_read(&calibration->lab, lab_fields, LAB_COUNT, r->doc, lab, r->err) ||
                !copy_text(r, &calibration->lab.software)))
        return false;
    return !run || (fields_read(own, own_fields, OWN_COUNT, r->doc, run, r->err) &&
                    copy_text(r, &own->title) && copy_text(r, &own->device) && copy_text(r, &own->software));
}

const struct table_kind calibration_kind = {
    .format = "rehearse-calibration/1",
    .noun = "generation",
    .list = "generations",
    .parts = TABLE_FITTED | TABLE_LIKE,
    .max_entries = MAX_GENERATIONS,
    .size = sizeof(struct calibration),
    .initial = &calibration_default,
    .fields = parameters,
    .field_count = FIELD_COUNT,
    .check_name = check_name,
    .read = read_entry,
};

static void write_own(const char *key, const void *own, const struct field *fields, size_t count,
                      struct text *out)
{
    text_format(out, "    %s:\n", key);
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &fields[i];
        text_add(out, "      ");
        if (field->type == FIELD_TEXT)
            table_write_text(out, field->key,
                             *(const char *const *)(const void *)((const char *)own + field->offset));
        else if (field->type == FIELD_FLAG)
            text_format(out, "%s: %s\n", field->key, field_get(own, field) != 0.0 ? "true" : "false");
        else
            text_format(out, "%s: %.6g\n", field->key, field_get(own, field));
    }
}

void calibration_write(const struct calibration *calibration, struct text *out)
{
    table_write_text(out, "  - name", calibration->name);
    table_write_text(out, "    fitted", calibration->fitted);
    if (calibration->own.title)
        write_own("run", &calibration->own, own_fields, OWN_COUNT, out);
    if (calibration->lab.software)
        write_own("lab", &calibration->lab, lab_fields, LAB_COUNT, out);
    if (calibration->own.title || calibration->lab.software)
        return;
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        text_format(out, "    %s: %.4g\n", parameters[i].key, field_get(calibration, &parameters[i]));
}
