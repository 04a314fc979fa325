#include "cli/cost/interval.h"

#include "core/text.h"

#include <string.h>

/* Files are compiled, attention as they have it: what software that is like most. */
#define SOFTWARE_OF_FILES "fsdp"

/* A profile has no job yet: it is taken for one on a node. */
static struct interval interval_on(const struct architecture *model, const struct cost_device *device,
                                   const struct model_options *options, const struct residuals *known)
{
    struct job job = {
        .model = model,
        .device = device,
        .software = options->software,
        .devices = options->devices_per_node > 0 ? options->devices_per_node : 1,
        .pipeline = 1,
        .microbatch = options->microbatch,
        .sequence = options->sequence ? options->sequence : model->sequence,
        .type = model_type(device, options->precision),
    };
    struct likeness likeness = likeness_of(&job);
    return interval_of(known, &likeness, 1.0, false);
}

bool cost_interval_of_device(const struct cost_device *device, struct interval *interval, struct error *err)
{
    const struct residuals *known = residuals_known(err);
    struct likeness middle = {.generation = device->generation, .software = SOFTWARE_OF_FILES};
    int count = 0;
    if (!known)
        return false;
    for (int i = 0; i < known->count; i++) {
        const struct likeness *row = &known->rows[i].likeness;
        if (strcmp(row->generation, device->generation) != 0)
            continue;
        count++;
        for (int s = 0; s < INTERVAL_SIZES; s++)
            middle.sizes[s] += (row->sizes[s] - middle.sizes[s]) / count;
    }
    *interval = interval_of(known, &middle, 1.0, false);
    interval->extrapolates = interval->extrapolates || count == 0;
    return true;
}

static void note(struct text *text, const struct cost_device *device, const struct interval *interval)
{
    text_format(text, " %s %.2f to %.2f%s", device->name, interval->low, interval->high,
                interval->extrapolates ? " (extrapolated)" : "");
}

static bool end_note(struct profile *profile, struct text *text, struct error *err)
{
    profile->source = text->failed ? NULL : arena_string(&profile->arena, text->data);
    text_release(text);
    return profile->source || error_memory(err);
}

#define SHARES       "; 80 %% interval, as shares of these times:"
#define SHARES_FILES "; 80 %% interval of whole training runs, as shares of these times:"

bool cost_interval_note_files(struct profile *profile, const struct cost_device *const *devices,
                              struct error *err)
{
    struct text text = {0};
    text_format(&text, "%s" SHARES_FILES, profile->source);
    for (int i = 0; i < profile->device_count; i++) {
        struct interval interval;
        if (!cost_interval_of_device(devices[i], &interval, err)) {
            text_release(&text);
            return false;
        }
        text_add(&text, i > 0 ? "," : "");
        note(&text, devices[i], &interval);
    }
    return end_note(profile, &text, err);
}

bool cost_interval_note(struct profile *profile, const struct architecture *model,
                        const struct cost_device *const *devices, const struct model_options *options,
                        struct error *err)
{
    const struct residuals *known = residuals_known(err);
    struct text text = {0};
    if (!known)
        return false;
    text_format(&text, "%s" SHARES, profile->source);
    for (int i = 0; i < profile->device_count; i++) {
        struct interval interval = interval_on(model, devices[i], options, known);
        text_add(&text, i > 0 ? "," : "");
        note(&text, devices[i], &interval);
    }
    return end_note(profile, &text, err);
}
