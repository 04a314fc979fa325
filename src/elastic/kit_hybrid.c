/* DAPPLE's hybrids on fewer nodes.
 *
 * Problem. Stage s of the plan has w_s whole nodes of replicas that share each micro-batch; with v of them it
 * takes time_s w_s / v. For n nodes in all and at least c copies of every layer, choose c <= v_s <= max(w_s,
 * c), sum v_s = n, so that a batch of m micro-batches ends earliest: sum_s time_s w_s / v_s + (m - 1) max_s
 * time_s w_s / v_s.
 *
 * Method. The maximum is one of the values time_s w_s / v. For each, every stage gets the fewest nodes that
 * keep within it, and the remaining nodes go one by one to the stage whose time falls most; that is optimal
 * for the sum, as 1 / v is convex. Checked against all choices (tests/elastic/kit_test.c).
 *
 * The plan's other terms (transfers, all-reduces that nothing hides) stay as they are: an approximation. */
#include "elastic/kit_make.h"

#include <math.h>
#include <string.h>

#define MAX_STAGES 64
#define MAX_LEAST  16 /* copies of each layer that are asked for at most */

struct hybrid {
    int stages;
    double time[MAX_STAGES]; /* of a micro-batch with all nodes */
    int all[MAX_STAGES];     /* nodes */
    int64_t batch;
};

static double time_of(const struct hybrid *h, int s, int nodes)
{
    return h->time[s] * h->all[s] / nodes;
}

static double score(const struct hybrid *h, const int *widths, double *sum, double *slowest)
{
    *sum = *slowest = 0;
    for (int s = 0; s < h->stages; s++) {
        *sum += time_of(h, s, widths[s]);
        *slowest = fmax(*slowest, time_of(h, s, widths[s]));
    }
    return *sum + (double)(h->batch - 1) * *slowest;
}

/* The widths for one limit of the slowest stage; false: they need more nodes. */
static bool widths_within(const struct hybrid *h, double limit, int least, int nodes, int *widths)
{
    for (int s = 0; s < h->stages; s++) {
        widths[s] = least;
        while (widths[s] < h->all[s] && time_of(h, s, widths[s]) > limit)
            widths[s]++;
        nodes -= widths[s];
        if (nodes < 0 || time_of(h, s, widths[s]) > limit)
            return false;
    }
    for (; nodes > 0; nodes--) {
        int best = -1;
        double most = 0;
        for (int s = 0; s < h->stages; s++) {
            double gain = widths[s] < h->all[s] ? time_of(h, s, widths[s]) - time_of(h, s, widths[s] + 1) : 0;
            if (gain > most) {
                most = gain;
                best = s;
            }
        }
        if (best < 0)
            return false;
        widths[best]++;
    }
    return true;
}

/* The fastest widths of n nodes; false: there are none. */
static bool best_widths(const struct hybrid *h, int least, int nodes, int *widths)
{
    double best = INFINITY, sum, slowest;
    int candidate[MAX_STAGES];
    for (int s = 0; s < h->stages; s++)
        for (int v = least; v == least || v <= h->all[s]; v++) {
            double limit = time_of(h, s, v);
            if (!widths_within(h, limit, least, nodes, candidate))
                continue;
            double seconds = score(h, candidate, &sum, &slowest);
            if (seconds < best) {
                best = seconds;
                memcpy(widths, candidate, sizeof candidate);
            }
        }
    return isfinite(best);
}

static int replicas_of_node(const struct elastic_maker *maker, const struct plan_stage *stage)
{
    return maker->plan->types[stage->type].nodes.devices / (stage->degrees.tensor * stage->degrees.context);
}

/* Takes the pipeline as a hybrid if its stages have whole nodes of replicas, and at least one stage has
 * several. */
static bool take_hybrid(struct hybrid *h, const struct elastic_maker *maker,
                        const struct plan_pipeline *pipeline)
{
    bool several = false;
    if (pipeline->copies != 1 || pipeline->stage_count > MAX_STAGES || maker->plan->chunks > 1 ||
        maker->plan->sharding >= 1 || !elastic_is_pure(maker, pipeline, 1))
        return false;
    h->stages = pipeline->stage_count;
    for (int s = 0; s < h->stages; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        int replicas = replicas_of_node(maker, stage);
        if (stage->degrees.expert > 1 || replicas < 1 || stage->degrees.data % replicas != 0)
            return false;
        h->all[s] = stage->degrees.data / replicas;
        h->time[s] = plan_stage_seconds(stage);
        several |= h->all[s] > 1;
    }
    return several;
}

static bool add_hybrid(struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                       const struct elastic_line *line, const struct hybrid *h, const int *widths,
                       struct error *err)
{
    struct plan_pipeline fewer = *pipeline;
    struct plan_stage stages[MAX_STAGES] = {0};
    struct elastic_member member = {&fewer, 1};
    double all_sum, all_slowest, sum, slowest;
    memcpy(stages, pipeline->stages, (size_t)h->stages * sizeof *stages);
    for (int s = 0; s < h->stages; s++)
        stages[s].degrees.data = widths[s] * replicas_of_node(maker, &stages[s]);
    fewer.stages = stages;
    struct elastic_shape *shape = elastic_add_shape(maker, &member, 1, err);
    if (!shape)
        return false;
    shape->lines = ARENA_NEW(&maker->kit->arena, struct elastic_line);
    if (!shape->lines)
        return error_memory(err);
    score(h, h->all, &all_sum, &all_slowest);
    score(h, widths, &sum, &slowest);
    shape->line_count = 1;
    *shape->lines = (struct elastic_line){
        .copies = 1,
        .fill = line->fill - (all_sum - all_slowest) + (sum - slowest),
        .period = slowest,
        .step = 1,
    };
    return true;
}

bool elastic_add_hybrids(struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                         const struct elastic_line *line, struct error *err)
{
    struct hybrid h = {.batch = maker->kit->batch};
    int widths[MAX_STAGES] = {0}, before[MAX_STAGES] = {0}, nodes = 0;
    if (!take_hybrid(&h, maker, pipeline))
        return true;
    for (int s = 0; s < h.stages; s++)
        nodes += h.all[s];
    /* the plan itself is the widest without copies asked for */
    for (int n = nodes; n >= h.stages; n--)
        for (int least = n == nodes ? 2 : 1; least <= MAX_LEAST && least * h.stages <= n; least++) {
            if (!best_widths(&h, least, n, widths))
                continue;
            /* asking for more copies often changes nothing */
            if (least > 1 && memcmp(before, widths, (size_t)h.stages * sizeof *widths) == 0)
                continue;
            memcpy(before, widths, sizeof before);
            if (maker->kit->shape_count < ELASTIC_MAX_SHAPES &&
                !add_hybrid(maker, pipeline, line, &h, widths, err))
                return false;
        }
    return true;
}
