#include "core/unit.h"
#include "devices/precision.h"
#include "plan/budget.h"
#include "plan/plan.h"
#include "plan/plan_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What plans over several device types say of other fleets, and of devices that stay idle. */

#define SAME 5e-4 /* of an iteration: no change, as it is shown */

void plan_add_type_name(const struct plan *plan, int type, struct text *out)
{
    bool twice = false;
    for (int t = 0; t < plan->type_count; t++)
        twice |= t != type && strcmp(plan->types[t].name, plan->types[type].name) == 0;
    text_add(out, plan->types[type].name);
    if (twice)
        text_format(out, " (nodes of %d)", plan->types[type].nodes.devices);
}

bool plan_type_works(const struct plan *plan, int type)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (plan->pipelines[p].stages[s].type == type)
                return true;
    return false;
}

/* Appends a line for each type with idle devices, and why they are idle; the other fleets as a table; the sensitivity
 * of a plan over several types as tables. */
static void plan_print_idle(const struct plan *plan, struct text *out)
{
    for (int i = 0; i < plan->idle_count; i++) {
        const struct plan_idle *idle = &plan->idle[i];
        const struct plan_device_type *type = &plan->types[idle->type];
        text_format(out, "%d of %d ", idle->devices, type->nodes.count * type->nodes.devices);
        plan_add_type_name(plan, idle->type, out);
        text_format(out, " idle: %s\n", idle->reason ? idle->reason : "they do not help");
    }
}

void plan_add_works(const struct plan *plan, const struct plan_fleet *fleet, struct text *out)
{
    const char *between = "";
    for (int t = 0; t < plan->type_count; t++) {
        if (fleet->works[t] == 0)
            continue;
        text_format(out, "%s%d ", between, fleet->works[t]);
        plan_add_type_name(plan, t, out);
        between = " + ";
    }
}

static void plan_print_fleets(const struct plan *plan, struct text *out)
{
    if (plan->fleet_count == 0)
        return;
    text_add(out, "\nfastest plan found for each set of devices, method and settings\n    iteration  slower  "
                  "pipelines  mbs  zero  recompute     memory  devices in use\n");
    for (int i = 0; i < plan->fleet_count; i++) {
        const struct plan_fleet *fleet = &plan->fleets[i];
        struct unit_texts texts = {0};
        text_format(out, "%13s  %4.1f %%  %9d  %3" PRId64 "  %4d  %-9s  %9s  ",
                    unit_text(&texts, fleet->iteration_time, UNIT_TIME),
                    100.0 * (fleet->iteration_time / plan->fleets[0].iteration_time - 1.0), fleet->pipelines,
                    fleet->microbatch, fleet->sharding, fleet->recompute ? fleet->recompute : "-",
                    unit_text(&texts, fleet->memory, UNIT_BYTES));
        plan_add_works(plan, fleet, out);
        text_format(out, "%s\n", fleet->way && fleet->way[0] == 'p' ? ", pipelines over types" : "");
    }
}

static void print_change(const struct plan *plan, const struct plan_sensitivity *change, struct text *out)
{
    struct unit_texts texts = {0};
    double longer = change->iteration_time / plan->iteration_time - 1.0;
    text_format(out, "  %-22s", change->resource);
    if (isnan(change->iteration_time))
        text_add(out, "        does not fit\n");
    else if (fabs(longer) < SAME)
        text_format(out, " %10s  no change\n", unit_text(&texts, change->iteration_time, UNIT_TIME));
    else
        text_format(out, " %10s  %5.1f %% %s%s\n", unit_text(&texts, change->iteration_time, UNIT_TIME),
                    100.0 * fabs(longer), longer > 0.0 ? "more" : "less",
                    change->split_differs && change->more != 0.0 ? ", with other settings" : "");
}

static void print_kind(double kind, struct text *out)
{
    if (kind < 0.0)
        text_add(out, "\niteration time without\n");
    else if (kind == 0.0)
        text_add(out, "\niteration time with another setting (--fix)\n");
    else if (kind > 1.0)
        text_add(out, "\niteration time with a node more of\n");
    else
        text_format(out, "\niteration time with %.0f %% more of all devices'\n", 100.0 * kind);
}

static void plan_print_changes(const struct plan *plan, struct text *out)
{
    double last = NAN;
    for (int i = 0; i < plan->sensitivity_count; i++) {
        const struct plan_sensitivity *change = &plan->sensitivity[i];
        bool is_type = false;
        for (int t = 0; t < plan->type_count; t++)
            is_type |= strncmp(plan->types[t].name, change->resource, strlen(plan->types[t].name)) == 0;
        double kind = change->more > 0.0 && is_type ? 2.0 : change->more;
        if (kind != last)
            print_kind(kind, out);
        last = kind;
        print_change(plan, change, out);
    }
}

/* ---- reading ---- */

static const char *seconds_text(struct unit_texts *texts, double seconds)
{
    return seconds > 0 ? unit_text(texts, seconds, UNIT_TIME) : "-";
}

/* ---- device types ---- */

static void add_link(const struct plan *plan, int index, struct text *out)
{
    struct unit_texts texts = {0};
    const struct plan_link *link = index >= 0 && index < plan->link_count ? &plan->links[index] : NULL;
    const char *like = link ? strstr(link->name, "like ") : NULL; /* of a cluster file's own link */
    if (!link)
        text_add(out, "-");
    else if (link->bandwidth > 0)
        text_format(out, "%.*s at %s", like ? (int)strcspn(like, ")") : (int)strlen(link->name),
                    like ? like : link->name, unit_text(&texts, link->bandwidth, UNIT_RATE));
    else
        text_add(out, link->name);
}

/* Types that work exchange gradients at least at the pace of the slowest link between nodes. */
static void print_between(const struct plan *plan, struct text *out)
{
    int slowest = -1, working = 0;
    for (int t = 0; t < plan->type_count; t++) {
        int link = plan->types[t].across;
        if (link < 0 || link >= plan->link_count || !plan_type_works(plan, t))
            continue;
        working++;
        if (slowest < 0 || plan->links[link].bandwidth < plan->links[slowest].bandwidth)
            slowest = link;
    }
    if (working < 2)
        return;
    text_add(out, "between device types: ");
    add_link(plan, slowest, out);
    text_add(out, ", the slowest of those in use\n");
}

static const char *products_of(const struct plan_device_type *type)
{
    return type->products;
}

static const char *like_of(const struct plan_device_type *type)
{
    return type->like;
}

/* Writes the names of the types from `first` on that say the same as it does; returns their number, or 0 if an earlier
 * type says it, too. */
static int add_names(const struct plan *plan, int first, const char *(*say)(const struct plan_device_type *),
                     struct text *out)
{
    const char *said = say(&plan->types[first]);
    int count = 0;
    for (int t = 0; t < plan->type_count; t++) {
        const char *other = say(&plan->types[t]);
        if (!other || strcmp(other, said) != 0)
            continue;
        if (t < first)
            return 0;
        text_format(out, "%s%s", count++ > 0 ? ", " : "", plan->types[t].name);
    }
    return count;
}

/* Names the types whose products are not those that were wanted, and those that were not measured themselves. */
static void print_replacements(const struct plan *plan, const char *wanted, struct text *out)
{
    for (int t = 0; t < plan->type_count; t++) {
        const char *products = plan->types[t].products;
        if (!products || !wanted || strcmp(products, wanted) == 0)
            continue;
        int count = add_names(plan, t, products_of, out);
        if (count > 0)
            text_format(out, ": products in %s, as %s no %s\n", products, count > 1 ? "they have" : "it has",
                        wanted);
    }
    for (int t = 0; t < plan->type_count; t++)
        if (plan->types[t].like && add_names(plan, t, like_of, out) > 0)
            text_format(out, ": extrapolated from data sheets, with the kernel efficiency of %s\n",
                        plan->types[t].like);
}

static void print_types(const struct plan *plan, const char *wanted, struct text *out)
{
    text_add(out,
             "\n  device type       nodes  inside a node, per device   between nodes, per device   memory\n");
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        struct unit_texts texts = {0};
        struct text inside = {0}, across = {0};
        char nodes[32];
        add_link(plan, type->inside, &inside);
        add_link(plan, type->across, &across);
        snprintf(nodes, sizeof nodes, "%d x %d", type->nodes.count, type->nodes.devices);
        text_format(out, "  %-14s %8s  %-26s  %-26s  %s\n", type->name, nodes, text_within(&inside, out),
                    text_within(&across, out),
                    type->nodes.memory > 0 ? unit_text(&texts, (double)type->nodes.memory, UNIT_BYTES) : "-");
        text_release(&inside);
        text_release(&across);
    }
    print_between(plan, out);
    if (plan->merged)
        text_format(out, "%s\n", plan->merged);
    print_replacements(plan, wanted, out);
}

/* ---- a plan ---- */

/* Returns the type of products that a plan's precision asks for; NULL: unknown. */
static const char *wanted_products(const struct plan *plan)
{
    for (int p = 0; plan->precision && model_precisions[p]; p++)
        if (strcmp(plan->precision, model_precisions[p]) == 0)
            return cost_type_name(model_wanted((enum model_precision)p));
    return NULL;
}

static void print_batch(const struct plan *plan, const char *wanted, struct text *out)
{
    if (plan->global_batch <= 0)
        return;
    text_format(out, "global batch %" PRId64, plan->global_batch);
    if (plan->sequence > 0)
        text_format(out, " x %" PRId64 " tokens", plan->sequence);
    if (wanted)
        text_format(out, ", products in %s", wanted);
    text_format(out, "%s%s\n", plan->software ? ", " : "", plan->software ? plan->software : "");
    const char *between = "";
    if (plan->microbatch > 0) {
        text_format(out, "micro-batch %" PRId64, plan->microbatch);
        between = ", ";
    }
    if (plan->recompute)
        text_format(out, "%srecomputation: %s", between, plan->recompute);
    if (plan->recompute && plan->sharding >= 0)
        text_format(out, ", ZeRO stage %d", plan->sharding);
    text_add(out, plan->microbatch > 0 || plan->recompute ? "\n" : "");
}

static void print_question(const struct plan *plan, struct text *out)
{
    const char *wanted = wanted_products(plan);
    text_format(out, "%s on", plan->model ? plan->model : "a model without a name");
    if (plan_devices(plan) > 0)
        text_format(out, " %" PRId64 " of %" PRId64 " devices", plan_devices_used(plan), plan_devices(plan));
    else
        text_format(out, " %" PRId64 " devices", plan_devices_used(plan));
    for (int t = 0; t < plan->type_count; t++) {
        text_add(out, t > 0 ? ", " : ": ");
        if (plan->type_count > 1 && plan->types[t].nodes.count > 0)
            text_format(out, "%d x ", plan->types[t].nodes.count * plan->types[t].nodes.devices);
        text_add(out, plan->types[t].name);
    }
    if (plan->objective)
        text_format(out, "; objective %s", plan->objective);
    text_add(out, "\n");
    print_batch(plan, wanted, out);
    if ((plan->type_count > 1 || plan->merged) && plan->software)
        print_types(plan, wanted, out);
    text_add(out, "\n");
}

bool plan_is_of_job(const struct plan *plan)
{
    return plan->objective && strcmp(plan->objective, "iteration") == 0;
}

void plan_add_time(const struct plan *plan, int digits, struct text *out)
{
    char formula[32], expected[32];
    unit_format(formula, sizeof formula, plan->iteration_time, UNIT_TIME, digits);
    unit_format(expected, sizeof expected, plan->expected, UNIT_TIME, digits);
    if (isfinite(plan->expected) && plan->expected != plan->iteration_time)
        text_format(out, "%s expected (%s by formula)", expected, formula);
    else
        text_format(out, plan_is_of_job(plan) ? "%s by formula" : "%s", formula);
}

static void add_run(const struct plan_nearest *nearest, struct text *out)
{
    text_format(out, "%s, %s on %d x %s", nearest->id, nearest->model ? nearest->model : "?",
                nearest->devices, nearest->device ? nearest->device : "?");
}

void plan_add_nearest(const struct plan_nearest *nearest, struct text *out)
{
    if (!nearest->id)
        return;
    add_run(nearest, out);
    if (nearest->differs && *nearest->differs)
        text_format(out, ": %s", nearest->differs);
}

#define COLUMNS 80

void plan_print_interval(const struct plan_interval *interval, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "80 %% interval %s to %s", unit_text(&texts, interval->low, UNIT_TIME),
                unit_text(&texts, interval->high, UNIT_TIME));
    text_format(out, " (as like known runs %s to %s", unit_text(&texts, interval->like_low, UNIT_TIME),
                unit_text(&texts, interval->like_high, UNIT_TIME));
    text_format(out, ", as unlike them %s to %s)", unit_text(&texts, interval->unlike_low, UNIT_TIME),
                unit_text(&texts, interval->unlike_high, UNIT_TIME));
}

void plan_print_nearest(const struct plan_nearest *nearest, struct text *out)
{
    static const char comma[] = ", ";
    if (!nearest->id)
        return;
    text_add(out, "nearest: ");
    add_run(nearest, out);
    int column = COLUMNS; /* the first difference begins a line */
    for (const char *at = nearest->differs ? nearest->differs : ""; *at;) {
        const char *end = strstr(at, comma);
        int length = end ? (int)(end - at) : (int)strlen(at);
        bool wraps = column + 2 + length >= COLUMNS;
        text_format(out, wraps ? "%s\n  %.*s" : "%s %.*s", at == nearest->differs ? "" : ",", length, at);
        column = (wraps ? 1 : column + 2) + length;
        at = end ? end + 2 : at + length;
    }
    text_add(out, "\n");
}

/* A part of the iteration as people read it. */
static const char *part_words(const char *name)
{
    return strcmp(name, "pipelines") == 0 ? "until pipelines are done"
           : strcmp(name, "after") == 0   ? "gradients and optimizer"
                                          : name;
}

static void print_time(const struct plan *plan, struct text *out)
{
    struct unit_texts texts = {0};
    if (!(plan->iteration_time > 0)) /* not known: nan, or 0 in plans by hand */
        return;
    text_add(out, "iteration ");
    plan_add_time(plan, 4, out);
    if (plan->proven_optimal || (plan->lower_bound > 0 && plan_gap(plan) <= 1e-9))
        text_add(out, "; no plan takes less\n");
    else if (plan->lower_bound > 0)
        text_format(out, "; no plan takes less than %s (gap %.2g %%)\n",
                    unit_text(&texts, plan->lower_bound, UNIT_TIME), 100 * plan_gap(plan));
    else
        text_add(out, "\n");
    for (int i = 0; i < plan->part_count; i++)
        text_format(out, "%s%s %s", i > 0 ? ", " : "  ", part_words(plan->parts[i].name),
                    seconds_text(&(struct unit_texts){0}, plan->parts[i].value));
    text_add(out, plan->part_count > 0 ? "\n" : "");
    if (plan->global_batch <= 0)
        return;
    double seconds = isfinite(plan->expected) ? plan->expected : plan->iteration_time;
    text_format(out, "%.4g samples/s", (double)plan->global_batch / seconds);
    if (plan->sequence > 0)
        text_format(out, ", %.4g tokens/s", (double)plan->global_batch * (double)plan->sequence / seconds);
    text_add(out, "\n");
}

static bool same_kind(const struct plan_stage *a, const struct plan_stage *b)
{
    return a->type == b->type && degrees_are_equal(&a->degrees, &b->degrees) &&
           a->layers.last - a->layers.first == b->layers.last - b->layers.first &&
           fabs(plan_stage_seconds(b) - plan_stage_seconds(a)) <= 1e-9 * plan_stage_seconds(a);
}

/* Neighbouring stages first..last that differ only in layers and memory share a row. */
static void print_stages(const struct plan *plan, const struct plan_stage *stages, int first, int last,
                         struct text *out)
{
    struct unit_texts texts = {0};
    const struct plan_stage *stage = &stages[first];
    const struct plan_device_type *type = &plan->types[stage->type];
    char numbers[32], layers[32];
    double most = stage->bytes.total, least = most;
    for (int s = first + 1; s <= last; s++) {
        most = fmax(most, stages[s].bytes.total);
        least = fmin(least, stages[s].bytes.total);
    }
    snprintf(numbers, sizeof numbers, last > first ? "%d-%d" : "%d", first, last);
    snprintf(layers, sizeof layers, "%d-%d", stage->layers.first, stages[last].layers.last);
    text_format(out, "  %6s  %9s  %-16s %6d  %7d  %6d  %4d  %15s", numbers, layers, type->name,
                stage->degrees.tensor, stage->degrees.context, stage->degrees.expert, stage->degrees.data,
                seconds_text(&texts, plan_stage_seconds(stage)));
    if (most > 0)
        text_format(out, "  %s", unit_text(&texts, most, UNIT_BYTES));
    if (least < most)
        text_format(out, " to %s", unit_text(&texts, least, UNIT_BYTES));
    if (most > 0 && type->nodes.memory > 0)
        text_format(out, " of %s", unit_text(&texts, (double)type->nodes.memory, UNIT_BYTES));
    text_add(out, "\n");
}

static bool same_stages(const struct plan_pipeline *a, const struct plan_pipeline *b)
{
    for (int s = 0; s < a->stage_count && a->stage_count == b->stage_count; s++)
        if (!same_kind(&a->stages[s], &b->stages[s]) ||
            a->stages[s].layers.first != b->stages[s].layers.first ||
            a->stages[s].bytes.total != b->stages[s].bytes.total)
            return false;
    return a->stage_count == b->stage_count;
}

/* Seconds of the first micro-batch of a pipeline, and from one to the next. */
struct pace {
    double first, next;
};

static struct pace pace_of(const struct plan_pipeline *pipeline)
{
    struct pace pace = {0.0, 0.0};
    for (int s = 0; s < pipeline->stage_count; s++) {
        double seconds = plan_stage_seconds(&pipeline->stages[s]);
        pace.first += seconds;
        pace.next = fmax(pace.next, seconds);
    }
    return pace;
}

/* Returns whether the plan's time is that of pipelines whose slowest stage sets the pace: not all planners count so. */
static bool is_paced(const struct plan *plan)
{
    double slowest = 0.0;
    for (int p = 0; p < plan->pipeline_count; p++) {
        struct pace pace = pace_of(&plan->pipelines[p]);
        slowest = fmax(slowest, pace.first + (double)(plan->pipelines[p].microbatches - 1) * pace.next);
    }
    for (int i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, "pipelines") == 0)
            return fabs(slowest - plan->parts[i].value) <= 1e-6 * slowest;
    return false;
}

/* Pipelines that differ in their number of micro-batches alone share a table. */
static void print_pipeline(const struct plan *plan, int index, bool paced, struct text *out)
{
    struct unit_texts texts = {0};
    const struct plan_pipeline *pipeline = &plan->pipelines[index];
    struct pace pace = pace_of(pipeline);
    bool shared = index > 0 && same_stages(&pipeline[-1], pipeline);
    text_format(out, "\n%d pipeline%s of %d stage%s", pipeline->copies, pipeline->copies == 1 ? "" : "s",
                pipeline->stage_count, pipeline->stage_count == 1 ? "" : "s");
    if (plan->chunks > 1)
        text_format(out, ", %d on each device", plan->chunks);
    if (pipeline->microbatches > 0)
        text_format(out, ", %" PRId64 " micro-batches%s", pipeline->microbatches,
                    pipeline->copies == 1 ? "" : " each");
    if (shared)
        text_add(out, ", stages as above");
    else if (paced)
        text_format(out, ": the first takes %s, then one every %s", unit_text(&texts, pace.first, UNIT_TIME),
                    unit_text(&texts, pace.next, UNIT_TIME));
    text_add(out, "\n");
    if (shared)
        return;
    text_add(out, "   stage     layers  device type      tensor  context  expert  data  per micro-batch  "
                  "memory per device\n");
    for (int s = 0, end; s < pipeline->stage_count; s = end) {
        end = s + 1;
        while (end < pipeline->stage_count && same_kind(&pipeline->stages[s], &pipeline->stages[end]))
            end++;
        print_stages(plan, pipeline->stages, s, end - 1, out);
    }
}

void plan_print(const struct plan *plan, struct text *out)
{
    print_question(plan, out);
    print_time(plan, out);
    plan_print_idle(plan, out);
    bool paced = is_paced(plan);
    for (int p = 0; p < plan->pipeline_count; p++)
        print_pipeline(plan, p, paced, out);
    plan_print_fleets(plan, out);
    if (plan->type_count > 1)
        plan_print_changes(plan, out);
    budget_print(plan, out);
}
