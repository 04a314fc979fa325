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
                result->schedule, result->level == SIM_LAYERS ? "layers" : "passes");
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
    if (isfinite(result->formula))
        print_difference(result->seconds, result->formula, out);
    for (int i = 0; i < result->reason_count; i++)
        text_format(out, "%s%s (%+.1f %%)", i == 0 ? ", from " : "; ", result->reasons[i].name,
                    100.0 * result->reasons[i].seconds / result->formula);
    if (isfinite(result->formula))
        text_add(out, "\n");
    if (isfinite(plan->expected) && plan->expected != result->formula)
        text_format(out, "expected %s of the plan, by formula and known runs\n",
                    unit_text(&texts, plan->expected, UNIT_TIME));
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
        const char *before = " ";
        for (int cause = 0; cause < SIM_CAUSES; cause++)
            if (link->causes >> cause & 1) {
                text_format(out, "%s%s", before, sim_cause_names[cause]);
                before = ", ";
            }
        text_add(out, "\n");
    }
}

static void print_more(const struct sim_result *result, struct text *out)
{
    if (result->more_count > 0)
        text_add(out, "\nwith 10 % more speed of\n");
    for (int i = 0; i < result->more_count; i++) {
        struct unit_texts texts = {0};
        text_format(out, "  %-24s %10s  %+.1f %%\n", result->more[i].name,
                    unit_text(&texts, result->more[i].seconds, UNIT_TIME),
                    100.0 * (result->more[i].seconds / result->seconds - 1.0));
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

static void write_device(const struct sim_device *device, struct json *json)
{
    const struct sim_memory *peak = &device->peak;
    json_open(json, NULL, '{');
    json_integer(json, "pipeline", device->pipeline);
    json_integer(json, "place", device->place);
    json_integer(json, "device_type", device->type);
    json_integer(json, "members", device->members);
    json_number(json, "begin", device->begin);
    json_number(json, "end", device->end);
    json_open_flat(json, "seconds", '{');
    for (int cause = 0; cause < SIM_CAUSES; cause++)
        json_number(json, sim_cause_names[cause], device->seconds[cause]);
    json_close(json);
    json_open_flat(json, "peak_memory", '{');
    json_number(json, "total", peak->total);
    json_number(json, "time", peak->time);
    json_number(json, "parameters", peak->parameters);
    json_number(json, "gradients", peak->gradients);
    json_number(json, "optimizer", peak->optimizer);
    json_number(json, "activations", peak->activations);
    json_number(json, "working", peak->working);
    json_close(json);
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

static void write_link(const struct sim_link *link, struct json *json)
{
    json_open_flat(json, NULL, '{');
    json_string(json, "name", link->name);
    json_integer(json, "alike", link->alike);
    json_number(json, "capacity", link->capacity);
    json_number(json, "bytes", link->bytes);
    json_number(json, "share", link->share);
    json_number(json, "full", link->full);
    json_open(json, "causes", '[');
    for (int cause = 0; cause < SIM_CAUSES; cause++)
        if (link->causes >> cause & 1)
            json_string(json, NULL, sim_cause_names[cause]);
    json_close(json);
    json_close(json);
}

void sim_write_json(const struct sim_result *result, const struct plan *plan, struct json *json)
{
    json_open_document(json, "rehearse-played-plan/1");
    json_string(json, "model", plan->model);
    json_string(json, "schedule", result->schedule);
    json_string(json, "level", result->level == SIM_LAYERS ? "layers" : "passes");
    json_number(json, "iteration_time", result->seconds);
    json_number(json, "expected", plan->expected);
    json_number(json, "makespan", result->makespan);
    json_number(json, "samples_per_second", result->samples);
    json_number(json, "tokens_per_second", result->tokens);
    json_number(json, "utilisation", result->utilisation);
    json_number(json, "bubble", result->bubble);
    json_open(json, "formula", '{');
    json_number(json, "iteration_time", result->formula);
    FIELDS_LIST(result->reasons, result->reason_count, reason_fields, json, "reasons");
    json_close(json);
    json_integer(json, "slowest", result->slowest);
    json_integer(json, "fullest", result->fullest);
    json_open(json, "devices", '[');
    for (int d = 0; d < result->device_count; d++)
        write_device(&result->devices[d], json);
    json_close(json);
    json_integer(json, "iterations_shown", result->iterations);
    FIELDS_LIST(result->steps, result->step_count, step_fields, json, "critical_path");
    json_open(json, "links", '[');
    for (int i = 0; i < result->link_count; i++)
        write_link(&result->links[i], json);
    json_close(json);
    FIELDS_LIST(result->more, result->more_count, more_fields, json, "more");
    json_integer(json, "tasks", result->tasks);
    json_close(json);
}
