#include "api/cost/interval.h"

#include "core/text.h"
#include "devices/measured/kernels.h"
#include "devices/tables.h"
#include "evidence/own_run.h"

#include <string.h>

/* A profile has no job yet: the job on one node stands for it. */
static struct plan_interval interval_on(const struct architecture *model, const struct cost_device *device,
                                        const struct model_options *options)
{
    static const struct job_time unknown = {.seconds = 0.0};
    struct job job = {
        .model = model,
        .device = device,
        .calibration = tables_calibration(options->tables, device),
        .software = options->software,
        .degrees.pipeline = 1,
        .microbatch = options->microbatch,
        .sequence = options->sequence ? options->sequence : model->sequence,
        .type = model_type(device, options->precision),
    };
    struct estimate estimate = own_run_estimate(&job, &unknown);
    return interval_of(&estimate, 1.0);
}

struct plan_interval cost_interval_of_kernels(const struct kernel_time *times,
                                              const struct cost_device *device)
{
    double seconds = times->seconds > 0.0 ? times->seconds : 1.0;
    return (struct plan_interval){
        .low = times->seconds > 0.0 ? times->low / seconds : 1.0,
        .high = times->seconds > 0.0 ? times->high / seconds : 1.0,
        .extrapolates = device_is_sheet(device),
    };
}

/* Appends the interval of each device type to the profile's source. */
static bool note(struct profile *profile, const char *of, const struct cost_device *const *devices,
                 const struct plan_interval *intervals, const struct layer_doubts *doubts, struct error *err)
{
    struct text text = {0};
    text_format(&text, "%s; 80 %% interval%s, as shares of these times:", profile->source, of);
    for (int i = 0; i < profile->device_count; i++)
        if (doubts && doubts->unbounded_loops > 0.0)
            text_format(&text, "%s %s at least %.2f", i > 0 ? "," : "", devices[i]->name, intervals[i].low);
        else
            text_format(&text, "%s %s %.2f to %.2f%s", i > 0 ? "," : "", devices[i]->name, intervals[i].low,
                        intervals[i].high, intervals[i].extrapolates ? " (extrapolated)" : "");
    for (int i = 0; doubts && i < profile->device_count; i++)
        if (doubts->times[i].rough > 0.0)
            text_format(&text, "; modelled roughly: %.3g %% of the time on %s",
                        100.0 * doubts->times[i].rough / doubts->times[i].seconds, devices[i]->name);
    profile->source = text.failed ? NULL : arena_string(&profile->arena, text.data);
    text_release(&text);
    return profile->source || error_memory(err);
}

bool cost_interval_note_files(struct profile *profile, const struct cost_device *const *devices,
                              const struct layer_doubts *doubts, struct error *err)
{
    struct plan_interval intervals[PROFILE_MAX_DEVICES];
    for (int i = 0; i < profile->device_count; i++)
        intervals[i] = cost_interval_of_kernels(&doubts->times[i], devices[i]);
    return note(profile, " of kernels alone", devices, intervals, doubts, err);
}

bool cost_interval_note(struct profile *profile, const struct architecture *model,
                        const struct cost_device *const *devices, const struct model_options *options,
                        struct error *err)
{
    struct plan_interval intervals[PROFILE_MAX_DEVICES];
    for (int i = 0; i < profile->device_count; i++)
        intervals[i] = interval_on(model, devices[i], options);
    return note(profile, "", devices, intervals, NULL, err);
}
