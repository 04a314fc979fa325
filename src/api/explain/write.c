#include "api/explain/explain.h"
#include "core/fields.h"

#include <string.h>

#define MAX_NAMES 1000

static void write_shares(const int64_t *sums, double steps, const char *key, struct json *json)
{
    json_open_flat(json, key, '{');
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        json_number(json, explain_shares[i].key, (double)sums[i] / 1e9 / steps);
    json_close(json);
}

static void write_text(struct json *json, const char *key, struct text *text)
{
    json_string(json, key, text_within(text, json->out));
    text_release(text);
}

static int64_t rank_of(const struct explain *explain, size_t lane)
{
    return explain->run.members[explain->lanes[lane].member].rank;
}

static void write_loss(const struct explain *explain, const struct explain_loss *loss, struct json *json)
{
    double time = explain_mean(explain, loss->time);
    struct text what = {0};
    json_open_flat(json, NULL, '{');
    json_string(json, "cause", explain_loss_words[loss->kind].key);
    json_string(json, "verdict", explain_loss_words[loss->kind].verdict);
    json_number(json, "seconds", time);
    json_number(json, "share", explain_share_of(time, explain_step_mean(explain)));
    loss->lane >= 0 ? json_integer(json, "rank", rank_of(explain, (size_t)loss->lane))
                    : json_null(json, "rank");
    loss->exchange >= 0 ? json_integer(json, "exchange", loss->exchange) : json_null(json, "exchange");
    explain_loss_tell(explain, loss, &what);
    write_text(json, "what", &what);
    json_string(json, "mend", explain_loss_words[loss->kind].mend);
    json_close(json);
}

static const struct field window_fields[] = {
    FIELD_OUT(struct explain_window, "span", span, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_window, "compute", compute, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_window, "communication", communication, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_window, "overlap", overlap, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_window, "idle", idle, FIELD_NANOSECONDS),
};

static const struct field bound_fields[] = {
    FIELD_OUT(struct explain_bound, "activities", activities, FIELD_INT64),
    FIELD_OUT(struct explain_bound, "stretches", stretches, FIELD_INT64),
    FIELD_OUT(struct explain_bound, "idle", idle, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_bound, "longest", longest, FIELD_NANOSECONDS),
};

static void write_rank(const struct explain *explain, size_t lane, struct json *json)
{
    const struct explain_lane *at = &explain->lanes[lane];
    const struct ranks_member *member = &explain->run.members[at->member];
    const struct explain_rank *rank = &explain->ranks[lane];
    int64_t sums[EXPLAIN_SHARES];
    json_open(json, NULL, '{');
    json_integer(json, "rank", member->rank);
    json_integer(json, "device", at->device);
    json_string(json, "file", member->path);
    json_number(json, "offset", (double)member->offset / 1e9);
    json_number(json, "step", explain_mean(explain, at->bounds[explain->step_count] - at->bounds[0]));
    explain_lane_shares(explain, lane, sums);
    write_shares(sums, (double)explain->step_count, "shares", json);
    write_shares(explain->path.excess[lane], (double)explain->step_count, "excess", json);
    FIELDS_MAP(&rank->whole, window_fields, json, "whole");
    FIELDS_MAP(&rank->hta, window_fields, json, "hta");
    FIELDS_MAP(&rank->bound, bound_fields, json, "launch_bound");
    json_close(json);
}

static void write_step(const struct explain *explain, size_t step, struct json *json)
{
    const struct explain_path *path = &explain->path;
    int64_t slowest = -1, rank = -1;
    for (size_t lane = 0; lane < explain->lane_count; lane++) {
        const int64_t *bounds = explain->lanes[lane].bounds;
        if (bounds[step + 1] - bounds[step] > slowest) {
            slowest = bounds[step + 1] - bounds[step];
            rank = rank_of(explain, lane);
        }
    }
    json_open(json, NULL, '{');
    json_integer(json, "number", explain->numbers ? explain->numbers[step] : 0);
    json_number(json, "seconds", (double)(path->begins[step + 1] - path->begins[step]) / 1e9);
    json_integer(json, "slowest_rank", rank);
    json_number(json, "played", (double)explain->played[step].played / 1e9);
    json_number(json, "recorded", (double)explain->played[step].recorded / 1e9);
    write_shares(path->steps[step], 1, "path", json);
    json_close(json);
}

static void write_kind(const struct explain *explain, const struct explain_kind *kind, struct json *json)
{
    double each = (double)explain->lane_count;
    const struct ranks_group *group = &explain->run.groups[kind->group];
    json_open_flat(json, NULL, '{');
    json_string(json, "name", kind->name);
    json_string(json, "group", group->name);
    json_integer(json, "ranks", (int64_t)group->rank_count);
    json_integer(json, "count", (int64_t)kind->count);
    json_integer(json, "bytes", kind->bytes);
    json_number(json, "covered", explain_mean(explain, kind->hidden) / each);
    json_number(json, "exposed", explain_mean(explain, kind->transfer) / each);
    json_number(json, "skew", explain_mean(explain, kind->waited) / each);
    json_close(json);
}

static const struct field name_fields[] = {
    FIELD_OUT(struct explain_name, "name", name, FIELD_TEXT),
    FIELD_WORDS(struct explain_name, "class", class, replay_class_names),
    FIELD_OUT(struct explain_name, "count", count, FIELD_INT64),
    FIELD_OUT(struct explain_name, "seconds", total, FIELD_NANOSECONDS),
};

static void write_faults(const struct ranks *run, struct json *json)
{
    json_open(json, "notes", '[');
    for (size_t i = 0; i < run->fault_count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "fault", ranks_fault_names[run->faults[i].kind]);
        json_string(json, "text", run->faults[i].text);
        json_close(json);
    }
    json_close(json);
}

static const struct field unnamed_fields[] = {
    FIELD_OUT(struct explain_unnamed, "all", whole, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_unnamed, "unknown", total, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_unnamed, "in_graphs", graphs, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_unnamed, "without_launch", unlaunched, FIELD_NANOSECONDS),
};

static const struct field clock_fields[] = {
    FIELD_OUT(struct ranks_clocks, "matched", matched, FIELD_INT64),
    FIELD_OUT(struct ranks_clocks, "median", median, FIELD_NANOSECONDS),
    FIELD_OUT(struct ranks_clocks, "p90", p90, FIELD_NANOSECONDS),
    FIELD_OUT(struct ranks_clocks, "spread", spread, FIELD_NANOSECONDS),
};

void explain_write(const struct explain *explain, struct json *json)
{
    json_string(json, "verdict", explain_verdict(explain));
    json_number(json, "step", explain_step_mean(explain));
    json_bool(json, "has_steps", explain->numbers != NULL);
    json_string(json, "steps_by",
                !explain->numbers            ? "none"
                : explain->period.length > 0 ? "period"
                                             : "marks");
    json_number(json, "steps_sure",
                !explain->numbers            ? 0
                : explain->period.length > 0 ? explain->period.fit
                                             : 1);
    json_number(json, "compute", explain_compute_mean(explain));
    json_open(json, "causes", '[');
    for (size_t i = 0; i < explain->loss_count; i++)
        write_loss(explain, &explain->losses[i], json);
    json_close(json);
    json_integer(json, "activities", (int64_t)explain->activities);
    json_integer(json, "events", (int64_t)explain->events);
    json_integer(json, "outside_steps", (int64_t)explain->outside);
    json_integer(json, "changes_of_rank", (int64_t)explain->path.changes);
    FIELDS_MAP(&explain->run.clocks, clock_fields, json, "clocks");
    json_open(json, "ranks", '[');
    for (size_t i = 0; i < explain->lane_count; i++)
        write_rank(explain, i, json);
    json_close(json);
    json_open(json, "steps", '[');
    for (size_t i = 0; i < explain->step_count; i++)
        write_step(explain, i, json);
    json_close(json);
    json_open(json, "communication", '[');
    for (size_t i = 0; i < explain->kind_count; i++)
        write_kind(explain, &explain->kinds[i], json);
    json_close(json);
    FIELDS_LIST(explain->names, explain->name_count < MAX_NAMES ? explain->name_count : MAX_NAMES,
                name_fields, json, "names");
    FIELDS_MAP(&explain->unnamed, unnamed_fields, json, "kernel_rules");
    write_faults(&explain->run, json);
    explain_write_found(explain, json);
}
