#include "plan/fleet/of_job.h"

#include "core/stop.h"
#include "core/vector.h"
#include "cost/collective.h"
#include "plan/fleet/classes.h"
#include "plan/split/rule.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define MAX_MICROBATCH 64    /* sequences, unless the question allows more */
#define LARGEST        65536 /* if it does */

#define EFFORT      2e7 /* of each combination, to prove that its plan is the best */
#define ROUND       4   /* combinations that are planned at the same time */
#define FIRST_ROUND 2   /* the same before the first plan: one of other kinds may be far slower than it */

struct combination {
    int64_t microbatch;
    enum recompute recompute;
    double bound; /* seconds: no plan takes less */
    bool bounded; /* false: memory ran out */
};

/* The outcome of one combination. */
struct outcome {
    struct fleet_answer answer;
    bool found;
    double bound;
    struct error err;
};

struct planner {
    const struct fleet_question *question;
    struct combination *combinations;
    int count, done;
    size_t capacity;
    int first; /* of this round */
    struct outcome round[ROUND];
    struct fleet_answer best;
    double other;         /* seconds beside those of pipelines, of plans that are searched for */
    double enough;        /* seconds; plans that take no less are not wanted */
    double bound;         /* minimum of the combinations planned so far */
    pthread_mutex_t lock; /* of the progress */
    struct progress *progress;
};

bool fleet_take_cluster(struct fleet_question *question, const struct cluster *cluster, struct error *err)
{
    question->group_count = cluster->group_count;
    if (cluster->group_count > FLEET_MAX_TYPES)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d groups, found %d", cluster->path,
                         FLEET_MAX_TYPES, cluster->group_count);
    for (int g = 0; g < cluster->group_count; g++) {
        question->groups[g] = cluster->groups[g];
        if (!model_check_precision(cluster->groups[g].type, question->precision, err))
            return false;
    }
    return true;
}

bool fleet_late_error(struct error *err)
{
    return error_set(err, ERROR_INFEASIBLE, "no plan found within the time limit: try a longer --time-limit");
}

/* ---- layers ---- */

struct job fleet_job_on(const struct fleet_question *question, int group, int tensor)
{
    const struct cluster_group *g = &question->groups[group];
    struct job job = question->job;
    job_set_group(&job, g);
    job.type = model_type(g->type, question->precision);
    job.degrees = DEGREES_ONE;
    job.degrees.tensor = job.devices = tensor;
    job.chunks = 1;
    job.sharding = 0;
    job.stage_blocks = NULL;
    return job;
}

static bool tensor_allowed(const struct fleet_question *question, int group, int tensor)
{
    const struct job_range *range = &question->ranges[JOB_TENSOR];
    const struct job_question one = {.job = fleet_job_on(question, group, tensor)};
    return (!range->given || (tensor >= range->min && tensor <= range->max)) &&
           !job_rule_of(&one, JOB_TENSOR, tensor);
}

/* Returns the bytes per parameter if optimizer states are sharded over this number of pipelines. */
static double state_bytes(const struct software *software, double pipelines)
{
    return software->parameter_bytes + software->stored_gradient_bytes +
           software->state_bytes / (software->sharded ? pipelines : 1.0);
}

/* Seconds and bytes per parameter on a device. */
struct rates {
    double slower;  /* factor on all seconds: devices wait for the slowest of them */
    double state;   /* bytes held */
    double added;   /* seconds to add gradients to those of earlier micro-batches */
    double reduced; /* seconds of the exposed exchange of gradients */
    double updated; /* seconds of the optimizer */
};

#define EXCHANGED 1e9  /* bytes of a message so large that latency does not count */
#define MANY      16   /* pipelines: between more, what fills nodes evenly matters little */
#define UNEVEN    0.95 /* of the seconds: so little */

/* Returns the seconds of the exchange of a byte of gradients between so many pipelines, of which at most `together`
 * share a node: fewer do where links inside it are slower than those between, or a tree has a step less. */
static double exchange_between(const struct cluster_group *g, int pipelines, int together)
{
    struct collective_group ranks = {.devices = pipelines, .inside = g->inside, .across = g->across};
    double seconds = INFINITY;
    for (int own = 1; own <= together && own <= pipelines; own++) {
        ranks.devices_per_node = own;
        seconds = fmin(seconds,
                       transfer_gradient_seconds(COLLECTIVE_ALL_REDUCE, &ranks, EXCHANGED, g->calibration));
    }
    return seconds / EXCHANGED;
}

/* Returns the minimum of that over all numbers of pipelines that a spread stands for: more of them may be faster where
 * they fill nodes evenly, or use more of the links inside. From a power of two on, a long range needs no look at each
 * number. */
static double exchange_of(const struct cluster_group *g, const struct fleet_spread *spread, int tensor)
{
    int least = spread->gradients, together = fleet_together(spread, g->nodes.devices, tensor);
    int last = spread->max > 0 ? spread->max : 2 * least - 1;
    double seconds = exchange_between(g, least, together);
    if (last <= least || least == 1)
        return seconds;
    if (least > MANY && last - least > MANY && last < 2 * least && (least & (least - 1)) == 0)
        return UNEVEN * seconds;
    for (int n = least + 1; n <= last; n++)
        seconds = fmin(seconds, exchange_between(g, n, together));
    return seconds;
}

static struct rates rates_of(const struct fleet_question *question, int group, int tensor,
                             const struct fleet_spread *spread)
{
    const struct software *software = question->job.software;
    const struct cluster_group *g = &question->groups[group];
    double rate = JOB_STREAM_RATE * g->type->bandwidth;
    return (struct rates){
        .slower = 1.0 + g->calibration->jitter * log2(fmax(spread->nodes, 1.0)),
        .state = state_bytes(software, spread->states),
        .added = software->accumulate / rate,
        .reduced = job_data_shown(&question->job) * exchange_of(g, spread, tensor) * software->gradient_bytes,
        .updated = software->optimizer / rate / (software->sharded ? spread->states : 1.0),
    };
}

/* A layer on an option, whatever the pipelines beside it. */
struct priced_layer {
    double seconds, host, forward, parameters, kept; /* host: of `seconds`, which no device makes longer */
};

/* Embedding, blocks and head on one device type with one tensor degree. */
struct priced_option {
    int group, tensor;
    struct priced_layer *layers;
    double send, working, last_working, runtime, tied; /* tied: parameters */
};

/* What a combination takes on all options: the same for any spread of pipelines. */
struct priced {
    const struct fleet_question *question;
    int64_t microbatch;
    int layer_count, option_count;
    struct priced_option options[FLEET_MAX_OPTIONS];
    struct arena arena;
};

static struct priced_layer priced_layer(const struct job_layer *layer)
{
    return (struct priced_layer){
        .seconds = job_pass_seconds(&layer->pass),
        .host = layer->pass.host,
        .forward = layer->pass.forward + layer->pass.tensor / 2.0,
        .parameters = layer->parameters + layer->experts,
        .kept = layer->kept,
    };
}

static bool price_option(struct priced *priced, int group, int tensor, const struct combination *chosen)
{
    const struct fleet_question *question = priced->question;
    const struct software *software = question->job.software;
    struct job job = fleet_job_on(question, group, tensor);
    if (priced->option_count == FLEET_MAX_OPTIONS)
        return true; /* 8 types of at most 8 degrees each: nodes of 1024 have 11 divisors that matter */
    struct priced_option *option = &priced->options[priced->option_count++];
    job.microbatch = chosen->microbatch;
    job.recompute = chosen->recompute;
    struct job_layers layers = job_layers_of(&job);
    int blocks = layers.block_count;
    double runtime = job_runtime(&job);
    double matrix = software->matrix_working * layers.blocks.largest_matrix;
    *option = (struct priced_option){
        .group = group,
        .tensor = tensor,
        .layers = ARENA_ARRAY(&priced->arena, (size_t)blocks + 2, struct priced_layer),
        .send = layers.send_across,
        .working = layers.blocks.working + 0.5 * matrix + runtime,
        .last_working = fmax(layers.blocks.working + matrix, layers.head.activations),
        .runtime = runtime,
        .tied = job.model->tied ? (double)job.model->hidden * (double)job.model->vocabulary / tensor : 0.0,
    };
    if (!option->layers)
        return false;
    option->layers[0] = priced_layer(&layers.embedding);
    for (int b = 0; b < blocks; b++) {
        struct job one = job;
        one.degrees.pipeline = 3; /* neither the first nor the last stage: blocks alone */
        struct job_layer block = job_stage(&one, &layers, 1, b, b + 1);
        option->layers[b + 1] = priced_layer(&block);
    }
    option->layers[blocks + 1] = priced_layer(&layers.head);
    return true;
}

/* Prices a combination; the caller releases it with price_end, also on failure. False: out of memory. */
static bool price_begin(struct priced *priced, const struct fleet_question *question,
                        const struct combination *chosen)
{
    const struct architecture *model = question->job.model;
    *priced = (struct priced){
        .question = question,
        .microbatch = chosen->microbatch,
        .layer_count = model->layers + architecture_first_block(model) + 2,
    };
    for (int g = 0; g < question->group_count; g++)
        for (int tensor = 1; tensor <= question->groups[g].nodes.devices; tensor++)
            if (tensor_allowed(question, g, tensor) && !price_option(priced, g, tensor, chosen))
                return false;
    return true;
}

static void price_end(struct priced *priced)
{
    arena_release(&priced->arena);
}

static bool add_option(struct fleet_problem *problem, const struct priced *priced,
                       const struct priced_option *from, const struct fleet_spread *spread,
                       struct arena *arena)
{
    const struct rates rates = rates_of(priced->question, from->group, from->tensor, spread);
    struct fleet_option *option = fleet_add_option(problem, arena);
    if (!option)
        return false;
    const struct fleet_sums sums = option->sums;
    for (int l = 0; l < priced->layer_count; l++) {
        const struct priced_layer *layer = &from->layers[l];
        sums.seconds[l + 1] = sums.seconds[l] + (layer->seconds - layer->host) * rates.slower + layer->host +
                              layer->parameters * rates.added;
        sums.kept[l + 1] = sums.kept[l] + layer->kept;
        sums.held[l + 1] = sums.held[l] + layer->parameters * rates.state;
        sums.after[l + 1] = sums.after[l] + layer->parameters * (rates.reduced + rates.updated);
        sums.updated[l + 1] = sums.updated[l] + layer->parameters * rates.updated;
        sums.forward[l + 1] = sums.forward[l] + layer->forward * rates.slower;
        if (l > 0)
            sums.send[l] = from->send;
    }
    option->type = from->group;
    option->tensor = from->tensor;
    option->working = from->working;
    option->last_working = from->last_working + from->tied * rates.state + from->runtime;
    option->hidden = 1.0 - job_data_shown(&priced->question->job);
    return true;
}

static bool make_problem(const void *context, const struct fleet_spread *spread,
                         struct fleet_problem *problem, struct arena *arena)
{
    const struct priced *priced = context;
    const struct fleet_question *question = priced->question;
    *problem = (struct fleet_problem){
        .layer_count = priced->layer_count,
        .type_count = question->group_count,
        .microbatches = question->job.batch / priced->microbatch,
        .max_pipelines = spread->max,
    };
    for (int g = 0; g < question->group_count; g++) {
        const struct cluster_group *group = &question->groups[g];
        problem->types[g] = (struct fleet_type){
            .devices = group->nodes.count * group->nodes.devices,
            .memory = (double)group->nodes.memory * (1.0 - question->headroom),
            .per_node = group->nodes.devices,
        };
    }
    for (int o = 0; o < priced->option_count; o++)
        if (!add_option(problem, priced, &priced->options[o], spread, arena))
            return false;
    return true;
}

/* ---- after the pipelines ---- */

/* Seconds of an iteration in which neither kernels nor transfers of a group run. */
static double other_of(const struct fleet_question *question, int group)
{
    return question->groups[group].calibration->step + question->job.software->step_host;
}

static void time_all(struct fleet_answer *answer, const struct fleet_question *question)
{
    struct fleet_time *time = &answer->time;
    time->pipelines = answer->plan.seconds - answer->plan.after;
    time->after = answer->plan.after;
    for (int k = 0; k < answer->plan.pipeline_count; k++)
        for (int i = 0; i < answer->plan.pipelines[k].stage_count; i++) {
            int option = answer->plan.pipelines[k].stages[i].option;
            time->other = fmax(time->other, other_of(question, answer->problem.options[option].type));
        }
    time->seconds = time->pipelines + time->after + time->other;
}

/* Returns the maximum of the other seconds on groups where they are less than `below`; negative: there are none. */
static double next_other(const struct fleet_question *question, double below)
{
    double max = -1.0;
    for (int g = 0; g < question->group_count; g++)
        if (other_of(question, g) < below)
            max = fmax(max, other_of(question, g));
    return max;
}

/* ---- one combination ---- */

/* Plans a combination, or scores the given pipelines. */
static bool answer_with(struct fleet_answer *answer, const struct fleet_question *question,
                        const struct combination *chosen, const struct fleet_given *given, double enough,
                        struct error *err)
{
    struct priced priced;
    const struct fleet_maker maker = {&priced, make_problem, EFFORT};
    const struct software *software = question->job.software;
    *answer = (struct fleet_answer){
        .microbatch = chosen->microbatch,
        .recompute = chosen->recompute,
        .sharded = software->sharded,
    };
    bool ok = price_begin(&priced, question, chosen) || error_memory(err);
    if (ok && given)
        ok = fleet_take_given(&answer->plan, &answer->problem, &maker, given, err);
    else if (ok)
        ok = fleet_search_classes(&answer->plan, &answer->problem, &maker, enough, err);
    price_end(&priced);
    if (!ok)
        return false;
    answer->pipelines = fleet_pipelines(&answer->plan);
    answer->held = (struct fleet_held){software->parameter_bytes, software->stored_gradient_bytes,
                                       software->state_bytes / (software->sharded ? answer->pipelines : 1)};
    time_all(answer, question);
    return true;
}

void fleet_answer_release(struct fleet_answer *answer)
{
    fleet_choice_release(&answer->plan);
    *answer = (struct fleet_answer){0};
}

/* ---- all combinations ---- */

static bool allowed(const struct job_range *range, int64_t value, int64_t max)
{
    return range->given ? value >= range->min && value <= range->max : value <= max;
}

static bool list_combinations(struct planner *p)
{
    const struct fleet_question *question = p->question;
    const struct software *software = question->job.software;
    bool same = software->attention != ATTENTION_UNFUSED && software->selective_kept >= 1.0;
    for (int64_t m = 1; m <= question->job.batch && m <= LARGEST; m++) {
        if (question->job.batch % m != 0 || !allowed(&question->ranges[JOB_MICROBATCH], m, MAX_MICROBATCH))
            continue;
        for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL; r++)
            if (allowed(&question->ranges[JOB_RECOMPUTE], r, RECOMPUTE_FULL) &&
                (r != RECOMPUTE_SELECTIVE || !same || question->ranges[JOB_RECOMPUTE].given) &&
                !VECTOR_ADD(p->combinations, p->count, p->capacity,
                            (struct combination){.microbatch = m, .recompute = (enum recompute)r}))
                return false;
    }
    return true;
}

static void show(struct planner *p)
{
    pthread_mutex_lock(&p->lock);
    p->done++;
    if (p->progress)
        progress_show(p->progress, "%d of %d steps", p->done, 2 * p->count);
    pthread_mutex_unlock(&p->lock);
}

static void bound_some(void *context, size_t first, size_t last, int thread)
{
    (void)thread;
    struct planner *p = context;
    for (size_t i = first; i < last; i++) {
        struct combination *c = &p->combinations[i];
        struct priced priced;
        struct arena arena = {0};
        struct fleet_problem problem;
        struct error err;
        c->bounded = stop_wanted();
        if (c->bounded) /* from below, by nothing */
            continue;
        c->bounded = price_begin(&priced, p->question, c) &&
                     make_problem(&priced, &FLEET_SPREAD_ANY, &problem, &arena) &&
                     fleet_bound(&c->bound, &problem, &err);
        c->bound = stop_wanted() ? 0.0 : c->bound;
        arena_release(&arena);
        price_end(&priced);
        show(p);
    }
}

static int compare_combinations(const void *a, const void *b)
{
    const struct combination *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    if (x->microbatch != y->microbatch)
        return x->microbatch < y->microbatch ? -1 : 1;
    return (int)x->recompute - (int)y->recompute;
}

/* Returns the seconds that a plan must stay below. */
static double limit_of(const struct planner *p)
{
    return p->best.pipelines > 0 ? fmin(p->best.time.seconds, p->enough) : p->enough;
}

static void plan_some(void *context, size_t first, size_t last, int thread)
{
    (void)thread;
    struct planner *p = context;
    double enough = limit_of(p) - p->other;
    for (size_t i = first; i < last; i++) {
        struct outcome *outcome = &p->round[i];
        const struct combination *c = &p->combinations[p->first + (int)i];
        if (c->bound >= enough) {
            outcome->found = false;
            outcome->bound = c->bound;
            error_set(&outcome->err, ERROR_INFEASIBLE, "pipelines fit, but none met the `enough` limit");
        } else {
            outcome->found = answer_with(&outcome->answer, p->question, c, NULL, enough, &outcome->err);
            outcome->bound = stop_wanted() ? 0.0 : outcome->answer.plan.lower_bound;
        }
        show(p);
    }
}

/* Plans a round of combinations. Their limits depend on earlier rounds only, so the answer is the same for any number
 * of threads. False: out of memory. */
static bool plan_round(struct planner *p, int count, struct parallel *pool)
{
    bool ok = true;
    parallel_for(pool, (size_t)count, 1, plan_some, p);
    for (int i = 0; i < count; i++) {
        struct outcome *outcome = &p->round[i];
        ok &= outcome->found || outcome->err.kind == ERROR_INFEASIBLE || outcome->err.kind == ERROR_STOPPED;
        if (outcome->found || outcome->bound > 0.0 || stop_wanted())
            p->bound = fmin(p->bound, fmax(outcome->bound, p->combinations[p->first + i].bound));
        if (outcome->found &&
            (p->best.pipelines == 0 || outcome->answer.time.seconds < p->best.time.seconds)) {
            struct fleet_answer worse = p->best;
            p->best = outcome->answer;
            outcome->answer = worse;
        }
        if (outcome->found)
            fleet_answer_release(&outcome->answer);
    }
    return ok;
}

static bool plan_all(struct planner *p, struct parallel *pool, struct error *err)
{
    bool ok = list_combinations(p);
    if (ok)
        parallel_for(pool, (size_t)p->count, 1, bound_some, p);
    for (int i = 0; i < p->count; i++)
        ok &= p->combinations[i].bounded;
    qsort(p->combinations, (size_t)p->count, sizeof *p->combinations, compare_combinations);
    while (ok && p->first < p->count && !stop_wanted()) {
        int count = p->count - p->first < ROUND ? p->count - p->first : ROUND;
        double bound = p->combinations[p->first].bound;
        if (isinf(bound) || bound >= limit_of(p))
            break; /* the rest is no faster, or does not fit */
        if (p->best.pipelines == 0 && count > FIRST_ROUND)
            count = FIRST_ROUND;
        ok = plan_round(p, count, pool);
        p->first += count;
    }
    if (stop_wanted() && p->first < p->count) /* the rest is not planned */
        p->bound = fmin(p->bound, p->combinations[p->first].bound);
    return ok ? true : error_memory(err);
}

/* Plans with groups whose other seconds are at most these. The bound is of plans on one with just as many. */
static bool plan_with(struct fleet_answer *answer, const struct fleet_question *question, double other,
                      double enough, struct parallel *pool, struct progress *progress, struct error *err)
{
    *answer = (struct fleet_answer){0};
    struct planner *p = calloc(1, sizeof *p);
    if (!p)
        return error_memory(err);
    p->question = question;
    p->progress = progress;
    p->bound = INFINITY;
    p->enough = enough;
    p->other = other;
    pthread_mutex_init(&p->lock, NULL);
    bool ok = plan_all(p, pool, err);
    pthread_mutex_destroy(&p->lock);
    if (ok && p->best.pipelines == 0 && stop_wanted())
        ok = fleet_late_error(err);
    else if (ok && p->best.pipelines == 0)
        ok = error_set(
            err, ERROR_INFEASIBLE,
            "'%s' does not fit in any pipeline of these devices, with any micro-batch that divides %" PRId64,
            question->job.model->name, question->job.batch);
    else if (!ok)
        fleet_answer_release(&p->best);
    double bound = fmin(p->bound + other, enough);
    if (ok) {
        *answer = p->best;
        answer->lower_bound = fmin(bound, answer->time.seconds);
        answer->combinations = p->count;
    } else {
        answer->lower_bound = bound;
    }
    free(p->combinations);
    free(p);
    return ok;
}

/* Groups differ in their other seconds, and a plan takes the longest of its groups': those with the most are left out
 * in turn. */
bool fleet_plan_job(struct fleet_answer *answer, const struct fleet_question *question, double enough,
                    struct parallel *pool, struct progress *progress, struct error *err)
{
    struct error none;
    double bound = INFINITY;
    bool found = false;
    *answer = (struct fleet_answer){0};
    double other = next_other(question, INFINITY);
    if (question->job.model->layers + architecture_first_block(question->job.model) + 2 > FLEET_MAX_LAYERS)
        return error_set(err, ERROR_INPUT, "expected a model of at most %d layers", FLEET_MAX_LAYERS);
    while (other >= 0.0) {
        struct fleet_question part = *question;
        struct fleet_answer one;
        bool first = isinf(bound);
        for (int g = 0; g < part.group_count; g++)
            if (other_of(&part, g) > other)
                part.groups[g].nodes.count = 0;
        bool better =
            plan_with(&one, &part, other, found ? answer->time.seconds : enough, pool, progress, &none);
        bound = fmin(bound, one.lower_bound);
        if (better) {
            fleet_answer_release(answer);
            *answer = one;
            found = true;
            for (int g = 0; g < question->group_count; g++)
                answer->problem.types[g].devices =
                    question->groups[g].nodes.count * question->groups[g].nodes.devices;
        } else if (none.kind != ERROR_INFEASIBLE) {
            fleet_answer_release(answer);
            *err = none;
            return false;
        } else if (first) {
            *err = none;
        }
        other = next_other(question, other);
    }
    answer->lower_bound = found ? fmin(bound, answer->time.seconds) : bound;
    return found;
}

bool fleet_score_job(struct fleet_answer *answer, const struct fleet_question *question,
                     const struct fleet_given *given, int64_t microbatch, enum recompute recompute,
                     struct error *err)
{
    const struct combination chosen = {.microbatch = microbatch, .recompute = recompute};
    return answer_with(answer, question, &chosen, given, INFINITY, err);
}
