#include "api/elastic/report.h"
#include "elastic/series.h"
#include "figure/sweep.h"
#include "report/parts.h"

#include "core/statistics.h"
#include "core/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INSTANCES 32 /* of a table */
#define MAX_COPIES    16

/* Appends "0-3, 7"; `nodes` ascending. */
static void elastic_add_nodes(struct text *out, const int *nodes, int count)
{
    const char *comma = "";
    for (int i = 0; i < count; i++) {
        int first = nodes[i];
        while (i + 1 < count && nodes[i + 1] == nodes[i] + 1)
            i++;
        text_format(out, nodes[i] > first ? "%s%d-%d" : "%s%d", comma, first, nodes[i]);
        comma = ", ";
    }
}

static void sum_losses(struct elastic_report *report)
{
    struct elastic_losses *sum = &report->losses;
    double seconds = 0, iterations = 0;
    int answered = 0;
    for (int i = 0; i < sum->count; i++) {
        struct elastic_loss *loss = &sum->places[i];
        sum->nodes += loss->nodes;
        if (loss->shape >= 0)
            loss->name = report->kit.shapes[loss->shape].name;
        else
            loss->position = -1;
        loss->downtime = report->setup + loss->outcome.seconds;
        if (loss->outcome.checkpoint) {
            loss->downtime = NAN;
            loss->outcome.bytes_across = 0;
            sum->checkpoints += loss->nodes;
            continue;
        }
        answered += loss->nodes;
        sum->worst = fmax(sum->worst, loss->downtime);
        sum->worst_iteration = fmax(sum->worst_iteration, loss->outcome.iteration);
        seconds += loss->downtime * loss->nodes;
        iterations += loss->outcome.iteration * loss->nodes;
    }
    sum->mean = answered > 0 ? seconds / answered : NAN;
    sum->mean_iteration = answered > 0 ? iterations / answered : NAN;
    if (answered == 0)
        sum->worst = sum->worst_iteration = NAN;
    report->summed = sum;
}

bool elastic_report_complete(struct elastic_report *report, struct error *err)
{
    if (!elastic_set_split(&report->set, &report->kit, &report->shares, &report->share_count,
                           &report->slowest, err))
        return false;
    for (int i = 0; i < report->share_count; i++) {
        struct elastic_share *share = &report->shares[i];
        share->name = report->kit.shapes[share->shape].name;
        share->path = report->kit.shapes[share->shape].path;
        share->instances = report->set.counts[share->shape];
        share->seconds = elastic_line_seconds(share->line, share->each + (share->extra > 0));
    }
    if (report->losses.places)
        sum_losses(report);
    report->faults_limit = report->limited ? report->limit.text : NULL;
    report->exists_once = elastic_exists_once(&report->kit) ? report->kit.sharded : NULL;
    return true;
}

/* ---- the set ---- */

static void print_head(const struct elastic_report *report, struct text *out)
{
    const struct elastic_kit *kit = &report->kit;
    const char *plus = "";
    text_format(out, "%s on ", kit->model ? kit->model : "the model");
    for (int k = 0; k < kit->kind_count; k++) {
        text_format(out, "%s%d x %s", plus, kit->kinds[k].nodes.count, kit->kinds[k].name);
        plus = " + ";
    }
    text_format(out, " nodes, %lld micro-batches per iteration\n", (long long)kit->batch);
    if (report->limited)
        text_add(out, "no loss is survived without a checkpoint\n\n");
    else if (report->faults == 0)
        text_add(out, "a loss may need a checkpoint (--faults 0)\n\n");
    else
        text_format(out, "after any %d lost node%s every layer still has a copy\n\n", report->faults,
                    report->faults == 1 ? "" : "s");
}

static void print_time(const struct elastic_report *report, struct text *out)
{
    const struct elastic_set *set = &report->set;
    struct unit_texts units = {0};
    text_format(out, "iteration  %s = slowest pipeline %s + gradient exchange %s\n",
                unit_text(&units, set->seconds, UNIT_TIME), unit_text(&units, set->slowest, UNIT_TIME),
                unit_text(&units, set->exchange, UNIT_TIME));
    if (set->proven)
        text_format(out, "proof      optimal for %d shape%s\n", report->kit.shape_count,
                    report->kit.shape_count == 1 ? "" : "s");
    else
        text_format(out, "proof      %d shapes, lower bound %s: gap %.3g %%\n", report->kit.shape_count,
                    unit_text(&units, set->bound, UNIT_TIME), 100 * plan_gap_of(set->seconds, set->bound));
    int spare = elastic_kit_nodes(&report->kit) - set->nodes;
    text_format(out, "nodes      %d in %d instance%s (%lld pipeline%s), %d spare\n\n", set->nodes,
                set->instances, set->instances == 1 ? "" : "s", (long long)set->pipelines,
                set->pipelines == 1 ? "" : "s", spare);
}

static void print_shares(const struct elastic_report *report, struct text *out)
{
    text_add(out, "instances  pipelines  micro-batches each    pipeline    idle  shape\n");
    for (int i = 0; i < report->share_count; i++) {
        const struct elastic_share *share = &report->shares[i];
        struct unit_texts units = {0};
        char each[80];
        if (share->extra > 0)
            snprintf(each, sizeof each, "%lld (%lld with %lld)", (long long)share->each,
                     (long long)share->extra, (long long)share->each + 1);
        else
            snprintf(each, sizeof each, "%lld", (long long)share->each);
        text_format(out, "%9d  %9lld  %18s  %10s  %4.1f %%  %s\n", share->instances, (long long)share->count,
                    each, unit_text(&units, share->seconds, UNIT_TIME),
                    100 * (1 - share->seconds / report->slowest), share->name);
    }
    text_add(out, "\n");
}

static void add_instance_nodes(const struct elastic_state *state, int instance, struct text *out)
{
    int count = state->kit->shapes[state->instances[instance].shape].nodes;
    int *nodes = calloc((size_t)count + 1, sizeof *nodes);
    if (!nodes) {
        out->failed = true;
        return;
    }
    memcpy(nodes, state->instances[instance].nodes, (size_t)count * sizeof *nodes);
    qsort(nodes, (size_t)count, sizeof *nodes, order_ints);
    elastic_add_nodes(out, nodes, count);
    free(nodes);
}

static void print_instances(const struct elastic_state *state, struct text *out)
{
    text_add(out, "instance  shape                           nodes\n");
    for (int i = 0; i < state->instance_count && i < MAX_INSTANCES; i++) {
        text_format(out, "%8d  %-30s  ", i, state->kit->shapes[state->instances[i].shape].name);
        add_instance_nodes(state, i, out);
        text_add(out, "\n");
    }
    if (state->instance_count > MAX_INSTANCES)
        text_format(out, "%8s  %d more: see --json\n", "…", state->instance_count - MAX_INSTANCES);
}

/* ---- transitions ---- */

static void add_layers(const struct elastic_kit *kit, const struct elastic_copy *copy, struct text *out)
{
    int first = kit->segment_from[copy->first], last = kit->segment_from[copy->last + 1] - 1;
    text_format(out, first == last ? "layer %d" : "layers %d-%d", first, last);
    if (copy->until - copy->from < kit->units)
        text_format(out, " (%d/%d)", copy->until - copy->from, kit->units);
}

static void print_copies(const struct elastic_report *report, const struct elastic_transition *way,
                         struct text *out)
{
    struct unit_texts units = {0};
    text_format(out, "copies     %s between nodes and %s within, in %s",
                unit_text(&units, way->outcome.bytes_across, UNIT_BYTES),
                unit_text(&units, way->bytes_inside, UNIT_BYTES),
                unit_text(&units, way->outcome.seconds, UNIT_TIME));
    if (way->outcome.seconds > way->bound * (1 + 1e-9))
        text_format(out, " (at least %s)", unit_text(&units, way->bound, UNIT_TIME));
    text_add(out, "\n");
    for (int i = 0; i < way->copy_count && i < MAX_COPIES; i++) {
        const struct elastic_copy *copy = &way->copies[i];
        text_format(out, "  node %d device %d gets ", copy->to_node, copy->to_device);
        add_layers(&report->kit, copy, out);
        text_format(out, " from node %d device %d: %s\n", copy->from_node, copy->from_device,
                    unit_text(&units, copy->bytes, UNIT_BYTES));
    }
    if (way->copy_count > MAX_COPIES)
        text_format(out, "  … %d more: see --json\n", way->copy_count - MAX_COPIES);
}

static void print_steps(const struct text *steps, struct text *out)
{
    for (const char *line = steps->data; line && *line;) {
        const char *end = strchr(line, '\n');
        text_add(out, "  ");
        text_add_bytes(out, line, (size_t)(end - line) + 1);
        line = end + 1;
    }
}

static void print_event(const struct elastic_report *report, const struct elastic_event *event,
                        struct text *out)
{
    const struct elastic_transition *way = &event->way;
    struct unit_texts units = {0};
    text_format(out, "\n%s node%s ", strcmp(event->what, "lose") == 0 ? "losing" : "with the return of",
                event->count == 1 ? "" : "s");
    elastic_add_nodes(out, event->nodes, event->count);
    text_add(out, "\n");
    print_steps(&way->steps, out);
    if (way->outcome.checkpoint) {
        text_format(out, "checkpoint needed: %s", way->reason);
        if (way->missing.length > 0)
            text_format(out, ": layers %s", way->missing.data);
        text_add(out, "\n");
    } else {
        print_copies(report, way, out);
        text_format(out, "downtime   %s", unit_text(&units, event->downtime, UNIT_TIME));
        text_add(out, report->setup > 0 ? " (--setup included); the iteration in progress is lost\n"
                                        : "; the iteration in progress is lost\n");
    }
    text_format(out, "iteration  %s before, %s after; %d %s of every layer\n",
                unit_text(&units, way->before, UNIT_TIME),
                unit_text(&units, way->outcome.iteration, UNIT_TIME), way->kept,
                way->kept == 1 ? "copy" : "copies");
    if (way->kept <= report->faults)
        text_format(out, "--faults %d needs %d copies: the next loss may need a checkpoint\n", report->faults,
                    report->faults + 1);
    if (event->fastest < way->outcome.iteration * (1 - 1e-9))
        text_format(out, "--method fastest would take %s with these nodes\n",
                    unit_text(&units, event->fastest, UNIT_TIME));
    print_instances(&way->after, out);
}

/* ---- single losses ---- */

static const char *answer_of(const struct elastic_loss *loss)
{
    const struct elastic_outcome *did = &loss->outcome;
    return did->merged > 0           ? "merge"
           : did->borrowed > 0       ? "borrow"
           : did->replaced > 0       ? "replace"
           : did->reinstantiated > 0 ? "reinstantiate"
           : did->added > 0          ? "new instance"
           : loss->shape < 0         ? "none needed"
                                     : "dissolve";
}

static void print_losses(const struct elastic_report *report, struct text *out)
{
    const struct elastic_losses *sum = &report->losses;
    struct unit_texts units = {0};
    text_add(out, "\nlosing one node\n");
    text_add(out, " node  alike  answer             copied    downtime   iteration  place\n");
    for (int i = 0; i < sum->count; i++) {
        const struct elastic_loss *loss = &sum->places[i];
        const char *copied =
            loss->outcome.checkpoint ? "-" : unit_text(&units, loss->outcome.bytes_across, UNIT_BYTES);
        const char *downtime = loss->outcome.checkpoint ? "-" : unit_text(&units, loss->downtime, UNIT_TIME);
        const char *iteration =
            isfinite(loss->outcome.iteration) ? unit_text(&units, loss->outcome.iteration, UNIT_TIME) : "-";
        text_format(out, "%5d  %5d  %-13s  %10s  %10s  %10s  ", loss->node, loss->nodes,
                    loss->outcome.checkpoint ? "checkpoint" : answer_of(loss), copied, downtime, iteration);
        if (!loss->name)
            text_add(out, "spare\n");
        else
            text_format(out, "node %d of %s\n", loss->position, loss->name);
    }
    if (sum->nodes > sum->checkpoints)
        text_format(out, "downtime   worst %s, mean %s\niteration  worst %s, mean %s after the loss\n",
                    unit_text(&units, sum->worst, UNIT_TIME), unit_text(&units, sum->mean, UNIT_TIME),
                    unit_text(&units, sum->worst_iteration, UNIT_TIME),
                    unit_text(&units, sum->mean_iteration, UNIT_TIME));
    if (sum->checkpoints > 0)
        text_format(out, "for %d of %d nodes, a loss needs a checkpoint\n", sum->checkpoints, sum->nodes);
    if (report->faults_limit)
        text_format(out, "no loss is survived: %s\n", report->faults_limit);
    else if (report->exists_once)
        text_format(out, "the %s have one copy, sharded over %d pipelines (ZeRO);\n%s\n", report->kit.sharded,
                    report->kit.sharded_over, elastic_ways_to_survive(&report->kit));
    else if (report->kit.sharded)
        text_format(out,
                    "the %s are sharded over the %d pipelines of a group;\neach of %d groups has a whole "
                    "copy (HSDP)\n",
                    report->kit.sharded, report->kit.sharded_over, report->kit.shard_groups);
}

void elastic_report_print(const struct elastic_report *report, struct text *out)
{
    print_head(report, out);
    print_time(report, out);
    print_shares(report, out);
    print_instances(&report->state, out);
    if (report->summed)
        print_losses(report, out);
    for (int i = 0; i < report->event_count; i++)
        print_event(report, &report->events[i], out);
}

/* ---- speed over time ---- */

#define DRAWN_BINS 500 /* of the time, on a page */

bool elastic_draw_series(const struct elastic_series *series, int count, double horizon,
                         struct report_drawing *drawing, struct error *err)
{
    struct figure_line *lines = calloc((size_t)count, sizeof *lines);
    double *values = calloc((size_t)count + 1, DRAWN_BINS * sizeof *values), *days = values;
    bool ok = (lines && values) || error_memory(err);
    for (int i = 0; ok && i < count; i++) {
        double *bins = values + (size_t)(i + 1) * DRAWN_BINS;
        elastic_series_bins(&series[i], horizon, bins, DRAWN_BINS);
        lines[i] = (struct figure_line){.title = series[i].name, .values = bins};
    }
    for (int i = 0; ok && i < DRAWN_BINS; i++)
        days[i] = (i + 0.5) * horizon / DRAWN_BINS / SECONDS_PER_DAY;
    if (ok)
        report_draw_lines(drawing, &(struct figure_sweep){.title = "Share of full speed over the first run",
                                                          .x_title = "days",
                                                          .y_title = "share of full speed",
                                                          .point_count = DRAWN_BINS,
                                                          .line_count = count,
                                                          .x = days,
                                                          .lines = lines});
    free(lines);
    free(values);
    return ok;
}
