#include "evidence/interval.h"

#include "core/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct plan_interval interval_of(const struct estimate *estimate, double seconds)
{
    struct plan_interval interval = estimate->shares;
    interval_scale(&interval, seconds, seconds);
    return interval;
}

void interval_scale(struct plan_interval *interval, double low, double high)
{
    interval->low *= low;
    interval->like_low *= low;
    interval->unlike_low *= low;
    interval->high *= high;
    interval->like_high *= high;
    interval->unlike_high *= high;
}

bool interval_holds(const struct plan_interval *interval, double seconds)
{
    return seconds >= interval->low && seconds <= interval->high;
}

const struct field interval_fields[INTERVAL_FIELDS] = {
    FIELD_OUT(struct plan_interval, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct plan_interval, "high", high, FIELD_DOUBLE),
    FIELD_OUT(struct plan_interval, "extrapolates", extrapolates, FIELD_FLAG),
    FIELD_OUT(struct plan_interval, "like_low", like_low, FIELD_DOUBLE),
    FIELD_OUT(struct plan_interval, "like_high", like_high, FIELD_DOUBLE),
    FIELD_OUT(struct plan_interval, "unlike_low", unlike_low, FIELD_DOUBLE),
    FIELD_OUT(struct plan_interval, "unlike_high", unlike_high, FIELD_DOUBLE),
};

#define DIFFERENCES 3 /* of a plan */

bool estimate_nearest(const struct estimate *estimate, struct arena *arena, struct plan_nearest *nearest,
                      struct error *err)
{
    const struct residual *run = estimate->nearest;
    struct text differs = {0};
    *nearest = (struct plan_nearest){.id = NULL};
    if (!run)
        return true;
    likeness_differences(&run->likeness, &estimate->job, DIFFERENCES, &differs);
    *nearest = (struct plan_nearest){
        .id = run->id,
        .source = run->source,
        .model = run->model,
        .device = run->likeness.device,
        .devices = run->likeness.devices,
        .differs = differs.failed ? NULL : arena_string(arena, differs.data ? differs.data : ""),
    };
    text_release(&differs);
    return nearest->differs || error_memory(err);
}

/* ---- the runs ---- */

#define NAMED 8 /* of the runs; the others are summed up */

static int by_moved(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    double more = fabs(y->moved) - fabs(x->moved);
    return more != 0.0 ? (more > 0.0) - (more < 0.0) : (x->row > y->row) - (x->row < y->row);
}

static void print_run(const struct neighbour *neighbour, struct text *out)
{
    const struct residual *row = neighbour->row;
    text_format(out, "  %-6.16s %-15.15s %-10.10s %7d %-12.12s %5.2f  %+6.1f %% %+5.1f %%\n", row->id,
                row->source, row->likeness.device, row->likeness.devices, row->model, neighbour->correlation,
                100.0 * expm1(row->log_ratio), 100.0 * expm1(neighbour->moved));
}

void estimate_print_factors(const struct estimate *estimate, double formula, double factor, struct text *out)
{
    struct unit_texts texts = {0};
    if (factor == 1.0)
        return;
    text_format(out, " (%s by formula x %.3f by known runs", unit_text(&texts, formula, UNIT_TIME),
                factor / estimate->own);
    if (estimate->own != 1.0)
        text_format(out, " x %.3f by your run", estimate->own);
    text_add(out, ")");
}

void estimate_print(const struct estimate *estimate, struct text *out)
{
    struct estimate sorted = *estimate;
    double others = 0.0;
    if (estimate->count == 0) {
        text_add(out, "\nthe formula is not corrected: no similar known run, or your own calibration\n");
        return;
    }
    qsort(sorted.neighbours, (size_t)sorted.count, sizeof *sorted.neighbours, by_moved);
    text_format(out, "\n%d known runs change the formula's time by %+.1f %%", sorted.count,
                100.0 * (sorted.factor / sorted.own - 1.0));
    if (sorted.own != 1.0)
        text_format(out, ", and the run of --calibration by %+.1f %%", 100.0 * (sorted.own - 1.0));
    text_add(out, "\n");
    text_format(out, "  %-6s %-15s %-10s %7s %-12s %5s  %8s %7s\n", "run", "source", "device", "devices",
                "model", "alike", "slower", "effect");
    for (int i = 0; i < sorted.count; i++)
        if (i < NAMED)
            print_run(&sorted.neighbours[i], out);
        else
            others += sorted.neighbours[i].moved;
    if (sorted.count > NAMED) {
        char rest[32];
        snprintf(rest, sizeof rest, "and %d others", sorted.count - NAMED);
        text_format(out, "  %-70s%+5.1f %%\n", rest, 100.0 * expm1(others));
    }
    text_add(out, "alike: correlation of errors; slower: measured against the formula;\n"
                  "effect: on the prediction\n");
}
