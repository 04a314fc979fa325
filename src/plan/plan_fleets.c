/* What plans over several device types say of other fleets, and of devices that stay idle. */
#include "core/unit.h"
#include "plan/plan_read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

void plan_print_idle(const struct plan *plan, struct text *out)
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

void plan_print_fleets(const struct plan *plan, struct text *out)
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

void plan_print_changes(const struct plan *plan, struct text *out)
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

static bool read_works(struct plan_reader *r, const struct doc_node *map, struct plan_fleet *fleet)
{
    const struct doc_node *list;
    uint32_t count = (uint32_t)r->plan->type_count;
    int *works = ARENA_ARRAY(&r->plan->arena, (size_t)count + 1, int);
    if (!works)
        return error_memory(r->err);
    fleet->works = works;
    if (!plan_find_list(r, map, "works", count, count, &list))
        return false;
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        int64_t devices;
        if (!doc_integer(&r->doc, node, 0, PLAN_MAX_DEVICES, &devices, r->err))
            return false;
        *works++ = (int)devices;
    }
    return true;
}

static bool read_idle(struct plan_reader *r)
{
    const struct doc_node *list;
    struct plan *plan = r->plan;
    if (!plan_find_list(r, r->doc.root, "idle", 0, PLAN_MAX_TYPES, &list))
        return false;
    plan->idle = ARENA_ARRAY(&plan->arena, (list ? list->count : 0) + (size_t)1, struct plan_idle);
    if (!plan->idle)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_idle *idle = &plan->idle[plan->idle_count++];
        if (!plan_read_fields(r, node, &plan_map_idle, idle, NULL))
            return false;
        if (idle->type >= plan->type_count)
            return doc_error(&r->doc, doc_find(node, "device_type"), r->err,
                             "expected one of %d device types, found %d", plan->type_count, idle->type);
    }
    return true;
}

bool plan_read_fleets(struct plan_reader *r)
{
    static const char *const others[] = {"works", NULL};
    const struct doc_node *list;
    struct plan *plan = r->plan;
    if (!read_idle(r) || !plan_find_list(r, r->doc.root, "fleets", 0, PLAN_MAX_ALTERNATIVES, &list))
        return false;
    plan->fleets = ARENA_ARRAY(&plan->arena, (list ? list->count : 0) + (size_t)1, struct plan_fleet);
    if (!plan->fleets)
        return error_memory(r->err);
    for (const struct doc_node *node = list ? list->first_child : NULL; node; node = node->next) {
        struct plan_fleet *fleet = &plan->fleets[plan->fleet_count++];
        if (!plan_read_fields(r, node, &plan_map_fleet, fleet, others) || !read_works(r, node, fleet))
            return false;
    }
    return true;
}
