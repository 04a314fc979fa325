#include "plan/split/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many dimensions beyond data parallelism a job has: what must be set, and can go wrong. */
static int parts_of(const struct job *job)
{
    int parts = (job->degrees.tensor > 1) + (job->degrees.context > 1) + (job->degrees.expert > 1) +
                (job->degrees.pipeline > 1) + (job->chunks > 1) + (job->recompute != RECOMPUTE_NONE) +
                (job->stage_blocks != NULL);
    for (int k = TECHNIQUE_GRADIENTS; k < TECHNIQUE_COUNT; k++)
        parts += technique_get(&job->technique, (enum technique_kind)k) != 0;
    return parts;
}

/* Of plans that take the same time: fewer devices, then those that are simpler to run. */
int job_choice_compare(const void *first, const void *second)
{
    static const enum job_dimension small_first[] = {JOB_CONTEXT, JOB_TENSOR, JOB_PIPELINE,
                                                     JOB_EXPERT,  JOB_CHUNKS, JOB_SHARDING};
    const struct job_choice *a = first, *b = second;
    if (a->time.seconds != b->time.seconds)
        return a->time.seconds < b->time.seconds ? -1 : 1;
    if (a->job.devices != b->job.devices)
        return a->job.devices < b->job.devices ? -1 : 1;
    int parts = parts_of(&a->job) - parts_of(&b->job);
    if (parts != 0)
        return parts;
    for (size_t i = 0; i < sizeof small_first / sizeof *small_first; i++) {
        int64_t x = job_dimension_value(&a->job, small_first[i]);
        int64_t y = job_dimension_value(&b->job, small_first[i]);
        if (x != y)
            return x < y ? -1 : 1;
    }
    if (a->memory.total != b->memory.total)
        return a->memory.total < b->memory.total ? -1 : 1;
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        int64_t x = job_dimension_value(&a->job, (enum job_dimension)d);
        int64_t y = job_dimension_value(&b->job, (enum job_dimension)d);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static double cost(const struct job_choice *plan)
{
    return plan->time.seconds * plan->job.devices;
}

static int compare_costs(const void *first, const void *second)
{
    double x = cost(first), y = cost(second);
    return x == y ? job_choice_compare(first, second) : x < y ? -1 : 1;
}

static int compare(const struct kept *s, const struct job_choice *a, const struct job_choice *b)
{
    return s->options->within > 0.0 ? compare_costs(a, b) : job_choice_compare(a, b);
}

double kept_value(const struct job_search_options *options, const struct job_choice *plan)
{
    return options->within > 0.0 ? cost(plan) : plan->time.seconds;
}

static void put_plan(struct kept *s, int at, const struct job_choice *plan, const int *blocks)
{
    s->plans[at] = *plan;
    if (blocks) {
        int *own = s->blocks + (size_t)at * (size_t)s->max_stages;
        memcpy(own, blocks, (size_t)plan->job.degrees.pipeline * sizeof *own);
        s->plans[at].job.stage_blocks = own;
    }
}

/* In time, devices, and memory or money: fewer devices for no longer are cheaper, too. */
static bool is_as_good(const struct kept *s, const struct job_choice *a, const struct job_choice *b)
{
    return a->time.seconds <= b->time.seconds && a->job.devices <= b->job.devices &&
           (s->options->money || a->memory.total <= b->memory.total);
}

/* Is `a` no worse than `b`, and better in one of these or before it in the total order? */
static bool beats(const struct kept *s, const struct job_choice *a, const struct job_choice *b)
{
    return is_as_good(s, a, b) && (!is_as_good(s, b, a) || job_choice_compare(a, b) < 0);
}

/* Keeps the plans that no other beats; if there is no room for all, the fastest. */
static void offer_to_front(struct kept *s, const struct job_choice *plan)
{
    int kept = 0, slowest = 0;
    for (int i = 0; i < s->count; i++)
        if (beats(s, &s->plans[i], plan))
            return;
    for (int i = 0; i < s->count; i++)
        if (!beats(s, plan, &s->plans[i])) {
            if (kept != i)
                put_plan(s, kept, &s->plans[i], s->plans[i].job.stage_blocks);
            kept++;
        }
    s->count = kept;
    if (kept < s->top) {
        put_plan(s, s->count++, plan, plan->job.stage_blocks);
        return;
    }
    for (int i = 1; i < kept; i++)
        if (job_choice_compare(&s->plans[i], &s->plans[slowest]) > 0)
            slowest = i;
    if (job_choice_compare(plan, &s->plans[slowest]) < 0)
        put_plan(s, slowest, plan, plan->job.stage_blocks);
}

/* Keeps the best plan of each of the fastest splits. */
static void offer_to_top(struct kept *s, const struct job_choice *plan)
{
    int at = 0;
    while (at < s->count && !degrees_are_equal(&s->plans[at].job.degrees, &plan->job.degrees))
        at++;
    bool better = at == s->count || compare(s, plan, &s->plans[at]) < 0;
    if (better && at == s->top) { /* no room: replace the worst */
        at = 0;
        for (int i = 1; i < s->count; i++)
            if (compare(s, &s->plans[i], &s->plans[at]) > 0)
                at = i;
        better = compare(s, plan, &s->plans[at]) < 0;
    }
    if (better) {
        put_plan(s, at, plan, plan->job.stage_blocks);
        if (at == s->count)
            s->count++;
    }
}

bool kept_init(struct kept *kept, const struct job_search_options *options, struct arena *arena)
{
    int top = kept->top = options->top;
    kept->options = options;
    kept->count = 0;
    kept->plans = arena_alloc(arena, (size_t)top, sizeof *kept->plans);
    kept->blocks = arena_alloc(arena, (size_t)top * (size_t)kept->max_stages, sizeof *kept->blocks);
    return kept->plans && kept->blocks;
}

void kept_offer(struct kept *kept, const struct job_choice *plan)
{
    if (kept->options->front)
        offer_to_front(kept, plan);
    else
        offer_to_top(kept, plan);
}

double kept_worst(const struct kept *kept)
{
    double worst = 0.0;
    if (kept->options->front || kept->count < kept->top)
        return INFINITY;
    for (int i = 0; i < kept->count; i++)
        worst = fmax(worst, kept_value(kept->options, &kept->plans[i]));
    return worst;
}

void kept_sort(struct kept *kept)
{
    qsort(kept->plans, (size_t)kept->count, sizeof *kept->plans,
          kept->options->within > 0.0 ? compare_costs : job_choice_compare);
    for (int i = 0; i < kept->count; i++) {
        kept->plans[i].on_front = true;
        for (int j = 0; j < kept->count; j++)
            kept->plans[i].on_front &= !is_as_good(kept, &kept->plans[j], &kept->plans[i]) ||
                                       is_as_good(kept, &kept->plans[i], &kept->plans[j]);
    }
}
