#include "cli/cost_interval.h"

#include "core/text.h"
#include "job/interval.h"

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

bool cost_interval_note(struct profile *profile, const struct architecture *model,
                        const struct cost_device *const *devices, const struct model_options *options,
                        struct error *err)
{
    const struct residuals *known = residuals_known();
    struct text text = {0};
    if (!known)
        return error_memory(err);
    text_format(&text, "%s; 80 %% interval, as shares of these times:", profile->source);
    for (int i = 0; i < profile->device_count; i++) {
        struct interval interval = interval_on(model, devices[i], options, known);
        text_format(&text, "%s %s %.2f to %.2f%s", i > 0 ? "," : "", devices[i]->name, interval.low,
                    interval.high, interval.extrapolates ? " (extrapolated)" : "");
    }
    profile->source = text.failed ? NULL : arena_string(&profile->arena, text.data);
    text_release(&text);
    return profile->source || error_memory(err);
}
