#include "api/explain/explain.h"

#include <stdio.h>

#define MAX_NAMES   12
#define MAX_KINDS   12
#define MAX_LANES   64
#define MAX_LOSSES  10
#define MAX_UNKNOWN 4
#define MAX_SLOW    8
#define NAME_WIDTH  70

double explain_step_mean(const struct explain *explain)
{
    const struct explain_path *path = &explain->path;
    return explain_mean(explain, path->begins[path->step_count] - path->begins[0]);
}

double explain_compute_mean(const struct explain *explain)
{
    const struct explain_path *path = &explain->path;
    int64_t rest = path->begins[path->step_count] - path->begins[0];
    for (size_t i = 0; i < explain->loss_count; i++)
        rest -= explain->losses[i].time;
    return explain_mean(explain, rest);
}

/* Does a rank have several devices? */
static bool is_several(const struct explain *explain, size_t lane)
{
    const struct explain_lane *at = &explain->lanes[lane];
    return (lane + 1 < explain->lane_count && at[1].member == at->member) ||
           (lane > 0 && at[-1].member == at->member);
}

static void tell_lane(const struct explain *explain, size_t lane, const char *before, struct text *out)
{
    const struct explain_lane *at = &explain->lanes[lane];
    text_format(out, "%s%lld", before, (long long)explain->run.members[at->member].rank);
    if (is_several(explain, lane))
        text_format(out, " (device %lld)", (long long)at->device);
}

/* "ranks 4, 5, 6": all that are as slow. */
static void tell_slow(const struct explain *explain, const struct explain_loss *loss, struct text *out)
{
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < explain->lane_count; i++)
        count += explain_is_as_slow(explain, loss, i);
    for (size_t i = 0; i < explain->lane_count && shown < MAX_SLOW; i++)
        if (explain_is_as_slow(explain, loss, i))
            tell_lane(explain, i, shown++ > 0 ? ", " : count > 1 ? " ranks " : " rank ", out);
    if (count > shown)
        text_format(out, " and %zu more", count - shown);
}

void explain_kind_tell(const struct explain *explain, const struct explain_kind *kind, struct text *out)
{
    const struct ranks_group *group = &explain->run.groups[kind->group];
    explain_tell_name(kind->name, NAME_WIDTH, out);
    text_add(out, " ");
    if (group->assumed)
        text_format(out, "on stream %s", group->name);
    else if (group->rank_count > 0 && group->rank_count <= 4) {
        text_add(out, "of ranks ");
        for (size_t i = 0; i < group->rank_count; i++)
            text_format(out, "%s%lld", i > 0 ? "," : "", (long long)group->ranks[i]);
    } else {
        text_format(out, "in group %s", group->name);
        if (group->rank_count > 0)
            text_format(out, " (%zu ranks)", group->rank_count);
    }
}

void explain_loss_tell(const struct explain *explain, const struct explain_loss *loss, struct text *out)
{
    text_add(out, explain_loss_words[loss->kind].what);
    if (loss->kind == LOSS_EXCHANGE || loss->kind == LOSS_LINK) {
        text_add(out, " ");
        if (loss->exchange >= 0)
            explain_kind_tell(explain, &explain->kinds[loss->exchange], out);
        else
            text_add(out, "exchanges of unknown groups");
        if (loss->exchange >= 0 &&
            2 * explain->kinds[loss->exchange].partial > explain->kinds[loss->exchange].count)
            text_add(out, ", or waits whose cause is not in the trace");
    } else if (loss->lane >= 0) {
        loss->kind == LOSS_STRAGGLER ? tell_slow(explain, loss, out)
                                     : tell_lane(explain, (size_t)loss->lane, ", most of it on rank ", out);
    }
}

/* ---- the first lines ---- */

static void print_unexplained(const struct explain *explain, struct text *out)
{
    if (!explain_is_explained(explain))
        text_format(out, "; but the causes that the trace tells take only %.1f %% of the time",
                    100 * explain_played_share(explain));
    text_add(out, "\n");
}

static void print_verdict(const struct explain *explain, struct text *out)
{
    const char *verdict = explain_verdict(explain);
    double step = explain_step_mean(explain);
    const char *each = explain->numbers ? "each step of" : "the recorded";
    if (explain_is_busy(explain)) {
        text_format(out, "compute: kernels run for %.1f %% of %s %.3f ms, and no loss is a 20th of it",
                    100 * explain_share_of(explain_compute_mean(explain), step), each, 1e3 * step);
        print_unexplained(explain, out);
        return;
    }
    const struct explain_loss *loss = &explain->losses[0];
    double time = explain_mean(explain, loss->time);
    text_format(out, "%s: %.3f ms of %s %.3f ms (%.1f %%): ", verdict, 1e3 * time, each, 1e3 * step,
                100 * explain_share_of(time, step));
    explain_loss_tell(explain, loss, out);
    print_unexplained(explain, out);
    text_format(out, "to mend it: %s\n", explain_loss_words[loss->kind].mend);
}

static void print_head(const struct explain *explain, struct text *out)
{
    const struct ranks *run = &explain->run;
    text_format(out, "\n%zu rank%s", run->count, run->count == 1 ? "" : "s");
    if (run->world > (int64_t)run->count)
        text_format(out, " of %lld", (long long)run->world);
    text_format(out, ", %zu activities in %zu events", explain->activities, explain->events);
    if (explain->numbers)
        text_format(out, ", steps %lld to %lld", (long long)explain->numbers[0],
                    (long long)explain->numbers[explain->step_count - 1]);
    if (explain->outside > 0)
        text_format(out, " (%zu activities were launched outside of steps)", explain->outside);
    text_add(out, "\n");
    if (explain->period.length > 0 && explain->numbers)
        text_format(
            out,
            "steps: no mark tells them; found by the period of %zu activities, of which %.1f %% repeat\n",
            explain->period.length, 100 * explain->period.fit);
    if (run->clocks.matched > 0)
        text_format(out, "clocks: %zu collectives end alike within %.1f us (median), %.1f us (90 %%)\n",
                    run->clocks.matched, (double)run->clocks.median / 1e3, (double)run->clocks.p90 / 1e3);
    ranks_faults_tell(run, "note: ", out);
    explain_print_found(explain, out);
}

static void print_losses(const struct explain *explain, struct text *out)
{
    double step = explain_step_mean(explain);
    text_format(out,
                "\nalong the critical path, %zu change%s of rank; played alone it takes %.1f %% of the "
                "recorded time\n%12s  %7s\n",
                explain->path.changes, explain->path.changes == 1 ? "" : "s",
                100 * explain_played_share(explain), "ms a step", "share");
    text_format(out, "%12.3f  %5.1f %%  compute\n", 1e3 * explain_compute_mean(explain),
                100 * explain_share_of(explain_compute_mean(explain), step));
    for (size_t i = 0; i < explain->loss_count && i < MAX_LOSSES; i++) {
        const struct explain_loss *loss = &explain->losses[i];
        double time = explain_mean(explain, loss->time);
        text_format(out, "%12.3f  %5.1f %%  %s: ", 1e3 * time, 100 * explain_share_of(time, step),
                    explain_loss_words[loss->kind].key);
        explain_loss_tell(explain, loss, out);
        text_add(out, "\n");
    }
    explain_tell_rest(explain->loss_count, MAX_LOSSES, out);
}

/* ---- ranks ---- */

static void print_lanes(const struct explain *explain, struct text *out)
{
    text_format(out, "\nshares of a step (%%)\n%5s  %10s", "rank", "step (ms)");
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        text_format(out, "  %7s", explain_shares[i].head);
    text_add(out, "\n");
    for (size_t lane = 0; lane < explain->lane_count && lane < MAX_LANES; lane++) {
        int64_t sums[EXPLAIN_SHARES];
        const struct explain_lane *at = &explain->lanes[lane];
        double span = explain_mean(explain, at->bounds[explain->step_count] - at->bounds[0]);
        explain_lane_shares(explain, lane, sums);
        text_format(out, "%5lld  %10.3f", (long long)explain->run.members[at->member].rank, 1e3 * span);
        for (int i = 0; i < EXPLAIN_SHARES; i++)
            text_format(out, "  %7.2f", 100 * explain_share_of(explain_mean(explain, sums[i]), span));
        if (is_several(explain, lane))
            text_format(out, "  device %lld", (long long)at->device);
        text_add(out, "\n");
    }
    explain_tell_rest(explain->lane_count, MAX_LANES, out);
}

static void print_kinds(const struct explain *explain, struct text *out)
{
    double each = 1e3 / (double)explain->lane_count;
    if (explain->kind_count == 0)
        return;
    text_format(out, "\ncommunication, ms a step and rank\n%9s  %9s  %9s  %7s\n", "covered", "exposed",
                "skew", "count");
    for (size_t i = 0; i < explain->kind_count && i < MAX_KINDS; i++) {
        const struct explain_kind *kind = &explain->kinds[i];
        text_format(out, "%9.3f  %9.3f  %9.3f  %7zu  ", each * explain_mean(explain, kind->hidden),
                    each * explain_mean(explain, kind->transfer), each * explain_mean(explain, kind->waited),
                    kind->count);
        explain_kind_tell(explain, kind, out);
        text_add(out, "\n");
    }
    explain_tell_rest(explain->kind_count, MAX_KINDS, out);
}

static void print_bounds(const struct explain *explain, struct text *out)
{
    struct explain_bound all = {0};
    for (size_t i = 0; i < explain->lane_count; i++) {
        const struct explain_bound *bound = &explain->ranks[i].bound;
        all.idle += bound->idle;
        all.activities += bound->activities;
        all.stretches += bound->stretches;
        all.longest = bound->longest > all.longest ? bound->longest : all.longest;
    }
    if (all.stretches > 0)
        text_format(out,
                    "\nlaunch-bound: %zu activities in %zu stretches, each of which waited for its launch: "
                    "%.3f ms idle, the longest stretch %.3f ms\n",
                    all.activities, all.stretches, (double)all.idle / 1e6, (double)all.longest / 1e6);
}

/* Kernels are often templates with names of hundreds of characters. */
static void print_names(const struct explain *explain, struct text *out)
{
    text_format(out, "\n%10s  %8s  %s\n", "total (ms)", "count", "activity");
    for (size_t i = 0; i < explain->name_count && i < MAX_NAMES; i++) {
        const struct explain_name *name = &explain->names[i];
        text_format(out, "%10.3f  %8zu  ", (double)name->total / 1e6, name->count);
        explain_tell_name(name->name, NAME_WIDTH, out);
        text_add(out, "\n");
    }
    explain_tell_rest(explain->name_count, MAX_NAMES, out);
}

static void print_unnamed(const struct explain *explain, struct text *out)
{
    const struct explain_unnamed *unnamed = &explain->unnamed;
    double each = 100 / (double)(unnamed->whole > 0 ? unnamed->whole : 1);
    int shown = 0;
    if (unnamed->total == 0)
        return;
    text_format(out, "\nunknown kernels take %.2f %% of the time of activities",
                each * (double)unnamed->total);
    if (unnamed->graphs > 0)
        text_format(out, ", %.2f %% in CUDA graphs", each * (double)unnamed->graphs);
    if (unnamed->unlaunched > 0)
        text_format(out, ", %.2f %% without a recorded launch", each * (double)unnamed->unlaunched);
    text_add(out, " (rules for them: --kernels FILE):");
    for (size_t i = 0; i < explain->name_count && shown < MAX_UNKNOWN; i++)
        if (explain->names[i].kind == CLASS_UNKNOWN)
            text_format(out, "%s %.*s", shown++ > 0 ? "," : "", NAME_WIDTH, explain->names[i].name);
    text_add(out, "\n");
}

void explain_print(const struct explain *explain, const struct explain_stalls *stalls, struct text *out)
{
    print_verdict(explain, out);
    if (stalls)
        explain_print_stalls(stalls, out);
    print_head(explain, out);
    print_losses(explain, out);
    print_lanes(explain, out);
    if (stalls)
        explain_print_files(stalls, out);
    print_bounds(explain, out);
    print_kinds(explain, out);
    print_names(explain, out);
    print_unnamed(explain, out);
}
