#include "core/fields.h"
#include "core/unit.h"
#include "sim/play.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define STEPS_SHOWN 12
#define LINKS_SHOWN 8

/* ---- for people ---- */

static double share_of(double part, double whole)
{
    return whole > 0.0 ? 100.0 * part / whole : 0.0;
}

static const char *stage_type(const struct sim_result *result, const struct plan *plan, int device)
{
    return plan->types[result->devices[device].type].name;
}

/* The simulated time against the formula's, to a tenth of a per cent. */
static void print_difference(double seconds, double formula, struct text *out)
{
    struct unit_texts texts = {0};
    double more = 100.0 * (seconds / formula - 1.0);
    text_format(out, "formula %s: the simulation ", unit_text(&texts, formula, UNIT_TIME));
    if (fabs(more) < 0.05)
        text_add(out, "equals the formula");
    else
        text_format(out, "takes %.1f %% %s", fabs(more), more > 0.0 ? "longer" : "less");
}

static void print_head(const struct sim_result *result, const struct plan *plan, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "%s, schedule %s, played by %s\n", plan->model ? plan->model : "a plan",
                result->schedule, result->level);
    text_format(out, "iteration %s simulated", unit_text(&texts, result->seconds, UNIT_TIME));
    if (result->makespan > result->seconds * (1.0 + 1e-9))
        text_format(out, " in the steady state, %s alone", unit_text(&texts, result->makespan, UNIT_TIME));
    if (isfinite(result->samples))
        text_format(out, "; %.4g samples/s", result->samples);
    if (isfinite(result->tokens))
        text_format(out, ", %.4g tokens/s", result->tokens);
    if (isfinite(result->utilisation))
        text_format(out, "; %.1f %% of the devices' peak", 100.0 * result->utilisation);
    text_add(out, "\n");
    if (result->drawn.seeds > 0)
        text_format(out, "%d seeds: median %s, 90 %% of them from %s to %s\n", result->drawn.seeds,
                    unit_text(&texts, result->drawn.median, UNIT_TIME),
                    unit_text(&texts, result->drawn.low, UNIT_TIME),
                    unit_text(&texts, result->drawn.high, UNIT_TIME));
    if (isfinite(result->formula))
        print_difference(result->seconds, result->formula, out);
    for (int i = 0; i < result->reason_count; i++)
        text_format(out, "%s%s (%+.1f %%)", i == 0 ? ", from " : "; ", result->reasons[i].name,
                    100.0 * result->reasons[i].seconds / result->formula);
    if (isfinite(result->formula))
        text_add(out, "\n");
    if (isfinite(result->expected) && result->expected != result->formula)
        text_format(out, "expected %s of the plan, by formula and known runs\n",
                    unit_text(&texts, result->expected, UNIT_TIME));
    if (result->unreached.factor > 0.0)
        text_format(out, "straggler: device %d is slow from second %g on, when all is over\n",
                    result->unreached.first, result->unreached.from);
    text_format(out, "pipeline stalls (waiting for other stages): %.1f %% of the time\n",
                100.0 * result->bubble);
}

static void print_causes(const struct sim_result *result, const struct plan *plan, struct text *out)
{
    const struct sim_device *device = &result->devices[result->slowest];
    text_format(out, "\nbusiest device, place %d of pipeline %d (%s):\n", device->place, device->pipeline,
                stage_type(result, plan, result->slowest));
    for (int cause = 0; cause < SIM_CAUSES; cause++) {
        struct unit_texts texts = {0};
        if (device->seconds[cause] > 0.0)
            text_format(out, "  %-10s %10s  %5.1f %%\n", sim_cause_names[cause],
                        unit_text(&texts, device->seconds[cause], UNIT_TIME),
                        share_of(device->seconds[cause], result->seconds));
    }
}

static void print_memory(const struct sim_result *result, const struct plan *plan, struct text *out)
{
    struct unit_texts texts = {0};
    if (result->fullest < 0)
        return;
    const struct sim_device *device = &result->devices[result->fullest];
    const struct sim_memory *peak = &device->peak;
    int64_t limit = plan->types[device->type].nodes.memory;
    text_format(out, "\nfullest device: place %d of pipeline %d (%s), %s", device->place, device->pipeline,
                stage_type(result, plan, result->fullest), unit_text(&texts, peak->total, UNIT_BYTES));
    if (limit > 0)
        text_format(out, " of %s%s", unit_text(&texts, (double)limit, UNIT_BYTES),
                    peak->total > (double)limit ? ": it does not fit" : "");
    text_format(out, ", after %s\n", unit_text(&texts, peak->time, UNIT_TIME));
    if (peak->activations > 0.0)
        text_format(out, "  parameters %s, gradients %s, optimizer %s, activations %s, working %s\n",
                    unit_text(&(struct unit_texts){0}, peak->parameters, UNIT_BYTES),
                    unit_text(&(struct unit_texts){0}, peak->gradients, UNIT_BYTES),
                    unit_text(&(struct unit_texts){0}, peak->optimizer, UNIT_BYTES),
                    unit_text(&(struct unit_texts){0}, peak->activations, UNIT_BYTES),
                    unit_text(&(struct unit_texts){0}, peak->working, UNIT_BYTES));
}

static void print_steps(const struct sim_result *result, struct text *out)
{
    if (result->step_count > 0)
        text_add(out, "\ncritical path");
    if (result->step_count > 0 && result->iterations > 1)
        text_format(out, " of %d iterations, which take %s", result->iterations,
                    unit_text(&(struct unit_texts){0}, result->shown, UNIT_TIME));
    if (result->step_count > 0)
        text_add(out, "\n");
    for (int i = 0; i < result->step_count && i < STEPS_SHOWN; i++) {
        const struct sim_step *step = &result->steps[i];
        struct unit_texts texts = {0};
        text_format(out, "  %-16s", step->what);
        if (step->stage >= 0)
            text_format(out, " pipeline %d stage %-4d", step->pipeline, step->stage);
        else
            text_format(out, " %-21s", "");
        text_format(out, " %10s  %5.1f %%", unit_text(&texts, step->seconds, UNIT_TIME),
                    share_of(step->seconds, result->iterations > 1 ? result->shown : result->seconds));
        if (step->count > 1)
            text_format(out, "  %" PRId64 " times", step->count);
        if (step->link_name)
            text_format(out, "  %s", step->link_name);
        text_add(out, "\n");
    }
    if (result->step_count > STEPS_SHOWN)
        text_format(out, "  and %d more\n", result->step_count - STEPS_SHOWN);
}

static void print_links(const struct sim_result *result, struct text *out)
{
    bool full = result->link_count > 0 && result->links[0].full > 0.0;
    if (full)
        text_add(out, "\nsaturated links\n");
    for (int i = 0; full && i < result->link_count && i < LINKS_SHOWN && result->links[i].full > 0.0; i++) {
        const struct sim_link *link = &result->links[i];
        struct unit_texts texts = {0};
        char name[96];
        if (link->alike > 1)
            snprintf(name, sizeof name, "%s, and %" PRId64 " like it", link->name, link->alike - 1);
        else
            snprintf(name, sizeof name, "%s", link->name);
        text_format(out, "  %-46s full %9s, used %4.1f %%:", name, unit_text(&texts, link->full, UNIT_TIME),
                    100.0 * link->share);
        for (int cause = 0; cause < link->cause_count; cause++)
            text_format(out, "%s%s", cause > 0 ? ", " : " ", link->causes[cause]);
        text_add(out, "\n");
    }
}

static void print_more(const struct sim_result *result, struct text *out)
{
    if (result->more_count > 0)
        text_add(out, "\nwith 10 % more speed of\n");
    for (int i = 0; i < result->more_count; i++) {
        struct unit_texts texts = {0};
        double change = round(1000.0 * (result->more[i].seconds / result->seconds - 1.0)) / 10.0;
        text_format(out, "  %-24s %10s  %+.1f %%\n", result->more[i].name,
                    unit_text(&texts, result->more[i].seconds, UNIT_TIME), change + 0.0); /* no -0.0 */
    }
}

void sim_print(const struct sim_result *result, const struct plan *plan, struct text *out)
{
    print_head(result, plan, out);
    print_causes(result, plan, out);
    print_memory(result, plan, out);
    print_steps(result, out);
    print_links(result, out);
    print_more(result, out);
}

/* ---- for programs ---- */

static const struct field reason_fields[] = {
    FIELD_OUT(struct sim_reason, "reason", name, FIELD_TEXT),
    FIELD_OUT(struct sim_reason, "seconds", seconds, FIELD_DOUBLE),
};

static const struct field more_fields[] = {
    FIELD_OUT(struct sim_variant, "resource", name, FIELD_TEXT),
    FIELD_OUT(struct sim_variant, "more", more, FIELD_DOUBLE),
    FIELD_OUT(struct sim_variant, "iteration_time", seconds, FIELD_DOUBLE),
};

static const struct field device_fields[] = {
    FIELD(struct sim_device, pipeline, FIELD_INT, 0, 0),
    FIELD(struct sim_device, place, FIELD_INT, 0, 0),
    FIELD_OUT(struct sim_device, "device_type", type, FIELD_INT),
    FIELD(struct sim_device, members, FIELD_INT64, 0, 0),
    FIELD(struct sim_device, begin, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_device, end, FIELD_DOUBLE, 0, 0),
};

static const struct field memory_fields[] = {
    FIELD(struct sim_memory, total, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_memory, time, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_memory, parameters, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_memory, gradients, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_memory, optimizer, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_memory, activations, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_memory, working, FIELD_DOUBLE, 0, 0),
};

static const struct field peak_fields[] = {
    FIELD_PART(struct sim_device, "peak_memory", peak, memory_fields, FIELD_STRUCT)};

static void write_device(const struct sim_device *device, struct json *json)
{
    json_open(json, NULL, '{');
    FIELDS_WRITE(device, device_fields, json);
    json_open_flat(json, "seconds", '{');
    for (int cause = 0; cause < SIM_CAUSES; cause++)
        json_number(json, sim_cause_names[cause], device->seconds[cause]);
    json_close(json);
    FIELDS_WRITE(device, peak_fields, json);
    json_close(json);
}

static const struct field step_fields[] = {
    FIELD(struct sim_step, what, FIELD_TEXT, 0, 0),
    FIELD(struct sim_step, pipeline, FIELD_INT, 0, 0),
    FIELD(struct sim_step, stage, FIELD_INT, 0, 0),
    FIELD_OUT(struct sim_step, "link", link_name, FIELD_TEXT),
    FIELD(struct sim_step, seconds, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_step, count, FIELD_INT64, 0, 0),
};

static const struct field link_fields[] = {
    FIELD(struct sim_link, name, FIELD_TEXT, 0, 0),
    FIELD(struct sim_link, alike, FIELD_INT64, 0, 0),
    FIELD(struct sim_link, capacity, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_link, bytes, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_link, share, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_link, full, FIELD_DOUBLE, 0, 0),
    FIELD_VALUES(struct sim_link, "causes", causes, cause_count, FIELD_TEXT),
};

static const struct field spread_fields[] = {
    FIELD_OUT(struct sim_spread, "seeds", seeds, FIELD_INT),
    FIELD_OUT(struct sim_spread, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct sim_spread, "median", median, FIELD_DOUBLE),
    FIELD_OUT(struct sim_spread, "high", high, FIELD_DOUBLE),
};

static const struct field result_fields[] = {
    FIELD(struct sim_result, schedule, FIELD_TEXT, 0, 0),
    FIELD(struct sim_result, level, FIELD_TEXT, 0, 0),
    FIELD_OUT(struct sim_result, "iteration_time", seconds, FIELD_DOUBLE),
    FIELD(struct sim_result, expected, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_result, makespan, FIELD_DOUBLE, 0, 0),
    FIELD_OUT(struct sim_result, "samples_per_second", samples, FIELD_DOUBLE),
    FIELD_OUT(struct sim_result, "tokens_per_second", tokens, FIELD_DOUBLE),
    FIELD(struct sim_result, utilisation, FIELD_DOUBLE, 0, 0),
    FIELD(struct sim_result, bubble, FIELD_DOUBLE, 0, 0),
    FIELD_OPEN("formula", FIELD_MAP),
    FIELD_OUT(struct sim_result, "iteration_time", formula, FIELD_DOUBLE),
};

static const struct field slowest_fields[] = {
    FIELD_CLOSE,
    FIELD(struct sim_result, slowest, FIELD_INT, 0, 0),
    FIELD(struct sim_result, fullest, FIELD_INT, 0, 0),
};

static const struct field list_fields[] = {
    FIELD_OUT(struct sim_result, "iterations_shown", iterations, FIELD_INT),
    FIELD_ROWS(struct sim_result, "critical_path", steps, step_count, step_fields, FIELD_LIST),
    FIELD_ROWS(struct sim_result, "links", links, link_count, link_fields, FIELD_LIST),
    FIELD_ROWS(struct sim_result, "more", more, more_count, more_fields, FIELD_LIST),
    FIELD(struct sim_result, tasks, FIELD_INT64, 0, 0),
};

static const struct field drawn_fields[] = {
    FIELD_PART(struct sim_result, "drawn", drawn, spread_fields, FIELD_STRUCT),
};

void sim_write_json(const struct sim_result *result, const struct plan *plan, struct json *json)
{
    json_open_document(json, "rehearse-played-plan/1");
    json_string(json, "model", plan->model);
    FIELDS_WRITE(result, result_fields, json);
    FIELDS_LIST(result->reasons, result->reason_count, reason_fields, json, "reasons");
    FIELDS_WRITE(result, slowest_fields, json);
    json_open(json, "devices", '[');
    for (int d = 0; d < result->device_count; d++)
        write_device(&result->devices[d], json);
    json_close(json);
    if (result->drawn.seeds > 0)
        FIELDS_WRITE(result, drawn_fields, json);
    FIELDS_WRITE(result, list_fields, json);
    json_close(json);
}
